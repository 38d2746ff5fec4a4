"""What a contribution would change, as a value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.errors import UnusableInput
from rl_resources.order import Cells, SortKey, sort_key
from rl_resources.tabular import write
from rl_resources.words import shown

Row = Mapping[str, str]
"""A new row: the text of its cells by column; a column left out is blank."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a proposal; its `path` is relative to the root.

    `was` is what the file held when the proposal was made, `None` where there must be no file.
    `becomes` is what it shall hold, `None` where it shall be gone. Whatever has another content
    than `was` when the proposal is written is never touched.
    """

    path: str
    was: bytes | None
    becomes: bytes | None
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that belong together."""

    changes: tuple[Change, ...]

    def diff(self) -> str:
        """The changes as a unified diff, as git shows it."""
        return "".join(line for change in self.changes for line in _diff(change))


def _diff(change: Change) -> Iterable[str]:
    before, after = (
        (data or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
        for data in (change.was, change.becomes)
    )
    old = "/dev/null" if change.was is None else f"a/{change.path}"
    new = "/dev/null" if change.becomes is None else f"b/{change.path}"
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def add_rows(snapshot: Snapshot, rows: Mapping[str, Sequence[Row]]) -> tuple[Change, ...]:
    """The tables with new rows, by resource, each where the canonical order wants it.

    All other bytes of a table stay as they are. Raises `UnusableInput` where a table cannot be
    read whole or holds the key already, and `KeyError` for a column that the schema lacks.
    """
    added = {
        (name, row.get(snapshot.tables[name].schema.primary_key[0], "")): row
        for name, new in rows.items()
        for row in new
    }

    def find(resource: str, key: str) -> Cells | None:
        row = added.get((resource, key))
        return _cells(row) if row is not None else snapshot.find(resource, key)

    return tuple(_with_rows(snapshot, snapshot.tables[name], rows[name], find) for name in rows)


def _cells(row: Row) -> Cells:
    return lambda name: row.get(name, "")


def _with_rows(
    snapshot: Snapshot,
    table: Table,
    rows: Sequence[Row],
    find: Callable[[str, str], Cells | None],
) -> Change:
    data = _readable(table)

    def key(cells: Cells) -> SortKey:
        return sort_key(snapshot.package, table.schema, cells, find)

    held = [dict(zip(table.names, row.cells, strict=True)) for row in table.rows]
    keys = [key(_cells(row)) for row in held]
    for row in rows:
        _refuse_strange(table, row)
        _refuse_held(table, row, held)
    lines = data.removesuffix(b"\n").split(b"\n")
    end = len(lines)
    for row in sorted(rows, key=lambda row: key(_cells(row)), reverse=True):
        place = sum(other <= key(_cells(row)) for other in keys)
        line = table.rows[place].line - 1 if place < len(keys) else end
        text = write([[row.get(name, "") for name in table.schema.names]])
        lines.insert(line, text.removesuffix("\n").encode())
    return Change(table.path, data, b"\n".join(lines) + b"\n")


def _readable(table: Table) -> bytes:
    text = table.text
    whole = table.header == table.schema.names and len(table.rows) == len(text.rows)
    if table.data is None or table.undecodable is not None or text.defects or not whole:
        raise UnusableInput(
            f"{table.path}: cannot be read whole, so no row is added",
            "`rl-resources check` tells every mistake in the file and its mend.",
        )
    return table.data


def _refuse_strange(table: Table, row: Row) -> None:
    for name in row:
        table.schema.field(name)


def _refuse_held(table: Table, row: Row, held: Iterable[Row]) -> None:
    names = table.schema.primary_key
    wanted = [row.get(name, "") for name in names]
    for line, other in zip(table.rows, held, strict=True):
        if [other[name] for name in names] == wanted:
            label = shown(" ".join(wanted), 120)
            raise UnusableInput(
                f"{table.path}:{line.line}: there is a row for {label} already",
                "Change that row, or choose another configuration.",
            )
