"""What is wrong with each cell, found once for all the rules that speak of cells."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from rl_resources.check.rule import Mistake
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.package import Field, ForeignKey
from rl_resources.schema.validation import failures
from rl_resources.words import shown

Vocabulary = tuple[tuple[str, frozenset[str]], ...]
"""The words of each column that is a foreign key."""


class BrokenCell(NamedTuple):
    """A cell that breaks `constraint` of its column, or holds what no text may hold."""

    table: Table
    row: int
    field: Field
    constraint: str

    @property
    def cell(self) -> str:
        """The cell's text."""
        return self.table.cell(self.row, self.field.name)

    @property
    def limit(self) -> object:
        """The constraint's value in the schema."""
        return self.field.constraints.get(self.constraint)

    def mistake(self, wrong: str, fix: str) -> Mistake:
        """The mistake at this cell: `wrong` goes after the column and its value."""
        table, name = self.table, self.field.name
        value = f" is `{shown(self.cell)}`," if self.cell else ""
        label = table.label(self.row)
        whose = f" of {label}" if label and name not in table.schema.primary_key else ""
        place = table.place(self.row, name)
        return Mistake(table.path, *place, f"{name}{whose}{value} {wrong}", fix)


@lru_cache(maxsize=1)
def broken_cells(snapshot: Snapshot) -> tuple[BrokenCell, ...]:
    """Every cell that a rule about cells speaks of, with the first thing that is wrong with it.

    What a text may not hold goes before the schema's constraints: the zero-width space in `h100`
    is the mistake, not that no device is called so.
    """
    found: list[BrokenCell] = []
    for table in snapshot.tables.values():
        judge = _broken_of.__wrapped__ if table.outside else _broken_of  # they come once
        found += judge(table, tuple(vocabulary_of(snapshot, table).items()))
    return tuple(found)


@lru_cache(maxsize=1)
def broken_places(snapshot: Snapshot) -> frozenset[tuple[str, int, int]]:
    """Path, line and column of every broken cell: what follows from such a cell is not told."""
    return frozenset(
        (broken.table.path, *broken.table.place(broken.row, broken.field.name))
        for broken in broken_cells(snapshot)
    )


@lru_cache(maxsize=1)
def broken_keys(snapshot: Snapshot) -> frozenset[tuple[str, int, str]]:
    """Path, row and column name of every broken cell."""
    return frozenset(
        (broken.table.path, broken.row, broken.field.name) for broken in broken_cells(snapshot)
    )


@lru_cache(maxsize=1)
def broken_columns(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Path and column name of every column that has a broken cell."""
    return frozenset((path, name) for path, _, name in broken_keys(snapshot))


@lru_cache(maxsize=24)
def _broken_of(table: Table, vocabulary: Vocabulary) -> tuple[BrokenCell, ...]:
    return tuple(
        BrokenCell(table, failure.row, table.schema.field(failure.field), failure.constraint)
        for failure in failures(table.schema, table.columns, dict(vocabulary))
    )


def vocabulary_of(snapshot: Snapshot, table: Table) -> Mapping[str, frozenset[str]]:
    """The words of every foreign key whose own table can be read and has rows."""
    return {
        key.field: words
        for key in table.schema.foreign_keys
        if (words := _words_of(snapshot, key)) and snapshot.tables[key.resource].rows
    }


def _words_of(snapshot: Snapshot, key: ForeignKey) -> frozenset[str]:
    """All words that a foreign key may hold. A script is known by its file, too: that its row is
    missing or has another name is reported there.
    """
    words = snapshot.tables[key.resource].mentioned(key.reference)
    scripts = {script.name for script in snapshot.scripts} if key.resource == "tuning" else set()
    return words | scripts
