"""`import-page` as an audit: every rule of a page reported once at its line, and no false alarm.

The page and its mistakes are of our own making; the scripts are those of the dataset.
"""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from cases import each, read_cases
from rl_resources.check import all_rules
from rl_resources.check.page_audit import audit
from rl_resources.cli import main
from rl_resources.dataset import Dataset, csv_text, read_dataset
from rl_resources.errors import Finding
from rl_resources.package import Package
from rl_resources.page.reader import read_page
from rl_resources.page.rows import read_rows
from rl_resources.script.script_text import ScriptText

SEVEN = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
FOURTEEN = "qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh"
UNDERSCORE = FOURTEEN.replace("qwen2.5-14b", "qwen2.5_14b")
BASE = "https://example.org/blob/main/examples/tuning"
LINK = f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_"
PAGE = (Path(__file__).parent / "audit/page.rst").read_text(encoding="utf-8")
CASES = read_cases("audit/cases")
HEADER = PAGE[PAGE.index(".. list-table") : PAGE.index("    * - MIN")]
LORA_ROW = PAGE[PAGE.index("    * - MIN\n      - Qwen2.5-7B") : PAGE.index("\n14B\n")]
FOURTEEN_ROW = PAGE[PAGE.index("    * - MIN\n      - Qwen2.5-14B") :]


@pytest.fixture(scope="module")
def dataset(frozen: Package) -> Dataset:
    return read_dataset(frozen)


@pytest.fixture
def scripts(tmp_path: Path, frozen: Package) -> Path:
    folder = tmp_path / "tuning"
    for name in (SEVEN, LORA, FOURTEEN):
        (source,) = (frozen.root / "examples").rglob(name)
        (folder / source.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / source.parent.name)
    return folder


def _edited(*edits: tuple[str, str]) -> str:
    page = PAGE
    for old, new in edits:
        assert old in page
        page = page.replace(old, new, 1)
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
    known = {path: _script(path, texts[path]) for path in reading.subjects()}
    found = audit(reading, known)
    return csv_text(dataset, "tuning", (row.record for row in reading.rows)), found


def _findings(dataset: Dataset, scripts: Path, page: str, folder: Path | None = None) -> list[str]:
    found = _audited(dataset, scripts, page, folder)[1]
    return [f"{item.rule}: {item.line}:{item.column}: {item.message}" for item in found]


def _rules(dataset: Dataset, scripts: Path, page: str) -> list[str]:
    return [item.rule for item in _audited(dataset, scripts, page)[1]]


def _change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("case", CASES["mistake"], ids=lambda case: case["finding"][:40])
def test_one_mistake_is_reported_once(dataset, scripts, case):
    page = _edited((case["old"], case["new"]))
    assert _findings(dataset, scripts, page) == [case["finding"]]


MOVED = {
    PAGE.replace(LORA_ROW, LORA_ROW * 2): f"page-same-script: 50:9: the row links {LORA}, as the "
    "row of line 41 does",
    PAGE.replace(LORA_ROW, "") + LORA_ROW: "page-model-section: 61:9: Qwen2.5-7B-Instruct stands "
    "under the size 14B",
    PAGE.replace(FOURTEEN_ROW, ""): "page-script-without-row: 16:5: no row links the script "
    f"14b/{FOURTEEN}",
}


@pytest.mark.parametrize("page", MOVED, ids=MOVED.get)
def test_a_row_that_is_elsewhere_is_reported_once(dataset, scripts, page):
    assert _findings(dataset, scripts, page) == [MOVED[page]]


@pytest.mark.parametrize("sizes", ["1B - 40B", "1B - 7B", "1B, 7B"])
def test_a_section_of_several_sizes_has_no_size_of_its_own(dataset, scripts, sizes):
    page = PAGE.replace("\n7B\n~~", f"\n{sizes}\n~~~~~~~~")
    assert page != PAGE
    assert _findings(dataset, scripts, page) == []


