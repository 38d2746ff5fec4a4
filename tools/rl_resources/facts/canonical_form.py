"""The canonical form of a table: the order of its rows, and its text."""

from __future__ import annotations

from rl_resources.package import NUMBERS, number
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import write

SortValue = tuple[int, float, str]


def order_keys(snapshot: Snapshot, table: Table) -> list[list[SortValue]]:
    """The sort key of every row by the schema's `orderBy`: numbers come before text, and what
    cannot be followed comes last.
    """
    keys: list[list[SortValue]] = []
    for row in range(len(table.rows)):
        key = _sort_key(snapshot, table, row)
        keys.append(key)
    return keys


def _sort_key(snapshot: Snapshot, table: Table, row: int) -> list[SortValue]:
    values: list[SortValue] = []
    for path in table.schema.order_by:
        value = _sort_value(snapshot, table, row, path)
        values.append(value)
    return values


def _sort_value(snapshot: Snapshot, table: Table, row: int, path: str) -> SortValue:
    """What one path of `orderBy` leads to from a row."""
    name, _, rest = path.partition(".")
    cell = table.cell(row, name)
    if not rest:
        return _sort_value_of_cell(table, name, cell)
    key = table.schema.foreign_key(name)
    if key is None:
        return (2, 0.0, cell)
    target = snapshot.tables[key.resource]
    found = target.keys.get(cell)
    if found is None:
        return (2, 0.0, cell)
    return _sort_value(snapshot, target, found, rest)


def _sort_value_of_cell(table: Table, name: str, cell: str) -> SortValue:
    if table.schema.field(name).type not in NUMBERS:
        return (1, 0.0, cell)
    known = number(cell)
    if known is None:
        return (1, 0.0, cell)
    return (0, known, "")


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and rows in order; `None` where it cannot be read."""
    if table.lost or len(table.rows) != len(table.text.rows):
        return None
    keys = order_keys(snapshot, table)
    places = range(len(keys))
    order = sorted(places, key=keys.__getitem__)
    rows = [table.rows[row].cells for row in order]
    return write([table.header, *rows])
