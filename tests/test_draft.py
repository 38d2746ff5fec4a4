"""`draft`: a script that ran becomes a row, and nothing is ever overwritten."""

import csv
import io
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from botched_tree import plant_frozen
from cases import each, read_cases
from rl_resources.__main__ import status_of
from rl_resources.contribute.draft import Draft
from rl_resources.contribute.merge import Proposal, Sources, merge
from rl_resources.contribute.sources import read_form
from rl_resources.contribute.training_log import TrainingLog, read_log
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.facts.words import Fact
from rl_resources.package import Field, Package, read_package
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import Snapshot, Table, name_of, take_snapshot
from sample_tree import changed_files, files, with_tables
from shipped import DATASET
from website import ROOT, read_rows

SCRIPTS = sorted((ROOT / "examples" / "tuning").rglob("*.sh"))
SCHEMA = DATASET.package.resources["tuning"].schema

HEADER = "#!/usr/bin/env bash\nset -euo pipefail\n"
CASES = read_cases("draft")
STATED = set(CASES["stated"])
SOUND = read_cases("agreement")["sound"]["settings"]
SETTINGS = {
    **SOUND,
    "data.train_batch_size": "128",
    "trainer.n_gpus_per_node": "2",
    "actor_rollout_ref.rollout.gpu_memory_utilization": "0.5",
}
NAME = "qwen2.5-7b-instruct_grpo_2_a100-80g_fsdp_vllm.sh"
PLACE = f"examples/tuning/7b/{NAME}"
HANDLE = "some-body"
ON_A100 = ("--device", "A100 80 GB")
VERSION = shipped("verl").version
OURS = (*ON_A100, "--contributor", HANDLE)


class Drafted(NamedTuple):
    """What the command answers; without a row it printed none."""

    row: Mapping[str, str]
    status: int
    said: str

    @property
    def filled(self) -> dict[str, str]:
        return {name: cell for name, cell in self.row.items() if cell}


Run = Callable[..., Drafted]


def script(settings: Mapping[str, str] | None = None, header: str = HEADER) -> str:
    """The sound script with other settings; what is empty is left out."""
    chosen = SETTINGS | (settings or {})
    text = f"{header}python3 -m verl.trainer.main_ppo"
    for key, value in chosen.items():
        if value:
            text += f" \\\n    {key}={value}"
    return f'{text} \\\n    "$@"\n'


def step(number: int) -> str:
    return (
        f"(TaskRunner pid=1) step:{number} - perf/max_memory_allocated_gb:61.500 - "
        "timing_s/step:90.0 - perf/throughput:1450.000\n"
    )


RAN = "".join(map(step, range(1, 6)))
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB.\n"
)
FAILED = step(1) + OUT_OF_MEMORY


@pytest.fixture(scope="module")
def proposed(frozen: Package) -> Callable[..., Proposal]:
    """The record that is proposed for a script."""
    dataset = read_dataset(frozen)
    snapshot = take_snapshot(frozen)

    def made(
        text: str = "",
        *,
        log: str = "",
        device: str = "a100-80g",
        name: str = "run_it.sh",
    ) -> Proposal:
        source = ScriptText(name, text or script())
        run = TrainingLog()
        if log:
            run = read_log(log.splitlines(), "`Log`")
        stated = {"device": Fact(device)}
        return merge(Sources(source, run, stated=stated), dataset, snapshot)

    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The same dataset, to be written to."""
    folder = tmp_path / "dataset"
    folder.mkdir()
    return plant_frozen(folder)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "run_it.sh"
    path.write_text(script())
    return path


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command: its row, exit status and messages."""

    def draft(*arguments: object) -> Drafted:
        capsys.readouterr()
        words = [*map(str, arguments)]
        status = status_of(["draft", *words, "--root", str(root)])
        printed, said = capsys.readouterr()
        rows = csv.DictReader(io.StringIO(printed))
        return Drafted(next(rows, {}), status, said)

    return draft


def saved(tmp_path: Path, text: str, name: str = "run.log") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def table(root: Path, name: str) -> list[dict[str, str]]:
    return read_rows(root / "records" / f"{name}.csv")


