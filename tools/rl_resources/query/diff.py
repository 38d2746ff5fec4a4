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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rl_resources.errors import UnusableInput
from rl_resources.git import file_at, git_text
from rl_resources.package import DESCRIPTOR

Row = Mapping[str, str]
Key = tuple[str, ...]
Content = frozenset[tuple[str, str]]
"""The filled cells of a row but its key, each with its column."""
Renames = Mapping[str, str]
"""New keys by old ones, of a table whose key is one column."""


class Table(NamedTuple):
    """One table as text. `references` maps a column to the table whose key its cells are."""

    key: Key
    columns: tuple[str, ...]
    rows: Sequence[Row]
    references: Mapping[str, str] = {}


Tables = Mapping[str, Table]
_NOTHING = Table((), (), ())


class Change(NamedTuple):
    """One cell that differs; an empty cell and a missing column are the same."""

    field: str
    old: str
    new: str


class TableDiff(NamedTuple):
    """All that differs in one table. Rows are by their key, in the order of their file."""

    name: str
    key: Key
    removed: Mapping[Key, Row]
    added: Mapping[Key, Row]
    renamed: Mapping[Key, Key]
    changed: Mapping[Key, Sequence[Change]]
    columns_removed: Sequence[str]
    columns_added: Sequence[str]


def diff(old: Tables, new: Tables) -> list[TableDiff]:
    """The tables that differ, in the order of `new`, then those that only `old` has.

    A row whose key names a renamed row is not reported: the trials of a renamed script are no
    news.
    """
    pairs = {name: (old.get(name, _NOTHING), new.get(name, _NOTHING)) for name in [*new, *old]}
    renames = {name: _renames(*pair) for name, pair in pairs.items()}
    found = [_table_diff(name, *pair, renames) for name, pair in pairs.items()]
    return [item for item in found if any(item[2:])]


def _renames(old: Table, new: Table) -> Renames:
    """Rows that agree in all but the key, where each has only the other to agree with."""
    if len(new.key) != 1:
        return {}
    gone, come = _by_content(old, new, new.key), _by_content(new, old, new.key)
    return {
        gone[content][0]: names[0]
        for content, names in come.items()
        if content and len(names) == 1 == len(gone.get(content, ()))
    }


def _by_content(table: Table, other: Table, key: Key) -> Mapping[Content, list[str]]:
    """The keys of rows that the other table lacks, by all their other cells."""
    rows, known = _by_key(table.rows, key), _by_key(other.rows, key)
    found = defaultdict(list)
    for (name,), row in rows.items():
        if (name,) not in known:
            cells = ((column, cell) for column, cell in row.items() if cell and column not in key)
            found[frozenset(cells)].append(name)
    return found


def _table_diff(name: str, old: Table, new: Table, renames: Mapping[str, Renames]) -> TableDiff:
    key = new.key or old.key
    before, after = _by_key(_followed(old, renames), key), _by_key(new.rows, key)
    renamed: dict[Key, Key] = {(one,): (other,) for one, other in renames[name].items()}
    both = {place: _changes(before[place], row) for place, row in after.items() if place in before}
    gone, come = {*after, *renamed}, {*before, *renamed.values()}
    return TableDiff(
        name=name,
        key=key,
        removed={place: row for place, row in before.items() if place not in gone},
        added={place: row for place, row in after.items() if place not in come},
        renamed=renamed,
        changed={place: changes for place, changes in both.items() if changes},
        columns_removed=[item for item in old.columns if new.key and item not in new.columns],
        columns_added=[item for item in new.columns if old.key and item not in old.columns],
    )


def _followed(table: Table, renames: Mapping[str, Renames]) -> Iterator[Row]:
    """Its rows, each renamed row that their key refers to under its new name."""
    names = {name: renames.get(table.references.get(name, ""), {}) for name in table.key}
    for row in table.rows:
        yield {name: names.get(name, {}).get(cell, cell) for name, cell in row.items()}


def _changes(old: Row, new: Row) -> list[Change]:
    cells = ((name, old.get(name, ""), new.get(name, "")) for name in dict.fromkeys([*new, *old]))
    return [Change(*cell) for cell in cells if cell[1] != cell[2]]


def _by_key(rows: Iterable[Row], key: Key) -> dict[Key, Row]:
    return {tuple(row.get(name, "") for name in key): row for row in rows}


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
    named = [dict(zip(columns, row, strict=True)) for row in rows if row]
    return Table(key, tuple(columns), named, references)
