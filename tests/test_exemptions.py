"""What a record is let off, what it is not, and what becomes of an exemption that lets off none."""

from __future__ import annotations

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

Told = Callable[..., str]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """What `check` says of the sample with these exemptions, by the rules of that name alone."""

    def findings(rows: str, *select: str, script: str = BARE) -> str:
        root = plant(tmp_path / "dataset")
        apply(root, [{"file": PATH, "write": script}, {"file": EXEMPTIONS, "append": rows}])
        return "".join(as_text(check(take_snapshot(read_package(root)), select)))

    return findings


def test_a_script_is_let_off_the_rule_that_is_named_and_no_other(told: Told) -> None:
    row = f"{SCRIPT},strict-mode,A sentence that gives the reason.\n"
    without = told(row, "strict-mode", "needless-exemption", "gpus-agree")
    assert "strict-mode" not in without
    assert "gpus-agree" in without


def test_a_row_is_let_off_a_rule_that_tells_it_at_the_row(told: Told) -> None:
    row = f"{SCRIPT},gpus-agree,A sentence that gives the reason.\n"
    assert told(row, "gpus-agree", "needless-exemption") == ""


def test_an_exemption_that_lets_off_nothing_is_told(told: Told) -> None:
    row = f"{SCRIPT},strict-mode,A sentence that gives the reason.\n"
    strict = BARE.replace("\n", "\nset -euo pipefail\n", 1)
    assert told(row, "strict-mode", "needless-exemption", script=strict) == (
        f"{EXEMPTIONS}:2:1: error: needless-exemption: {SCRIPT} no longer violates `strict-mode`: "
        "unused exemption\n  help: Delete this line.\n"
    )


def test_an_exemption_from_a_rule_that_did_not_run_is_not_needless(told: Told) -> None:
    row = f"{SCRIPT},strict-mode,A sentence that gives the reason.\n"
    assert told(row, "needless-exemption") == ""


def test_a_misspelt_rule_is_told_with_the_nearest_one(told: Told) -> None:
    row = f"{SCRIPT},strict-mod,A sentence that gives the reason.\n"
    text = told(row, "exemption-rule", "strict-mode")
    assert f"{EXEMPTIONS}:2:{len(SCRIPT) + 2}: error: exemption-rule: rule of " in text
    assert "is `strict-mod`, which is no rule" in text
    assert "Did you mean `strict-mode`" in text
    assert "warning: strict-mode" in text


def test_a_report_is_let_off_a_rule_about_memory_alone(tmp_path: Path) -> None:
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


def test_of_files_that_are_asked_for_everything_is_told_that_is_told_of_them(
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
