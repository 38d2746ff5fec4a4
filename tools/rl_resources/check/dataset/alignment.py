"""Rows whose cells stand under the wrong names because one is missing or one too many."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from rl_resources.package import TableSchema
from rl_resources.schema.validation import failures

MOST_CELLS_OFF = 3
MOST_DECIMALS = 3

Cells = tuple[str, ...]


def realigned(
    schema: TableSchema, cells: Cells, vocabulary: Mapping[str, Collection[str]]
) -> list[Cells]:
    """The rows that may be meant: all that differ from `cells` by blanks put in or taken out at one
    place, by a decimal comma or by commas within one cell, and that break no constraint.
    """
    return fits(schema, _candidates(cells, len(schema.names)), vocabulary)


def requoted(
    schema: TableSchema, line: str, vocabulary: Mapping[str, Collection[str]]
) -> list[Cells]:
    """The rows that a line with a quote too many or too few may mean: with the quotes at the ends
    of its cells taken off, and its superfluous commas within one cell.
    """
    raw = tuple(line.split(","))
    over = len(raw) - len(schema.names)
    rows = [raw] if over == 0 else _joined(raw, over) if over > 0 else []
    bare = (tuple(_unquoted(cell) for cell in row) for row in rows)
    return fits(schema, list(dict.fromkeys(bare)), vocabulary)


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell.startswith('"') and cell.endswith('"'):
        cell = cell[1:-1]
    elif cell.count('"') % 2:
        cell = cell[1:] if cell.startswith('"') else cell.removesuffix('"')
    return cell.replace('""', '"')


def _candidates(cells: Cells, width: int) -> list[Cells]:
    off = width - len(cells)
    if abs(off) > MOST_CELLS_OFF:
        return []
    if off > 0:
        return list(dict.fromkeys(_with_blanks(cells, off)))
    points = _with_points(cells) if off == -1 else ()
    return list(dict.fromkeys((*points, *_without_blanks(cells, -off), *_joined(cells, -off))))


def _with_blanks(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) + 1):
        yield (*cells[:at], *[""] * count, *cells[at:])


def _without_blanks(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) - count + 1):
        if not any(cells[at : at + count]):
            yield (*cells[:at], *cells[at + count :])


def _with_points(cells: Cells) -> Iterator[Cells]:
    """Rows in which the comma between two numbers was a decimal one."""
    for at, (whole, part) in enumerate(pairwise(cells)):
        if whole.isdecimal() and part.isdecimal() and len(part) <= MOST_DECIMALS:
            yield (*cells[:at], f"{whole}.{part}", *cells[at + 2 :])


def _joined(cells: Cells, count: int) -> Iterator[Cells]:
    """Rows in which the commas between neighbours belong to one cell."""
    for at in range(len(cells) - count):
        whole = cells[at : at + count + 1]
        if all(whole):
            yield (*cells[:at], ",".join(whole), *cells[at + count + 1 :])


def fits(
    schema: TableSchema, rows: Sequence[Cells], vocabulary: Mapping[str, Collection[str]]
) -> list[Cells]:
    """Those of the rows that break no constraint of their columns."""
    if not rows:
        return []
    columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
    broken = {failure.row for failure in failures(schema, columns, vocabulary)}
    return [row for at, row in enumerate(rows) if at not in broken]
