"""`import-page` as an audit: every rule of a page reported once at its line, and no false alarm.

The page and its mistakes are of our own making; the scripts are those of the dataset.
"""

import json
import re
import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest

from cases import each, read_cases
from rl_resources.__main__ import status_of
from rl_resources.check import FAMILIES
from rl_resources.check.page_audit import audit
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.errors import Finding
from rl_resources.package import Package
from rl_resources.page.reader import read_page
from rl_resources.page.records import read_rows
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import FRAMEWORK, ScriptText

SEVEN = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
IN_7B = f"7b/{SEVEN}"
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
FOURTEEN = "qwen2.5-14b-instruct_grpo-lora_2_h100_fsdp_vllm.sh"
UNDERSCORE = FOURTEEN.replace("qwen2.5-14b", "qwen2.5_14b")
BASE = "https://example.org/blob/main/examples/tuning"
AT_COMMIT = BASE.replace("main", "0a" * 20)
LINK = f"`{SEVEN} <{BASE}/7b/{SEVEN}>`_"
FOLDER = Path(__file__).parent / "audit"
PAGE = (FOLDER / "page.rst").read_text()
CASES = read_cases("audit/cases")
AT_HEADER = PAGE.index(".. list-table")
AT_ROWS = PAGE.index("    * - MIN")
HEADER = PAGE[AT_HEADER:AT_ROWS]
AT_LORA = PAGE.index("    * - MIN\n      - Qwen2.5-7B")
AT_FOURTEEN = PAGE.index("    * - MIN\n      - Qwen2.5-14B")
LORA_ROW = PAGE[AT_LORA : PAGE.index("\n14B\n")]
FOURTEEN_ROW = PAGE[AT_FOURTEEN:]


@pytest.fixture(scope="module")
def dataset(frozen: Package) -> Dataset:
    return read_dataset(frozen)


@pytest.fixture
def scripts(tmp_path: Path, frozen: Package) -> Path:
    folder = tmp_path / "tuning"
    examples = frozen.root / "examples"
    for name in (SEVEN, LORA, FOURTEEN):
        (source,) = examples.rglob(name)
        of_size = folder / source.parent.name
        of_size.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, of_size)
    return folder


def rename(folder: Path, old: str, new: str) -> None:
    """Give a script another name in its directory."""
    script = folder / old
    script.rename(folder / new)


def import_command(scripts: Path, text: str) -> list[str]:
    """The command that imports a page of this text."""
    page = scripts.parent / "page.rst"
    page.write_text(text)
    return ["import-page", str(page), "--scripts", str(scripts)]


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


def _audited(dataset: Dataset, folder: Path, page: str) -> list[Finding]:
    texts = {}
    for path in sorted(folder.rglob("*.sh")):
        name = path.relative_to(folder).as_posix()
        texts[name] = path.read_text()
    parsed = read_page(page, "page.rst")
    reading = read_rows(parsed, dataset, list(texts))
    known = {}
    for path in reading.subjects():
        known[path] = _script(path, texts[path])
    return audit(reading, known)


def _in_words(finding: Finding) -> str:
    place = f"{finding.line}:{finding.column}"
    fix = re.sub(r"`[\w-]+,[A-Z_,]+`", "`ROW`", finding.help)
    return f"{finding.rule}: {place}: {finding.message}\n{fix}"


@pytest.fixture
def audited(dataset: Dataset, scripts: Path) -> Callable[..., list[Finding]]:
    """The audit of a page of this text, with these or other scripts."""

    def audit_of(page: str, folder: Path = scripts) -> list[Finding]:
        return _audited(dataset, folder, page)

    return audit_of


@pytest.fixture
def findings(audited: Callable[..., list[Finding]]) -> Callable[..., list[str]]:
    """What the audit of a page of this text says."""
    return lambda *page: list(map(_in_words, audited(*page)))


@pytest.fixture
def reported(audited: Callable[..., list[Finding]]) -> Callable[[str], list[str]]:
    """The rules that the audit of a page of this text reports."""
    return lambda page: [item.rule for item in audited(page)]


