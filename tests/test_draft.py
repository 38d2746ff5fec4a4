"""`draft`: a script that ran becomes a row, and nothing is ever overwritten."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from botched_tree import plant_frozen
from cases import each, read_cases
from rl_resources.cli import main
from rl_resources.contribute import draft as draft_module
from rl_resources.contribute.changes import Fixed
from rl_resources.contribute.facts import read_form
from rl_resources.contribute.merge import Proposal, Sources, merge
from rl_resources.contribute.training_log import TrainingLog, read_log
from rl_resources.dataset import Dataset, read_dataset
from rl_resources.facts.words import Fact
from rl_resources.package import Package, read_package
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import Snapshot, Table, take_snapshot
from sample_tree import files, with_tables
from website import read_rows

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "tuning").rglob("*.sh"))
DATASET = read_dataset(read_package(ROOT))
SCHEMA = DATASET.package.resources["tuning"].schema
STATED = {"script", "model", "task", "gpus", "device", "nodes", "train", "infer", "framework"}
STATED |= {"max_prompt_length", "max_response_length", "rollout_n"}

HEADER = "#!/usr/bin/env bash\nset -euo pipefail\n"
CASES = read_cases("draft")
SOUND = read_cases("agreement")["sound"]["settings"]
SETTINGS = SOUND | {"data.train_batch_size": "128", "trainer.n_gpus_per_node": "2"}
SETTINGS |= {"actor_rollout_ref.rollout.gpu_memory_utilization": "0.5"}
NAME = "qwen2.5-7b-instruct_grpo_2_a100-80g_fsdp_vllm.sh"
PLACE = f"examples/tuning/7b/{NAME}"
HANDLE = "some-body"
ON_A100 = ("--device", "A100 80 GB")
OURS = (*ON_A100, "--contributor", HANDLE)

Run = Callable[..., dict[str, Any]]


def script(settings: Mapping[str, str] | None = None, header: str = HEADER) -> str:
    chosen = SETTINGS | (settings or {})
    overrides = "".join(f" \\\n    {key}={value}" for key, value in chosen.items())
    return f'{header}python3 -m verl.trainer.main_ppo{overrides} \\\n    "$@"\n'


def step(number: int) -> str:
    return (
        f"(TaskRunner pid=1) step:{number} - perf/max_memory_allocated_gb:61.500 - "
        "timing_s/step:90.0 - perf/throughput:1450.000\n"
    )


RAN = "".join(step(number) for number in range(1, 6))
FAILED = step(1) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB.\n"


@pytest.fixture(scope="module")
def proposed(frozen: Package) -> Callable[..., Proposal]:
    """The record that is proposed for a script."""
    dataset, snapshot = read_dataset(frozen), take_snapshot(frozen)

    def made(text: str = "", *, log: str = "", device: str = "a100-80g") -> Proposal:
        source = ScriptText("run_it.sh", text or script())
        run = read_log(log.splitlines(), "`Log`") if log else TrainingLog()
        stated = {"device": Fact(device)}
        return merge(Sources(source, run, stated=stated), dataset, snapshot)

    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The same dataset, to be written to."""
    (tmp_path / "dataset").mkdir()
    return plant_frozen(tmp_path / "dataset")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "run_it.sh"
    path.write_text(script())
    return path


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command: its row, exit status and messages."""

    def draft(*arguments: object) -> dict[str, Any]:
        capsys.readouterr()
        status = main(["draft", *map(str, arguments), "--root", str(root)])
        output = capsys.readouterr()
        rows = [*csv.DictReader(io.StringIO(output.out)), {}]
        return {"row": rows[0], "exit": status, "said": output.err}

    return draft


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule reports or fixes anything, which would take most of the time."""
    monkeypatch.setattr(draft_module, "findings_about", lambda *_: [])
    monkeypatch.setattr(draft_module, "fix", lambda snapshot, *_: Fixed(snapshot, {}))


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
    snapshot, dataset = take_snapshot(package), read_dataset(package)
    names = ("tuning", "trials")
    empty = {name: Table(package.resources[name], b"") for name in names}
    return (
        with_tables(dataset, **dict.fromkeys(names, ())),
        replace(snapshot, tables={**snapshot.tables, **empty}),
    )


