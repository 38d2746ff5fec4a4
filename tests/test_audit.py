"""`import-page` as an audit: every rule of a page reported once at its line, and no false alarm.

The page and its mistakes are of our own making; the scripts are those of the dataset.
"""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from rl_resources import load
from rl_resources.check.target import ScriptText
from rl_resources.cli import main
from rl_resources.dataset import Dataset
from rl_resources.finding import Finding
from rl_resources.page.audit import audit
from rl_resources.page.links import scripts_of
from rl_resources.page.reader import read_page
from rl_resources.page.rows import read_rows, tuning_csv
from rl_resources.rules import all_rules
from sample_tree import REPOSITORY

SEVEN = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
FOURTEEN = "qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh"
BASE = "https://example.org/blob/main/examples/tuning"
HEADER = """\
.. list-table::
    :widths: auto
    :header-rows: 1

    * - Tag
      - Model
      - Task
      - Resource
      - MaxBatch
      - Train
      - Infer
      - Link
      - Contributor
"""
PAGE = f"""\
Runs on Hardware
================

Last updated: 01/02/2024.

A row runs with the least resources, MIN. Names follow
``[model]_[task]_[gpunums]_[device]_[train]_[infer].sh``.

7B
~~~~

{HEADER}\
    * - MIN
      - Qwen2-7B-Instruct
      - GRPO
      - 2*H800
      - \\
      - fsdp
      - vllm0.8.2
      - `{SEVEN} <{BASE}/7b/{SEVEN}>`_
      - Xiangyongan
    * - MIN
      - Qwen2.5-7B-Instruct
      - GRPO-LoRA
      - 1*H100
      - \\
      - fsdp
      - vllm0.8.3
      - `{LORA} <{BASE}/7b/{LORA}>`_
      - SimonHuang

14B
~~~~

{HEADER}\
    * - MIN
      - Qwen2.5-14B-Instruct
      - GRPO-LoRA
      - 2*H100
      - 116
      - fsdp
      - vllm0.8.3
      - `{FOURTEEN} <{BASE}/14b/{FOURTEEN}>`_
      - SimonHuang
"""
UNDERSCORE = FOURTEEN.replace("qwen2.5-14b", "qwen2.5_14b")
LORA_ROW = PAGE[PAGE.index("    * - MIN\n      - Qwen2.5-7B") : PAGE.index("\n14B\n")]
FOURTEEN_ROW = PAGE[PAGE.index("    * - MIN\n      - Qwen2.5-14B") :]

Edits = list[tuple[str, str]]

