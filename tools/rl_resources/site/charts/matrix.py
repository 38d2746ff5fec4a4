"""The coverage map: tasks or devices down the side, sizes across, what is known in each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import attrgetter

from rl_resources.query.coverage import Cell
from rl_resources.site.charts.marks import Mark, Sign
from rl_resources.site.charts.text import LARGE, SMALL, plain, shortened

SHADES = ((1, "1 to 4"), (5, "5 to 19"), (20, "20 and more"))
"""Least number of reports of each shade, and its words."""

WIDTH = 330.0
_LEFT, _TOP, _CELL, _TALL = 110.0, 64.0, 24.0, 26.0
_SIGNS = (("MIN", 6.5), ("RECOMMENDED", 17.5))
MOST_CELLS = 110
"""A panel has room for so many."""


@dataclass(frozen=True, slots=True)
class Square:
    """One cell in its place.

    `shade` is 0 without reports; `state` is `held`, `untested`, `failed` where all that is known is
    that it ran out of memory, or blank.
    """

    x: float
    y: float
    shade: int
    state: str
    label: str
    signs: tuple[Mark, ...]
    title: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The cells of one task or device, of which something is known."""

    name: str
    y: float
    squares: tuple[Square, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One panel, ready to be written down."""

    id: str
    title: str
    subtitle: str
    description: str
    height: float
    columns: tuple[tuple[float, float, str], ...]
    rows: tuple[MatrixRow, ...]

    kind = "matrix"
    width = WIDTH
    left = _LEFT
    top = _TOP
    cell = (_CELL, _TALL)

    @property
    def marks(self) -> list[Square]:
        """All cells, from the top."""
        return [square for row in self.rows for square in row.squares]


def summed(cells: Iterable[Cell], axis: str) -> list[Cell]:
    """One cell for each size and word of `axis` (`task`, `device`); the other word is blank.

    The best covered word comes first. `projects` counts a project once for each cell it is in.
    """
    sums: dict[tuple[str, str], Cell] = {}
    weights: dict[str, int] = {}
    for cell in cells:
        word = str(getattr(cell, axis))
        key = (word, cell.size)
        blank = Cell(cell.size, *((word, "") if axis == "task" else ("", word)))
        sums[key] = _added(sums.get(key, blank), cell)
        weights[word] = weights.get(word, 0) + 1000 * cell.records + cell.all_reports
    return sorted(sums.values(), key=lambda cell: _rank(str(getattr(cell, axis)), weights))


def with_room(cells: Iterable[Cell], axis: str) -> list[Cell]:
    """The cells of `summed` for which a panel has room: of each word all or none."""
    drawn: list[Cell] = []
    for _, row in groupby(cells, attrgetter(axis)):
        held = list(row)
        if len(drawn) + len(held) > MOST_CELLS:
            break
        drawn += held
    return drawn


def _rank(word: str, weights: Mapping[str, int]) -> tuple[int, str]:
    return -weights[word], word


def _added(one: Cell, other: Cell) -> Cell:
    counts = [field.name for field in fields(Cell)][3:]
    return Cell(
        one.size,
        one.task,
        one.device,
        **{name: getattr(one, name) + getattr(other, name) for name in counts},
    )


def matrix(id_: str, title: str, axis: str, cells: Sequence[Cell], sizes: Sequence[str]) -> Matrix:
    """Place the cells of `summed`."""
    words = list(dict.fromkeys(str(getattr(cell, axis)) for cell in cells))
    records, reports = sum(c.records for c in cells), sum(c.all_reports for c in cells)
    rows = tuple(
        MatrixRow(
            shortened(word, _LEFT - 8, SMALL),
            _TOP + place * _TALL,
            tuple(
                _square(cell, word, _TOP + place * _TALL, sizes)
                for cell in cells
                if getattr(cell, axis) == word
            ),
        )
        for place, word in enumerate(words)
    )
    return Matrix(
        id=id_,
        title=shortened(title, WIDTH - 8, LARGE + 1),
        subtitle=f"n = {records:,} records and {reports:,} reports that ran",
        description=f"{len(cells)} of {len(words) * len(sizes)} cells are filled.",
        height=_TOP + len(words) * _TALL + 8,
        columns=tuple(_column(at, size) for at, size in enumerate(sizes)),
        rows=rows,
    )


def _column(at: int, size: str) -> tuple[float, float, str]:
    """Place of a size's name: every second one stands higher, for all are wider than a cell."""
    return _LEFT + (at + 0.5) * _CELL, _TOP - (6 if at % 2 else 18), size


def _square(cell: Cell, word: str, y: float, sizes: Sequence[str]) -> Square:
    x = _LEFT + sizes.index(cell.size) * _CELL
    counts = {"MIN": cell.records_min, "RECOMMENDED": cell.records_recommended}
    signs = tuple(
        Mark(x + at, y + 7.5, Sign(tag, "record"), "") for tag, at in _SIGNS if counts[tag]
    )
    known = cell.all_reports
    return Square(
        x=x,
        y=y,
        shade=sum(known >= least for least, _ in SHADES),
        state=_state(cell),
        label=_count(known),
        signs=signs,
        title=plain(f"{word}, {cell.size}: {told(cell)}"),
    )


def _state(cell: Cell) -> str:
    if cell.records:
        return "held"
    if cell.untested:
        return "untested"
    return "" if cell.all_reports else "failed"


def _count(reports: int) -> str:
    """A count short enough for a cell."""
    if reports < 1000:
        return str(reports or "")
    return f"{reports // 1000}k+"


def told(cell: Cell) -> str:
    """What is known of a cell, in words."""
    counts = (
        (cell.records_min, "MIN record"),
        (cell.records_recommended, "RECOMMENDED record"),
        (cell.untested, "untested record"),
        (cell.all_reports, "report"),
    )
    words = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
    failed = f"{cell.out_of_memory} out of memory" if cell.out_of_memory else ""
    return ", ".join(filter(None, [*words, failed]))
