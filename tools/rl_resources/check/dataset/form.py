"""The canonical form of valid tables: rows in order, LF, quotes only where CSV needs them.

`rl-resources fmt` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import pairwise

from rl_resources.check.dataset.broken import broken_places
from rl_resources.check.dataset.provenance import report_size
from rl_resources.check.dataset.scripts import name_against_row
from rl_resources.check.dataset.tables import duplicate_key, model_size
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.order import SortKey, sort_key
from rl_resources.tabular import Row, quote, write
from rl_resources.words import shown

FMT = "Run `rl-resources fmt`."

Place = tuple[str, int, int]


@rule("warning")
def row_order(snapshot: Snapshot) -> Iterator[Mistake]:
    """Rows stand in canonical order, and a cell is in quotes only where it must be.

    Two contributions that each add a row then rarely touch the same line, and diffs show what
    changed.

    Bad: a 14B record before a 7B record; `"h100"`
    Good: a 7B record before a 14B record; `h100`
    """
    for table in snapshot.tables.values():
        yield from _misplaced_row(snapshot, table)
        yield from _needless_quotes(snapshot, table)


def _misplaced_row(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    """The first row whose order key is certain and less than that of a row before it."""
    keys = order_keys(snapshot, table)
    if keys == sorted(keys):
        return
    doubtful = _doubtful_places(snapshot)
    sure = [row for row in range(len(keys)) if not _is_doubtful(snapshot, table, row, doubtful)]
    for before, after in pairwise(sure):
        if keys[after] < keys[before]:
            first = table.rows[before].line
            message = f"{table.label(after)} stands after line {first} but sorts before it"
            yield Mistake(table.path, table.rows[after].line, 1, message, FMT)
            return


def _needless_quotes(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    """The first cell in quotes that it does not need."""
    needless = [
        (row, index)
        for row, index in _quoted_cells(table)
        if quote(row.cells[index]) == row.cells[index]
        and (table.path, *row.place(index)) not in broken_places(snapshot)
    ]
    lines = {row.line for row, _ in needless}
    for row, index in needless[:1]:
        more = f" (and {len(lines) - 1} more rows have such)" if len(lines) > 1 else ""
        message = f'the cell "{shown(row.cells[index], 120)}" is in quotes that it does not need'
        yield Mistake(table.path, *row.place(index), message + more, FMT)


def _quoted_cells(table: Table) -> Iterator[tuple[Row, int]]:
    """Every row and index of a cell in quotes."""
    for row in filter(None, (table.text.header, *table.text.rows)):
        for index, (line, column) in enumerate(row.starts):
            if table.line(line).startswith('"', column - 1):
                yield row, index


@lru_cache(maxsize=1)
def _doubtful_places(snapshot: Snapshot) -> frozenset[Place]:
    """Cells that another rule reports: where a row belongs is known when they are fixed."""
    mistakes = (
        *duplicate_key.mistakes(snapshot),
        *model_size.mistakes(snapshot),
        *report_size.mistakes(snapshot),
        *name_against_row.mistakes(snapshot),
    )
    return broken_places(snapshot) | {(item.path, item.line, item.column) for item in mistakes}


def _is_doubtful(snapshot: Snapshot, table: Table, row: int, doubtful: frozenset[Place]) -> bool:
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
    rows = (partial(table.cell, row) for row in range(len(table.rows)))
    return [sort_key(snapshot.package, table.schema, row, snapshot.find) for row in rows]


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and rows in order; `None` where it cannot be read."""
    if table.data is None or table.undecodable is not None or table.text.defects:
        return None
    if table.header != table.schema.names or len(table.rows) != len(table.text.rows):
        return None
    keys = order_keys(snapshot, table)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return write([table.header, *(table.rows[row].cells for row in order)])


def format_tables(snapshot: Snapshot) -> dict[str, str]:
    """The canonical text of every file that is not in canonical form, by path.

    A file that cannot be read whole as CSV is left alone.
    """
    return {
        table.path: text
        for table in snapshot.tables.values()
        if (text := canonical(snapshot, table)) is not None and text.encode("utf-8") != table.data
    }


def unformattable(snapshot: Snapshot) -> list[str]:
    """The files that `format_tables` leaves alone."""
    return [table.path for table in snapshot.tables.values() if canonical(snapshot, table) is None]
