"""What the dataset holds and lacks, by size, task and device.

A cell is one combination of the three. *Wanted* is a cell without a record although reports say
that others run it: first those that most projects report, then those with most reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.query.configurations import runs

WANTED_RULE = (
    "A combination is wanted when no record covers it although reports say that it ran: "
    "first those that most projects report, then those with most reports."
)

MOST_WANTED = 12
"""How many of those are shown at once."""

Place = tuple[str, str, str]
"""Size, task, device."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of one size, task and device. Counts of rows; `projects` counts sources.

    `reports` are those that ran and whose source gives no tag; the tagged ones are counted apart.
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

    `unplaced` counts the reports whose source leaves size, task or device open. `missing` are the
    sizes without a record, by tag.
    """

    cells: tuple[Cell, ...]
    unplaced: int
    missing: Mapping[str, Sequence[str]]

    @property
    def wanted(self) -> list[Cell]:
        """Combinations that others run and no record covers, the most wanted first."""
        open_ = [cell for cell in self.cells if not cell.records and cell.all_reports]
        return sorted(open_, key=lambda cell: (-cell.projects, -cell.all_reports))


@lru_cache(maxsize=1)
def coverage(dataset: Dataset) -> Coverage:
    """Count records and reports."""
    places: dict[Place, list[Record]] = {}
    unplaced = 0
    for row in runs(dataset):
        size = row["size"] if "size" in row else dataset.by_key["models"][row["model"]]["size"]
        place = (str(size or ""), str(row["task"] or ""), str(row["device"] or ""))
        if all(place):
            places.setdefault(place, []).append(row)
        else:
            unplaced += 1
    orders = [list(map(str, dataset.by_key[name])) for name in ("sizes", "tasks", "devices")]

    def rank(place: Place) -> list[int]:
        return [order.index(word) for order, word in zip(orders, place, strict=True)]

    cells = tuple(_cell(place, places[place]) for place in sorted(places, key=rank))
    return Coverage(cells, unplaced, _missing(cells, orders[0]))


def _missing(cells: Sequence[Cell], sizes: Sequence[str]) -> dict[str, list[str]]:
    """The sizes without a record, by tag."""
    known = {
        "MIN": {cell.size for cell in cells if cell.records_min},
        "RECOMMENDED": {cell.size for cell in cells if cell.records_recommended},
    }
    missing = {tag: [size for size in sizes if size not in found] for tag, found in known.items()}
    return {tag: found for tag, found in missing.items() if found}


def _cell(place: Place, rows: Sequence[Record]) -> Cell:
    # A source is identified by its repository, or by a thread's URL.
    ran = [row for row in rows if "report" in row and row["outcome"] == "ran"]
    projects = {row["source_repo"] or row["source_url"] for row in ran}
    counts: dict[str, Any] = Counter(map(_counted_as, rows))
    return Cell(*place, **counts, projects=len(projects))


def _counted_as(row: Record) -> str:
    """The field of `Cell` that counts a row."""
    if row.get("outcome") == "out-of-memory":
        return "out_of_memory"
    if row.get("status") == "untested":
        return "untested"
    kind = "records" if "script" in row else "reports"
    return f"{kind}_{str(row['tag']).lower()}" if row["tag"] else kind
