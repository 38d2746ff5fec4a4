"""What differs between two states of the dataset, in records and not in lines.

A state is that of a folder or of a git revision; nothing is checked out. Its tables are text cells,
read by its own descriptor and schemas, of which only names and keys are needed: a revision may lack
tables, columns and properties of today. A row is known by its key. It counts as renamed only where
that is certain: one row went and one came that agree in every cell but the key, and no other does.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.git import file_at, git_text
from rl_resources.package import DESCRIPTOR

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
    pairs = {name: (old.get(name, _NOTHING), new.get(name, _NOTHING)) for name in [*new, *old]}
    renames = {name: _renames(*pair) for name, pair in pairs.items()}
    found = [
        _table_diff(name, _followed(before, renames), after, renames[name])
        for name, (before, after) in pairs.items()
    ]
    return [item for item in found if item]


Renames = Mapping[str, str]
"""New keys by old ones, of a table whose key is one column."""


def _renames(old: Table, new: Table) -> Renames:
    """Rows that agree in all but the key, where each has only the other to agree with."""
    if len(new.key) != 1:
        return {}
    before, after = _by_key(old.rows, new.key), _by_key(new.rows, new.key)
    rest = tuple(name for name in (*old.columns, *new.columns) if name not in new.key)
    gone = _by_content([row for key, row in before.items() if key not in after], rest)
    come = _by_content([row for key, row in after.items() if key not in before], rest)
    (name,) = new.key
    return {
        gone[content][0][name]: rows[0][name]
        for content, rows in come.items()
        if any(content) and len(rows) == 1 == len(gone.get(content, ()))
    }


def _by_content(rows: Sequence[Row], columns: Sequence[str]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key_of(row, columns), []).append(row)
    return found


def _followed(old: Table, renames: Mapping[str, Renames]) -> Table:
    """The table with every renamed row that a key of it refers to under its new name."""
    names = {name: renames.get(old.references.get(name, ""), {}) for name in old.key}
    rows = tuple(
        {name: names.get(name, {}).get(cell, cell) for name, cell in row.items()}
        for row in old.rows
    )
    return replace(old, rows=rows)


def _table_diff(name: str, old: Table, new: Table, renames: Renames) -> TableDiff:
    key = new.key or old.key
    before, after = _by_key(old.rows, key), _by_key(new.rows, key)
    columns = tuple(dict.fromkeys([*new.columns, *old.columns]))
    pairs = [Renamed((one,), (other,)) for one, other in renames.items()]
    gone, come = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    changed = (
        Changed(place, _changes(before.get(place, row), row, columns))
        for place, row in after.items()
    )
    return TableDiff(
        name=name,
        key=key,
        removed=tuple(row for at, row in before.items() if at not in after and at not in gone),
        added=tuple(row for at, row in after.items() if at not in before and at not in come),
        renamed=tuple(pairs),
        changed=tuple(row for row in changed if row.changes),
        columns_removed=tuple(item for item in old.columns if new.key and item not in new.columns),
        columns_added=tuple(item for item in new.columns if old.key and item not in old.columns),
    )


def _changes(old: Row, new: Row, columns: Sequence[str]) -> tuple[Change, ...]:
    cells = ((name, old.get(name, ""), new.get(name, "")) for name in columns)
    return tuple(Change(*cell) for cell in cells if cell[1] != cell[2])


def _by_key(rows: Sequence[Row], key: Key) -> dict[Key, Row]:
    return {key_of(row, key): row for row in rows}


def key_of(row: Row, key: Sequence[str]) -> Key:
    """The cells of the key's columns."""
    return tuple(row.get(name, "") for name in key)


def read_state(root: Path, name: str) -> Tables:
    """The tables of the folder `name` if it has a descriptor, else of that revision of `root`.

    Raises `UnusableInput` where it is neither, or where one of its files cannot be read.
    """
    if name and (Path(name) / DESCRIPTOR).is_file():
        return read_folder(Path(name))
    commit = f"{name}^{{commit}}"
    revision = git_text(root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit)
    if not revision:
        raise UnusableInput(
            f"{name}: is neither a revision of {root} nor a folder with a {DESCRIPTOR}",
            "Name a commit, a tag, a branch or a folder; a shallow clone lacks older commits.",
        )
    return _tables(name, lambda path: file_at(root, revision, path) or b"")


def read_folder(folder: Path) -> Tables:
    """The tables of a folder as they are now. Raises `UnusableInput`."""
    return _tables(str(folder), lambda path: (folder / path).read_bytes())


def _tables(state: str, read: Callable[[str], bytes]) -> Tables:
    path = DESCRIPTOR
    tables = {}
    try:
        for item in json.loads(read(path))["resources"]:
            path = item["schema"]
            schema = json.loads(read(path))
            path = item["path"]
            tables[item["name"]] = _table(schema, read(path).decode("utf-8-sig"))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        missing = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        raise UnusableInput(
            f"{state}: {path}: {missing}",
            "`rl-resources check` on that state shows every error and its fix.",
        ) from error
    return tables


def _table(schema: Mapping[str, Any], text: str) -> Table:
    key = schema["primaryKey"]
    key = (key,) if isinstance(key, str) else tuple(key)
    columns, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    if missing := [name for name in key if name not in columns]:
        raise ValueError(f"the header lacks the key column {missing[0]!r}")
    references = {
        item["fields"][0]: item["reference"]["resource"] for item in schema.get("foreignKeys", ())
    }
    named = (dict(zip(columns, row, strict=True)) for row in rows if row)
    return Table(key, tuple(columns), tuple(named), references)
