"""What the dataset holds and lacks, by size, task and device.

A cell is one combination of the three. *Wanted* is a cell without a record although reports say
that others run it: first those that most projects report, then those with most reports.

Further the extremes over all configurations: the minimum hardware of each size, and for the charts
one point for each published figure. Nothing is estimated or averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import add, attrgetter
from typing import Any, NamedTuple

from rl_resources.certainty import NOT_RUN
from rl_resources.dataset import Dataset, grouped
from rl_resources.package import Record
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import ordered
from rl_resources.query.understand import Query

WANTED_RULE = (
    "A combination is wanted when no record covers it although reports say that it ran: "
    "first those that most projects report, then those with most reports."
)

MOST_WANTED = 12
"""How many of those are shown at once."""

HEADLINES = ("full", "lora", "qlora")
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})

Place = tuple[str, str, str]
"""Size, task, device."""


class Cell(NamedTuple):
    """What is known of one size, task and device. Counts of rows; `projects` counts sources.

    `reports` are those of runs: one that ran out of memory, or that only claims something, is none
    of them. A record that is not run is none of the records.
    """

    size: str
    task: str
    device: str
    records_min: int = 0
    records_recommended: int = 0
    records_untagged: int = 0
    reports: int = 0
    claims: int = 0
    out_of_memory: int = 0
    projects: int = 0
    not_run: int = 0

    def plus(self, other: Cell) -> Cell:
        """The same place with the counts of both."""
        return Cell(*self[:3], *map(add, self[3:], other[3:]))

    @property
    def records(self) -> int:
        """Records with either tag or without."""
        return self.records_min + self.records_recommended + self.records_untagged


class Coverage(NamedTuple):
    """Every combination of which something is known, in the order of sizes, tasks and devices.

    `partial` are those whose source leaves size, task or device open, which is empty there.
    `missing` are the sizes without a record, by tag.
    """

    cells: tuple[Cell, ...]
    partial: tuple[Cell, ...]
    missing: Mapping[str, Sequence[str]]

    @property
    def unplaced(self) -> int:
        """Reports that leave size, task or device open."""
        return sum(cell.reports + cell.claims + cell.out_of_memory for cell in self.partial)

    @property
    def wanted(self) -> list[Cell]:
        """Combinations that others run and no record covers, the most wanted first."""
        open_ = [cell for cell in self.cells if not cell.records and cell.reports]
        return sorted(open_, key=lambda cell: (-cell.projects, -cell.reports))


@lru_cache(maxsize=1)
def coverage(dataset: Dataset) -> Coverage:
    """Count records and reports."""
    places = grouped(configurations(dataset), attrgetter("size", "task", "device"))
    orders = [["", *map(str, dataset.by_key[name])] for name in ("sizes", "tasks", "devices")]

    def rank(place: Place) -> list[int]:
        return [order.index(word) for order, word in zip(orders, place, strict=True)]

    known = sorted(places, key=rank)
    every = [_cell(place, places[place], dataset.by_key["reports"]) for place in known]
    cells = tuple(cell for cell in every if all(cell[:3]))
    partial = tuple(cell for cell in every if not all(cell[:3]))
    tagged = {
        "MIN": {cell.size for cell in cells if cell.records_min},
        "RECOMMENDED": {cell.size for cell in cells if cell.records_recommended},
    }
    missing = {tag: [size for size in orders[0][1:] if size not in tagged[tag]] for tag in tagged}
    return Coverage(cells, partial, {tag: sizes for tag, sizes in missing.items() if sizes})


def _cell(place: Place, rows: Sequence[Configuration], reports: Mapping[object, Record]) -> Cell:
    # A source is identified by its repository, or by a thread's URL.
    ran = [reports[row.id] for row in rows if _counted_as(row) == "reports"]
    projects = {report["source_repo"] or report["source_url"] for report in ran}
    counts: dict[str, Any] = Counter(map(_counted_as, rows))
    return Cell(*place, **counts, projects=len(projects))


def _counted_as(row: Configuration) -> str:
    """The field of `Cell` that counts a row."""
    if row.outcome == "out-of-memory":
        return "out_of_memory"
    if row.certainty == NOT_RUN:
        return "not_run"
    if row.kind == "record":
        return f"records_{row.tag.lower() or 'untagged'}"
    return "reports" if row.state == "run" else "claims"


def headline(rows: Sequence[Configuration], size: str, weights: str) -> Configuration | None:
    """The run of a size that needs the least memory in all, of those known to train `weights`.

    Nothing disputed or contradicted counts, and no model of images, videos or robots. Of equal ones
    it is the best answer.
    """
    runs = (row for row in rows if (row.size, row.weights, row.state) == (size, weights, "run"))
    counted = (row for row in runs if not row.doubtful and NO_TEXT.isdisjoint(row.scenario))
    known = ordered((row for row in counted if row.memory_gb), Query())
    return min(known, key=attrgetter("total_memory_gb", "gpus"), default=None)


class Point(NamedTuple):
    """One published figure, chosen from `of` configurations."""

    configuration: Configuration
    value: float
    of: int = 1


def minimum_memory(known: Iterable[Configuration]) -> list[Point]:
    """The least memory of all devices together, in GB, of each class of configurations that ran.

    A record that is not run is a class of its own, so it never stands for one that ran.
    """

    def kind(row: Configuration) -> tuple[object, ...]:
        return row.task, row.position, row.kind, row.tag, row.certainty == NOT_RUN

    ran = (row for row in known if row.state == "run" or row.certainty == NOT_RUN)
    complete = (row for row in ran if row.weights and row.task and row.size and row.total_memory_gb)
    points = []
    for _, rows in sorted(grouped(complete, kind).items()):
        best = min(rows, key=lambda row: (row.total_memory_gb, row.id))
        points.append(Point(best, best.total_memory_gb, len(rows)))
    return points


def throughputs(known: Iterable[Configuration]) -> list[Point]:
    """Every configuration with tokens per second, by device, the fastest first."""
    points = (Point(row, row.tokens_per_second_per_gpu) for row in known)
    found = (point for point in points if point.value)
    return sorted(found, key=lambda point: (point.configuration.device_label, -point.value))
