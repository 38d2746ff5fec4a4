"""Where the panels of a picture stand when it is a file of its own."""

from __future__ import annotations

from dataclasses import dataclass

from rl_resources.render.charts.legend import Legend
from rl_resources.render.charts.matrix import Matrix
from rl_resources.render.charts.pictures import Picture
from rl_resources.render.charts.plot import WIDTH, Plot
from rl_resources.render.charts.scatter import Scatter

_GAP, _HEAD, _FOOT, _MOST_COLUMNS = 24.0, 40.0, 26.0, 3


@dataclass(frozen=True, slots=True)
class Sheet:
    """Size of the file, and the upper left corner of each panel; the legend comes first."""

    width: float
    height: float
    places: tuple[tuple[float, float, Legend | Scatter | Plot | Matrix], ...]


def sheet(picture: Picture) -> Sheet:
    """Put the panels into columns, each panel into the shortest column."""
    columns = min(len(picture.panels), _MOST_COLUMNS)
    ends = [_HEAD] * columns
    places = []
    for panel in (picture.legend, *picture.panels):
        column = ends.index(min(ends))
        places.append((_GAP / 2 + column * (WIDTH + _GAP), ends[column], panel))
        ends[column] += panel.height + _GAP
    return Sheet(columns * (WIDTH + _GAP), max(ends) + _FOOT, tuple(places))
