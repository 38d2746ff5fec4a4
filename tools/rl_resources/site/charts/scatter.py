"""Scatter plots: a figure against the parameters of the model, both axes logarithmic.

Each mark has a number, and below the axes a key says what each number is: so names stand in full
and cover nothing, on a telephone too. Lengths are units of the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.query.points import Point
from rl_resources.site.charts.marks import RADIUS, Mark, Place, side_by_side, sign_of
from rl_resources.site.charts.numbers import Box, around, beside
from rl_resources.site.charts.scale import LogScale
from rl_resources.site.charts.text import LARGE, SMALL, shortened, width

WIDTH = 330.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, WIDTH - 6, 68.0, 296.0
_AREA = (LEFT, TOP, RIGHT, BOTTOM)
_KEY, _ENTRY, _GAP, _FOOT = BOTTOM + 42, 31.0, 10.0, 4.0

Bounds = Mapping[str, tuple[float, float]]
"""Least and greatest parameters of each size, in billions; 0 is no bound."""


@dataclass(frozen=True, slots=True)
class Item:
    """One point to draw: its name, where that leads, and what the key says of it.

    `failed_at` is the smallest figure that ran out of memory, 0 if none is known.
    """

    point: Point
    name: str
    address: str
    said: str
    doubt: str
    title: str
    failed_at: float = 0


@dataclass(frozen=True, slots=True)
class Numbered:
    """An item in its place. `span` are the ends of a bar where only the size is known, `cross` is
    where it ran out of memory.
    """

    number: int
    mark: Mark
    label: Place
    span: tuple[float, float] | None
    cross: Place | None
    y: float
    name: str
    address: str
    count: str
    said: str
    doubt: str


@dataclass(frozen=True, slots=True)
class Band:
    """The place of one size along the axis."""

    name: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """One panel, ready to be written down."""

    id: str
    title: str
    subtitle: str
    description: str
    axis: str
    items: tuple[Numbered, ...]
    bands: tuple[Band, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]

    kind = "scatter"
    width = WIDTH
    left, right, top, bottom = LEFT, RIGHT, TOP, BOTTOM

    @property
    def height(self) -> float:
        """With the key."""
        return _KEY + len(self.items) * _ENTRY + _FOOT

    @property
    def marks(self) -> list[Mark]:
        """All marks, in the order of their numbers."""
        return [item.mark for item in self.items]


@dataclass(frozen=True, slots=True)
class Axes:
    """The scales that all panels of a picture share."""

    x: LogScale
    y: LogScale
    bounds: Bounds

    @classmethod
    def over(cls, items: Sequence[Item], bounds: Bounds) -> Axes:
        """Axes that hold every item, and the bar of each whose parameters are not known."""
        values = [item.point.value for item in items]
        values += [item.failed_at for item in items if item.failed_at]
        return cls(
            LogScale.over(_parameters(items, bounds), LEFT + RADIUS, RIGHT - RADIUS),
            LogScale.over(values, BOTTOM - RADIUS, TOP + RADIUS),
            bounds,
        )

    def span(self, point: Point) -> tuple[float, float]:
        """From where to where the size of a point reaches."""
        low, high = self.bounds[point.configuration.size]
        ends = max(low, self.x.low), min(high or self.x.high, self.x.high)
        return self.x.at(ends[0]), self.x.at(ends[1])

    def place(self, point: Point) -> Place:
        """Where a point stands; in the middle of its size where its parameters are not known."""
        x = self.x.at(point.parameters_b) if point.parameters_b else sum(self.span(point)) / 2
        return x, self.y.at(point.value)

    def failure(self, item: Item) -> Place:
        """Where the smallest figure stands that ran out of memory."""
        return self.place(item.point)[0], self.y.at(item.failed_at)

    def bands(self) -> Iterator[Band]:
        """The sizes that the axis crosses."""
        for name, (low, high) in self.bounds.items():
            ends = max(low, self.x.low), min(high or self.x.high, self.x.high)
            if ends[0] < ends[1]:
                start = LEFT if ends[0] == self.x.low else self.x.at(ends[0])
                end = RIGHT if ends[1] == self.x.high else self.x.at(ends[1])
                yield Band(name, start, round(end - start, 1))


def _parameters(items: Iterable[Item], bounds: Bounds) -> Iterator[float]:
    for item in items:
        if item.point.parameters_b:
            yield item.point.parameters_b
        else:
            yield from filter(None, bounds[item.point.configuration.size])


def scatter(
    id_: str, title: str, subtitle: str, axis: str, items: Sequence[Item], axes: Axes
) -> Scatter:
    """Place the items, and number them in their order."""
    failed = {at: axes.failure(item) for at, item in enumerate(items) if item.failed_at}
    every = side_by_side([*(axes.place(item.point) for item in items), *failed.values()])
    places, crosses = every[: len(items)], dict(zip(failed, every[len(items) :], strict=True))
    spans = [None if item.point.parameters_b else axes.span(item.point) for item in items]
    marks = [
        Mark(round(x, 1), round(y, 1), sign_of(item.point), item.title)
        for (x, y), item in zip(places, items, strict=True)
    ]
    labels = beside(marks, [*map(_bar, spans, marks), *map(_cross, crosses.values())], _AREA)
    values = [item.point.value for item in items]
    return Scatter(
        id=id_,
        title=shortened(title, WIDTH - 8, LARGE + 1),
        subtitle=shortened(subtitle, WIDTH - 8, SMALL),
        description=f"{len(values)} marks from {min(values):,g} to {max(values):,g}. {axis}.",
        axis=axis,
        items=tuple(
            _numbered(at, item, marks[at], labels[at], spans[at], crosses.get(at))
            for at, item in enumerate(items)
        ),
        bands=tuple(axes.bands()),
        x_ticks=tuple(axes.x.ticks()),
        y_ticks=tuple(axes.y.ticks()),
    )


def _bar(span: tuple[float, float] | None, mark: Mark) -> Box:
    """The room of a bar, or that of the mark alone."""
    start, end = span or (mark.x, mark.x)
    return start, mark.y - 1, end, mark.y + 1


def _cross(place: Place) -> Box:
    return around(place, 2 * RADIUS, 2 * RADIUS)


def _numbered(
    at: int,
    item: Item,
    mark: Mark,
    label: Place,
    span: tuple[float, float] | None,
    cross: Place | None,
) -> Numbered:
    count = f"n = {item.point.of:,}"
    doubt = width(f" {item.doubt}", SMALL) if item.doubt else 0
    room = WIDTH - LEFT - 4
    return Numbered(
        number=at + 1,
        mark=mark,
        label=label,
        span=span,
        cross=cross,
        y=_KEY + at * _ENTRY,
        name=shortened(item.name, room - width(count, SMALL) - _GAP, LARGE),
        address=item.address,
        count=count,
        said=shortened(item.said, room - doubt, SMALL),
        doubt=item.doubt,
    )
