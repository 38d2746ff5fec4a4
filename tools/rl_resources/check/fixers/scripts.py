"""Fixers of a script's name, place and mode."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset.pairing import expected_name, folder_of, pairing, scripts
from rl_resources.check.dataset.scripts import moved_path, not_executable
from rl_resources.check.fixers.tables import rewrite
from rl_resources.check.rule import Edit, MakeExecutable, Move, Rewrite
from rl_resources.check.snapshot import ScriptFile, Snapshot
from rl_resources.tabular import write


def script_name(snapshot: Snapshot) -> Iterator[Edit]:
    """A name that differs by case and separators alone from the one that its row says."""
    pairs = pairing(snapshot)
    paths = {script.path.lower(): script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        row = pairs.row(script)
        expected = expected_name(snapshot, row) if row is not None else None
        folder = folder_of(snapshot, expected)
        if row is None or folder is None or _plain(script.name) != _plain(str(expected)):
            continue
        new = f"{folder}/{expected}"
        if new != script.path and paths.get(new.lower(), script.path) == script.path:
            yield Move(script.path, new)
            yield from _renamed_cells(
                snapshot, snapshot.tables["tuning"].cell(row, "script"), str(expected)
            )


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _renamed_cells(snapshot: Snapshot, old: str, new: str) -> Iterator[Rewrite]:
    """Every table with the script's new name in the place of its old one."""
    for table in snapshot.tables.values():
        of_scripts = {key.field for key in table.schema.foreign_keys if key.resource == "tuning"}
        name = "script" if table.resource.name == "tuning" else next(iter(of_scripts), "")
        cells = table.columns.get(name, ())
        rows = [table.rows[row] for row, cell in enumerate(cells) if cell == old != new]
        at = table.names.index(name) if rows else 0
        renamed = {row.line: [*row.cells[:at], new, *row.cells[at + 1 :]] for row in rows}
        yield from rewrite(table, {line: write([row])[:-1] for line, row in renamed.items()})


def script_place(snapshot: Snapshot) -> Iterator[Move]:
    """Into the folder of its model's size, where no other script is in the way."""
    for script in scripts(snapshot):
        if _is_free(snapshot, script, new := moved_path(snapshot, script)):
            yield Move(script.path, new)


def _is_free(snapshot: Snapshot, script: ScriptFile, path: str) -> bool:
    return path != script.path and all(other.path != path for other in snapshot.scripts)


def executable_script(snapshot: Snapshot) -> Iterator[MakeExecutable]:
    """Execute permission."""
    return (MakeExecutable(script.path) for script in not_executable(snapshot))
