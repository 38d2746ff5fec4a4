"""Where the number of a mark stands: beside it, and clear of all marks and numbers before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rl_resources.site.charts.marks import RADIUS, RING, Mark, Place
from rl_resources.site.charts.text import width

SIZE = 10.0
"""Size of the font of numbers; `charts.css` sets it."""

_HIGH = 9.0
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_DISTANCES = (1.0, 1.7, 2.6)

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def beside(marks: Sequence[Mark], others: Sequence[Box], area: Box) -> list[Place]:
    """Centre of each mark's number, counted from 1, inside `area` and clear of `others` too."""
    taken = [*(around((mark.x, mark.y), _room(mark), _room(mark)) for mark in marks), *others]
    found = []
    for number, mark in enumerate(marks, start=1):
        wide = width(str(number), SIZE)
        tried = [(centre, around(centre, wide, _HIGH)) for centre in _centres(mark, wide)]
        whole = _hull([box for _, box in tried])
        near = [other for other in taken if _overlap(whole, other)]
        centre, box = min(tried, key=lambda pair: _trouble(pair[1], near, area))
        taken.append(box)
        found.append((round(centre[0], 1), round(centre[1], 1)))
    return found


def _room(mark: Mark) -> float:
    return 2 * (RING if mark.sign.doubted else RADIUS) + 1


def _centres(mark: Mark, wide: float) -> Iterator[Place]:
    """Places for a number, the nearest first."""
    near = _room(mark) / 2 + 1
    for distance in _DISTANCES:
        for right, down in _SIDES:
            yield (
                mark.x + right * (near + wide / 2) * distance,
                mark.y + down * (near + _HIGH / 2) * distance,
            )


def around(centre: Place, wide: float, high: float) -> Box:
    """The box of that width and height."""
    x, y = centre
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _hull(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds all."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _trouble(box: Box, taken: Sequence[Box], area: Box) -> int:
    """How many boxes it overlaps; outside the area counts as all."""
    left, top, right, bottom = area
    inside = box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom
    return sum(_overlap(box, other) for other in taken) + (0 if inside else len(taken) + 1)


def _overlap(one: Box, other: Box) -> bool:
    apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    return not apart
