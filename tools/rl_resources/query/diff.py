"""What differs between two states of the dataset, in records and not in lines.

Everything here is a pure function of two sets of tables, each as text cells: a state of long ago
need not hold the schemas of today. A row is known by its key. It counts as renamed only where that
is certain: one row went and one came that agree in every cell but the key, and no other does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Row = Mapping[str, str]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table as text. `references` maps a column to the table whose key its cells are."""

    key: Key
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    references: Mapping[str, str] = field(default_factory=dict)


Tables = Mapping[str, Table]
_NOTHING = Table((), (), ())


@dataclass(frozen=True, slots=True)
class Change:
    """One cell that differs; an empty cell and a missing column are the same."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One row whose cells differ."""

    key: Key
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Renamed:
    """One row that has another key and nothing else new."""

    old: Key
    new: Key


@dataclass(frozen=True, slots=True)
class TableDiff:
    """All that differs in one table. Rows keep the order of their file."""

    name: str
    key: Key
    removed: tuple[Row, ...]
    added: tuple[Row, ...]
    renamed: tuple[Renamed, ...]
    changed: tuple[Changed, ...]
    columns_removed: tuple[str, ...]
    columns_added: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        rows = self.removed or self.added or self.renamed or self.changed
        return bool(rows or self.columns_removed or self.columns_added)


def diff(old: Tables, new: Tables) -> list[TableDiff]:
    """The tables that differ, in the order of `new`, then those that only `old` has.

    A row whose key names a renamed row is not reported: the trials of a renamed script are no
    news.
    """
    names = list(dict.fromkeys([*new, *old]))
    renames = {name: _renames(old.get(name, _NOTHING), new.get(name, _NOTHING)) for name in names}
    found = [
        _table_diff(name, _followed(old.get(name, _NOTHING), renames), new.get(name, _NOTHING))
        for name in names
    ]
    return [item for item in found if item]


def _renames(old: Table, new: Table) -> dict[str, str]:
    """New names by old ones, of a table whose key is one column."""
    if len(new.key) != 1:
        return {}
    before, after = _by_key(old, new.key), _by_key(new, new.key)
    gone = [before[key] for key in before if key not in after]
    come = [after[key] for key in after if key not in before]
    pairs = _certain_pairs(gone, come, new.key, (*old.columns, *new.columns))
    return {row[new.key[0]]: other[new.key[0]] for row, other in pairs}


def _followed(old: Table, renames: Mapping[str, Mapping[str, str]]) -> Table:
    """The table with every renamed row that a key of it refers to under its new name."""
    references = {name: renames.get(old.references.get(name, ""), {}) for name in old.key}
    if not any(references.values()):
        return old
    rows = tuple(
        {name: references.get(name, {}).get(cell, cell) for name, cell in row.items()}
        for row in old.rows
    )
    return Table(old.key, old.columns, rows, old.references)


def _table_diff(name: str, old: Table, new: Table) -> TableDiff:
    key = new.key or old.key
    before, after = _by_key(old, key), _by_key(new, key)
    columns = tuple(dict.fromkeys([*new.columns, *old.columns]))
    gone = [before[place] for place in before if place not in after]
    come = [after[place] for place in after if place not in before]
    renamed = _certain_pairs(gone, come, key, columns) if len(key) == 1 else []
    moved = [id(row) for pair in renamed for row in pair]
    return TableDiff(
        name=name,
        key=key,
        removed=tuple(row for row in gone if id(row) not in moved),
        added=tuple(row for row in come if id(row) not in moved),
        renamed=tuple(Renamed(key_of(row, key), key_of(other, key)) for row, other in renamed),
        changed=tuple(_changed_rows(before, after, key, columns)),
        columns_removed=tuple(item for item in old.columns if new.key and item not in new.columns),
        columns_added=tuple(item for item in new.columns if old.key and item not in old.columns),
    )


def _changed_rows(
    before: Mapping[Key, Row], after: Mapping[Key, Row], key: Key, columns: Sequence[str]
) -> Iterator[Changed]:
    for place, row in after.items():
        changes = _changes(before.get(place, row), row, columns)
        if changes:
            yield Changed(key_of(row, key), changes)


def _changes(old: Row, new: Row, columns: Sequence[str]) -> tuple[Change, ...]:
    cells = ((name, old.get(name, ""), new.get(name, "")) for name in columns)
    return tuple(Change(*cell) for cell in cells if cell[1] != cell[2])


def key_of(row: Row, key: Key) -> Key:
    """The cells of the key's columns."""
    return tuple(row.get(name, "") for name in key)


def _by_key(table: Table, key: Key) -> dict[Key, Row]:
    """Rows by their key; that of a row which repeats one ends in a count."""
    found: dict[Key, Row] = {}
    for row in table.rows:
        place, count = key_of(row, key), 1
        while place in found:
            count += 1
            place = (*key_of(row, key), str(count))
        found[place] = row
    return found


def _certain_pairs(
    gone: Sequence[Row], come: Sequence[Row], key: Key, columns: Sequence[str]
) -> list[tuple[Row, Row]]:
    """Pairs of rows that agree in all but the key, where each has only the other to agree with."""
    rest = [name for name in dict.fromkeys(columns) if name not in key]
    old, new = _by_content(gone, rest), _by_content(come, rest)
    return [
        (old[content][0], rows[0])
        for content, rows in new.items()
        if any(content) and len(rows) == 1 and len(old.get(content, ())) == 1
    ]


def _by_content(rows: Sequence[Row], columns: Sequence[str]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key_of(row, tuple(columns)), []).append(row)
    return found
