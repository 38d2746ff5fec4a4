"""`import-page` as an audit: every rule of a page told once at its line, and what must not be told.

The page and its mistakes are of our own making; the scripts are those of the dataset.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from rl_resources import load
from rl_resources.cli import main
from rl_resources.dataset import Dataset
from rl_resources.finding import Finding
from rl_resources.page.audit import import_page
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
        (
            '44:1: a table cannot be read: Error parsing content block for the "list-table" '
            "directive: no list in it."
        ),
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
        ("26:9: there is no model `Qwen2-70B-Instruct`: qwen2 comes in 0.5B, 1.5B, 7B, 72B"),
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
        ("67:9: there is no qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh in 7b/"),
    ),
    "page-link-label": (
        [(f"`{SEVEN} <", f"`{LORA} <")],
        (
            "32:9: the link is called qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh and "
            "leads to qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
        ),
    ),
    "page-same-script": (
        [(LORA_ROW, LORA_ROW * 2)],
        (
            "50:9: the row links qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh, as the "
            "row of line 41 does"
        ),
    ),
    "page-script-name": (
        [(FOURTEEN, UNDERSCORE)],
        (
            "67:9: the script name `qwen2.5_14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh` has 7 "
            "instead of 6 parts between `_`"
        ),
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


@pytest.mark.parametrize(
    ("link", "told"),
    [
        (f"`{SEVEN} <{BASE}/7b/{SEVEN}>`", True),
        (f"`{SEVEN} <{BASE}/7b/{SEVEN}>` _", True),
        (f"[{SEVEN}]({BASE}/7b/{SEVEN})", True),
        (f"`{SEVEN}`_", True),
        (f"`{SEVEN} <{BASE}/7b/{SEVEN}>`__", False),
        (f"{BASE}/7b/{SEVEN}", False),
        (SEVEN, False),
        (f"``{SEVEN}``", False),
    ],
)
def test_a_link_whose_markup_is_wrong_is_told_and_read(
    dataset: Dataset, scripts: Path, link: str, told: bool
) -> None:
    page = PAGE.replace(f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", link).replace("2*H800", "4*H800")
    assert _rules_of(_findings(dataset, scripts, page)) == {
        *(["page-broken-link"] if told else []),
        "gpus-agree",
    }


STEM = SEVEN.removesuffix(".sh")


@pytest.mark.parametrize(
    ("link", "told"),
    [
        (f"`{STEM} <{BASE}/7b/{SEVEN}>`_", []),
        (f"`{STEM} <{BASE}/7b/{STEM}>`_", ["page-missing-script"]),
        (f"`script <{BASE}/7b/{STEM}>`_", ["page-missing-script"]),
        (f"`{SEVEN} <{BASE}/7b/{LORA}>`_", ["page-link-label"]),
    ],
)
def test_a_name_without_its_ending_is_one_all_the_same(
    dataset: Dataset, scripts: Path, link: str, told: list[str]
) -> None:
    page = PAGE.replace(f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_", link)
    found = _rules_of(_findings(dataset, scripts, page))
    assert {rule for rule in found if rule.startswith("page-")} == set(told)


@pytest.mark.parametrize("there", [True, False])
def test_a_label_that_fits_the_row_is_believed_before_the_address(
    dataset: Dataset, scripts: Path, there: bool
) -> None:
    """One mistake is one finding: nothing of the row is held to a script of another run."""
    page = PAGE.replace(f"/7b/{LORA}>", f"/7b/{SEVEN}>")
    if not there:
        (scripts / "7b" / LORA).unlink()
    (found,) = _findings(dataset, scripts, page)
    assert found == f"page-link-label: 41:9: the link is called {LORA} and leads to {SEVEN}"


def test_how_a_script_begins_is_one_warning(dataset: Dataset, scripts: Path) -> None:
    script = scripts / "7b" / SEVEN
    text = script.read_text(encoding="utf-8")
    script.write_text(re.sub(r"^(?:#!|set -).*\n", "", text, flags=re.M), encoding="utf-8")
    assert _rules_of(_findings(dataset, scripts, PAGE)) == {"strict-mode"}
    (found,) = _audited(dataset, scripts, PAGE)[1]
    assert found.message.endswith("it does not set `-e`, and it has no shebang")


NOBODY = "33:9: the row names no contributor"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("- NA", NOBODY),
        ("- N/A", NOBODY),
        ("- \u2014", NOBODY),
        (
            "- `Xiangyongan <https://github.com/SimonHuang>`_",
            "33:9: the handle `Xiangyongan` links the account `SimonHuang`",
        ),
        ("- \\", ""),
        ("- `@XiangYongan <https://github.com/Xiangyongan/>`_", ""),
        ("- `Xiangyongan <https://example.org/people/7>`_", ""),
    ],
)
def test_a_contributor_is_somebody_and_links_to_their_account(
    dataset: Dataset, scripts: Path, said: str, expected: str
) -> None:
    found = _findings(dataset, scripts, PAGE.replace("- Xiangyongan", said))
    assert found == ([f"page-contributor: {expected}"] if expected else [])


def test_a_model_that_is_not_listed_still_has_its_size_and_its_script(
    dataset: Dataset, scripts: Path
) -> None:
    found = _findings(dataset, scripts, PAGE.replace("- Qwen2-7B-Instruct", "- Nobody-14B"))
    assert _rules_of(found) == {"model-agrees"}
    _retrain(scripts, "Nobody/Nobody-14B")
    found = _findings(dataset, scripts, PAGE.replace("- Qwen2-7B-Instruct", "- Nobody-14B"))
    assert "page-model-section" in _rules_of(found)


MOVES = {
    "page-script-name": (f"14b/{FOURTEEN}", f"14b/{UNDERSCORE}"),
}
TRAINED = {
    "page-unlisted-model": "Nobody/Nobody-7B",
}


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


def _edited(edits: Edits) -> str:
    page = PAGE
    for old, new in edits:
        assert old in page
        page = page.replace(old, new, 2 if old == FOURTEEN else 1)
    return page


def _findings(dataset: Dataset, scripts: Path, page: str, folder: Path | None = None) -> list[str]:
    return [_line(item) for item in _audited(dataset, scripts, page, folder)[1]]


def _audited(
    dataset: Dataset, scripts: Path, page: str, folder: Path | None = None
) -> tuple[str, list[Finding]]:
    path = scripts.parent / "page.rst"
    path.write_text(page, encoding="utf-8")
    return import_page(path, folder or scripts, dataset)


def _records(text: str) -> dict[str, dict[str, str]]:
    """The rows of the table that was read, by their script."""
    return {row["script"]: row for row in csv.DictReader(text.splitlines())}


def _line(item: Finding) -> str:
    return f"{item.rule}: {item.line}:{item.column}: {item.message}"


def _retrain(scripts: Path, model: str) -> None:
    path = scripts / "7b" / SEVEN
    text = path.read_text(encoding="utf-8")
    assert "Qwen/Qwen2-7B-Instruct" in text
    path.write_text(text.replace("Qwen/Qwen2-7B-Instruct", model), encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_one_mistake_is_told_once(dataset: Dataset, scripts: Path, case: str) -> None:
    edits, expected = CASES[case]
    rule = case.split(" ")[0]
    if rule in MOVES:
        old, new = (scripts / path for path in MOVES[rule])
        old.rename(new)
    if rule in TRAINED:
        _retrain(scripts, TRAINED[rule])
    assert _findings(dataset, scripts, _edited(edits)) == [f"{rule}: {expected}"]


SILENT: dict[str, Edits] = {
    "an underline as long as its heading, though of three signs": [("14B\n~~~~", "14B\n~~~")],
    "an old date": [("01/02/2024", "01/02/1999")],
    "an advice that is no tag": [("Names follow", "We recommended this. Names follow")],
    "a table without rows": [
        (FOURTEEN_ROW, FOURTEEN_ROW + f"\n405B\n~~~~\n\n{HEADER}    * - \\\n" + "      - \\\n" * 8)
    ],
    "an ellipsis below a line": [("Names follow\n", "\nWait\n...\n\nNames follow\n")],
    "the account of a server": [("Names follow", "Clone git@example.org:a/b.git. Names follow")],
    "a profile with an at sign": [
        ("- Xiangyongan", "- `Xiangyongan <https://example.org/@Xiangyongan>`__")
    ],
    "a link to a branch by tree": [("/blob/main/", "/tree/v0.4.x/")],
    "another spelling of a device": [("2*H800", "2 x h800")],
    "a task of another case": [("- GRPO-LoRA\n      - 1", "- grpo-lora\n      - 1")],
    "a table about something else": [
        ("\n14B\n", "\n.. list-table::\n\n    * - A\n      - B\n\n14B\n")
    ],
}


@pytest.mark.parametrize("why", SILENT)
def test_what_is_right_is_not_told(dataset: Dataset, scripts: Path, why: str) -> None:
    assert _findings(dataset, scripts, _edited(SILENT[why])) == []


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("Qwen2-7B", False),
        ("Qwen/Qwen2-72B", False),
        ("Qwen2-57B-A14B", False),
        ("Llama-3.1-70B", False),
        ("Qwen2.5-Coder-1.5B", False),
        ("Qwen2-14B", True),
        ("Qwen2-32B", True),
        ("Qwen2-70B", True),
    ],
)
def test_only_a_size_within_a_listed_family_does_not_exist(
    dataset: Dataset, scripts: Path, model: str, told: bool
) -> None:
    page = PAGE.replace("- Qwen2-7B-Instruct", f"- {model}")
    rules = [line.partition(":")[0] for line in _findings(dataset, scripts, page)]
    assert ("page-unknown-model" in rules) == told


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
    path = scripts / "7b" / SEVEN
    path.write_text(path.read_text(encoding="utf-8") + "echo $undefined\n", encoding="utf-8")
    found = [line for line in _findings(dataset, scripts, page) if "undefined" in line]
    assert [line.partition(":")[0] for line in found] == ["undefined-variable"]


def _rules_of(findings: list[str]) -> set[str]:
    return {line.partition(":")[0] for line in findings}


def test_a_short_row_that_links_its_script_hides_no_orphan(dataset: Dataset, scripts: Path) -> None:
    found = _rules_of(_findings(dataset, scripts, SHORT.replace(FOURTEEN_ROW, "")))
    assert found == {"page-row-length", "page-script-without-row"}


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace(FOURTEEN_ROW, "    * - MIN\n      - GRPO\n"),
        PAGE.replace(FOURTEEN_ROW, "") + f"\nSee {FOURTEEN.replace('_', chr(92) + '_')}.\n",
        PAGE.replace(FOURTEEN_ROW, FOURTEEN_ROW.replace("      - 116\n", "")),
    ],
)
def test_a_script_that_a_row_or_the_text_may_mean_is_no_orphan(
    dataset: Dataset, scripts: Path, page: str
) -> None:
    assert "page-script-without-row" not in _rules_of(_findings(dataset, scripts, page))


def test_a_script_that_is_called_almost_as_its_link_is_one_mistake(
    dataset: Dataset, scripts: Path
) -> None:
    (scripts / "14b" / FOURTEEN).rename(scripts / "14b" / UNDERSCORE)
    (finding,) = _audited(dataset, scripts, PAGE)[1]
    assert (finding.rule, finding.line) == ("page-missing-script", 67)
    assert finding.help == (
        f"The file is called `{UNDERSCORE}`: rename it to `{FOURTEEN}`, or link it as it is called."
    )


@pytest.mark.parametrize("form", ["json", "github"])
def test_findings_are_the_output_in_other_formats(
    scripts: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    page = scripts.parent / "page.rst"
    page.write_text(PAGE.replace(f"/14b/{FOURTEEN}", f"/7b/{FOURTEEN}"), encoding="utf-8")
    command = ["import-page", str(page), "--scripts", str(scripts), "--format", form]
    assert main([*command, "--out", str(scripts.parent / "out")]) == 1
    output = capsys.readouterr().out
    if form == "json":
        assert [item["rule"] for item in json.loads(output)] == ["page-missing-script"]
    else:
        assert output.startswith("::error file=") and output.count("\n") == 1
    assert (scripts.parent / "out" / "tuning.csv").read_text(encoding="utf-8").count("\n") == 4
    assert main(command) == 1
    assert "script,tag,model" not in capsys.readouterr().out


def test_every_rule_of_a_page_has_a_case() -> None:
    rules = {rule.name for rule in all_rules().values() if rule.scope == "page"}
    assert {case.split(" ")[0] for case in CASES} == rules


def _changed(scripts: Path, path: str, old: str, new: str) -> None:
    text = (scripts / path).read_text(encoding="utf-8")
    assert old in text
    (scripts / path).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_row_whose_script_cannot_start_is_disputed(dataset: Dataset, scripts: Path) -> None:
    _changed(scripts, f"7b/{SEVEN}", 'model.path="${MODEL_PATH}"', "model.path=MODEL_PATH")
    text, findings = _audited(dataset, scripts, PAGE)
    assert [item.rule for item in findings] == ["missing-dollar"]
    rows = _records(text)
    assert rows[SEVEN]["status"] == "disputed"
    assert rows[SEVEN]["notes"].startswith("The script has errors: `MODEL_PATH` lacks its `$`")
    assert (rows[FOURTEEN]["status"], rows[FOURTEEN]["notes"]) == ("reported", "")


def _without_offload(scripts: Path, gpus: int) -> str:
    """Have the script of 7B keep its states on so many GPUs; gives the page that says the same."""
    for name in ("param", "optimizer"):
        key = f"actor.fsdp_config.{name}_offload="
        _changed(scripts, f"7b/{SEVEN}", f"{key}True", f"{key}False")
    for name in ("GPUS_PER_NODE", "TENSOR_PARALLEL_SIZE"):
        text = (scripts / "7b" / SEVEN).read_text(encoding="utf-8")
        text = text.replace(f"{name}:-2", f"{name}:-{gpus}")
        (scripts / "7b" / SEVEN).write_text(text, encoding="utf-8")
    page = PAGE.replace("resources, MIN.", "resources, MIN; RECOMMENDED runs well.")
    page = page.replace("* - MIN", "* - RECOMMENDED", 1)
    return page.replace("2*H800", f"{gpus}*H800")


def test_devices_without_room_for_what_the_script_trains_are_told(
    dataset: Dataset, scripts: Path
) -> None:
    text, (finding,) = _audited(dataset, scripts, _without_offload(scripts, 1))
    assert (finding.severity, finding.help) == ("error", "Take more devices, or offload.")
    message = (
        f"gpus of {SEVEN} is `1`: 80 GB together, but 7.6 billion parameters need 122 GB at the "
        f"least, as {scripts.as_posix()}/7b/{SEVEN} trains them"
    )
    assert _line(finding) == f"run-memory: 28:9: {message}"
    row = _records(text)[SEVEN]
    assert (row["status"], row["notes"]) == ("disputed", f"Page and script disagree: {message}.")


def test_devices_with_room_for_what_the_script_trains_are_silent(
    dataset: Dataset, scripts: Path
) -> None:
    assert _findings(dataset, scripts, _without_offload(scripts, 2)) == []


def test_a_device_of_unknown_memory_may_have_room(dataset: Dataset, scripts: Path) -> None:
    page = _without_offload(scripts, 1).replace("1*H800", "1*H801")
    assert "run-memory" not in _rules_of(_findings(dataset, scripts, page))


BATCH_KEY = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"


@pytest.mark.parametrize(
    ("path", "old", "new", "rule"),
    [
        (f"7b/{SEVEN}", "GPUS_PER_NODE:-2", "GPUS_PER_NODE:-3", "gpus-agree"),
        (f"7b/{SEVEN}", "GPUS_PER_NODE:-2", "GPUS_PER_NODE:-1", "gpus-agree"),
        (f"7b/{SEVEN}", "strategy=fsdp", "strategy=fsdp2", "backends-agree"),
        (f"7b/{SEVEN}", "strategy=fsdp", "strategy=megatron", "backends-agree"),
        (f"7b/{SEVEN}", "TRAIN_BATCH_SIZE:-1024", "TRAIN_BATCH_SIZE:-128", "batch-divisibility"),
        (f"7b/{SEVEN}", "MINI_BATCH_SIZE:-256", "MINI_BATCH_SIZE:-255", "batch-divisibility"),
        (f"7b/{SEVEN}", f"{BATCH_KEY}=", f"{BATCH_KEY[:-8]}=", "total-micro-batch-size"),
        (f"7b/{SEVEN}", "adv_estimator=grpo", "adv_estimator=gae", "task-agrees"),
        (f"7b/{SEVEN}", "ROLLOUT_N:-5", "ROLLOUT_N:-1", "group-size"),
        (f"7b/{SEVEN}", "TENSOR_PARALLEL_SIZE:-2", "TENSOR_PARALLEL_SIZE:-3", "parallel-sizes"),
        (f"7b/{SEVEN}", "trainer.nnodes", "trainer.nnode", "unknown-key"),
        (f"14b/{FOURTEEN}", "TRAIN_BATCH_SIZE:-116", "TRAIN_BATCH_SIZE:-200", "max-batch-agrees"),
    ],
)
def test_one_mistake_in_a_script_is_one_finding(
    dataset: Dataset, scripts: Path, path: str, old: str, new: str, rule: str
) -> None:
    _changed(scripts, path, old, new)
    assert [item.rule for item in _audited(dataset, scripts, PAGE)[1]] == [rule]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("- GRPO-LoRA\n      - 1", "- GRPO\n      - 1", "task-agrees"),
        ("- Qwen2-7B-Instruct", "- Qwen2.5-14B-Instruct", "model-agrees"),
        ("- 2*H800", "- 4*H800", "gpus-agree"),
        ("- fsdp\n      - vllm0.8.2", "- megatron\n      - vllm0.8.2", "backends-agree"),
        ("- 116", "- 100", "max-batch-agrees"),
    ],
)
def test_one_mistake_in_a_row_is_one_finding(
    dataset: Dataset, scripts: Path, old: str, new: str, rule: str
) -> None:
    assert [item.rule for item in _audited(dataset, scripts, _edited([(old, new)]))[1]] == [rule]


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
