"""The steps of a run added up in constant memory."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from statistics import median

from rl_resources.contribute.training_log.metrics import Step

MOST_WARM_UP_STEPS = 10
MOST_VALUES = 1 << 15
DECIMALS = 3


class Values:
    """Figures whose median is wanted: all, or of very many every second, fourth, …"""

    def __init__(self) -> None:
        self._kept = array("d")
        self._stride = 1
        self._seen = 0

    def add(self, value: float | None) -> None:
        """Take one figure in; `None` is none."""
        if value is None:
            return
        if self._seen % self._stride == 0:
            self._kept.append(value)
        self._seen += 1
        if len(self._kept) == MOST_VALUES:
            self._kept = self._kept[::2]
            self._stride *= 2

    def median(self) -> float | None:
        """The middle figure to the decimals that verl prints."""
        return round(median(self._kept), DECIMALS) if self._kept else None


@dataclass
class Tally:
    """One run: from its first step until the numbers of steps begin again.

    Warm-up is the first tenth of the steps, at least one and at most ten.
    """

    steps: int = 0
    interrupted: int = 0
    measured: int = 0
    last: int = -1
    memory: float | None = None
    summed: bool = False
    _early: list[Step] = field(default_factory=list)
    _seconds: Values = field(default_factory=Values)
    _tokens: Values = field(default_factory=Values)

    def add(self, step: Step) -> None:
        """Take in one step."""
        self.steps += 1
        self.last = self.last if step.number is None else step.number
        self.summed = self.summed or step.summed
        self.memory = max(filter(None, (self.memory, step.memory)), default=None)
        if len(self._early) < MOST_WARM_UP_STEPS:
            self._early.append(step)
        else:
            self._measure(step)

    def _measure(self, step: Step) -> None:
        if step.interrupted:
            self.interrupted += 1
            return
        self.measured += 1
        self._seconds.add(step.seconds)
        self._tokens.add(step.tokens)

    @property
    def warm_up(self) -> int:
        """How many steps are left out as warm-up."""
        return min(self.steps, max(1, min(MOST_WARM_UP_STEPS, self.steps // 10)))

    def medians(self) -> tuple[float | None, float | None]:
        """Seconds of a step, and tokens per second and accelerator; nothing can be added then."""
        for step in self._early[self.warm_up :]:
            self._measure(step)
        self._early = self._early[: self.warm_up]
        return self._seconds.median(), self._tokens.median()
