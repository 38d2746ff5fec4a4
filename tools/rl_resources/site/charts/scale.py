"""Logarithmic axes: where a figure stands, and at which round figures the axis is labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rl_resources.site.charts.text import SMALL, width

_ROUND = ((1, 2, 5), (1, 3), (1,))
_MARGIN = 1.25
_GAP = 6


@dataclass(frozen=True, slots=True)
class LogScale:
    """Maps figures from `low` to `high` to positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> LogScale:
        """The scale on which all `values`, each above 0, lie well inside. Needs one at least."""
        known = list(values)
        return cls(min(known) / _MARGIN, max(known) * _MARGIN, start, end)

    def at(self, value: float) -> float:
        """The position of a figure above 0."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Position and label of round figures, as many as stand side by side, or one on another."""
        for steps in _ROUND:
            ticks = [(self.at(value), figure(value)) for value in self._round(steps)]
            if len(ticks) > 1 and not any(map(self._touch, ticks, ticks[1:])):
                return ticks
        return ticks

    def _touch(self, one: tuple[float, str], next_: tuple[float, str]) -> bool:
        """Whether two labels would; an axis that ends above its start is one that goes up."""
        if self.end < self.start:
            return one[0] - next_[0] < SMALL + _GAP
        taken = (width(one[1], SMALL) + width(next_[1], SMALL)) / 2
        return next_[0] - one[0] < taken + _GAP

    def lines(self) -> list[float]:
        """Positions of 1, 2 and 5 of each power of ten, which show that the axis is logarithmic."""
        return [self.at(value) for value in self._round(_ROUND[0])]

    def _round(self, steps: tuple[int, ...]) -> Iterator[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = (step * 10.0**power for power in powers for step in steps)
        return (value for value in values if self.low <= value <= self.high)


def figure(value: float) -> str:
    """A figure with its thousands apart."""
    return f"{value:,.4f}".rstrip("0").rstrip(".")
