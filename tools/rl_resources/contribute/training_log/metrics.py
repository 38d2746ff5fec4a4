"""The metrics of one step under the names that verl's releases gave them.

The names are those of verl/trainer/ppo/metric_utils.py (`timing_s/*`, `perf/time_per_step`,
`perf/throughput` in tokens for each second and GPU) and of the workers' `update_actor`
(`perf/max_memory_*_gb`, since 0.7 below `actor/`), from 0.2 to 0.9.1. Before that a step has
the times of its parts alone: `timing/gen`, …, `timing/update_actor` of ray_trainer.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

NUMBERS = ("step", "_step", "global_step", "training/global_step", "trainer/global_step")
_SECONDS = ("timing_s/step", "perf/time_per_step", "timing/step")
_THROUGHPUT = "perf/throughput"
_IMAGES = "perf/total_num_images"
_MEMORY = ("perf/max_memory_reserved_gb", "perf/max_memory_allocated_gb")
_INTERRUPTIONS = ("testing", "save_checkpoint")
_WRAPPED = re.compile(
    r"(?:[\w.]+\()?\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\d.]|[eE][-+\d]).*",
    re.DOTALL,
)
LARGEST_STEP = 10**12


@dataclass(frozen=True, slots=True)
class Step:
    """One training step; figures that were not logged are `None`.

    `tokens` are per second and accelerator, `memory` is in GB. `interrupted` steps also validated
    or saved a checkpoint, which their time holds. The `seconds` of `summed` steps are the sum of
    their parts.
    """

    number: int | None
    seconds: float | None
    tokens: float | None
    memory: float | None
    interrupted: bool
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Validation:
    """Metrics of a validation alone, as before the first step."""


def told_by(number: int | None, metrics: Mapping[str, object]) -> Step | Validation | None:
    """What metrics logged together tell of; `None` where they are of something else."""
    seconds = next((value for name in _SECONDS if (value := _positive(metrics.get(name)))), None)
    parts = _sum_of_parts(metrics) if seconds is None else None
    seconds = seconds or parts
    tokens = None if _IMAGES in metrics else _positive(metrics.get(_THROUGHPUT))
    memory = _memory(metrics)
    if seconds is None and tokens is None and memory is None:
        return Validation() if any(name.startswith("val") for name in metrics) else None
    return Step(number, seconds, tokens, memory, _interrupted(metrics), parts is not None)


def _sum_of_parts(metrics: Mapping[str, object]) -> float | None:
    """The seconds of all parts of a step, where it generated and updated the actor."""
    names = [name for name in metrics if name.startswith("timing/")]
    if not {"timing/gen", "timing/update_actor"}.issubset(names):
        return None
    work = (name for name in names if not name.endswith(_INTERRUPTIONS))
    return sum(filter(None, (_positive(metrics[name]) for name in work))) or None


def _memory(metrics: Mapping[str, object]) -> float | None:
    """What the allocator held at most; what it gave away of that where it tells no more."""
    found = [_positive(value) for name, value in metrics.items() if name.endswith(_MEMORY)]
    return max((value for value in found if value is not None), default=None)


def _interrupted(metrics: Mapping[str, object]) -> bool:
    names = (f"{group}/{name}" for group in ("timing_s", "timing") for name in _INTERRUPTIONS)
    return any(_positive(metrics.get(name)) for name in names)


def is_metric(name: str) -> bool:
    """Whether a name is one of those that figures are taken from."""
    return name in {*_SECONDS, _THROUGHPUT} or name.endswith(_MEMORY)


def number(value: object) -> float | None:
    """A finite number, also as text and inside `np.float64(…)`; `None` for all else."""
    if isinstance(value, str):
        match = _WRAPPED.fullmatch(value.strip()[:80])
        value = match[1] if match else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def step_number(value: object) -> int | None:
    """The number of a step, where it is one."""
    found = number(value)
    whole = found is not None and found == int(found) and 0 <= found < LARGEST_STEP
    return int(found) if found is not None and whole else None


def _positive(value: object) -> float | None:
    found = number(value)
    return found if found is not None and found > 0 else None