@pytest.fixture(scope="module")
def bare() -> tuple[Dataset, Snapshot]:
    """The shipped dataset without records."""
    package = read_package(ROOT)
    dataset = read_dataset(package)
    snapshot = take_snapshot(package)
    tables = dict(snapshot.tables)
    for name in ("tuning", "trials"):
        tables[name] = Table(package.resources[name], b"")
    return (
        with_tables(dataset, tuning=(), trials=()),
        replace(snapshot, tables=tables),
    )


@pytest.mark.nightly
@pytest.mark.parametrize("path", SCRIPTS)
def test_every_shipped_script_states_its_row_also_under_another_name(path, bare):
    """In a dataset without the record, with device and task stated."""
    own = name_of(path.as_posix())
    (wanted,) = (row for row in table(ROOT, "tuning") if row["script"] == own)
    wanted["script"] = path.name
    text = path.read_text()
    stated = {
        "device": Fact(wanted["device"]),
        "task": Fact(wanted["task"]),
    }
    sources = Sources(ScriptText("run.sh", text), stated=stated)
    found = merge(sources, *bare).row
    assert found["status"] == "reported"
    assert found["statement"] == "stated-run"
    filled = {name for name in wanted if found[name]}
    names = STATED | filled
    names -= {"status", "statement"}
    # A reader alone knows of two pools of GPUs, and of an engine's share that it ignores.
    if wanted["infer"] == "vexact":
        names.discard("gpu_memory_utilization")
    if "fully_async" in text:
        names.discard("nodes")
    assert only(names, found) == only(names, wanted)


LONGER = {"data.max_response_length": "15360"}


def test_a_run_of_another_context_gets_a_folder_beside_the_one_of_its_name(
    run, mine, root
):
    """Also when it is drafted again from there; a run of the same context is the same record."""
    stated = (*OURS, "--set", "task=grpo", "--set", "model=qwen2.5-7b-instruct")
    assert run(mine, *stated, "--set", "tag=MIN", "--write").row["script"] == NAME
    mine.write_text(script(LONGER))
    beside = f"16k/{NAME}"
    found = run(mine, *stated, "--write")
    assert (found.status, found.row["script"]) == (0, beside)
    place = f"examples/tuning/7b/{beside}"
    assert CASES["copied"]["said"].format(place) in found.said
    again = run(root / place, *stated)
    assert again.row["script"] == beside
    assert again.row["max_response_length"] == "15360"
    mine.write_text(script())
    assert run(mine, *stated).row["script"] == NAME


def only(names: Iterable[str], row: Mapping[str, object]) -> dict[str, object]:
    """The cells of a row with these names."""
    return {name: row[name] for name in names}


def test_everything_that_a_script_states_becomes_the_row(run, mine, root, unchecked):
    before = files(root)
    found = run(
        mine, *ON_A100, "--set", "task=grpo", "--set", "model=qwen2.5-7b-instruct"
    )
    assert found.status == 0
    assert files(root) == before
    assert CASES["copied"]["said"].format(PLACE) in found.said
    assert found.filled == CASES["row"]
    titles = []
    for name, cell in found.row.items():
        if cell == "" and name != "notes":
            title = SCHEMA.field(name).title
            titles.append(f"{title} ({name})")
    assert f"draft: optional and left empty: {', '.join(titles)}\n" in found.said
    assert found.said.endswith("draft: Nothing was written yet: --write does it.\n")


def messages(proposal: Proposal) -> list[str]:
    return Draft(proposal, (), (), (), write=False).messages()


@each(
    CASES["cells"] | CASES["devices"] | CASES["logs"],
    "name settings header device log row why said",
)
def test_cells_follow_from_the_settings_the_device_and_the_log(
    proposed, *, name, settings, header, device, log, row, why, said
):
    text = (log or "").replace("STEPS", RAN).replace("FAILED", FAILED)
    given = {"name": name or "run_it.sh"}
    if device is not None:
        given["device"] = device
    draft = proposed(script(settings, header or HEADER), log=text, **given)
    assert only(row, draft.row) == row
    reasons = why or {}
    assert only(reasons, draft.unknown) == reasons
    assert {*(said or ())} <= {*messages(draft)}


