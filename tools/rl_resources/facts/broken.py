"""The broken cells of the dataset, and the rows whose cells are sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rl_resources.package import Field, number
from rl_resources.rule import Edit, Mistake, Place
from rl_resources.snapshot import RUNS, Snapshot, Table
from rl_resources.tabular import line_of
from rl_resources.text import shown


class Record(NamedTuple):
    """One row of a table, as messages name it."""

    table: Table
    row: int

    def text(self, name: str) -> str:
        """The cell of a column; empty where there is no such column."""
        return self.table.cell(self.row, name)

    def number(self, name: str) -> float:
        """The number in a column; 0 where there is none."""
        return number(self.text(name)) or 0

    def place(self, name: str) -> Place:
        """The place of a column's cell."""
        return self.table.place_in_file(self.row, name)

    def mistake(self, name: str, wrong: str, fix: str, about: Sequence[Place] = ()) -> Mistake:
        """A mistake in a column: `wrong` goes after the column, its record and its value."""
        of_record = ""
        label = self.table.label(self.row)
        if label and name not in self.table.schema.primary_key:
            of_record = f" of {label}"
        value = "empty"
        text = self.text(name)
        if text:
            value = f"`{shown(text, 120)}`"
        message = f"{name}{of_record} is {value}{wrong}"
        return self.table.mistake(self.row, name, message, fix, about)


class BrokenCell(NamedTuple):
    """A cell that breaks `constraint` of its column, or contains what no text may contain."""

    table: Table
    row: int
    field: Field
    constraint: str

    @property
    def cell(self) -> str:
        """The cell's text."""
        return self.table.cell(self.row, self.field.name)

    def mistake(self, wrong: str, fix: str, about: Sequence[Place] = ()) -> Mistake:
        """The mistake at this cell: `wrong` goes after the column and its value."""
        record = Record(self.table, self.row)
        return record.mistake(self.field.name, f", {wrong}", fix, about)


def with_cells(cells: Iterable[tuple[Table, int, str, str]]) -> Iterator[Edit]:
    """The files with other text in some cells: table, row, column, text.

    The rows are written in canonical form.
    """
    changed: dict[Table, dict[int, list[str]]] = {}
    for table, row, name, text in cells:
        old = table.rows[row]
        lines = changed.setdefault(table, {})
        new = lines.setdefault(old.line, list(old.cells))
        new[table.schema.names.index(name)] = text
    for table, lines in changed.items():
        texts = {line: line_of(new) for line, new in lines.items()}
        yield from table.with_lines(texts)


@lru_cache(maxsize=1)
def broken_cells(snapshot: Snapshot) -> tuple[BrokenCell, ...]:
    """Every cell that a rule on cells reports, with the first thing that is wrong with it.

    What no text may contain counts before the schema's constraints: the mistake is the zero-width
    space in `h100`, not the unknown device.
    """
    found: list[BrokenCell] = []
    for table in snapshot.tables.values():
        if table.rows:
            found.extend(_broken_cells_of(snapshot, table))
    return tuple(found)


def _broken_cells_of(snapshot: Snapshot, table: Table) -> Iterator[BrokenCell]:
    from rl_resources.schema.validation import failures  # imports pandera

    words = vocabulary_of(snapshot, table)
    for failure in failures(table.schema, table.columns, words):
        field = table.schema.field(failure.field)
        yield BrokenCell(table, failure.row, field, failure.constraint)


@lru_cache(maxsize=1)
def broken_keys(snapshot: Snapshot) -> frozenset[tuple[str, int, str]]:
    """Path, row and column of every broken cell; other rules do not rely on such a cell."""
    keys: set[tuple[str, int, str]] = set()
    for table, row, field, _ in broken_cells(snapshot):
        keys.add((table.path, row, field.name))
    return frozenset(keys)


@lru_cache(maxsize=1)
def broken_columns(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Path and name of every column that has a broken cell."""
    return frozenset((path, name) for path, _, name in broken_keys(snapshot))


def records(snapshot: Snapshot, resource: str, *names: str) -> Iterator[Record]:
    """The rows of a table whose cells in these columns are sound; none if it lacks a column."""
    table = snapshot.tables[resource]
    if not set(names) <= table.columns.keys():
        return
    broken = broken_keys(snapshot)
    for row in range(len(table.rows)):
        cells = [(table.path, row, name) for name in names]
        if broken.isdisjoint(cells):
            yield Record(table, row)


def runs(snapshot: Snapshot, *names: str) -> Iterator[Record]:
    """The tuning records and the reports whose cells in these columns are sound."""
    for resource in RUNS:
        yield from records(snapshot, resource, *names)


def vocabulary_of(snapshot: Snapshot, table: Table) -> Mapping[str, frozenset[str]]:
    """The words of every foreign key whose own table can be read as a whole and has rows.

    A script is also known by its file: its row may be missing or have another name.
    """
    found: dict[str, frozenset[str]] = {}
    for key in table.schema.foreign_keys:
        target = snapshot.tables[key.resource]
        if not target.rows or target.lost:
            continue
        words = set(target.columns[key.reference])
        if key.resource == "tuning":
            words.update(script.name for script in snapshot.scripts)
        found[key.field] = frozenset(words)
    return found