@pytest.mark.nightly
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_shipped_script_states_its_row_also_under_another_name(path, bare):
    """In a dataset without the record, with device and task stated."""
    wanted = next(row for row in table(ROOT, "tuning") if row["script"] == path.name)
    text = path.read_text(encoding="utf-8")
    stated = {name: Fact(wanted[name]) for name in ("device", "task")}
    found = merge(Sources(ScriptText("run.sh", text), stated=stated), *bare).row
    assert (found["status"], found["statement"]) == ("reported", "stated-run")
    # A reader alone knows of two pools of GPUs, and of an engine's share that it ignores.
    by_hand = {"gpu_memory_utilization"} if wanted["infer"] == "vexact" else set()
    by_hand |= {"nodes"} if "fully_async" in text else set()
    names = STATED | {name for name in wanted if found[name]}
    names -= by_hand | {"status", "statement"}
    assert {name: found[name] for name in names} == {name: wanted[name] for name in names}


def test_everything_that_a_script_states_becomes_the_row(run, mine, root, unchecked):
    before = files(root)
    found = run(mine, *ON_A100, "--set", "task=grpo", "--set", "model=qwen2.5-7b-instruct")
    assert (found["exit"], files(root)) == (0, before)
    assert f"the script belongs at {PLACE}: writing puts a copy there" in found["said"]
    assert {name: text for name, text in found["row"].items() if text} == CASES["row"]
    empty = [name for name, text in found["row"].items() if not text and name != "notes"]
    titles = (f"{SCHEMA.field(name).title} ({name})" for name in empty)
    assert f"left empty: {', '.join(titles)}\n" in found["said"]


@each(CASES["cells"], "settings row")
def test_cells_follow_from_the_settings(proposed, settings, row):
    found = proposed(script(settings)).row
    assert {name: found[name] for name in row} == row


def test_a_backend_that_the_script_leaves_out_or_that_is_none_is_not_known(proposed):
    name, strategy = "actor_rollout_ref.rollout.name", "actor_rollout_ref.actor.strategy"
    draft = proposed(script({strategy: "x"}).replace(f" \\\n    {name}=vllm", ""))
    assert draft.unknown["infer"] == f"`{name}` is not set, or only known when the script runs"
    assert draft.unknown["train"] == f"no backend of the dataset has `{strategy}=x`"


def test_on_an_ascend_device_vllm_is_its_edition(proposed):
    assert proposed(device="ascend-910c").row["infer"] == "vllm-ascend"
    assert proposed(device="h800").row["infer"] == "vllm"


@each(CASES["logs"], "settings log row said")
def test_a_log_gives_figures_and_releases(proposed, settings, log, row, said):
    draft = proposed(script(settings), log=log.replace("STEPS", RAN).replace("FAILED", FAILED))
    assert {name: draft.row[name] for name in row} == row
    assert said in "\n".join(draft.remarks)


@each(CASES["unusable"], "arguments problem")
def test_what_cannot_be_read_is_wrong_usage(run, mine, tmp_path, arguments, problem):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large").write_bytes(b"x" * (1 << 21))
    paths = {"mine": mine, "binary": tmp_path / "binary", "large": tmp_path / "large"}
    found = run(*(argument.format(**paths) for argument in arguments))
    assert (found["exit"], problem in str(found["said"])) == (2, True)


def test_a_run_out_of_memory_is_no_record(run, mine, tmp_path, root):
    before = files(root)
    found = run(mine, *OURS, "--log", saved(tmp_path, FAILED), "--write")
    assert (found["exit"], files(root)) == (1, before)
    assert "the run of the log ended with `CUDA out of memory. " in found["said"]


def test_a_log_of_another_release_fills_nothing(run, mine, tmp_path, root, unchecked):
    run(mine, *OURS, "--set", "infer_version=0.8.3", "--write")
    text = f"Initializing a V1 LLM engine (v0.9.1) with config: x\n{RAN}"
    found = run(root / PLACE, *ON_A100, "--log", saved(tmp_path, text), "--write")
    assert (found["row"]["step_seconds"], found["row"]["infer_version"]) == ("", "0.8.3")
    assert "infer_version is `0.8.3` there; what was read now says `0.9.1`" in found["said"]
    assert "of another release than the row" in found["said"]