@each(CASES["remarks"], "name before settings said")
def test_what_a_reader_should_know_of_a_script_is_said(
    proposed, name, before, settings, said
):
    text = (before or "") + script(settings, header="")
    found = proposed(text, name=name or "run_it.sh", device="h800")
    assert messages(found)[0] == said


def without_rows(text: str) -> str:
    """The text with ROW for each row to be filled in, which depends on the columns of a table."""
    return re.sub("`[^`, ]+,[^` ]*,(?!REASON`)[^` ]*`", "`ROW`", text)


def test_of_another_framework_only_what_the_script_sets_is_known(run, mine):
    mine.write_text(script({"retriever.topk": "3", "max_turns": "2"}))
    fork = run(mine, *ON_A100)
    assert (
        "unknown-key: no release of verl has `retriever.topk` and 1 more of its keys"
        in fork.said
    )
    named = run(mine, *ON_A100, "--framework", "rllm")
    assert "unknown-key" not in named.said
    assert "the defaults of rllm are not shipped" in named.said
    assert named.row["framework"] == "rllm"
    assert named.row["rollout_n"] == fork.row["rollout_n"]
    assert named.row["precision"] == ""


def test_a_script_of_another_framework_may_start_anything(run, tmp_path):
    mine = saved(tmp_path, "trl grpo\n", "mine.sh")
    assert run(mine, "--set", "framework=trl").row["framework"] == "trl"


def test_a_run_out_of_memory_is_no_record(run, mine, tmp_path, root):
    before = files(root)
    log = saved(tmp_path, FAILED)
    found = run(mine, *OURS, "--log", log, "--write")
    assert found.status == 1
    assert files(root) == before
    assert (
        "draft: cannot be written yet: the run of the log ended with `CUDA out of memory. Tried to "
        "allocate 2.90 GiB.`: add it to records/trials.csv\n"
    ) in found.said


def test_a_record_with_a_figure_of_a_log_is_of_a_measured_run(
    run, mine, tmp_path, root, unchecked
):
    run(mine, *OURS, "--write")
    assert run(root / PLACE, *ON_A100).row["statement"] == "stated-run"
    log = saved(tmp_path, RAN)
    found = run(root / PLACE, *ON_A100, "--log", log, "--write")
    assert found.row["step_seconds"] == "90"
    statements = {row["script"]: row["statement"] for row in table(root, "tuning")}
    assert statements[found.row["script"]] == "measured-run"


def test_a_log_of_another_release_fills_nothing(run, mine, tmp_path, root, unchecked):
    run(mine, *OURS, "--set", "infer_version=0.8.3", "--write")
    log = saved(
        tmp_path, f"Initializing a V1 LLM engine (v0.9.1) with config: x\n{RAN}"
    )
    found = run(root / PLACE, *ON_A100, "--log", log, "--write")
    assert found.row["step_seconds"] == ""
    assert found.row["infer_version"] == "0.8.3"
    lines = found.said.splitlines()
    assert (
        "draft: the log and the row name different releases: its figures are not used"
        in lines
    )
    assert "draft: infer_version is `0.8.3` there; the sources say `0.9.1`" in lines
    kept = "draft: records/tuning.csv has this configuration; none of its cells is overwritten"
    assert kept in lines


@pytest.fixture
def theirs(mine: Path) -> bytes:
    """The script with three mistakes that a copy has fixed."""
    text = script(header="# Mine\nset -euo pipefail\n")
    text = text.replace('"$@"', "$@")
    content = text.replace("\n", "\r\n").encode()
    mine.write_bytes(content)
    return content


def test_write_adds_the_row_and_a_fixed_copy_of_the_script(run, mine, root, theirs):
    before = files(root)
    found = run(mine, *ON_A100, "--contributor", f"@{HANDLE}", "--write")
    assert found.status == 0
    fixed = "line-ending, shebang, unquoted-arguments"
    assert f"certain fixes in the copy of the script: {fixed}\n" in found.said
    assert "draft: No findings: ready to commit.\n" in found.said
    assert changed_files(before, files(root)) == {"records/tuning.csv", PLACE}
    copy = root / PLACE
    assert copy.stat().st_mode & 0o111
    assert mine.read_bytes() == theirs


