"""Dot plots: model sizes down the side, a figure along a logarithmic axis.

Every name has a line of its own, with its marks in the lane below: so nothing covers anything,
however many names there are, and a telephone shows them all. Lengths are units of the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rl_resources.query.points import Point
from rl_resources.site.charts.marks import RADIUS, Mark, sign_of, stacked
from rl_resources.site.charts.scale import LogScale
from rl_resources.site.charts.text import LARGE, SMALL, shortened, width

WIDTH = 330.0
LEFT, RIGHT = 46.0, WIDTH - 8
_TOP, _BOTTOM = 56.0, 36.0
_NAME, _LANE, _PADDING = 15.0, 17.0, 5.0
_GAP = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line to draw: its name, and its points with what each says when it is pointed at."""

    size: str
    name: str
    points: tuple[Point, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A row in its place: name and count on `y`, marks around `lane`."""

    name: str
    count: str
    y: float
    lane: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of one size."""

    name: str
    y: float
    height: float
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """One panel, ready to be written down."""

    id: str
    title: str
    subtitle: str
    description: str
    axis: str
    height: float
    sections: tuple[Section, ...]
    ticks: tuple[tuple[float, str], ...]
    grid: tuple[float, ...]

    kind = "plot"
    width = WIDTH
    left = LEFT
    right = RIGHT
    top = _TOP

    @property
    def bottom(self) -> float:
        """Where the last section ends."""
        return self.height - _BOTTOM

    @property
    def marks(self) -> list[Mark]:
        """All marks, from the top."""
        return [mark for item in self.sections for line in item.lines for mark in line.marks]


def scale_of(rows: Sequence[Row]) -> LogScale:
    """The axis that holds every figure of the rows."""
    figures = [point.value for row in rows for point in row.points]
    return LogScale.over(figures, LEFT + RADIUS, RIGHT - RADIUS)


def dot_plot(
    id_: str, title: str, subtitle: str, axis: str, rows: Sequence[Row], scale: LogScale
) -> Plot:
    """Place the rows below their sizes, which stand in the order of the rows."""
    sections = tuple(_sections(rows, scale))
    figures = [point.value for row in rows for point in row.points]
    return Plot(
        id=id_,
        title=shortened(title, WIDTH - 8, LARGE + 1),
        subtitle=shortened(subtitle, WIDTH - 8, SMALL),
        description=f"{len(figures)} marks from {min(figures):,g} to {max(figures):,g}. {axis}.",
        axis=axis,
        height=sections[-1].y + sections[-1].height + _BOTTOM,
        sections=sections,
        ticks=tuple(scale.ticks()),
        grid=tuple(scale.lines()),
    )


def _sections(rows: Sequence[Row], scale: LogScale) -> Iterator[Section]:
    y = _TOP
    for size in dict.fromkeys(row.size for row in rows):
        lines, end = [], y + _PADDING
        for row in rows:
            if row.size == size:
                line, end = _line(row, scale, end)
                lines.append(line)
        height = end - y + _PADDING
        yield Section(size, y, height, tuple(lines))
        y += height


def _line(row: Row, scale: LogScale, y: float) -> tuple[Line, float]:
    """The row with its name just below `y`, and where the next one begins."""
    xs = [scale.at(point.value) for point in row.points]
    offsets = stacked(xs)
    lane = y + _NAME + _LANE / 2 - min(offsets)
    marks = tuple(
        Mark(x, round(lane + offset, 1), sign_of(point), title)
        for x, offset, point, title in zip(xs, offsets, row.points, row.titles, strict=True)
    )
    count = f"n = {len(xs):,}"
    room = RIGHT - LEFT - width(count, SMALL) - _GAP
    line = Line(shortened(row.name, room, LARGE), count, y + _NAME - 4, lane, marks)
    return line, lane + _LANE / 2 + max(offsets)
