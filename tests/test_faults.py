"""Killed processes, full disks, folders that nobody may write to: the old files or the new ones."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from fuse import Killed, full_disk, fuse, killed
from rl_resources.check.snapshot import take_snapshot
from rl_resources.cli import main
from rl_resources.contribute.proposal import Change, Proposal, add_rows
from rl_resources.contribute.writing import _state, settle, write_proposal
from rl_resources.errors import UnusableInput
from rl_resources.output import new_folder, write_file
from rl_resources.package import UNFINISHED, read_package
from sample_tree import plant

DEVICE = {"device": "h900", "name": "H900", "vendor": "NVIDIA", "memory_gb": "80"}
SCRIPT = "examples/tuning/7b/qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.sh"
GONE = "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"

Files = dict[str, tuple[int, bytes]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path / "dataset")


def files(root: Path) -> Files:
    """Every file with its mode; folders count, too."""
    return {
        str(path.relative_to(root)): (
            path.stat().st_mode,
            b"" if path.is_dir() else path.read_bytes(),
        )
        for path in root.rglob("*")
    }


def proposal(root: Path) -> Proposal:
    """A new file in new folders, a file that changes, one that goes, one that may be run."""
    (row,) = add_rows(take_snapshot(read_package(root)), {"devices": [DEVICE]})
    new = Change("examples/tuning/new/deep/new.sh", None, b"#!/bin/sh\n", executable=True)
    gone = Change(GONE, (root / GONE).read_bytes(), None)
    text = (root / "records/sizes.csv").read_bytes()
    return Proposal((new, row, gone, Change("records/sizes.csv", text, text, executable=True)))


def moments() -> Iterator[int]:
    return itertools.count(1)


def test_a_proposal_killed_at_any_moment_is_undone_by_the_next_command_or_done(root: Path) -> None:
    before, wanted = files(root), proposal(root)
    for at in moments():
        try:
            with fuse(killed(at)):
                write_proposal(root, wanted)
        except Killed:
            settle(root)
            now = files(root)
            if now == before:
                continue
        else:
            now = files(root)
        break
    assert at > 15
    assert now.keys() - before.keys() == {
        "examples/tuning/new",
        "examples/tuning/new/deep",
        "examples/tuning/new/deep/new.sh",
    }
    assert before.keys() - now.keys() == {GONE}
    assert b"h900" in now["records/devices.csv"][1]


def test_a_rescue_that_is_killed_itself_is_finished_by_the_next_one(root: Path) -> None:
    before, wanted = files(root), proposal(root)
    killed_twice = 0
    for first in moments():
        for second in itertools.count(1 + first % 3, 3):
            try:
                with fuse(killed(first)):
                    write_proposal(root, wanted)
            except Killed:
                pass
            else:
                assert killed_twice > 20
                return
            try:
                with fuse(killed(second)):
                    settle(root)
            except Killed:
                killed_twice += 1
            else:
                break
            settle(root)
            if files(root) != before:
                assert not (root / UNFINISHED).exists()
                return
    raise AssertionError


def test_a_disk_that_is_full_at_any_moment_leaves_everything_as_it_was(root: Path) -> None:
    before, wanted = files(root), proposal(root)
    for at in moments():
        try:
            with fuse(full_disk(at)):
                write_proposal(root, wanted)
        except UnusableInput as error:
            assert "No space left" in str(error)
            settle(root)
            assert files(root) == before
        else:
            break
    assert files(root) != before


COMMANDS = {
    "new": "new --model Qwen/Qwen2.5-7B-Instruct --task GRPO --gpus 8 --device h100 --train fsdp"
    " --infer vllm --tag MIN",
    "fmt": "fmt",
    "fix": "check --fix",
    "draft": f"draft {SCRIPT} --set tag=MIN --set contributor=some-body --write",
}


def disordered(root: Path) -> None:
    """Work for `fmt` and `check --fix`."""
    for name in ("devices", "models", "tuning"):
        path = root / f"records/{name}.csv"
        header, *rows = path.read_text().splitlines(keepends=True)
        path.write_text(header + "".join(reversed(rows)))
    (root / SCRIPT).chmod(0o644)


def without_row(root: Path) -> None:
    """Work for `draft`."""
    path = root / "records/tuning.csv"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.startswith(Path(SCRIPT).name)))


def run(root: Path, command: str) -> int:
    try:
        return main(
            [*COMMANDS[command].replace(SCRIPT, str(root / SCRIPT)).split(), "--root", str(root)]
        )
    except SystemExit as stop:
        return int(str(stop.code))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_killed_at_a_moment_gives_the_old_files_or_the_new_ones(
    command: str, tmp_path: Path
) -> None:
    root, spare = plant(tmp_path / "dataset"), tmp_path / "spare"
    {"draft": without_row, "new": lambda _: None}.get(command, disordered)(root)
    shutil.copytree(root, spare)
    before = files(root)
    with fuse(lambda _: None) as whole:
        run(spare, command)
    after = files(spare)
    assert after != before
    for at in range(1, whole.count + 1, max(1, whole.count // 6)):
        with suppress(Killed), fuse(killed(at)):
            run(root, command)
        assert main(["coverage", "--root", str(root)]) == 0
        assert files(root) in (before, after)
        if files(root) == after:
            break


def test_a_process_that_is_killed_in_truth_is_cleaned_up_after(root: Path) -> None:
    disordered(root)
    before = files(root)
    program = [sys.executable, str(Path(__file__).parent / "fuse.py")]
    command = [*program, str(root / "records/models.csv"), "fmt", "--root", str(root)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert (root / UNFINISHED).exists()
    assert settle(root) == ["records/tuning.csv"]
    assert files(root) == before


def test_what_somebody_changed_after_the_kill_stays_theirs(root: Path) -> None:
    disordered(root)
    devices = root / "records/devices.csv"
    old = devices.read_bytes()
    for at in moments():
        with suppress(Killed), fuse(killed(at)):
            run(root, "fmt")
        if devices.read_bytes() != old:
            break
    devices.write_bytes(devices.read_bytes() + b"mine\n")
    settle(root)
    assert devices.read_bytes().endswith(b"mine\n")


def test_a_reader_waits_for_a_writer_and_undoes_nothing_of_it(root: Path) -> None:
    """The writer is stopped in its middle; the reader starts; then the writer goes on."""
    wanted, begun, proceed = proposal(root), Event(), Event()

    def blow(count: int) -> None:
        if count == 14:
            begun.set()
            proceed.wait()

    with fuse(blow):
        writer = Thread(target=write_proposal, args=(root, wanted))
        writer.start()
        begun.wait()
        reader = subprocess.Popen(
            [sys.executable, "-m", "rl_resources", "coverage", "--root", str(root)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        proceed.set()
        writer.join()
    _, told = reader.communicate()
    assert (reader.returncode, told) == (0, b"")
    assert (root / "examples/tuning/new/deep/new.sh").exists()


@pytest.mark.parametrize("journal", ["[", "[1]", '{"a": 1}', '[{"path": 1}]', "[" * 100_000])
def test_a_journal_that_is_none_is_told_and_changes_nothing(
    journal: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / UNFINISHED).mkdir()
    (root / UNFINISHED / "journal.json").write_text(journal)
    before = files(root)
    assert main(["coverage", "--root", str(root)]) == 2
    assert "is no journal of ours" in capsys.readouterr().err
    assert files(root) == before


def test_a_journal_reaches_no_file_outside_the_dataset(root: Path) -> None:
    outside = root.parent / "outside"
    outside.write_text("theirs")
    (root / UNFINISHED).mkdir()
    state = _state(outside)
    step = {"path": "../outside", "was": None, "becomes": state, "folders": []}
    (root / UNFINISHED / "journal.json").write_text(json.dumps([step]))
    assert main(["coverage", "--root", str(root)]) == 2
    assert outside.read_text() == "theirs"


def _filled(target: Path, text: str) -> None:
    with new_folder(target) as folder:
        for name in ("a", "b"):
            (folder / name).write_text(text)


def test_a_folder_killed_at_any_moment_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    target = tmp_path / "site"
    _filled(target, "old")
    for at in moments():
        try:
            with fuse(killed(at)):
                _filled(target, "new")
        except Killed:
            assert {path.read_text() for path in target.iterdir()} in ({"old"}, {"new"})
            assert sorted(path.name for path in target.iterdir()) == ["a", "b"]
        else:
            break
    assert at > 5
    assert os.listdir(tmp_path) == ["site"], "what the killed ones left is gone"  # noqa: PTH208


def test_a_folder_that_another_process_is_filling_is_not_taken_for_abandoned(
    tmp_path: Path,
) -> None:
    target = tmp_path / "site"
    with new_folder(target) as slow:
        (slow / "a").write_text("slow")
        _filled(target, "quick")
    assert [path.read_text() for path in target.iterdir()] == ["slow"]
    assert os.listdir(tmp_path) == ["site"]  # noqa: PTH208


def test_a_folder_for_which_the_disk_is_too_full_is_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "site"
    for at in moments():
        _filled(target, "old")
        with suppress(UnusableInput), fuse(full_disk(at)) as lit:
            _filled(target, "new")
        (text,) = {path.read_text() for path in target.iterdir()}
        assert sorted(path.name for path in target.iterdir()) == ["a", "b"]
        if lit.count < at:
            break
    assert text == "new"
    assert os.listdir(tmp_path) == ["site"]  # noqa: PTH208


def test_a_file_killed_at_any_moment_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "page.rst"
    path.write_text("old")
    for at in moments():
        try:
            with fuse(killed(at)):
                write_file(path, "new")
        except Killed:
            assert path.read_text() == "old"
        else:
            break
    assert path.read_text() == "new"
