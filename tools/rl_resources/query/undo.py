"""A table as it was before a change: a difference, read backwards."""

from __future__ import annotations

from rl_resources.query.diff import Key, Row, Table, TableDiff, key_of


def undone(table: Table, change: TableDiff) -> Table:
    """The table to which `change` was made. Of added rows only the key is needed."""
    key = change.key
    come = {key_of(row, key) for row in change.added}
    names = {pair.new: pair.old for pair in change.renamed}
    cells = {item.key: {each.field: each.old for each in item.changes} for item in change.changed}
    kept = [name for name in table.columns if name not in change.columns_added]
    columns = (*kept, *change.columns_removed)
    rows = [
        _row(columns, {**row, **cells.get(place, {})}, key, names.get(place, place))
        for row in table.rows
        if (place := key_of(row, key)) not in come
    ]
    return Table(key, columns, (*rows, *change.removed), table.references)


def _row(columns: tuple[str, ...], cells: Row, key: Key, place: Key) -> Row:
    known = {**cells, **dict(zip(key, place, strict=True))}
    return {name: known.get(name, "") for name in columns}
