"""Rows whose cells stand under the wrong names because one is missing or one too many."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rl_resources.package import TableSchema

MOST_CELLS_OFF = 3

Cells = tuple[str, ...]


def realigned(
    schema: TableSchema, cells: Cells, vocabulary: Mapping[str, Collection[str]]
) -> list[Cells]:
    """The rows that may be meant: all that differ from `cells` by blanks put in or taken out at one
    place, or by commas within one cell, and that break no constraint of the schema.

    A row of the right width has a blank moved from one place to another.
    """
    return _fitting(schema, _candidates(cells, len(schema.names)), vocabulary)


def _candidates(cells: Cells, width: int) -> list[Cells]:
    off = width - len(cells)
    if abs(off) > MOST_CELLS_OFF:
        return []
    if off > 0:
        return list(dict.fromkeys(_with_blanks(cells, off)))
    if off < 0:
        return list(dict.fromkeys((*_without_blanks(cells, -off), *_joined(cells, -off))))
    moved = (shorter for longer in _with_blanks(cells, 1) for shorter in _without_blanks(longer, 1))
    return [row for row in dict.fromkeys(moved) if row != cells]


def _with_blanks(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) + 1):
        yield (*cells[:at], *[""] * count, *cells[at:])


def _without_blanks(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) - count + 1):
        if not any(cells[at : at + count]):
            yield (*cells[:at], *cells[at + count :])


def _joined(cells: Cells, count: int) -> Iterator[Cells]:
    """Rows in which the commas between neighbours belong to one cell."""
    for at in range(len(cells) - count):
        whole = cells[at : at + count + 1]
        if all(whole):
            yield (*cells[:at], ",".join(whole), *cells[at + count + 1 :])


def _fitting(
    schema: TableSchema, rows: Sequence[Cells], vocabulary: Mapping[str, Collection[str]]
) -> list[Cells]:
    from rl_resources.schema.validate import failures

    if not rows:
        return []
    columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
    broken = {failure.row for failure in failures(schema, columns, vocabulary)}
    return [row for at, row in enumerate(rows) if at not in broken]
