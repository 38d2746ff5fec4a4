"""A proposal is written whole or not at all, also by a process that is killed within.

Before anything changes, the folder `UNFINISHED` holds what every file was (`old`), what it shall be
(`new`) and, put there last and in one step, a journal that names them. While the journal is there
the change is unfinished, and whoever comes next puts everything back (`settle`); taking it away is
the step that makes the change valid. The root is locked meanwhile; no lock outlives its process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rl_resources.contribute.proposal import Change, Proposal
from rl_resources.errors import UnusableInput
from rl_resources.output import locked
from rl_resources.package import UNFINISHED

_JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file in the journal: its path below the root and its two states, as `_state` says them.

    `folders` are those that are made for it.
    """

    path: str
    was: str | None
    becomes: str | None
    folders: Sequence[str]


def write_proposal(root: Path, proposal: Proposal) -> None:
    """Make all changes below `root`, or none.

    Whatever fails, interrupts or kills it, what is changed by then is put back, at the latest by
    `settle`. Raises `UnusableInput` where a file is not as the proposal found it, lies outside
    `root`, or cannot be written.
    """
    if not proposal.changes:
        return
    with _told(root), locked(root):
        _roll_back(root)
        targets = [_target(root, change) for change in proposal.changes]
        try:
            steps = _stage(root, proposal.changes, targets)
            _write_journal(root, steps)
            for at, (change, target) in enumerate(zip(proposal.changes, targets, strict=True)):
                _apply(root / UNFINISHED / "new" / str(at), target, change)
            (root / UNFINISHED / _JOURNAL).unlink()
        except BaseException:
            _roll_back(root)
            raise
        shutil.rmtree(root / UNFINISHED, ignore_errors=True)


def settle(root: Path) -> list[str]:
    """Put back what a killed process changed; the paths of the files that it had begun to change.

    Waits for one that is still at work. A file that somebody has changed since stays as it is.
    Raises `UnusableInput` where the change can be neither read nor undone.
    """
    with _told(root), locked(root):
        return _roll_back(root)


@contextmanager
def _told(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        left = (root / UNFINISHED / _JOURNAL).exists()
        raise UnusableInput(
            f"{error.filename or root}: cannot be written: {error.strerror}",
            "The next command puts back what was changed." if left else "Nothing was changed.",
        ) from error


def _target(root: Path, change: Change) -> Path:
    """The file that a change means, links followed, as the proposal found it."""
    target = _inside(root, change.path)
    _refuse_changed(target, change)
    return target


def _inside(root: Path, path: str) -> Path:
    target = (root / path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise UnusableInput(f"{path}: lies outside the dataset at {root}")
    return target


def _refuse_changed(target: Path, change: Change) -> None:
    if change.was is None and target.exists():
        raise UnusableInput(
            f"{change.path}: exists already, and nothing is overwritten",
            "Move that file away first, or choose another configuration.",
        )
    if change.was is not None and target.read_bytes() != change.was:
        raise UnusableInput(
            f"{change.path}: has changed since it was read", "Nothing was changed. Try again."
        )


def _stage(root: Path, changes: Sequence[Change], targets: Sequence[Path]) -> list[_Step]:
    """Both states of every file on disk, with the modes that they have or shall have."""
    old, new = (root / UNFINISHED / name for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
    steps = []
    for at, (change, target) in enumerate(zip(changes, targets, strict=True)):
        before, after = old / str(at), new / str(at)
        if change.was is not None:
            shutil.copy2(target, before)
        if change.becomes is not None:
            _write(after, change.becomes, 0o777 if change.executable else 0o666)
            if change.was is not None:
                mode = target.stat().st_mode & 0o777
                after.chmod(mode | (mode & 0o444) >> 2 if change.executable else mode)
        place = target.relative_to(root.resolve()).as_posix()
        lacking = [str(folder) for folder in _lacking(target, root.resolve())]
        steps.append(_Step(place, _state(before), _state(after), lacking))
    return steps


def _lacking(target: Path, root: Path) -> Iterator[Path]:
    """The folders above a file that are not there yet, the innermost first."""
    for folder in target.parents:
        if folder.exists():
            return
        yield folder.relative_to(root)


def _write(path: Path, data: bytes, mode: int) -> None:
    """A new file whose mode the user's mask decides, on disk when this returns."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write_journal(root: Path, steps: Sequence[_Step]) -> None:
    text = json.dumps([asdict(step) for step in steps])
    ready = root / UNFINISHED / f"{_JOURNAL}.ready"
    _write(ready, text.encode(), 0o666)
    ready.replace(root / UNFINISHED / _JOURNAL)


def _apply(new: Path, target: Path, change: Change) -> None:
    _refuse_changed(target, change)
    target.parent.mkdir(parents=True, exist_ok=True)
    if change.becomes is None:
        target.unlink()
    elif change.was is None:
        _put_new(new, target, change)
    else:
        new.replace(target)


def _put_new(new: Path, target: Path, change: Change) -> None:
    """Put a file where none is: a link cannot overwrite what another program put there just now."""
    try:
        target.hardlink_to(new)
    except FileExistsError:
        _refuse_changed(target, change)
        raise
    except OSError:
        # Some file systems have no links.
        new.replace(target)


def _state(path: Path) -> str | None:
    """Mode and content of a file as a word; `None` where there is none."""
    try:
        return f"{path.stat().st_mode & 0o777:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    except FileNotFoundError:
        return None


def _roll_back(root: Path) -> list[str]:
    folder = root / UNFINISHED
    steps = _read_journal(folder / _JOURNAL)
    undone = [step.path for at, step in enumerate(steps) if _undo(root, step, folder / f"old/{at}")]
    for inner in (inner for step in steps for inner in step.folders):
        with suppress(OSError):
            _inside(root, inner).rmdir()
    (folder / _JOURNAL).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return undone


def _undo(root: Path, step: _Step, old: Path) -> bool:
    """Put one file back, unless it is as it was or somebody has changed it since."""
    target = _inside(root, step.path)
    now = _state(target)
    if now == step.was or now != step.becomes:
        return False
    if step.was is None:
        target.unlink()
    else:
        old.replace(target)
    return True


def _read_journal(path: Path) -> list[_Step]:
    try:
        steps: list[dict[str, Any]] = json.loads(path.read_bytes())
        return [_Step(**steps[at]) for at in range(len(steps))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UnusableInput(
            f"{path}: is no journal of ours: {error}",
            f"Compare the files with your last commit, then delete {path.parent}.",
        ) from error
