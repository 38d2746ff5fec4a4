"""Facts of the dataset for rules, pages and contributions: its broken cells, rows with sound cells
and canonical form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from rl_resources.package import NUMBERS, Field, ForeignKey, number
from rl_resources.rule import Edit, Mistake, Place
from rl_resources.snapshot import TABLES_OF_RUNS, Snapshot, Table
from rl_resources.tabular import line_of, write
from rl_resources.text import shown

Item = TypeVar("Item")


class TableRow(NamedTuple):
    """One row of a table, as messages name it."""

    table: Table
    row: int

    def text(self, name: str) -> str:
        """The cell of a column; empty where there is no such column."""
        return self.table.cell(self.row, name)

    def number(self, name: str) -> float:
        """The number in a column; 0 where there is none."""
        return number(self.text(name)) or 0

    @property
    def label(self) -> str:
        """What a message calls the row: its key, fit to be shown."""
        words = filter(None, map(self.text, self.table.schema.primary_key))
        return shown(" ".join(words), 120)

    def place(self, name: str) -> Place:
        """The place of a column's cell."""
        column = self.table.schema.names.index(name)
        return self.table.path, *self.table.rows[self.row].place(column)

    def mistake_in_words(
        self, name: str, message: str, fix: str, about: Sequence[Place] = ()
    ) -> Mistake:
        """A mistake in a column with a message of its own; see `Mistake` for `about`."""
        return Mistake(*self.place(name), message, fix, tuple(about))

    def mistake(
        self, name: str, wrong: str, fix: str, about: Sequence[Place] = ()
    ) -> Mistake:
        """A mistake in a column: `wrong` goes after the column, its record and its value."""
        of_record = ""
        if self.label and name not in self.table.schema.primary_key:
            of_record = f" of {self.label}"
        value = "empty"
        text = self.text(name)
        if text:
            value = f"`{shown(text, 120)}`"
        message = f"{name}{of_record} is {value}{wrong}"
        return self.mistake_in_words(name, message, fix, about)


class BrokenCell(NamedTuple):
    """A cell that breaks `constraint` of its column, or contains what no text may contain."""

    record: TableRow
    field: Field
    constraint: str

    @property
    def text(self) -> str:
        """The cell's text."""
        return self.record.text(self.field.name)

    @property
    def foreign_key(self) -> ForeignKey | None:
        """The foreign key of its column, if there is one."""
        return self.record.table.schema.foreign_key(self.field.name)

    def mistake(self, wrong: str, fix: str, about: Sequence[Place] = ()) -> Mistake:
        """The mistake at this cell: `wrong` goes after the column and its value."""
        return self.record.mistake(self.field.name, f", {wrong}", fix, about)


def with_cells(cells: Iterable[tuple[TableRow, str, str]]) -> Iterator[Edit]:
    """The files with other text in some cells: record, column, text.

    The rows are written in canonical form.
    """
    changed: dict[Table, dict[int, list[str]]] = {}
    for record, name, text in cells:
        table = record.table
        old = table.rows[record.row]
        lines = changed.setdefault(table, {})
        new = lines.setdefault(old.line, list(old.cells))
        new[table.schema.names.index(name)] = text
    for table, lines in changed.items():
        yield from table.with_lines({line: line_of(new) for line, new in lines.items()})


def once(
    facts: Callable[[Snapshot], Iterable[Item]],
) -> Callable[[Snapshot], tuple[Item, ...]]:
    """Make a generator of facts about a snapshot a function that finds them once for each."""

    @lru_cache(maxsize=1)
    def found(snapshot: Snapshot) -> tuple[Item, ...]:
        return tuple(facts(snapshot))

    return found


@once
def broken_cells(snapshot: Snapshot) -> Iterator[BrokenCell]:
    """Every cell that a rule on cells reports, with the first thing that is wrong with it.

    What no text may contain counts before the schema's constraints: the mistake is the zero-width
    space in `h100`, not the unknown device.
    """
    from rl_resources.schema.validation import failures  # imports pandera

    for table in snapshot.tables.values():
        if not table.rows:
            continue
        for failure in failures(
            table.schema, table.columns, vocabulary_of(snapshot, table)
        ):
            yield BrokenCell(
                TableRow(table, failure.row),
                table.schema.field(failure.field),
                failure.constraint,
            )


@lru_cache(maxsize=1)
def broken_keys(snapshot: Snapshot) -> frozenset[tuple[str, int, str]]:
    """Path, row and column of every broken cell; other rules do not rely on such a cell."""
    return frozenset(
        (record.table.path, record.row, field.name)
        for record, field, _ in broken_cells(snapshot)
    )


@lru_cache(maxsize=1)
def broken_columns(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Path and name of every column that has a broken cell."""
    return frozenset((path, name) for path, _, name in broken_keys(snapshot))


def records(snapshot: Snapshot, resource: str, *names: str) -> Iterator[TableRow]:
    """The rows of a table whose cells in these columns are sound; none if it lacks a column."""
    table = snapshot.tables[resource]
    if not set(names) <= table.columns.keys():
        return
    broken = broken_keys(snapshot)
    for row in range(len(table.rows)):
        cells = [(table.path, row, name) for name in names]
        if broken.isdisjoint(cells):
            yield TableRow(table, row)


def runs(snapshot: Snapshot, *names: str) -> Iterator[TableRow]:
    """The tuning records and the reports whose cells in these columns are sound."""
    for resource in TABLES_OF_RUNS:
        yield from records(snapshot, resource, *names)


def vocabulary_of(snapshot: Snapshot, table: Table) -> Mapping[str, frozenset[str]]:
    """The words of every foreign key whose own table can be read as a whole and has rows.

    A script is also known by its file: its row may be missing or have another name.
    """
    found = {}
    for key in table.schema.foreign_keys:
        target = snapshot.tables[key.resource]
        if not target.rows or target.lost:
            continue
        words = set(target.columns[key.reference])
        if key.resource == "tuning":
            words.update(script.name for script in snapshot.scripts)
        found[key.field] = frozenset(words)
    return found


# The canonical form of a table: the order of its rows, and its text

SortValue = tuple[int, float, str]


def order_keys(snapshot: Snapshot, table: Table) -> list[list[SortValue]]:
    """The sort key of every row by the schema's `orderBy`: numbers come before text, and what
    cannot be followed comes last.
    """
    paths = table.schema.order_by
    keys = []
    for row in range(len(table.rows)):
        key = [_sort_value(snapshot, table, row, path) for path in paths]
        keys.append(key)
    return keys


def _sort_value(snapshot: Snapshot, table: Table, row: int, path: str) -> SortValue:
    """What one path of `orderBy` leads to from a row."""
    name, _, rest = path.partition(".")
    cell = table.cell(row, name)
    key = table.schema.foreign_key(name)
    if rest and key:
        target = snapshot.tables[key.resource]
        if cell in target.keys:
            return _sort_value(snapshot, target, target.keys[cell], rest)
    if rest:
        return (2, 0.0, cell)
    known = number(cell)
    if known is None or table.schema.field(name).type not in NUMBERS:
        return (1, 0.0, cell)
    return (0, known, "")


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and sorted rows; `None` if it cannot be read."""
    if table.lost or len(table.rows) != len(table.text.rows):
        return None
    keys = order_keys(snapshot, table)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return write([table.header, *[table.rows[row].cells for row in order]])
