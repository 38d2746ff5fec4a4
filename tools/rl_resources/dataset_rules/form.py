"""Canonical form.

Rows are sorted and cells are quoted only where needed: `rl-resources fmt` does both.

`rl-resources fmt` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from rl_resources.dataset_rules.broken import broken_columns
from rl_resources.dataset_rules.records import duplicate_key, model_size
from rl_resources.dataset_rules.scripts import name_against_row
from rl_resources.package import NUMBERS, number
from rl_resources.rule import Edit, Mistake, rewritten, rule
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import line_of, write

FMT = "Run `rl-resources fmt`."
SortValue = tuple[int, float, str]
_DECIDING = (duplicate_key, model_size, name_against_row)


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
        yield from _needless_quotes(table)


def _misplaced_row(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    """The first row whose order key is less than that of the row before it."""
    keys = order_keys(snapshot, table)
    if keys == sorted(keys) or _is_in_doubt(snapshot, table):
        return
    at = next(at for at, (before, after) in enumerate(pairwise(keys), 1) if after < before)
    line = table.rows[at - 1].line
    message = f"{table.label(at)} belongs before line {line}: rows are sorted"
    yield Mistake(table.path, table.rows[at].line, 1, message, FMT)


def _is_in_doubt(snapshot: Snapshot, table: Table) -> bool:
    """Whether another rule reports what decides the order, in this table or one it leads to."""
    reported = {mistake.path for rule in _DECIDING for mistake in rule.mistakes(snapshot)}
    for path in table.schema.order_by:
        here = table
        for name in path.split("."):
            if here.path in reported or (here.path, name) in broken_columns(snapshot):
                return True
            key = here.schema.foreign_key(name)
            here = snapshot.tables[key.resource] if key else here
            if here is not table and (here.lost or not here.rows):
                return True
    return False


def _needless_quotes(table: Table) -> Iterator[Mistake]:
    """The first row with quotes that it does not need."""
    quoted = (row.line for row in table.rows if row.text and row.text != line_of(row.cells))
    for line in islice(quoted, 1):
        yield Mistake(table.path, line, 1, "the row has quotes that it does not need", FMT)


def fix_row_order(snapshot: Snapshot) -> Iterator[Edit]:
    """Rows in order and only as many quotes as CSV needs, where the whole file can be read."""
    found = {mistake.path for mistake in row_order.mistakes(snapshot)}
    for table in snapshot.tables.values():
        if table.path in found and (text := canonical(snapshot, table)) is not None:
            yield rewritten(table.path, text)


def order_keys(snapshot: Snapshot, table: Table) -> list[list[SortValue]]:
    """The sort key of every row by the schema's `orderBy`: numbers before text, and last what
    cannot be followed.
    """
    paths, rows = table.schema.order_by, range(len(table.rows))
    return [[_sort_value(snapshot, table, row, path) for path in paths] for row in rows]


def _sort_value(snapshot: Snapshot, table: Table, row: int, path: str) -> SortValue:
    """What one path of `orderBy` leads to from a row."""
    name, _, rest = path.partition(".")
    cell = table.cell(row, name)
    if not rest:
        known = number(cell) if table.schema.field(name).type in NUMBERS else None
        return (1, 0.0, cell) if known is None else (0, known, "")
    key = table.schema.foreign_key(name)
    found = snapshot.tables[key.resource].keys.get(cell) if key else None
    if key is None or found is None:
        return (2, 0.0, cell)
    return _sort_value(snapshot, snapshot.tables[key.resource], found, rest)


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """The whole file with LF, minimal quotes and rows in order; `None` where it cannot be read."""
    if table.lost or len(table.rows) != len(table.text.rows):
        return None
    keys = order_keys(snapshot, table)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return write([table.header, *(table.rows[row].cells for row in order)])
