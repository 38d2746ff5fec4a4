"""Another process answers what this one would, and nobody waits for it in vain."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rl_resources import InvalidDataset, InvalidOutput, UnreadableDataset, beside
from rl_resources.build import hold_to
from rl_resources.check import check_root
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


def test_another_process_finds_the_same_mistakes(broken: Path) -> None:
    with beside.beside(check_root, broken) as asked:
        assert asked.answer == check_root(broken)
    assert {item.path for item in asked.answer} == {"records/tuning.csv", SCRIPT}


def test_it_is_another_process_while_it_can_be_had() -> None:
    with beside.beside(os.getpid) as asked:
        assert asked.answer != os.getpid()


def test_where_there_can_be_no_process_it_is_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "COMMAND", ("/nowhere",))
    with beside.beside(os.getpid) as asked:
        assert asked.known
        assert asked.answer == os.getpid()


def test_it_has_its_arguments_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (beside.COMMAND, ("/nowhere",)):
        monkeypatch.setattr(beside, "COMMAND", command)
        words = ["one"]
        with beside.beside(" ".join, words) as asked:
            words.append("two")
            assert asked.answer == "one"


def test_a_process_that_is_killed_is_told_of() -> None:
    with beside.beside(os._exit, 3) as asked, pytest.raises(InvalidOutput, match="status 3"):
        _ = asked.answer


def test_what_it_raises_on_purpose_is_raised_here(tmp_path: Path, broken: Path) -> None:
    with (
        beside.beside(check_root, tmp_path) as asked,
        pytest.raises(UnreadableDataset, match="datapackage"),
    ):
        _ = asked.answer
    findings = check_root(broken)
    with beside.beside(hold_to, findings) as held, pytest.raises(InvalidDataset) as raised:
        _ = held.answer
    assert list(raised.value.findings) == findings


def test_what_it_raises_by_mistake_is_raised_here_with_its_place(tmp_path: Path) -> None:
    places = tmp_path / "nothing", tmp_path / "to"
    with beside.beside(shutil.copytree, *places) as asked, pytest.raises(OSError) as raised:
        _ = asked.answer
    assert "shutil.py" in "".join(raised.value.__notes__)


class PeculiarError(Exception):
    """One that nobody can make of its words alone, as a pickle is read."""

    def __init__(self, place: str, wrong: str) -> None:
        super().__init__(f"{place}: {wrong}")


def complain() -> None:
    raise PeculiarError("a.csv", "is wrong")


def test_what_cannot_be_sent_is_told_in_words() -> None:
    with (
        beside.beside(complain) as asked,
        pytest.raises(RuntimeError, match=r"PeculiarError: a\.csv: is wrong") as raised,
    ):
        _ = asked.answer
    assert "in complain" in "".join(raised.value.__notes__)


def test_what_it_prints_is_no_answer() -> None:
    with beside.beside(os.system, "echo hello; echo hello >&2") as asked:
        assert asked.answer == 0


def test_who_leaves_early_leaves_no_process() -> None:
    with beside.beside(time.sleep, 600) as asked:
        assert not asked.known
    assert asked.known


ASKING = """
import time
from rl_resources.beside import beside
with beside(time.sleep, 600) as asked:
    print(asked._process.pid, flush=True)
    time.sleep(600)
"""


def test_where_the_asker_is_killed_the_other_process_ends_too() -> None:
    with subprocess.Popen([sys.executable, "-c", ASKING], stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        other = Path(f"/proc/{int(asker.stdout.readline())}")
        assert other.exists()
        asker.kill()
    begin = time.monotonic()
    while other.exists() and time.monotonic() - begin < PATIENCE_SECONDS:
        time.sleep(0.1)
    assert not other.exists()
