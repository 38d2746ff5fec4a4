"""What an exemption exempts a record from, what not, and what becomes of one without need."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rl_resources.check import all_rules, check, findings_in
from rl_resources.check.snapshot import take_snapshot
from rl_resources.package import read_package
from rl_resources.site.findings import as_text
from sample_tree import apply, plant

SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
PATH = f"examples/tuning/7b/{SCRIPT}"
BARE = "#!/usr/bin/env bash\npython3 -m verl.trainer.main_ppo\n"
EXEMPTIONS = "records/exemptions.csv"
REPORTS = "records/reports.csv"

Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What `check` says of the sample with these exemptions, by the rules of that name alone."""

    def findings(rows: str, *select: str, script: str = BARE) -> str:
        root = plant(tmp_path_factory.mktemp("exempt") / "dataset")
        apply(root, [{"file": PATH, "write": script}, {"file": EXEMPTIONS, "append": rows}])
        return "".join(as_text(check(take_snapshot(read_package(root)), select)))

    return findings


STRICT = BARE.replace("\n", "\nset -euo pipefail\n", 1)


@pytest.mark.parametrize(
    ("exempt", "select", "script", "expected"),
    [
        ("strict-mode", "strict-mode needless-exemption", BARE, []),
        ("gpus-agree", "gpus-agree needless-exemption", BARE, []),
        ("strict-mode", "gpus-agree", BARE, ["gpus-agree"]),
        ("strict-mode", "strict-mode needless-exemption", STRICT, ["needless-exemption"]),
        ("strict-mode", "needless-exemption", STRICT, []),  # as its rule did not run
        ("strict-mod", "exemption-rule strict-mode", BARE, ["exemption-rule", "strict-mode"]),
    ],
)
def test_an_exemption_is_of_the_rule_that_it_names_alone(
    shown: Shown, exempt: str, select: str, script: str, expected: list[str]
) -> None:
    text = shown(f"{SCRIPT},{exempt},A sentence.\n", *select.split(), script=script)
    assert sorted(re.findall(r": (?:error|warning): ([a-z-]+): ", text)) == expected


def test_a_needless_and_a_misspelt_exemption_say_what_to_do(shown: Shown) -> None:
    row = f"{SCRIPT},strict-mode,A.\n"
    assert shown(row, "needless-exemption", "strict-mode", script=STRICT) == (
        f"{EXEMPTIONS}:2:1: error: needless-exemption: {SCRIPT} no longer violates `strict-mode`: "
        "unused exemption\n  help: Delete this line.\n"
    )
    text = shown(f"{SCRIPT},strict-mod,A.\n", "exemption-rule")
    assert f"{EXEMPTIONS}:2:{len(SCRIPT) + 2}: error: exemption-rule: rule of " in text
    assert "Did you mean `strict-mode`" in text


def test_a_report_is_exempt_from_the_rule_about_memory_that_is_named(tmp_path: Path) -> None:
    report, other = "qwen-7b-grpo-1-h20-677fc4", "qwen-7b-grpo-4-h20-3d5399"
    cells = {"gpus": "1", "memory_optimizations": ""}
    root = plant(tmp_path / "dataset")
    apply(
        root,
        [
            {"file": REPORTS, "line": 2, "set": cells},
            {"file": REPORTS, "line": 3, "set": cells},
            {"file": EXEMPTIONS, "append": f"{other},peak-memory,A sentence.\n"},
            {"file": EXEMPTIONS, "append": f"{report},unexplained-memory,A sentence.\n"},
        ],
    )
    rules = ["unexplained-memory", "peak-memory", "exemption-rule", "needless-exemption"]
    found = check(take_snapshot(read_package(root)), rules)
    assert [(item.path, item.line, item.rule) for item in found] == [
        (EXEMPTIONS, 2, "needless-exemption"),
        (REPORTS, 3, "unexplained-memory"),
    ]


def test_files_that_are_named_have_the_findings_that_they_have_among_all(
    tmp_path: Path,
) -> None:
    root = plant(tmp_path / "dataset")
    rows = f"{SCRIPT},strict-mode,A sentence.\n{SCRIPT},shebang,A sentence.\n"
    apply(
        root,
        [
            {"file": PATH, "write": BARE},
            {"file": EXEMPTIONS, "append": rows},
            {"file": "records/trials.csv", "replace": ",ran\n", "with": ",RAN\n", "all": True},
        ],
    )
    snapshot = take_snapshot(read_package(root))
    rules = list(all_rules().values())
    found = findings_in(snapshot, rules)
    paths = {item.path for item in found}
    assert paths >= {PATH, EXEMPTIONS, "records/trials.csv", "records/tuning.csv"}
    for path in paths | {"records/devices.csv"}:
        asked = findings_in(snapshot, rules, path.__eq__)
        assert asked == [item for item in found if item.path == path]
