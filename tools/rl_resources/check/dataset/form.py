"""Rules about the one canonical form of a valid file. `rl-resources fmt` mends them all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from rl_resources.check.dataset.broken import broken_places
from rl_resources.check.dataset.provenance import report_size
from rl_resources.check.dataset.scripts import name_against_row
from rl_resources.check.dataset.tables import duplicate_key, model_size
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.order import SortKey, SortValue, sort_value
from rl_resources.tabular import Row, quote, write
from rl_resources.words import shown

FMT = "Run `rl-resources fmt`."

Place = tuple[str, int, int]

_MAY_BE_NEEDLESS = re.compile(r'"[^",]*"(?![^,])')


@rule("warning")
def row_order(snapshot: Snapshot) -> Iterator[Mistake]:
    """Rows stand in canonical order.

    Two contributions that each add a row then rarely touch the same line.

    Bad: a 14B record before a 7B record
    Good: a 7B record before a 14B record
    """
    for table in snapshot.tables.values():
        keys = order_keys(snapshot, table)
        if keys == sorted(keys):
            continue
        doubtful = _doubtful_places(snapshot)
        sure = [row for row in _indices(keys) if not _in_doubt(snapshot, table, row, doubtful)]
        for before, after in pairwise(sure):
            if keys[after] < keys[before]:
                label = table.label(after)
                yield Mistake(
                    table.path,
                    table.rows[after].line,
                    1,
                    f"{label} stands after line {table.rows[before].line} but sorts before it",
                    FMT,
                )
                break


@lru_cache(maxsize=1)
def _doubtful_places(snapshot: Snapshot) -> frozenset[Place]:
    """Cells that another rule speaks of: where a row belongs is known when they are mended."""
    mistakes = (
        *duplicate_key.mistakes(snapshot),
        *model_size.mistakes(snapshot),
        *report_size.mistakes(snapshot),
        *name_against_row.mistakes(snapshot),
    )
    return broken_places(snapshot) | {(item.path, item.line, item.column) for item in mistakes}


def _in_doubt(snapshot: Snapshot, table: Table, row: int, doubtful: frozenset[Place]) -> bool:
    """Whether a cell that decides the row's place is in doubt, here or in a table it leads to."""
    for path in table.schema.order_by:
        at, index = table, row
        for name in path.split("."):
            if name not in at.columns or (at.path, *at.place(index, name)) in doubtful:
                return True
            key = at.schema.foreign_key(name)
            if key is None or name == path.rpartition(".")[2]:
                break
            found = snapshot.keys(key.resource).get(at.cell(index, name))
            if found is None:
                return True
            at, index = snapshot.tables[key.resource], found
    return False


def order_keys(snapshot: Snapshot, table: Table) -> list[SortKey]:
    """The sort key of every row by the schema's `orderBy`; what cannot be followed sorts last."""
    columns = [_values(snapshot, table, path) for path in table.schema.order_by]
    return [tuple(column[row] for column in columns) for row in _indices(table.rows)]


def _values(snapshot: Snapshot, table: Table, path: str) -> list[SortValue]:
    """What a path of `orderBy` leads to from every row; rows of the same cell lead to the same."""
    follow = cache(
        lambda cell: sort_value(snapshot.package, table.schema, path, cell, snapshot.find)
    )
    name = path.partition(".")[0]
    return [follow(table.cell(row, name)) for row in _indices(table.rows)]


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and rows in order; `None` where it cannot be read."""
    if table.data is None or table.undecodable is not None or table.text.defects:
        return None
    if table.text.header is None or len(table.rows) != len(table.text.rows):
        return None
    if table.text.header.cells != table.schema.names:
        return None
    keys = order_keys(snapshot, table)
    rows = [row for _, row in sorted(zip(keys, table.rows, strict=True), key=lambda pair: pair[0])]
    return write([table.text.header.cells, *(row.cells for row in rows)])


def _indices(rows: Sequence[object]) -> range:
    return range(len(rows))


@rule("warning")
def canonical_quoting(snapshot: Snapshot) -> Iterator[Mistake]:
    """A cell is in quotes only where it must be.

    One form of writing a row keeps diffs down to what changed.

    Bad: `"h100"`
    Good: `h100`
    """
    for table in snapshot.tables.values():
        needless = [
            (row, index)
            for row, index in _needless_in(table)
            if (table.path, *row.place(index)) not in broken_places(snapshot)
        ]
        if not needless:
            continue
        row, index = needless[0]
        cell = shown(row.cells[index], 120)
        rows = f" (and {len(needless) - 1} more rows have such)" if len(needless) > 1 else ""
        yield Mistake(
            table.path,
            *row.place(index),
            f'the cell "{cell}" is in quotes that it does not need{rows}',
            FMT,
        )


@lru_cache(maxsize=24)
def _needless_in(table: Table) -> tuple[tuple[Row, int], ...]:
    """Every row with a cell that is in quotes without need, and the place of its first."""
    rows = filter(None, (table.text.header, *table.text.rows))
    found = ((row, _needless(table, row)) for row in rows)
    return tuple((row, index) for row, index in found if index is not None)


def _needless(table: Table, row: Row) -> int | None:
    """The first cell of a row that is in quotes without need."""
    for index, cell in enumerate(row.cells if _may_be_needless(table, row) else ()):
        line, column = row.starts[index]
        if table.lines[line - 1].startswith('"', column - 1) and quote(cell) == cell:
            return index
    return None


def _may_be_needless(table: Table, row: Row) -> bool:
    """Whether a row looks as if it had such a cell; most rows with quotes need them all."""
    lines = table.lines[row.line - 1 : row.starts[-1][0]] if row.starts else ()
    return any(map(_MAY_BE_NEEDLESS.search, lines))
