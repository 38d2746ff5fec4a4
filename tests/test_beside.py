"""Another process answers what this one would, and nobody waits for it in vain."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rl_resources import InvalidDataset, InvalidOutput, UnreadableDataset, beside
from rl_resources.beside import Worker
from rl_resources.check import check_root
from rl_resources.finding import Finding
from rl_resources.meanwhile import Meanwhile, hold_to
from sample_tree import plant
from website import PATIENCE_SECONDS

SCRIPT = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A dataset with an error in a table, one in a script, and words that are not ASCII."""
    root = plant(tmp_path / "dataset")
    for path, old, new in (
        ("records/tuning.csv", ",h800,", ",h€00,"),
        (SCRIPT, "trainer.n_gpus_per_node=", "trainer.n_gpus_per_nodes="),
    ):
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with beside.beside(tmp_path) as worker:
        yield worker


def test_another_process_finds_the_same_mistakes(broken: Path, worker: Worker) -> None:
    answer = worker.ask(check_root, broken).answer
    assert answer == check_root(broken)
    assert {item.path for item in answer} == {"records/tuning.csv", SCRIPT}


def test_it_is_one_other_process_for_all_calls(worker: Worker) -> None:
    first, second = worker.ask(os.getpid), worker.ask(os.getpid)
    assert second.answer == first.answer != os.getpid()


def test_each_call_has_its_own_answer_whoever_is_asked_for_first(worker: Worker) -> None:
    asked = [worker.ask(abs, -number) for number in range(5)]
    assert [item.answer for item in reversed(asked)] == [4, 3, 2, 1, 0]
    assert all(item.known for item in asked)
    assert asked[0].answer == 0


def test_a_call_that_fails_is_not_the_last_one(worker: Worker) -> None:
    failed, asked = worker.ask(int, "x"), worker.ask(int, "1")
    assert asked.answer == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="'x'"):
            _ = failed.answer


def test_where_there_can_be_no_process_it_is_called_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "COMMAND", ("/nowhere",))
    with beside.beside(tmp_path) as worker:
        asked = worker.ask(os.getpid)
        assert asked.known
        assert asked.answer == os.getpid()


def test_an_answer_that_cannot_be_written_is_told_of_whoever_is_asked_for_first(
    worker: Worker,
) -> None:
    told = worker.ask(abs, -1)
    (worker.folder / "1.telling").mkdir()
    untold, never = worker.ask(abs, -2), worker.ask(abs, -3)
    for asked in (never, untold):
        with pytest.raises(OSError, match="Is a directory"):
            _ = asked.answer
    assert told.answer == 1


def test_it_has_its_arguments_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (beside.COMMAND, ("/nowhere",)):
        monkeypatch.setattr(beside, "COMMAND", command)
        words = ["one"]
        with beside.beside(tmp_path) as worker:
            asked = worker.ask(" ".join, words)
            words.append("two")
            assert asked.answer == "one"


def test_a_process_that_is_killed_is_told_of(worker: Worker) -> None:
    killed, never = worker.ask(os._exit, 3), worker.ask(abs, -1)
    for asked in (killed, never):
        with pytest.raises(InvalidOutput, match="status 3"):
            _ = asked.answer
    with pytest.raises(InvalidOutput, match="status 3"):
        _ = worker.ask(abs, -1).answer


def test_what_it_raises_on_purpose_is_raised_here(
    tmp_path: Path, broken: Path, worker: Worker
) -> None:
    with pytest.raises(UnreadableDataset, match="datapackage"):
        _ = worker.ask(check_root, tmp_path).answer
    findings = check_root(broken)
    with pytest.raises(InvalidDataset) as raised:
        _ = worker.ask(hold_to, findings).answer
    assert list(raised.value.findings) == findings


def test_what_it_raises_by_mistake_is_raised_here_with_its_place(
    tmp_path: Path, worker: Worker
) -> None:
    asked = worker.ask(shutil.copytree, tmp_path / "nothing", tmp_path / "to")
    with pytest.raises(OSError, match="nothing") as raised:
        _ = asked.answer
    assert "shutil.py" in "".join(raised.value.__notes__)


class PeculiarError(Exception):
    """One that nobody can make of its words alone, as a pickle is read."""

    def __init__(self, place: str, wrong: str) -> None:
        super().__init__(f"{place}: {wrong}")


def complain() -> None:
    raise PeculiarError("a.csv", "is wrong")


def test_what_cannot_be_sent_is_told_in_words(worker: Worker) -> None:
    with pytest.raises(RuntimeError, match=r"PeculiarError: a\.csv: is wrong") as raised:
        _ = worker.ask(complain).answer
    assert "in complain" in "".join(raised.value.__notes__)


def test_what_it_prints_is_no_answer(worker: Worker) -> None:
    assert worker.ask(os.system, "echo hello; echo hello >&2").answer == 0


def test_who_leaves_early_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    with beside.beside(tmp_path) as worker:
        asked = worker.ask(time.sleep, 600)
        assert not asked.known
        assert isinstance(worker, beside.Process)
        assert worker.folder.exists()
    assert asked.known
    assert not worker.folder.exists()


ASKING = """
import sys, time
from pathlib import Path
from rl_resources.beside import beside
with beside(Path(sys.argv[1])) as worker:
    worker.ask(time.sleep, {seconds})
    print(worker.process.pid, worker.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("seconds", [600, 0], ids=["while it works", "while it waits"])
def test_where_the_asker_is_killed_the_other_process_ends_too(seconds: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASKING.format(seconds=seconds), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout is not None
        number, folder = asker.stdout.readline().split()
        left = [Path(f"/proc/{number}"), Path(folder)]
        assert all(path.exists() for path in left)
        asker.kill()
    begin = time.monotonic()
    while any(path.exists() for path in left) and time.monotonic() - begin < PATIENCE_SECONDS:
        time.sleep(0.1)
    assert not any(path.exists() for path in left)


class Answered(Worker):
    """One that finds no error, and writes nothing."""

    def ask(self, *_: object) -> beside.Asked[list[Finding]]:  # type: ignore[override]
        """The answer is there at once."""
        return super().ask(list)


def test_nobody_waits_for_the_page_of_a_record_that_came_during_the_build(tmp_path: Path) -> None:
    meanwhile = Meanwhile(tmp_path, Answered(tmp_path))
    with pytest.raises(InvalidOutput, match="was not there when the build began"):
        meanwhile.wait_for("records/new.md")


def test_what_goes_wrong_by_mistake_meanwhile_is_told_with_its_place(tmp_path: Path) -> None:
    asked = Meanwhile(tmp_path, Worker(tmp_path)).ask(complain)
    with pytest.raises(InvalidOutput, match=r"test_beside\.py:\d+: PeculiarError: a\.csv"):
        _ = asked.answer
