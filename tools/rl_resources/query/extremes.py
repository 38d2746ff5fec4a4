"""Extremes over all configurations, for the tables and charts of the site.

The minimum hardware of each size, the largest size of given hardware, and for the charts one point
for each published figure: nothing is estimated or averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import RUNS, UNTESTED, Configuration
from rl_resources.query.find import SHOULD_FIT, TESTED, Largest, answers, largest, ordered, size_of
from rl_resources.query.understand import Query

HEADLINES = ("full", "lora", "qlora")
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})
GPUS = (1, 2, 4, 8, 16, 32, 64, 128)


def minimum(rows: Sequence[Configuration], size: str) -> list[Configuration]:
    """For each task of a size the run that needs the least memory in all, the least first.

    Runs of which nobody says what trains do not count.
    """
    best: dict[tuple[str, str], Configuration] = {}
    for row in sorted(_tested(rows, Query(size=size)), key=size_of):
        if row.task and row.weights:
            best.setdefault((row.task, row.weights), row)
    return list(best.values())


def headline(rows: Sequence[Configuration], size: str, weights: str) -> Configuration | None:
    """The run of a size that needs the least memory in all, of those known to train `weights`.

    Nothing disputed or contradicted counts, and no model of images, videos or robots. Of equal ones
    it is the best answer.
    """
    runs = [
        row
        for row in _tested(rows, Query(size=size, weights=weights))
        if row.weights == weights
        and not row.doubtful
        and row.memory_gb
        and NO_TEXT.isdisjoint(row.scenario)
    ]
    return min(runs, key=attrgetter("total_memory_gb", "gpus"), default=None)


def _tested(rows: Sequence[Configuration], query: Query) -> list[Configuration]:
    return [row for row in answers(rows, query) if row.fit == TESTED]


def by_hardware(
    rows: Sequence[Configuration], memory_gb: float
) -> list[tuple[int, Mapping[str, Largest]]]:
    """The largest size of each task by the number of GPUs; one that adds nothing is left out."""
    known = answers(rows, Query(memory_gb=memory_gb))
    fitting = [row for row in known if row.fit in {TESTED, SHOULD_FIT}]
    found: list[tuple[int, Mapping[str, Largest]]] = []
    before: object = {}
    for gpus in GPUS:
        fewer = [row for row in fitting if row.gpus <= gpus]
        items = largest(ordered(fewer, Query(memory_gb=memory_gb, gpus=gpus)))
        figures = {item.best.task: (item.best.size, item.longest.length) for item in items}
        if figures != before:
            found.append((gpus, {item.best.task: item for item in items}))
        before = figures
    return found


class Point(NamedTuple):
    """One published figure, chosen from `of` configurations."""

    configuration: Configuration
    value: float
    of: int = 1


def least_memory(known: Iterable[Configuration]) -> list[Point]:
    """The least memory of all devices together, in GB, of each class of configurations that ran.

    An untested record is a class of its own, so it never stands for one that ran.
    """
    classes: dict[tuple[str, int, str, str, bool], list[Configuration]] = {}
    for row in known:
        untested = row.evidence_level == UNTESTED
        ran = row.outcome == "ran" and (row.statement in RUNS or untested)
        if ran and row.weights and row.task and row.size and row.total_memory_gb:
            kind = (row.task, row.position, row.kind, row.tag, untested)
            classes.setdefault(kind, []).append(row)
    points = []
    for _, rows in sorted(classes.items(), key=itemgetter(0)):
        best = min(rows, key=lambda row: (row.total_memory_gb, row.id))
        points.append(Point(best, best.total_memory_gb, len(rows)))
    return points


def throughputs(dataset: Dataset, known: Iterable[Configuration]) -> list[Point]:
    """Every record and report with tokens per second and device, by device, the fastest first."""
    rows = (*dataset.records["tuning"], *dataset.records["reports"])
    column = "tokens_per_second_per_gpu"
    speeds = {row.get("script") or row["report"]: row[column] for row in rows if row[column]}
    by_id = {str(key).removesuffix(".sh"): float(str(speed)) for key, speed in speeds.items()}
    points = [Point(row, by_id[row.id]) for row in known if row.id in by_id]
    return sorted(points, key=lambda point: (point.configuration.device_label, -point.value))