def test_a_script_that_is_not_called_as_the_page_asks(dataset, scripts):
    (scripts / "14b" / FOURTEEN).rename(scripts / "14b" / UNDERSCORE)
    wrong = f"the script name `{UNDERSCORE}` has 7 instead of 6 parts between `_`"
    found = _findings(dataset, scripts, PAGE.replace(FOURTEEN, UNDERSCORE))
    assert found == [f"page-script-name: 67:9: {wrong}"]
    (finding,) = _audited(dataset, scripts, PAGE)[1]
    assert (finding.rule, finding.line) == ("page-missing-script", 67)
    assert finding.help == f"Did you mean `14b/{UNDERSCORE}`?"


def test_a_script_that_is_named_after_another_model_is_reported(dataset, scripts):
    other = SEVEN.replace("qwen2", "qwen1", 1)
    (scripts / "7b" / SEVEN).rename(scripts / "7b" / other)
    said = "the row says `qwen2-7b-instruct`, the name of its script `qwen1-7b-instruct`"
    found = _findings(dataset, scripts, PAGE.replace(SEVEN, other))
    assert found == [f"page-name-of-model: 26:9: {said}"]


def test_a_name_of_six_parts_is_of_the_form_only_with_a_known_backend_or_engine(dataset, scripts):
    other = "run_qwen2_5_vl_7b_fsdp.sh"
    (scripts / "7b" / SEVEN).rename(scripts / "7b" / other)
    assert _findings(dataset, scripts, PAGE.replace(SEVEN, other)) == []


def test_a_script_that_bash_cannot_read_is_one_mistake(dataset, scripts):
    with (scripts / "7b" / SEVEN).open("a", encoding="utf-8") as script:
        script.write("echo 'never closed\n")
    assert _rules(dataset, scripts, PAGE) == ["syntax"]


def test_scripts_that_nothing_leads_to_are_counted(scripts, capsys):
    page = scripts.parent / "page.rst"
    page.write_text(PAGE, encoding="utf-8")
    (scripts / "run_other.sh").write_text("echo $undefined\n", encoding="utf-8")
    assert main(["import-page", str(page), "--scripts", str(scripts), "--check"]) == 0
    assert "Not read, because no row leads to them: run_other.sh." in capsys.readouterr().err


def test_every_rule_of_a_page_has_a_case():
    rules = {rule.name for rule in all_rules().values() if rule.scope == "page"}
    found = [
        *(case["finding"] for case in CASES["mistake"]),
        *MOVED.values(),
        "page-script-name:",
        "page-name-of-model:",
    ]
    assert {finding.partition(":")[0] for finding in found} == rules


@pytest.mark.parametrize("case", CASES["right"], ids=lambda case: case["why"])
def test_what_is_right_is_not_reported(dataset, scripts, case):
    assert _findings(dataset, scripts, _edited((case["old"], case["new"]))) == []


@each(CASES["links"], "link rules")
def test_a_wrong_link_is_read_where_it_names_one_script(dataset, scripts, link, rules):
    page = _edited((LINK, link), ("2*H800", "4*H800"))
    assert sorted(_rules(dataset, scripts, page)) == rules


@each(CASES["models"], "model wrong")
def test_only_a_size_within_a_listed_family_does_not_exist(dataset, scripts, model, wrong):
    page = _edited(("- Qwen2-7B-Instruct", f"- {model}"))
    assert ("page-unknown-model" in _rules(dataset, scripts, page)) == wrong


def test_the_folder_may_be_the_root_or_a_flat_copy(dataset, scripts):
    assert _findings(dataset, scripts, PAGE, scripts.parent) == []
    flat = scripts.parent / "flat"
    flat.mkdir()
    for path in scripts.rglob("*.sh"):
        shutil.copy(path, flat)
    assert _findings(dataset, scripts, PAGE, flat) == []


def test_a_link_to_a_commit_may_lead_to_a_script_that_the_folder_lacks(dataset, scripts):
    """The folder then has scripts of other names, which no row has to link."""
    (scripts / "7b" / SEVEN).rename(scripts / "run_qwen2_5_vl_7b_fsdp.sh")
    page = _edited((f"{BASE}/7b/{SEVEN}", f"{BASE.replace('main', '0a' * 20)}/7b/{SEVEN}"))
    assert _findings(dataset, scripts, page) == []
    assert _rules(dataset, scripts, PAGE) == ["page-missing-script"]


