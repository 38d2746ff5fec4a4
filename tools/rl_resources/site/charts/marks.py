"""The signs of the pictures: shape tells the tag, filling the kind, further strokes the trust."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import dist, floor

from rl_resources.query.points import Point

Place = tuple[float, float]

RADIUS = 5.0
RING = 8.4
"""Radius of the ring around a mark that is in doubt."""
_REACH = 2 * RADIUS + 0.5

SHAPES = {
    "MIN": "M-5.2-4.4h10.4L0 5z",
    "RECOMMENDED": "M0-6L1.5-2 5.7-1.9 2.4.8 3.5 4.9 0 2.5-3.5 4.9-2.4.8-5.7-1.9-1.5-2z",
    "": "M-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0-9.2 0z",
}
"""Path of each tag's sign around the origin, 5 units in each direction; blank is no tag."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What a mark looks like, apart from where it stands."""

    tag: str
    kind: str
    measured: bool = False
    doubted: bool = False
    untested: bool = False

    @property
    def shape(self) -> str:
        """Path around the origin."""
        return SHAPES[self.tag]

    @property
    def classes(self) -> str:
        """Classes of the style sheet."""
        words = [f"tagged-{self.tag.lower() or 'not'}", self.kind]
        return " ".join([*words, *(["untested"] if self.untested else [])])


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign at its place, and what it says when it is pointed at."""

    x: float
    y: float
    sign: Sign
    title: str


def sign_of(point: Point) -> Sign:
    """The sign of a point."""
    item = point.configuration
    return Sign(
        item.tag,
        item.kind,
        measured=item.trust == "measured",
        doubted=point.doubted,
        untested=point.untested,
    )


def side_by_side(places: Sequence[Place]) -> list[Place]:
    """The places, each moved to one side as far as no mark covers another."""
    taken: list[Place] = []
    near: dict[tuple[int, int], list[Place]] = defaultdict(list)
    full: dict[Place, int] = defaultdict(int)
    for x, y in places:
        steps = range(full[x, y], len(places) + 1)
        tried = ((step, (x + side * step * _REACH, y)) for step in steps for side in (1, -1))
        step, place = next(item for item in tried if not _covered(item[1], near))
        full[x, y] = step
        taken.append(place)
        near[_square(place)].append(place)
    return taken


def _square(place: Place) -> tuple[int, int]:
    """Of squares as wide as marks reach, the one that a place is in."""
    return floor(place[0] / _REACH), floor(place[1] / _REACH)


def stacked(positions: Sequence[float]) -> list[float]:
    """How far each mark of a lane is moved down (up, if below 0), so that none covers another."""
    moved = side_by_side([(0, x) for x in positions])
    return [down for down, _ in moved]


def _covered(place: Place, near: Mapping[tuple[int, int], Sequence[Place]]) -> bool:
    """Whether a mark in the same square, or one beside it, reaches the place."""
    across, down = _square(place)
    squares = product((across - 1, across, across + 1), (down - 1, down, down + 1))
    return any(dist(place, other) < _REACH for square in squares for other in near.get(square, ()))
