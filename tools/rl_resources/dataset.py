"""The package's tables as typed values, made from the one reading of them in `snapshot.py`.

`records` are plain mappings, so that answering a question needs no DataFrame library. `frames.py`
gives users DataFrames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from rl_resources import tabular
from rl_resources.errors import Finding, InvalidDataset, UnreadableDataset
from rl_resources.package import (
    DESCRIPTOR,
    SCRIPTS,
    Package,
    Record,
    Resource,
    TableSchema,
    Value,
    items_of,
    text_of,
)
from rl_resources.snapshot import Table, read_tables

_PACKAGED = Path(__file__).parent / "_data"
_CHECKOUT = Path(__file__).parents[2]
Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Dataset:
    """All tables of one root. `records` maps a resource's name to its typed rows in file order."""

    package: Package
    records: Mapping[str, tuple[Record, ...]]

    def __repr__(self) -> str:
        """The number of rows of each table, in one line."""
        sizes = [f"{len(rows)} {name}" for name, rows in self.records.items()]
        return f"<Dataset {self.version}: {', '.join(sizes)}>"

    @property
    def version(self) -> str:
        """The dataset's CalVer version."""
        return self.package.version

    @cached_property
    def by_key(self) -> Mapping[str, Mapping[object, Record]]:
        """Rows of every table with a key of one column, by that key."""
        found: dict[str, Mapping[object, Record]] = {}
        for name, resource in self.package.resources.items():
            if len(resource.schema.primary_key) == 1:
                (key,) = resource.schema.primary_key
                found[name] = {row[key]: row for row in self.records[name]}
        return found

    @cached_property
    def by_script(self) -> Mapping[str, Mapping[object, Sequence[Record]]]:
        """Rows of every table that names scripts, by the script, in file order."""
        found: dict[str, Mapping[object, Sequence[Record]]] = {}
        for name, resource in self.package.resources.items():
            if "script" in resource.schema.names:
                found[name] = grouped(self.records[name], itemgetter("script"))
        return found


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """The items by their key; keys and items are in the order in which they come."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def installed_root() -> Path:
    """The dataset that came with this package: a part of its wheel, otherwise the checkout."""
    if (_PACKAGED / DESCRIPTOR).is_file():
        return _PACKAGED
    return _CHECKOUT


def is_packaged(root: Path) -> bool:
    """Whether this is the dataset of a wheel, which was held to all rules when it was released."""
    return root == _PACKAGED


def find_root(start: Path) -> Path:
    """The nearest directory from `start` upwards with a descriptor.

    Raises `UnreadableDataset` where there is none.
    """
    for directory in (start, *start.parents):
        if (directory / DESCRIPTOR).is_file():
            return directory
    raise UnreadableDataset(
        f"{start}: neither this directory nor one above it has {DESCRIPTOR}",
        "Go into a checkout of the dataset, or name one with --root.",
    )


def read_dataset(package: Package) -> Dataset:
    """Read every table. Raises `InvalidDataset` with the first place that cannot be read."""
    return typed_dataset(package, read_tables(package))


def typed_dataset(package: Package, tables: Mapping[str, Table]) -> Dataset:
    """The values in tables that are read already.

    Raises `InvalidDataset` with the first place that is no value of its column.
    """
    rows = {name: _typed_rows(table) for name, table in tables.items()}
    return Dataset(package, rows)


def _typed_rows(table: Table) -> tuple[Record, ...]:
    if table.data is None:
        raise _unreadable(table.resource, (1, 1), f"the file {table.problem}")
    if table.undecodable is not None:
        raise _unreadable(table.resource, (1, 1), "the file is not text in UTF-8")
    return _rows(table.resource, table.source)


def _unreadable(
    resource: Resource, place: tuple[int, int], message: str
) -> InvalidDataset:
    help_ = "`rl-resources check` reports every error in the file with a fix."
    found = Finding("unreadable", "error", resource.path, *place, message, help_)
    return InvalidDataset([found])


@lru_cache(maxsize=24)
def _rows(resource: Resource, source: str) -> tuple[Record, ...]:
    """The rows of a file as mappings from column to value. Raises `InvalidDataset`.

    Once for each text, so that a server does not read again what has not changed.
    """
    text = tabular.read(source)
    names = resource.schema.names
    if text.header is None or text.header.cells != names:
        raise _unreadable(resource, (1, 1), "the header is not that of the schema")
    wrong = [defect.line for defect in text.defects]
    of_other_width = [row for row in text.rows if len(row.cells) != len(names)]
    wrong.extend(row.line for row in of_other_width)
    if wrong:
        raise _unreadable(
            resource, (min(wrong), 1), "the line is no row under the header"
        )
    return tuple(_typed_record(resource, row) for row in text.rows)


def _typed_record(resource: Resource, row: tabular.Row) -> Record:
    schema = resource.schema
    texts = [cell or None for cell in row.cells]
    record: dict[str, Value] = dict(zip(schema.names, texts, strict=True))
    for index, field in schema.fields_to_read:
        cell = row.cells[index]
        if not cell:
            # No call for most cells, because this loop is most of a short command.
            continue
        try:
            record[field.name] = field.read(cell)
        except ValueError as error:
            message = f"{field.name}: {error}"
            raise _unreadable(resource, row.place(index), message) from error
    return record


def csv_text(dataset: Dataset, table: str, rows: Iterable[Record]) -> str:
    """The canonical CSV file of a table with these rows."""
    schema = dataset.package.resources[table].schema
    lines = [schema.names]
    lines.extend(_cells(schema, row) for row in rows)
    return tabular.write(lines)


def _cells(schema: TableSchema, record: Record) -> tuple[str, ...]:
    return tuple(field.write(record[field.name]) for field in schema.fields)


def script_path(dataset: Dataset, record: Record) -> str:
    """Where the script of a tuning record lies, relative to the root."""
    model = dataset.by_key["models"][record["model"]]
    size = str(model["size"]).lower()
    return str(SCRIPTS / size / str(record["script"]))


def moves(dataset: Dataset, resource: str) -> dict[str, Record]:
    """The rows of `moved` by the id of a table that is gone, with ids that are in it today."""
    moved: dict[str, Record] = {}
    for row in dataset.records["moved"]:
        if row["resource"] == resource:
            moved[text_of(row, "id")] = row
    found: dict[str, Record] = {}
    for id_, row in moved.items():
        today = dict.fromkeys(_today(moved, id_))
        found[id_] = {**row, "moved_to": tuple(today)}
    return found


def _today(moved: Mapping[str, Record], id_: str) -> Iterator[str]:
    """The ids that a published one leads to; itself where it never moved."""
    if id_ not in moved:
        yield id_
        return
    for target in items_of(moved[id_], "moved_to"):
        yield from _today(moved, target)