def test_where_no_link_leads_to_a_script_all_are_read_and_their_names_say_no_model(
    dataset, scripts
):
    other = scripts / "7b" / "run_other.sh"
    (scripts / "7b" / SEVEN).rename(other)
    for path in [*scripts.rglob("*.sh")]:
        if path != other:
            path.unlink()
    _change(other, "\n", "\necho $undefined\n")
    page = PAGE.replace(BASE, BASE.replace("main", "0a" * 20)).replace("Qwen2-7B-", "Qwen2.5-7B-")
    assert _rules(dataset, scripts, page) == ["undefined-variable"]


SHORT = PAGE.replace("      - 2*H800\n", "")


@pytest.mark.parametrize("page", [SHORT, SHORT.replace(f"`{SEVEN} <", "`script <"), "No table.\n"])
def test_the_script_of_a_row_that_is_not_read_is_audited(dataset, scripts, page):
    _change(scripts / "7b" / SEVEN, "\n", "\necho $undefined\n")
    assert "undefined-variable" in _rules(dataset, scripts, page)


ORPHANED = ["page-script-without-row"]


@pytest.mark.parametrize(
    ("page", "rules"),
    [
        (PAGE.replace(FOURTEEN_ROW, ""), ORPHANED),
        (SHORT.replace(FOURTEEN_ROW, ""), []),
        (PAGE.replace(FOURTEEN_ROW, "    * - MIN\n      - GRPO\n"), []),
        (PAGE.replace(FOURTEEN_ROW, FOURTEEN_ROW.replace("      - 116\n", "")), []),
    ],
)
def test_a_script_that_a_row_may_mean_is_no_orphan(dataset, scripts, page, rules):
    found = _rules(dataset, scripts, page)
    assert [rule for rule in found if rule in ORPHANED] == rules


def test_the_size_of_the_section_may_stand_in_a_scripts_name(frozen, dataset, scripts):
    name = "qwen2.5-70b-instruct_grpo-lora_8_h100_fsdp_vllm.sh"
    (source,) = (frozen.root / "examples").rglob(name.replace("70b", "72b"))
    (scripts / "70b").mkdir()
    shutil.copy(source, scripts / "70b" / name)
    row = LORA_ROW.replace("2.5-7B", "2.5-72B").replace(LORA, name).replace("/7b/", "/70b/")
    row = row.replace("1*H100", "8*H100")
    assert _findings(dataset, scripts, f"{PAGE}\n70B\n~~~~\n\n{HEADER}{row}") == []


def test_rows_that_no_script_is_read_of_are_said(scripts, capsys):
    page = scripts.parent / "page.rst"
    page.write_text(PAGE.replace("/blob/main/", f"/blob/{'0' * 40}/"), encoding="utf-8")
    (scripts / "7b" / SEVEN).unlink()
    main(["import-page", str(page), "--scripts", str(scripts), "--check"])
    expected = "Not compared, because no script with one training is read of them: lines 32."
    assert expected in capsys.readouterr().err


def test_findings_are_the_output_in_other_formats(scripts, capsys):
    page = scripts.parent / "page.rst"
    page.write_text(_edited(("- 116", "- 100")), encoding="utf-8")
    command = ["import-page", str(page), "--scripts", str(scripts), "--format", "json"]
    assert main([*command, "--out", str(scripts.parent / "out")]) == 1
    assert [item["rule"] for item in json.loads(capsys.readouterr().out)] == ["max-batch-agrees"]
    assert (scripts.parent / "out" / "tuning.csv").read_text(encoding="utf-8").count("\n") == 4
    assert main([*command[:4], "--check", "--out", str(scripts.parent / "none")]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "max-batch-agrees" in output.err
    assert not (scripts.parent / "none").exists()