def test_write_adds_the_row_and_a_fixed_copy_of_the_script(run, mine, root):
    theirs = (
        script(header="# Mine\nset -euo pipefail\n").replace('"$@"', "$@").replace("\n", "\r\n")
    )
    mine.write_bytes(theirs.encode())
    before = files(root)
    found = run(mine, *ON_A100, "--contributor", f"@{HANDLE}", "--write")
    assert found["exit"] == 0
    fixed = "line-ending, shebang, unquoted-arguments"
    assert f"certain fixes in the copy of the script: {fixed}\n" in found["said"]
    assert "ready to commit" in found["said"]
    after = files(root)
    assert {path for path in after if after[path] != before.get(path)} == {
        "records/tuning.csv",
        PLACE,
    }
    assert (root / PLACE).stat().st_mode & 0o111
    assert mine.read_bytes() == theirs.encode()
    trials = root / "records" / "trials.csv"
    trials.write_bytes(trials.read_bytes().replace(b"\n", b"\r\n"))  # nobody asked to fix that
    after = files(root)
    again = run(mine, *ON_A100, "--contributor", "somebody-else", "--write")
    assert (again["exit"], "certain fixes" in again["said"]) == (0, False)
    assert f"contributor is `{HANDLE}` there" in again["said"]
    assert files(root) == after


def test_a_refused_draft_reports_what_write_would_not_fix(run, mine):
    mine.write_text(script().replace('"$@"', "$@"))
    found = run(mine, *ON_A100, "--contributor", "HANDLE", "--write")
    assert re.findall(r"(?:error|warning): ([a-z-]+):", found["said"]) == ["provenance"]


@each(CASES["refused"], "text settings end arguments said")
def test_what_a_rule_objects_to_is_reported_and_not_written(
    run, mine, root, text, settings, end, arguments, said
):
    mine.write_text(text or script(settings) + (end or ""))
    before = files(root)
    found = run(mine, *arguments, "--write")
    assert found["exit"] == 1
    assert said.format(mine=mine) in found["said"]
    assert "Nothing was written: " in found["said"]
    assert files(root) == before


FORM = CASES["form"]["text"] + f"### Script\n\n```bash\n{script()}```\n\n"


def test_an_issue_form_becomes_a_row(run, tmp_path):
    body = FORM + "### Exemption\n\nmin-saves-memry: Because.\n"
    found = run("--issue", saved(tmp_path, body.replace("\n", "\r\n"), "issue.md"))
    row = found["row"]
    assert found["exit"] == 0
    assert (row["script"], row["contributor"], row["gpus"]) == (NAME, HANDLE, "2")
    assert row["peak_memory_gb"] == ""
    assert "no record can be exempt from `min-saves-memry`" in found["said"]


def test_an_answer_that_does_not_fit_its_column_is_reported():
    found = read_form(FORM.replace("\n2\n", "\ntwo\n"), DATASET)
    assert found.facts["gpus"].text == ""
    assert "`GPUs`: `two` is not one such as" in found.remarks[0]


def test_every_column_can_be_answered_by_its_title():
    body = "".join(f"### {field.title}\n\n{field.example}\n\n" for field in SCHEMA.fields)
    facts = read_form(body, DATASET).facts
    wanted = {field.name: field.write(field.read(field.example)) for field in SCHEMA.fields}
    wanted.pop("script")
    assert {name: fact.text for name, fact in facts.items()} == wanted


@pytest.mark.parametrize(
    ("title", "answer", "cell"),
    [
        ("contributor", "@vermouth1372", "vermouth1372"),
        ("infer_version", "vLLM 0.8.3", "0.8.3"),
        ("infer_version", "sglang==0.4.6", "0.4.6"),
        ("framework_version", "v0.9.1", "0.9.1"),
    ],
)
def test_a_handle_and_a_release_may_be_written_as_usual(title, answer, cell):
    assert read_form(f"### {SCHEMA.field(title).title}\n\n{answer}\n", DATASET).facts == {
        title: Fact(cell)
    }


@pytest.mark.parametrize(
    ("title", "answer"), [("contributor", "John 2nd"), ("infer_version", "torch 2.6.0")]
)
def test_nobody_else_and_no_other_program_is_taken(title, answer):
    fact = read_form(f"### {SCHEMA.field(title).title}\n\n{answer}\n", DATASET).facts[title]
    assert not fact.text and f"`{answer}` is not one such as" in fact.doubt


def test_hostile_answers_reach_no_terminal(root, tmp_path, capsys, unchecked):
    body = FORM.replace("MIN", "\x1b[2J\x07MIN\x00x").replace("### Task", "### T\x1b]0;x\x07ask")
    issue, log = saved(tmp_path, body.replace("\x00", ""), "issue.md"), FAILED + "\x1b[31m\x07"
    arguments = ["--issue", str(issue), "--log", str(saved(tmp_path, log))]
    assert main(["draft", *arguments, "--root", str(root)]) == 0
    output = capsys.readouterr()
    assert HANDLE in output.out
    assert not set(output.out + output.err) & set("\x1b\x07\x00")
