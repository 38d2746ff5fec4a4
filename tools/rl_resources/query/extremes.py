"""Extremes over all configurations, for the tables and charts of the site.

The minimum hardware of each size, the largest size of given hardware, and for the charts one point
for each published figure: nothing is estimated or averaged. Every configuration is either behind a
point or counted among the excluded, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import RUNS, UNTESTED, Configuration
from rl_resources.query.find import (
    SHOULD_FIT,
    TESTED,
    Answer,
    Largest,
    answers,
    fit,
    largest,
    size_of,
)
from rl_resources.query.understand import Query

HEADLINES = ("full", "lora", "qlora")
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})
GPUS = (1, 2, 4, 8, 16, 32, 64, 128)


class HardwareRow(NamedTuple):
    """So many GPUs of so much memory each, and the largest size of each task on them."""

    gpus: int
    memory_gb: float
    largest: dict[str, Largest]


def minimum(rows: Sequence[Configuration], size: str) -> list[Answer]:
    """For each task of a size the run that needs the least memory in all, the least first.

    Runs of which nobody says what trains do not count.
    """
    best: dict[tuple[str, str], Answer] = {}
    for item in sorted(_tested(rows, Query(size=size)), key=_size):
        row = item.configuration
        if row.task and row.weights:
            best.setdefault((row.task, row.weights), item)
    return list(best.values())


def headline(rows: Sequence[Configuration], size: str, weights: str) -> Answer | None:
    """The run of a size that needs the least memory in all, of those known to train `weights`.

    Nothing disputed or contradicted counts, and no model of images, videos or robots.
    """
    runs = (
        item
        for item in _tested(rows, Query(size=size, weights=weights))
        if item.configuration.weights == weights
        and not item.configuration.doubtful
        and item.configuration.memory_gb
        and NO_TEXT.isdisjoint(item.configuration.scenario)
    )
    return min(runs, key=_best_of_size, default=None)


def _tested(rows: Sequence[Configuration], query: Query) -> list[Answer]:
    return [item for item in answers(rows, query) if item.fit == TESTED]


def _best_of_size(answer: Answer) -> tuple[object, ...]:
    """The least memory first; of equal ones a real run, a measured one, the longest context."""
    row = answer.configuration
    return (
        *(row.total_memory_gb, row.gpus, "synthetic" in row.scenario),
        *(row.statement != "measured-run", -row.length, row.id),
    )


def _size(answer: Answer) -> tuple[bool, float, int, bool, str]:
    return size_of(answer.configuration)


def by_hardware(rows: Sequence[Configuration], memory_gb: float) -> list[HardwareRow]:
    """The largest sizes by the number of GPUs; one that adds nothing is left out."""
    any_number = Query(memory_gb=memory_gb)
    fitting = [row for row in rows if fit(any_number, row) in {TESTED, SHOULD_FIT}]
    found: list[HardwareRow] = []
    for gpus in GPUS:
        runs = answers(
            [row for row in fitting if row.gpus <= gpus], Query(memory_gb=memory_gb, gpus=gpus)
        )
        by_task = {item.task: item for item in largest(runs)}
        if by_task and (not found or _figures(by_task) != _figures(found[-1].largest)):
            found.append(HardwareRow(gpus, memory_gb, by_task))
    return found


def _figures(largest_: dict[str, Largest]) -> dict[str, tuple[str, int]]:
    return {task: (item.size, item.longest.configuration.length) for task, item in largest_.items()}


class Point(NamedTuple):
    """One published figure, chosen from `of` configurations."""

    configuration: Configuration
    value: float
    of: int = 1

    @property
    def doubted(self) -> bool:
        """Whether it is disputed, or another published figure contradicts it."""
        return self.configuration.doubtful

    @property
    def untested(self) -> bool:
        """Whether it is a record that nobody has run yet."""
        return self.configuration.evidence_level == UNTESTED


class Points(NamedTuple):
    """Points by task, size and figure; how many configurations are excluded, by reason."""

    points: tuple[Point, ...]
    excluded: Mapping[str, int]


def least_memory(known: Sequence[Configuration]) -> Points:
    """The least memory of all devices together, in GB, of each class of configurations.

    An untested record is a class of its own, so it never stands for one that ran.
    """
    used, excluded = _split(known, _reason_without_memory)
    return Points(_best(used, lambda item: -item.total_memory_gb), excluded)


def largest_batches(known: Sequence[Configuration]) -> Points:
    """The largest batch, in prompts per step, of each class of records."""
    records = [item for item in known if item.kind == "record"]
    used, excluded = _split(records, lambda item: "" if item.batch else "name no largest batch")
    return Points(_best(used, lambda item: item.batch), excluded)


def throughputs(dataset: Dataset, known: Sequence[Configuration]) -> Points:
    """Every record and report with tokens per second and device."""
    rows = (*dataset.records["tuning"], *dataset.records["reports"])
    column = "tokens_per_second_per_gpu"
    speeds = {row.get("script") or row["report"]: row[column] for row in rows if row[column]}
    by_id = {str(key).removesuffix(".sh"): float(str(speed)) for key, speed in speeds.items()}
    used, excluded = _split(known, lambda row: "" if row.id in by_id else "publish no throughput")
    points = [Point(row, by_id[row.id]) for row in used]
    order = sorted(points, key=lambda point: (point.configuration.device_label, -point.value))
    return Points(tuple(order), excluded)


def _reason_without_memory(item: Configuration) -> str:
    if item.outcome != "ran":
        return "ran out of memory"
    if item.statement not in RUNS and item.evidence_level != UNTESTED:
        return "are claims, not runs"
    if not item.weights:
        return "do not say what trains"
    known = item.task and item.size and item.total_memory_gb
    return "" if known else "do not state task, size or memory"


def _split(
    items: Iterable[Configuration], reason: Callable[[Configuration], str]
) -> tuple[list[Configuration], Counter[str]]:
    judged = [(item, reason(item)) for item in items]
    return [item for item, why in judged if not why], Counter(why for _, why in judged if why)


def _best(
    items: Iterable[Configuration], score: Callable[[Configuration], float]
) -> tuple[Point, ...]:
    """The best of each class; equal ones in the order of their ids."""
    points = []
    for _, group in groupby(sorted(items, key=lambda item: (_class(item), item.id)), _class):
        members = list(group)
        best = max(members, key=score)
        points.append(Point(best, abs(score(best)), len(members)))
    return tuple(points)


def _class(item: Configuration) -> tuple[str, int, str, str, bool]:
    return item.task, item.position, item.kind, item.tag, item.evidence_level == UNTESTED
