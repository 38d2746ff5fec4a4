"""Where the panels of a picture stand when it is a file of its own."""

from __future__ import annotations

from dataclasses import dataclass

from rl_resources.site.charts.legend import Legend
from rl_resources.site.charts.matrix import Matrix
from rl_resources.site.charts.pictures import Picture
from rl_resources.site.charts.plot import WIDTH, Plot
from rl_resources.site.charts.scatter import Scatter

_GAP, _HEAD, _FOOT, _MOST_COLUMNS = 24.0, 40.0, 26.0, 3


Drawing = Legend | Scatter | Plot | Matrix


@dataclass(frozen=True, slots=True)
class Sheet:
    """Size of the file, and the upper left corner of legend and panels."""

    width: float
    height: float
    places: tuple[tuple[float, float, Drawing], ...]


def sheet(picture: Picture) -> Sheet:
    """Put the legend on top and the panels into columns, each panel into the shortest."""
    columns = min(len(picture.panels), _MOST_COLUMNS)
    ends = [_HEAD + picture.legend.height + _GAP] * columns
    places: list[tuple[float, float, Drawing]] = [(_GAP / 2, _HEAD, picture.legend)]
    for panel in picture.panels:
        column = ends.index(min(ends))
        places.append((_GAP / 2 + column * (WIDTH + _GAP), ends[column], panel))
        ends[column] += panel.height + _GAP
    return Sheet(columns * (WIDTH + _GAP), max(ends) + _FOOT, tuple(places))