def _change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    changed = text.replace(old, new, 1)
    path.write_text(changed)


@each(CASES["mistake"], "old new finding fix")
def test_one_mistake_is_reported_once(findings, old, new, finding, fix):
    (found,) = findings(_edited((old, new)))
    assert found == f"{finding}\n{fix}"


@each(CASES["renamed"], "old new found")
def test_the_name_of_a_script_is_of_the_form_that_the_page_asks_for_and_of_its_model(
    findings, scripts, old, new, found
):
    rename(scripts, old, new)
    name = Path(new).name
    assert findings(PAGE.replace(Path(old).name, name)) == found


def test_a_link_to_a_script_of_another_name_says_which_is_meant(audited, scripts):
    rename(scripts / "14b", FOURTEEN, UNDERSCORE)
    (finding,) = audited(PAGE)
    assert finding.rule == "page-missing-script"
    assert finding.line == 67
    assert finding.help == f"Did you mean `14b/{UNDERSCORE}`?"


def test_a_script_that_bash_cannot_read_is_one_mistake(reported, scripts):
    path = scripts / IN_7B
    with path.open("a", encoding="utf-8") as script:
        script.write("echo 'never closed\n")
    assert reported(PAGE) == ["syntax"]


def test_scripts_that_nothing_leads_to_are_counted(scripts, answer):
    command = import_command(scripts, PAGE)
    other = scripts / "run_other.sh"
    other.write_text("echo $undefined\n")
    said = answer(*command, "--check").err
    assert "Not read, because no row leads to them: run_other.sh." in said


def test_every_rule_of_a_page_has_a_case():
    rules = {rule.name for rule in FAMILIES["page"].rules}
    found = {"page-encoding"}
    findings = [case["finding"] for case in CASES["mistake"].values()]
    for case in CASES["renamed"].values():
        findings += case["found"]
    for finding in findings:
        rule, _, _ = finding.partition(":")
        found.add(rule)
    assert found == rules


@each(CASES["right"], "old new")
def test_what_is_right_is_not_reported(findings, old, new):
    assert findings(_edited((old, new))) == []


@each(CASES["links"], "link rules")
def test_a_wrong_link_is_read_where_it_names_one_script(reported, link, rules):
    page = _edited((LINK, link), ("2*H800", "4*H800"))
    found = reported(page)
    assert sorted(found) == rules


@each(CASES["models"], "model wrong")
def test_only_a_size_within_a_listed_family_does_not_exist(reported, model, wrong):
    page = _edited(("- Qwen2-7B-Instruct", f"- {model}"))
    found = reported(page)
    assert ("page-unknown-model" in found) == wrong


def test_the_folder_may_be_the_root_or_a_flat_copy(findings, scripts):
    assert findings(PAGE, scripts.parent) == []
    flat = scripts.parent / "flat"
    flat.mkdir()
    for path in scripts.rglob("*.sh"):
        shutil.copy(path, flat)
    assert findings(PAGE, flat) == []


def test_a_link_to_a_commit_may_lead_to_a_script_that_the_folder_lacks(
    findings, reported, scripts
):
    """The folder then has scripts of other names, which no row has to link."""
    rename(scripts, IN_7B, "run_qwen2_5_vl_7b_fsdp.sh")
    link = f"{BASE}/7b/{SEVEN}"
    to_commit = f"{AT_COMMIT}/7b/{SEVEN}"
    page = _edited((link, to_commit))
    assert findings(page) == []
    assert reported(PAGE) == ["page-missing-script"]


def test_where_no_link_leads_to_a_script_all_are_read_and_their_names_say_no_model(
    reported, scripts
):
    rename(scripts / "7b", SEVEN, "run_other.sh")
    for name in (LORA, FOURTEEN):
        (script,) = scripts.rglob(name)
        script.unlink()
    _change(scripts / "7b/run_other.sh", "\n", "\necho $undefined\n")
    page = PAGE.replace(BASE, AT_COMMIT).replace("Qwen2-7B-", "Qwen2.5-7B-")
    assert reported(page) == ["undefined-variable"]


