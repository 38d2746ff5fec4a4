"""What the dataset holds and lacks, by size, task and device.

A cell is one combination of the three. *Wanted* is a cell that no record stands in although others
publish that they run it: the more projects do, the more it is wanted; then the more reports. So a
wish follows from what people run, not from what we would like to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.query.vocabulary import TAGS

WANTED_RULE = (
    "A combination is wanted when no record holds it although reports say that it ran: first those "
    "that most projects report, then those with most reports."
)

Place = tuple[str, str, str]
"""Size, task, device."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of one size, task and device. Counts of rows; `projects` counts sources.

    `reports` are those that ran and whose source gives no tag; the tagged ones stand beside them.
    A report that ran out of memory is none of these, and a record that nobody has run yet is none
    of the records.
    """

    size: str
    task: str
    device: str
    records_min: int = 0
    records_recommended: int = 0
    reports_min: int = 0
    reports_recommended: int = 0
    reports: int = 0
    out_of_memory: int = 0
    projects: int = 0
    untested: int = 0

    @property
    def records(self) -> int:
        """Records of either tag."""
        return self.records_min + self.records_recommended

    @property
    def all_reports(self) -> int:
        """Reports of runs that went on, with or without a tag."""
        return self.reports_min + self.reports_recommended + self.reports


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every combination of which something is known, in the order of sizes, tasks and devices.

    `unplaced` counts the reports whose source leaves size, task or device open.
    """

    cells: tuple[Cell, ...]
    unplaced: int

    @property
    def wanted(self) -> list[Cell]:
        """Combinations that others run and no record holds, the most wanted first."""
        open_ = [cell for cell in self.cells if not cell.records and cell.all_reports]
        return sorted(open_, key=lambda cell: (-cell.projects, -cell.all_reports))

    def missing_tags(self, sizes: Iterable[str]) -> list[tuple[str, str]]:
        """Size and tag of every section that holds no record of that tag."""
        held = {(cell.size, "MIN") for cell in self.cells if cell.records_min}
        held |= {(cell.size, "RECOMMENDED") for cell in self.cells if cell.records_recommended}
        return [(size, tag) for size in sizes for tag in TAGS if (size, tag) not in held]


@lru_cache(maxsize=1)
def coverage(dataset: Dataset) -> Coverage:
    """Count records and reports."""
    records = [(_place_of_record(dataset, row), row) for row in dataset.records["tuning"]]
    reports = [(_place(row["size"], row), row) for row in dataset.records["reports"]]
    placed = [(place, row) for place, row in reports if all(place)]
    order = _order(dataset)
    places = {place for place, _ in [*records, *placed]}
    by_record, by_report = _grouped(records), _grouped(placed)
    cells = (
        _cell(place, by_record.get(place, []), by_report.get(place, []))
        for place in sorted(places, key=lambda place: _rank(order, place))
    )
    return Coverage(tuple(cells), len(reports) - len(placed))


def _place_of_record(dataset: Dataset, row: Record) -> Place:
    return _place(dataset.by_key["models"][row["model"]]["size"], row)


def _place(size: object, row: Record) -> Place:
    return str(size or ""), str(row["task"] or ""), str(row["device"] or "")


def _order(dataset: Dataset) -> list[Mapping[object, int]]:
    return [
        {row: at for at, row in enumerate(dataset.by_key[name])}
        for name in ("sizes", "tasks", "devices")
    ]


def _rank(order: list[Mapping[object, int]], place: Place) -> tuple[int, ...]:
    return tuple(ranks.get(word, len(ranks)) for ranks, word in zip(order, place, strict=True))


def _grouped(rows: list[tuple[Place, Record]]) -> dict[Place, list[Record]]:
    ordered = sorted(rows, key=lambda pair: pair[0])
    groups = groupby(ordered, key=lambda pair: pair[0])
    return {place: [row for _, row in group] for place, group in groups}


def _cell(place: Place, records: list[Record], reports: list[Record]) -> Cell:
    ran = [row for row in reports if row["outcome"] == "ran"]
    tested = [row for row in records if row["status"] != "untested"]
    return Cell(
        *place,
        records_min=_tagged(tested, "MIN"),
        records_recommended=_tagged(tested, "RECOMMENDED"),
        reports_min=_tagged(ran, "MIN"),
        reports_recommended=_tagged(ran, "RECOMMENDED"),
        reports=_tagged(ran, None),
        out_of_memory=len(reports) - len(ran),
        projects=len(set(_projects(ran))),
        untested=len(records) - len(tested),
    )


def _tagged(rows: list[Record], tag: str | None) -> int:
    return sum(row["tag"] == tag for row in rows)


def _projects(rows: list[Record]) -> Iterator[object]:
    """What tells one source's author from another: its repository, or a thread's address."""
    for row in rows:
        yield row["source_repo"] or row["source_url"]
