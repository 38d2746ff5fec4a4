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
from rl_resources.query.find import SHOULD_FIT, TESTED, Largest, answers, fit, largest, size_of
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
    it is a real run, a measured one, that of the longest context.
    """
    runs = (
        row
        for row in _tested(rows, Query(size=size, weights=weights))
        if row.weights == weights
        and not row.doubtful
        and row.memory_gb
        and NO_TEXT.isdisjoint(row.scenario)
    )

    def key(row: Configuration) -> tuple[object, ...]:
        synthetic, stated = "synthetic" in row.scenario, row.statement != "measured-run"
        return row.total_memory_gb, row.gpus, synthetic, stated, -row.length, row.id

    return min(runs, key=key, default=None)


def _tested(rows: Sequence[Configuration], query: Query) -> list[Configuration]:
    return [row for row in answers(rows, query) if row.fit == TESTED]


def by_hardware(
    rows: Sequence[Configuration], memory_gb: float
) -> list[tuple[int, Mapping[str, Largest]]]:
    """The largest size of each task by the number of GPUs; one that adds nothing is left out."""
    any_number = Query(memory_gb=memory_gb)
    fitting = [row for row in rows if fit(any_number, row) in {TESTED, SHOULD_FIT}]
    found: list[tuple[int, Mapping[str, Largest]]] = []
    before: object = {}
    for gpus in GPUS:
        fewer = [row for row in fitting if row.gpus <= gpus]
        items = largest(answers(fewer, Query(memory_gb=memory_gb, gpus=gpus)))
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