SHORT = PAGE.replace("      - 2*H800\n", "")
WITHOUT_LABEL = SHORT.replace(f"`{SEVEN} <", "`script <")


@pytest.mark.parametrize("page", [SHORT, WITHOUT_LABEL, "No table.\n"])
def test_the_script_of_a_row_that_is_not_read_is_audited(reported, scripts, page):
    _change(scripts / IN_7B, "\n", "\necho $undefined\n")
    assert "undefined-variable" in reported(page)


def test_the_size_of_the_section_may_stand_in_a_scripts_name(findings, frozen, scripts):
    name = "qwen2.5-70b-instruct_grpo-lora_8_h100_fsdp_vllm.sh"
    examples = frozen.root / "examples"
    (source,) = examples.rglob(name.replace("70b", "72b"))
    folder = scripts / "70b"
    folder.mkdir()
    shutil.copy(source, folder / name)
    row = LORA_ROW.replace("2.5-7B", "2.5-72B").replace("1*H100", "8*H100")
    row = row.replace(LORA, name).replace("/7b/", "/70b/")
    page = f"{PAGE}\n70B\n~~~~\n\n{HEADER}{row}"
    assert findings(page) == []


def test_rows_that_no_script_is_read_of_are_said(scripts, answer):
    commit = "0" * 40
    page = PAGE.replace("/blob/main/", f"/blob/{commit}/")
    command = import_command(scripts, page)
    script = scripts / IN_7B
    script.unlink()
    said = answer(*command, "--check").err
    note = (
        "Not compared, because no script with one training is read of them: lines 32."
    )
    assert note in said


@pytest.fixture
def command(scripts: Path) -> list[str]:
    """The command that imports a page with one mistake."""
    page = _edited(("- 116", "- 100"))
    return import_command(scripts, page)


def test_findings_are_the_output_in_other_formats(command, tmp_path, answer):
    out = tmp_path / "out"
    printed = answer(*command, "--format", "json", "--out", out, status=1)
    (finding,) = json.loads(printed.out)
    assert finding["rule"] == "max-batch-agrees"
    table = (out / "tuning.csv").read_text()
    assert table.count("\n") == 4


def test_check_writes_no_table(command, tmp_path, answer):
    out = tmp_path / "out"
    output = answer(*command, "--check", "--out", out, status=1)
    assert output.out == ""
    assert "max-batch-agrees" in output.err
    assert not out.exists()


def _checkout(
    scripts: Path, version: str, gone: str = "", added: str = "", default: object = None
) -> None:
    """Make the folder above the scripts a checkout of the framework of this version.

    Its configuration is that of the newest release but for a key that is gone or added. Beside it
    is one of its own, with one more section.
    """
    config = deepcopy(shipped(FRAMEWORK).choices["dp"].config or {})
    for key in filter(None, (gone, added)):
        *above, last = key.split(".")
        section = config
        for name in above:
            section = section[name]
        section[last] = default
        if key == gone:
            del section[last]
    trainer = scripts.parent / "verl/trainer"
    of_version = scripts.parent / "verl/version/version"
    for folder in (trainer / "config", of_version.parent):
        folder.mkdir(parents=True)
    (scripts.parent / "verl/__init__.py").touch()
    start = '@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)\n'
    (trainer / "main_ppo.py").write_text(start)
    of_version.write_text(f"{version}\n")
    own = {**config, "tools": {"turns": 1, "names": []}}
    for name, values in {"ppo_trainer": config, "tools_trainer": own}.items():
        text = json.dumps(values)
        (trainer / f"config/{name}.yaml").write_text(text)


