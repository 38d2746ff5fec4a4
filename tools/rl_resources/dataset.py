"""The package's files as typed tables. Nothing else in the project reads the CSV files.

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
from rl_resources.files import LARGEST_TABLE_BYTES, read_file
from rl_resources.package import (
    DESCRIPTOR,
    SCRIPTS,
    Package,
    Record,
    Resource,
    Value,
    items_of,
    text_of,
)

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
        rows = ", ".join(f"{len(rows)} {name}" for name, rows in self.records.items())
        return f"<Dataset {self.version}: {rows}>"

    @property
    def version(self) -> str:
        """The dataset's CalVer version."""
        return self.package.version

    @cached_property
    def by_key(self) -> Mapping[str, Mapping[object, Record]]:
        """Rows of every table with a key of one column, by that key."""
        return {
            name: {row[resource.schema.primary_key[0]]: row for row in self.records[name]}
            for name, resource in self.package.resources.items()
            if len(resource.schema.primary_key) == 1
        }

    @cached_property
    def by_script(self) -> Mapping[str, Mapping[object, Sequence[Record]]]:
        """Rows of every table that names scripts, by the script, in file order."""
        return {
            name: grouped(self.records[name], itemgetter("script"))
            for name, resource in self.package.resources.items()
            if "script" in resource.schema.names
        }


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """The items by their key; keys and items are in the order in which they come."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def installed_root() -> Path:
    """The dataset that came with this package: in a wheel a part of it, else the checkout."""
    return _PACKAGED if (_PACKAGED / DESCRIPTOR).is_file() else _CHECKOUT


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
    """Read every table. Raises `InvalidDataset` with the first place of each unreadable file."""
    records: dict[str, tuple[Record, ...]] = {}
    findings: list[Finding] = []
    for name, resource in package.resources.items():
        try:
            data = read_file(package.root / resource.path, LARGEST_TABLE_BYTES)
            records[name] = _rows(resource, data.decode("utf-8"))
        except (OSError, ValueError) as error:
            place = error.place if isinstance(error, _CellError) else (1, 1)
            message = getattr(error, "strerror", None) or str(error)
            help_ = "`rl-resources check` reports every error in the file with a fix."
            found = Finding("unreadable", "error", resource.path, *place, message, help_)
            findings.append(found)
    if findings:
        raise InvalidDataset(findings)
    return Dataset(package, records)


class _CellError(ValueError):
    """A cell that is not of its type, and its line and column."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.place = line, column


@lru_cache(maxsize=24)
def _rows(resource: Resource, file: str) -> tuple[Record, ...]:
    """The rows of a file as mappings from column to value. Raises `_CellError` at the first.

    Once for each text, so that a server does not read again what has not changed.
    """
    text = tabular.read(file)
    if text.defects:
        defect = text.defects[0]
        raise _CellError(defect.line, defect.column, f"not CSV: {defect.kind}")
    if text.header is None or text.header.cells != resource.schema.names:
        raise _CellError(1, 1, "the header is not that of the schema")
    return tuple(_typed_record(resource, row) for row in text.rows)


def _typed_record(resource: Resource, row: tabular.Row) -> Record:
    fields = resource.schema.fields
    if len(row.cells) != len(fields):
        raise _CellError(row.line, 1, f"{len(row.cells)} cells where {len(fields)} are wanted")
    record: dict[str, Value] = {}
    for index, (field, cell) in enumerate(zip(fields, row.cells, strict=True)):
        if not cell or field.type == "string":
            # Nine cells in ten: no call for them, because this loop is most of a short command.
            record[field.name] = cell or None
            continue
        try:
            record[field.name] = field.read(cell)
        except ValueError as error:
            raise _CellError(*row.place(index), f"{field.name}: {error}") from error
    return record


def csv_text(dataset: Dataset, table: str, rows: Iterable[Record]) -> str:
    """The canonical CSV file of a table with these rows."""
    schema = dataset.package.resources[table].schema
    cells = ([field.write(row[field.name]) for field in schema.fields] for row in rows)
    return tabular.write([schema.names, *cells])


def script_path(dataset: Dataset, record: Record) -> str:
    """Where the script of a tuning record lies, relative to the root."""
    size = dataset.by_key["models"][record["model"]]["size"]
    return str(SCRIPTS / str(size).lower() / str(record["script"]))


@dataclass(frozen=True, slots=True)
class Move:
    """An id that is gone, the ids that replace it today (none: withdrawn), and why."""

    id: str
    moved_to: tuple[str, ...]
    version: str
    reason: str


def moves(dataset: Dataset, resource: str) -> list[Move]:
    """Every id of a table that is gone; each leads to ids that are in it today."""
    rows = [row for row in dataset.records["moved"] if row["resource"] == resource]
    steps = {text_of(row, "id"): items_of(row, "moved_to") for row in rows}
    return [
        Move(
            text_of(row, "id"),
            tuple(dict.fromkeys(_today(steps, text_of(row, "id")))),
            text_of(row, "version"),
            text_of(row, "reason"),
        )
        for row in rows
    ]


def _today(steps: Mapping[str, Sequence[str]], name: str) -> Iterator[str]:
    """The ids that a published one leads to; itself where it never moved."""
    if name not in steps:
        yield name
    for target in steps.get(name, ()):
        yield from _today(steps, target)