CASES: dict[str, tuple[Edits, str]] = {
    "page-table": (
        [("\n14B\n", "\n.. list-table::\n\n   no list\n\n14B\n")],
        '44:1: a table cannot be read: Error parsing content block for the "list-table" '
        "directive: no list in it.",
    ),
    "page-table-columns": (
        [("      - Link\n", "      - Where\n")],
        "16:5: the table has no column Link, so none of its rows is read",
    ),
    "page-row-length": (
        [("      - 2*H800\n", "")],
        "25:5: the row has 8 cells and the header 9; it is not read",
    ),
    "page-lost-heading": (
        [("14B\n~~~~\n", "14B\n~~\n")],
        "44:1: `14B` is no heading: its underline is too short",
    ),
    "page-unknown-word tag": (
        [("* - MIN\n      - Qwen2-7B", "* - MAX\n      - Qwen2-7B")],
        "25:9: `MAX` is no known tag",
    ),
    "page-unknown-model": (
        [("- Qwen2-7B-Instruct", "- Qwen2-70B-Instruct")],
        "26:9: there is no model `Qwen2-70B-Instruct`: qwen2 comes in 0.5B, 1.5B, 7B, 72B",
    ),
    "page-unlisted-model": (
        [("- Qwen2-7B-Instruct", "- Nobody-7B")],
        "26:9: `Nobody-7B` is no model that the dataset lists",
    ),
    "page-unknown-word task": ([("- GRPO\n", "- GRPOO\n")], "27:9: `GRPOO` is no known task"),
    "page-unknown-word device": ([("2*H800", "2*H801")], "28:9: `H801` is no known device"),
    "page-unknown-word backend": (
        [("- fsdp\n      - vllm0.8.2", "- fspd\n      - vllm0.8.2")],
        "30:9: `fspd` is no known backend",
    ),
    "page-unknown-word engine": (
        [("- vllm0.8.2", "- vllmm0.8.2")],
        "31:9: `vllmm0.8.2` is no known engine",
    ),
    "page-unreadable-cell resource": (
        [("- 2*H800", "- H800")],
        "28:9: `H800` is not a number of GPUs, `*` and a device",
    ),
    "page-unreadable-cell batch": (
        [("- 116", "- about 116")],
        "64:9: `about 116` is not a number of prompts",
    ),
    "page-unreadable-cell release": (
        [("- vllm0.8.2", "- vllm0.8.x")],
        "31:9: `0.8.x` is not a release of the engine",
    ),
    "page-contributor": (
        [("- Xiangyongan", "- Xiang Yongan")],
        "33:9: `Xiang Yongan` is not a public handle",
    ),
    "page-email-address": (
        [("- Xiangyongan", "- `Xiangyongan <someone@example.org>`_")],
        "33:23: the page publishes the e-mail address `s…@…`",
    ),
    "page-tag-without-row": (
        [("resources, MIN.", "resources, MIN; RECOMMENDED runs well.")],
        "6:43: the page defines RECOMMENDED, and no row has that tag",
    ),
    "page-no-script": (
        [(f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", "see above")],
        "32:9: the row names no script, so it cannot become a record",
    ),
    "page-broken-link": (
        [(f"/7b/{SEVEN}>`_", f"/7b/{SEVEN} >`_")],
        "32:9: the link is no link in reStructuredText: its markup is shown as text",
    ),
    "page-missing-script": (
        [(f"/14b/{FOURTEEN}", f"/7b/{FOURTEEN}")],
        f"67:9: there is no {FOURTEEN} in 7b/",
    ),
    "page-link-label": (
        [(f"`{SEVEN} <", f"`{LORA} <")],
        f"32:9: the link is called {LORA} and leads to {SEVEN}",
    ),
    "page-same-script": (
        [(LORA_ROW, LORA_ROW * 2)],
        f"50:9: the row links {LORA}, as the row of line 41 does",
    ),
    "page-script-name": (
        [(FOURTEEN, UNDERSCORE)],
        f"67:9: the script name `{UNDERSCORE}` has 7 instead of 6 parts between `_`",
    ),
    "page-name-against-row": (
        [("- 2*H800", "- 2*H100")],
        "28:9: the row says `h100`, the name of its script `h800`",
    ),
    "page-model-section": (
        [(FOURTEEN_ROW, FOURTEEN_ROW + LORA_ROW), (LORA_ROW, "")],
        "61:9: Qwen2.5-7B-Instruct stands under the size 14B",
    ),
    "page-script-without-row": (
        [(FOURTEEN_ROW, "")],
        f"16:5: no row links the script 14b/{FOURTEEN}",
    ),
}


MOVES = {"page-script-name": (f"14b/{FOURTEEN}", f"14b/{UNDERSCORE}")}
TRAINED = {"page-unlisted-model": "Nobody/Nobody-7B"}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "tuning"
    for name in (SEVEN, LORA, FOURTEEN):
        (source,) = (REPOSITORY / "examples" / "tuning").rglob(name)
        (folder / source.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / source.parent.name)
    return folder


def _edited(*edits: tuple[str, str]) -> str:
    page = PAGE
    for old, new in edits:
        assert old in page
        page = page.replace(old, new, 2 if old == FOURTEEN else 1)
    return page


@cache
def _script(path: str, text: str) -> ScriptText:
    """A script, evaluated once for all tests that do not change it."""
    return ScriptText(path, text, ours=False)


def _audited(
    dataset: Dataset, scripts: Path, page: str, folder: Path | None = None
) -> tuple[str, list[Finding]]:
    folder = folder or scripts
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.sh"))
    }
    reading = read_rows(read_page(page, "page.rst"), dataset, list(texts))
    known = {path: _script(path, texts[path]) for path in scripts_of(reading)}
    found = audit(reading, known)
    return tuning_csv(found.records, dataset), list(found.findings)


def _findings(dataset: Dataset, scripts: Path, page: str, folder: Path | None = None) -> list[str]:
    found = _audited(dataset, scripts, page, folder)[1]
    return [f"{item.rule}: {item.line}:{item.column}: {item.message}" for item in found]


def _rules(dataset: Dataset, scripts: Path, page: str) -> list[str]:
    return [item.rule for item in _audited(dataset, scripts, page)[1]]


def _change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_one_mistake_is_reported_once(dataset: Dataset, scripts: Path, case: str) -> None:
    edits, expected = CASES[case]
    rule = case.split(" ")[0]
    if rule in MOVES:
        old, new = (scripts / path for path in MOVES[rule])
        old.rename(new)
    if rule in TRAINED:
        script = scripts / "7b" / SEVEN
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace("Qwen/Qwen2-7B-Instruct", TRAINED[rule]), encoding="utf-8")
    assert _findings(dataset, scripts, _edited(*edits)) == [f"{rule}: {expected}"]