def _audit_of(
    scripts: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> list[str]:
    """What the audit of the page finds, and the first line of its notes."""
    command = import_command(scripts, PAGE)
    status_of([*command, "--format", "json", *options])
    output = capsys.readouterr()
    found = json.loads(output.out)
    first, *_ = output.err.splitlines()
    words = ["{severity} {rule}: {message} {help}".format(**item) for item in found]
    return [first, *words]


@each(CASES["checkout"], "version gone added default setting found")
def test_scripts_are_judged_by_the_framework_of_their_own_checkout(
    scripts, capsys, *, version, gone, added, default, setting, found
):
    _checkout(scripts, version, gone, added, default)
    _change(scripts / IN_7B, "trainer.total_epochs", setting)
    said = f"Judged by the verl {version} of this checkout."
    assert _audit_of(scripts, capsys) == [said, *found]


@pytest.mark.parametrize("folder", ["src", "verl", "train/verl"])
def test_the_package_of_a_repository_may_lie_deeper(scripts, capsys, folder):
    _checkout(scripts, "0.4.0")
    above = scripts.parent
    (above / "verl").rename(above / "moved")
    (above / folder).mkdir(parents=True)
    (above / "moved").rename(above / folder / "verl")
    newest = shipped(FRAMEWORK).version
    assert _audit_of(scripts, capsys) == [
        f"Judged by verl {newest}: no checkout of verl holds the scripts."
    ]
    (above / ".git").mkdir()
    assert _audit_of(scripts, capsys) == ["Judged by the verl 0.4.0 of this checkout."]


def test_of_a_checkout_that_starts_by_its_own_means_no_key_is_judged(scripts, capsys):
    _checkout(scripts, "0.4.0")
    (scripts.parent / "verl/trainer/main_ppo.py").write_text("import yaml\n")
    _change(
        scripts / IN_7B, "trainer.total_epochs", "worker.turns=2 trainer.total_epochs"
    )
    assert _audit_of(scripts, capsys) == ["Judged by the verl 0.4.0 of this checkout."]


def test_the_settings_of_a_fork_are_not_judged(scripts, capsys):
    script = scripts / IN_7B
    own = "max_turns=4 retriever.topk=3 retriever.url=x trainer.total_epochs"
    _change(script, "trainer.total_epochs", own)
    status_of(import_command(scripts, PAGE))
    notes = capsys.readouterr().err.splitlines()
    path = script.as_posix()
    assert (
        f"Not judged by the settings of verl, because they are of a fork: {path} (Search-R1)."
    ) in notes
    assert _audit_of(scripts, capsys)[1:] == []


def test_without_a_checkout_scripts_are_judged_by_the_newest_release(scripts, capsys):
    newest = shipped(FRAMEWORK).version
    said, *found = _audit_of(scripts, capsys)
    assert said == f"Judged by verl {newest}: no checkout of verl holds the scripts."
    assert found == []


@each(CASES["script"], "old new options found")
def test_a_change_of_a_script_is_reported_or_is_a_matter_of_style(
    scripts, capsys, old, new, options, found
):
    _change(scripts / IN_7B, old, new)
    assert _audit_of(scripts, capsys, *options)[1:] == found


def test_a_script_that_no_row_leads_to_is_asked_what_the_framework_refuses(
    scripts, capsys
):
    """The sizes of the model come from the path that the script itself names."""
    rename(scripts, IN_7B, f"7b/{SEVEN.replace('_2_', '_4_')}")
    script = scripts / "7b" / SEVEN.replace("_2_", "_4_")
    for name in ("GPUS_PER_NODE", "ROLLOUT_TENSOR_PARALLEL_SIZE"):
        _change(script, f"{name}:-2", f"{name}:-3")
    found = "\n".join(_audit_of(scripts, capsys)[1:])
    assert "the model's 28 attention heads cannot be divided by it" in found


def test_two_configurations_of_one_name_are_two_records(scripts, answer):
    beside = scripts / "7b/4k"
    beside.mkdir()
    shutil.copy(scripts / IN_7B, beside)
    at_row = PAGE.index("    * - MIN\n      - Qwen2-7B")
    row = PAGE[at_row:AT_LORA]
    other = row.replace(f"/7b/{SEVEN}", f"/7b/4k/{SEVEN}")
    page = PAGE.replace(row, row + other)
    records = answer(*import_command(scripts, page)).out.splitlines()
    names = [record.partition(",")[0] for record in records]
    assert names == ["script", SEVEN, f"4k/{SEVEN}", LORA, FOURTEEN]
