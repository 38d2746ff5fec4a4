"""The canonical form of a table: the order of its rows, and its text."""

from __future__ import annotations

from rl_resources.package import NUMBERS, number
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import write

SortValue = tuple[int, float, str]


def order_keys(snapshot: Snapshot, table: Table) -> list[list[SortValue]]:
    """The sort key of every row by the schema's `orderBy`: numbers before text, and last what
    cannot be followed.
    """
    paths, rows = table.schema.order_by, range(len(table.rows))
    return [[_sort_value(snapshot, table, row, path) for path in paths] for row in rows]


def _sort_value(snapshot: Snapshot, table: Table, row: int, path: str) -> SortValue:
    """What one path of `orderBy` leads to from a row."""
    name, _, rest = path.partition(".")
    cell = table.cell(row, name)
    if not rest:
        known = number(cell) if table.schema.field(name).type in NUMBERS else None
        return (1, 0.0, cell) if known is None else (0, known, "")
    key = table.schema.foreign_key(name)
    found = snapshot.tables[key.resource].keys.get(cell) if key else None
    if key is None or found is None:
        return (2, 0.0, cell)
    return _sort_value(snapshot, snapshot.tables[key.resource], found, rest)


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and rows in order; `None` where it cannot be read."""
    if table.lost or len(table.rows) != len(table.text.rows):
        return None
    keys = order_keys(snapshot, table)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return write([table.header, *(table.rows[row].cells for row in order)])
