"""What the dataset holds and lacks, by size, task and device.

A cell is one combination of the three. *Wanted* is a cell without a record although reports say
that others run it: first those that most projects report, then those with most reports.

Further the extremes over all configurations: the points of the charts,
one for each published figure. Nothing is estimated or averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from operator import add, attrgetter
from typing import Any, NamedTuple

from rl_resources.certainty import NOT_RUN
from rl_resources.dataset import Dataset, grouped
from rl_resources.package import Record
from rl_resources.query.configurations import Configuration, configurations

WANTED_RULE = (
    "A combination is wanted when no record covers it although reports say that it ran: "
    "first those that most projects report, then those with most reports."
)

MOST_WANTED = 12
"""How many of those are shown at once."""

HEADLINES = ("full", "lora", "qlora")
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})

Combination = tuple[str, str, str]
"""Size, task, device."""


class CoverageCell(NamedTuple):
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

    def plus(self, other: CoverageCell) -> CoverageCell:
        """The same combination with the counts of both."""
        return CoverageCell(*self[:3], *map(add, self[3:], other[3:]))

    @property
    def is_partial(self) -> bool:
        """Whether the source leaves size, task or device open."""
        return not (self.size and self.task and self.device)

    @property
    def records(self) -> int:
        """Records with either tag or without."""
        return self.records_min + self.records_recommended + self.records_untagged


class Coverage(NamedTuple):
    """Every combination with a record or report, in the order of sizes, tasks and devices.

    `partial` are those whose source leaves size, task or device open, which is empty there.
    `missing` are the sizes without a record, by tag.
    """

    cells: tuple[CoverageCell, ...]
    partial: tuple[CoverageCell, ...]
    missing: Mapping[str, Sequence[str]]

    @property
    def unplaced(self) -> int:
        """Reports that leave size, task or device open."""
        return sum(
            cell.reports + cell.claims + cell.out_of_memory for cell in self.partial
        )

    @property
    def wanted(self) -> list[CoverageCell]:
        """Combinations that others run and no record covers, the most wanted first."""
        open_ = [cell for cell in self.cells if not cell.records and cell.reports]
        return sorted(open_, key=lambda cell: (-cell.projects, -cell.reports))


@lru_cache(maxsize=1)
def coverage(dataset: Dataset) -> Coverage:
    """Count records and reports."""
    by_combination = grouped(
        configurations(dataset), attrgetter("size", "task", "device")
    )
    reports = dataset.by_key["reports"]

    def keys(table: str) -> list[str]:
        return ["", *map(str, dataset.by_key[table])]

    places = product(keys("sizes"), keys("tasks"), keys("devices"))
    every = [
        _counted(place, by_combination[place], reports)
        for place in places
        if place in by_combination
    ]
    cells = [cell for cell in every if not cell.is_partial]
    partial = [cell for cell in every if cell.is_partial]
    missing = {}
    for tag in ("MIN", "RECOMMENDED"):
        counted = attrgetter(f"records_{tag.lower()}")
        covered = {cell.size for cell in cells if counted(cell)}
        lacking = [str(size) for size in dataset.by_key["sizes"] if size not in covered]
        if lacking:
            missing[tag] = lacking
    return Coverage(tuple(cells), tuple(partial), missing)


def _counted(
    combination: Combination,
    rows: Sequence[Configuration],
    reports: Mapping[object, Record],
) -> CoverageCell:
    # A source is identified by its repository, or by a thread's URL.
    counts: dict[str, Any] = Counter()
    projects = set()
    for row in rows:
        kind = _counted_as(row)
        counts[kind] += 1
        if kind == "reports":
            report = reports[row.id]
            projects.add(report["source_repo"] or report["source_url"])
    return CoverageCell(*combination, **counts, projects=len(projects))


def _counted_as(row: Configuration) -> str:
    """The field of `CoverageCell` that counts a row."""
    if row.outcome == "out-of-memory":
        return "out_of_memory"
    if row.certainty == NOT_RUN:
        return "not_run"
    if row.kind == "record":
        tag = row.tag.lower() or "untagged"
        return f"records_{tag}"
    if row.state == "run":
        return "reports"
    return "claims"


class Point(NamedTuple):
    """One published figure, chosen from `of` configurations."""

    configuration: Configuration
    value: float
    of: int = 1


def minimum_memory(known: Iterable[Configuration]) -> list[Point]:
    """The least memory of all devices together, in GB, of each class of configurations that ran.

    A record that is not run is a class of its own, so it never stands for one that ran.
    """

    def counts(row: Configuration) -> bool:
        if not all((row.weights, row.task, row.size, row.total_memory_gb)):
            return False
        return row.state == "run" or row.certainty == NOT_RUN

    def kind(row: Configuration) -> tuple[object, ...]:
        return row.task, row.position, row.kind, row.tag, row.certainty == NOT_RUN

    points = []
    for _, rows in sorted(grouped(filter(counts, known), kind).items()):
        best = min(rows, key=attrgetter("total_memory_gb", "id"))
        points.append(Point(best, best.total_memory_gb, len(rows)))
    return points


def throughputs(known: Iterable[Configuration]) -> list[Point]:
    """Every configuration with tokens per second, by device, the fastest first."""
    speed_of = attrgetter("tokens_per_second_per_gpu")
    points = [Point(row, speed_of(row)) for row in known if speed_of(row)]
    return sorted(
        points, key=lambda point: (point.configuration.device_label, -point.value)
    )
