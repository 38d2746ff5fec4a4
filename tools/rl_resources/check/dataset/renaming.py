"""What to do so that a script has another name: to its file, its row, and the rows about it."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from rl_resources.check.dataset.pairing import lines_about
from rl_resources.check.snapshot import Snapshot
from rl_resources.words import shown


def renaming(snapshot: Snapshot, row: int, old: str, new: str) -> str:
    """Everything that moves the script of a row from one path to another, as a sentence."""
    called = snapshot.tables["tuning"].cell(row, "script")
    where = also_in(snapshot, called, "in its row")
    return f"`{git_move(old, new)}`, and write `{PurePosixPath(new).name}`{where}."


def also_in(snapshot: Snapshot, script: str, first: str) -> str:
    """`first` and all lines that name a script beside its row, for a sentence on what to write."""
    others = [f"in {where} of {path}" for path, where in lines_about(snapshot, script)]
    return f" {' and '.join([first, *others])}" if others or first != "here" else ""


def git_move(old: str, new: str) -> str:
    """The command that moves a file, safe to paste."""
    return f"git mv {shown(shlex.quote(old), 300)} {shown(shlex.quote(new), 300)}"