def test_every_rule_of_a_page_has_a_case() -> None:
    rules = {rule.name for rule in all_rules().values() if rule.scope == "page"}
    assert {case.split(" ")[0] for case in CASES} == rules


SILENT: dict[str, tuple[str, str]] = {
    "an underline as long as its heading, though of three characters": ("14B\n~~~~", "14B\n~~~"),
    "an advice that is no tag": ("Names follow", "We recommended this. Names follow"),
    "a table without rows": (
        FOURTEEN_ROW,
        FOURTEEN_ROW + f"\n405B\n~~~~\n\n{HEADER}    * - \\\n" + "      - \\\n" * 8,
    ),
    "an ellipsis below a line": ("Names follow\n", "\nWait\n...\n\nNames follow\n"),
    "the account of a server": ("Names follow", "Clone git@example.org:a/b.git. Names follow"),
    "a profile with an at sign": (
        "- Xiangyongan",
        "- `@Xiangyongan <https://example.org/@Xiangyongan>`__",
    ),
    "no contributor": ("- Xiangyongan", "- \\"),
    "a link to a branch by tree": ("/blob/main/", "/tree/v0.4.x/"),
    "another spelling of a device": ("2*H800", "2 x h800"),
    "a task of another case": ("- GRPO-LoRA\n      - 1", "- grpo-lora\n      - 1"),
    "a table about something else": (
        "\n14B\n",
        "\n.. list-table::\n\n    * - A\n      - B\n\n14B\n",
    ),
    "a label without its ending": (f"`{SEVEN} <", f"`{SEVEN[:-3]} <"),
    "a bare URL": (f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", f"{BASE}/7b/{SEVEN}"),
    "a script without a link": (f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", f"``{SEVEN}``"),
}


@pytest.mark.parametrize("why", SILENT)
def test_what_is_right_is_not_reported(dataset: Dataset, scripts: Path, why: str) -> None:
    assert _findings(dataset, scripts, _edited(SILENT[why])) == []


@pytest.mark.parametrize(
    ("link", "rules"),
    [
        (f"`{SEVEN} <{BASE}/7b/{SEVEN}>` _", ["page-broken-link", "gpus-agree"]),
        (f"[{SEVEN}]({BASE}/7b/{SEVEN})", ["page-broken-link", "gpus-agree"]),
        (f"`{SEVEN}`_", ["page-broken-link", "gpus-agree"]),
        (f"`{SEVEN[:-3]} <{BASE}/7b/{SEVEN[:-3]}>`_", ["page-missing-script", "gpus-agree"]),
        (f"`{LORA} <{BASE}/7b/{SEVEN}>`_", ["page-link-label"]),
    ],
)
def test_a_wrong_link_is_read_where_it_names_one_script(
    dataset: Dataset, scripts: Path, link: str, rules: list[str]
) -> None:
    page = _edited((f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", link), ("2*H800", "4*H800"))
    assert sorted(_rules(dataset, scripts, page)) == sorted(rules)


def test_a_script_that_is_called_almost_as_its_link_is_one_mistake(
    dataset: Dataset, scripts: Path
) -> None:
    (scripts / "14b" / FOURTEEN).rename(scripts / "14b" / UNDERSCORE)
    (finding,) = _audited(dataset, scripts, PAGE)[1]
    assert (finding.rule, finding.line) == ("page-missing-script", 67)
    assert finding.help == (
        f"The file is called `{UNDERSCORE}`: rename it to `{FOURTEEN}`, or link it as it is called."
    )


@pytest.mark.parametrize("name", ["NA", "\u2014", "Xiang Yongan"])
def test_a_contributor_is_a_handle(dataset: Dataset, scripts: Path, name: str) -> None:
    found = _findings(dataset, scripts, _edited(("- Xiangyongan", f"- {name}")))
    assert found == [f"page-contributor: 33:9: `{name}` is not a public handle"]


@pytest.mark.parametrize(
    ("model", "wrong"),
    [("Qwen2-7B", False), ("Qwen2-57B-A14B", False), ("Llama-3.1-70B", False), ("Qwen2-32B", True)],
)
def test_only_a_size_within_a_listed_family_does_not_exist(
    dataset: Dataset, scripts: Path, model: str, wrong: bool
) -> None:
    page = _edited(("- Qwen2-7B-Instruct", f"- {model}"))
    assert ("page-unknown-model" in _rules(dataset, scripts, page)) == wrong


def test_the_folder_may_be_the_root_or_a_flat_copy(dataset: Dataset, scripts: Path) -> None:
    assert _findings(dataset, scripts, PAGE, scripts.parent) == []
    flat = scripts.parent / "flat"
    flat.mkdir()
    for path in scripts.rglob("*.sh"):
        shutil.copy(path, flat)
    assert _findings(dataset, scripts, PAGE, flat) == []


SHORT = PAGE.replace("      - 2*H800\n", "")


@pytest.mark.parametrize("page", [SHORT, SHORT.replace(f"`{SEVEN} <", "`script <"), "No table.\n"])
def test_the_script_of_a_row_that_is_not_read_is_audited(
    dataset: Dataset, scripts: Path, page: str
) -> None:
    _change(scripts / "7b" / SEVEN, "\n", "\necho $undefined\n")
    assert "undefined-variable" in _rules(dataset, scripts, page)


ORPHANED = ["page-script-without-row"]


@pytest.mark.parametrize(
    ("page", "rules"),
    [
        (SHORT.replace(FOURTEEN_ROW, ""), ORPHANED),
        (PAGE.replace(FOURTEEN_ROW, "    * - MIN\n      - GRPO\n"), []),
        (PAGE.replace(FOURTEEN_ROW, "") + f"\nSee {FOURTEEN.replace('_', chr(92) + '_')}.\n", []),
        (PAGE.replace(FOURTEEN_ROW, FOURTEEN_ROW.replace("      - 116\n", "")), []),
    ],
)
def test_a_script_that_a_row_or_the_text_may_mean_is_no_orphan(
    dataset: Dataset, scripts: Path, page: str, rules: list[str]
) -> None:
    found = _rules(dataset, scripts, page)
    assert [rule for rule in found if rule in ORPHANED] == rules


def test_how_a_script_begins_is_one_warning(dataset: Dataset, scripts: Path) -> None:
    script = scripts / "7b" / SEVEN
    text = script.read_text(encoding="utf-8")
    script.write_text(re.sub(r"^(?:#!|set -).*\n", "", text, flags=re.M), encoding="utf-8")
    (found,) = _findings(dataset, scripts, PAGE)
    assert found.startswith("strict-mode: ")
    assert found.endswith("it does not set `-e`, and it has no shebang")


@pytest.mark.parametrize(
    ("path", "old", "new", "note"),
    [
        ("", "2*H800", "4*H800", "Page and script disagree: "),
        (f"7b/{SEVEN}", 'model.path="${MODEL_PATH}"', "model.path=MODEL_PATH", "The script has "),
    ],
)
def test_a_row_whose_script_is_wrong_or_another_is_disputed(
    dataset: Dataset, scripts: Path, path: str, old: str, new: str, note: str
) -> None:
    if path:
        _change(scripts / path, old, new)
    text, (finding,) = _audited(dataset, scripts, PAGE if path else _edited((old, new)))
    line = next(line for line in text.splitlines() if line.startswith(SEVEN))
    assert "disputed" in line
    assert note in line and finding.message.split(" is ")[0] in line.replace('""', '"')
    assert text.count("disputed") == 1


@pytest.mark.parametrize(
    ("path", "old", "new", "rule"),
    [
        (f"7b/{SEVEN}", "GPUS_PER_NODE:-2", "GPUS_PER_NODE:-3", "gpus-agree"),
        (f"7b/{SEVEN}", "strategy=fsdp", "strategy=megatron", "backends-agree"),
        (f"7b/{SEVEN}", "TRAIN_BATCH_SIZE:-1024", "TRAIN_BATCH_SIZE:-128", "batch-divisibility"),
        (f"7b/{SEVEN}", "adv_estimator=grpo", "adv_estimator=gae", "task-agrees"),
        (f"7b/{SEVEN}", "trainer.nnodes", "trainer.nnode", "unknown-key"),
        (f"14b/{FOURTEEN}", "TRAIN_BATCH_SIZE:-116", "TRAIN_BATCH_SIZE:-200", "max-batch-agrees"),
        ("", "- GRPO-LoRA\n      - 1", "- GRPO\n      - 1", "task-agrees"),
        ("", "- Qwen2-7B-Instruct", "- Qwen2.5-14B-Instruct", "model-agrees"),
        ("", "- 2*H800", "- 4*H800", "gpus-agree"),
        ("", "- fsdp\n      - vllm0.8.2", "- megatron\n      - vllm0.8.2", "backends-agree"),
        ("", "- 116", "- 100", "max-batch-agrees"),
    ],
)
def test_one_contradiction_of_row_and_script_is_one_finding(
    dataset: Dataset, scripts: Path, path: str, old: str, new: str, rule: str
) -> None:
    if path:
        _change(scripts / path, old, new)
    assert _rules(dataset, scripts, PAGE if path else _edited((old, new))) == [rule]


def test_the_size_of_the_section_may_stand_in_a_scripts_name(
    dataset: Dataset, scripts: Path
) -> None:
    name = "qwen2.5-70b-instruct_grpo-lora_8_h100_fsdp_vllm.sh"
    (source,) = (REPOSITORY / "examples" / "tuning").rglob(name.replace("70b", "72b"))
    (scripts / "70b").mkdir()
    shutil.copy(source, scripts / "70b" / name)
    row = LORA_ROW.replace("2.5-7B", "2.5-72B").replace(LORA, name).replace("/7b/", "/70b/")
    row = row.replace("1*H100", "8*H100")
    assert _findings(dataset, scripts, f"{PAGE}\n70B\n~~~~\n\n{HEADER}{row}") == []


def test_findings_are_the_output_in_other_formats(
    scripts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = scripts.parent / "page.rst"
    page.write_text(_edited(("- 116", "- 100")), encoding="utf-8")
    command = ["import-page", str(page), "--scripts", str(scripts), "--format", "json"]
    assert main([*command, "--out", str(scripts.parent / "out")]) == 1
    assert [item["rule"] for item in json.loads(capsys.readouterr().out)] == ["max-batch-agrees"]
    assert (scripts.parent / "out" / "tuning.csv").read_text(encoding="utf-8").count("\n") == 4