def test_what_was_written_once_is_not_written_again(run, mine, root, theirs):
    run(mine, *ON_A100, "--contributor", f"@{HANDLE}", "--write")
    trials = root / "records/trials.csv"
    content = trials.read_bytes()
    trials.write_bytes(content.replace(b"\n", b"\r\n"))  # nobody asked to fix that
    before = files(root)
    again = run(mine, *ON_A100, "--contributor", "somebody-else", "--write")
    assert again.status == 0
    assert "certain fixes" not in again.said
    assert (
        f"draft: contributor is `{HANDLE}` there; the sources say `somebody-else`"
        in again.said
    )
    assert again.said.endswith(
        "draft: Nothing to write: the dataset has all of this.\n"
    )
    assert files(root) == before


def test_a_refused_draft_reports_what_write_would_not_fix(run, mine):
    text = script()
    mine.write_text(text.replace('"$@"', "$@"))
    found = run(mine, *ON_A100, "--contributor", "HANDLE", "--write")
    reported = re.findall(r"(?:error|warning): ([a-z-]+):", found.said)
    assert reported == ["provenance"]


@each(CASES["refused"], "settings end arguments said")
def test_what_a_rule_objects_to_is_reported_and_not_written(
    run, mine, root, *, settings, end, arguments, said
):
    mine.write_text(script(settings) + (end or ""))
    before = files(root)
    found = run(mine, *arguments, "--write")
    assert found.status == 1
    lines = without_rows(found.said).splitlines()
    for line in said:
        whole = line.format(mine=mine)
        assert whole.replace("VERSION", VERSION) in lines
    assert lines[-1].startswith(
        "draft: Nothing was written: state or fix this, then draft again."
    )
    assert files(root) == before


ANSWERS = CASES["form"]["text"]
FORM = f"{ANSWERS}### Script\n\n```bash\n{script()}```\n\n"


@pytest.mark.parametrize("fences", ["`" * 60_000, "```bash\n" * 8_000])
def test_fences_without_an_end_are_read_at_once(fences):
    began = time.process_time()
    read_form(f"### Script\n\n{fences}\nset -x\n", DATASET)
    assert time.process_time() - began < 1


def test_an_issue_form_becomes_a_row(run, tmp_path):
    body = FORM + "### Exemption\n\nmin-saves-memry: Because.\n"
    issue = saved(tmp_path, body.replace("\n", "\r\n"), "issue.md")
    found = run("--issue", issue)
    assert found.status == 0
    assert found.row["script"] == NAME
    assert found.row["contributor"] == HANDLE
    assert found.row["gpus"] == "2"
    assert found.row["peak_memory_gb"] == ""
    assert "no record can be exempt from `min-saves-memry`" in found.said


def answer_of_form(field: Field, answer: str) -> str:
    return f"### {field.title}\n\n{answer}\n\n"


def test_every_column_can_be_answered_by_its_title():
    body = ""
    wanted = {}
    for field in SCHEMA.fields:
        body += answer_of_form(field, field.example)
        value = field.read(field.example)
        wanted[field.name] = field.write(value)
    wanted.pop("script")
    facts = read_form(body, DATASET).facts
    assert {name: fact.text for name, fact in facts.items()} == wanted


@each(CASES["answers"], "column answer cell remark")
def test_an_answer_may_be_written_as_usual_or_is_named(column, answer, cell, remark):
    body = answer_of_form(SCHEMA.field(column), answer)
    found = read_form(body, DATASET)
    assert found.facts[column].text == (cell or "")
    assert "".join(found.remarks) == (remark or "")


def test_hostile_answers_reach_no_terminal(root, tmp_path, answer, unchecked):
    body = FORM.replace("MIN", "\x1b[2J\x07MINx")
    body = body.replace("### Task", "### T\x1b]0;x\x07ask")
    issue = saved(tmp_path, body, "issue.md")
    log = saved(tmp_path, FAILED + "\x1b[31m\x07")
    printed, said = answer("draft", "--issue", issue, "--log", log, "--root", root)
    assert HANDLE in printed
    assert not set(printed + said) & set("\x1b\x07\x00")


def test_min_is_for_less_memory_than_any_run_known(run, mine):
    assert run(mine, *OURS, "--write").row["tag"] == "MIN"
    mine.write_text(script({"trainer.nnodes": "8"}))
    assert run(mine, *OURS).row["tag"] == ""
