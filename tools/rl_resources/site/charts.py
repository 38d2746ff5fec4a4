"""The pages of charts and of coverage: the memory chart as SVG, figures and coverage as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import log
from operator import attrgetter
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from rl_resources.dataset import grouped
from rl_resources.query.configurations import configurations
from rl_resources.query.coverage import (
    MOST_WANTED,
    WANTED_RULE,
    Cell,
    Point,
    coverage,
    minimum_memory,
    throughputs,
)
from rl_resources.site.environment import Site, link

STYLE = PurePosixPath("site/assets/stylesheets/charts.css")
FEWEST_SIZES = 4
"""A task gets a panel of its own from this number of sizes on; the table has all."""
STEP = 4
"""Each line of the memory axis is four times the one below: 16, 64, 256 GB."""


def pages(site: Site) -> dict[str, str]:
    """`charts.md` with the memory chart as `charts/memory.svg`, and `coverage.md`."""
    dataset, known = site.dataset, configurations(site.dataset)
    memory = minimum_memory(known)
    values = {
        "memory": memory,
        "chart": memory_chart(memory, [size.name for size in site.sizes]),
        "throughputs": throughputs(known),
        "known": known,
        "reports": dataset.by_key["reports"],
        "style": (dataset.package.root / STYLE).read_text(encoding="utf-8"),
    }
    return {
        "charts.md": site.page("charts.md", **values),
        "charts/memory.svg": site.page("charts.md", "memory.svg", **values),
        "coverage.md": _coverage_page(site),
    }


def memory_chart(points: Sequence[Point], sizes: Sequence[str]) -> dict[str, Any]:
    """A panel for each task known at enough sizes, the task with most runs first.

    All have the same axes: sizes across, memory up, with a line for each of `powers`.
    """
    panels = [
        (task, group)
        for task, group in grouped(points, attrgetter("configuration.task")).items()
        if len({point.configuration.size for point in group}) >= FEWEST_SIZES
    ]
    panels.sort(key=lambda panel: (-sum(point.of for point in panel[1]), panel[0]))
    values = [point.value for point in points] or [1.0]
    powers = range(int(log(min(values), STEP)), int(log(max(values), STEP)) + 2)
    return {"panels": panels, "sizes": sizes, "powers": powers, "step": STEP, "log": log}


def _coverage_page(site: Site) -> str:
    found, path = coverage(site.dataset), "coverage.md"
    sizes = [size.name for size in site.sizes]
    every = (*found.cells, *found.partial)
    tasks, devices = (grid(every, axis, sizes) for axis in ("task", "device"))
    of_task = {task: [cell for cell in found.cells if cell.task == task] for task, _ in tasks}
    return site.page(
        path,
        by_task=tasks,
        by_device=devices,
        found=found,
        wanted=found.wanted[:MOST_WANTED],
        wanted_rule=WANTED_RULE,
        tables=[
            (site.dataset.by_key["tasks"][task], grid(cells, "device", sizes))
            for task, cells in of_task.items()
            if cells
        ],
        start=partial(_start_of_contribution, site.repository, link(path, "contributing/")),
    )


def grid(
    cells: Iterable[Cell], axis: str, sizes: Sequence[str]
) -> list[tuple[str, Sequence[Cell]]]:
    """For each word of an axis a cell for each size, summed over the other axis.

    The best covered is first: by its records, then by its reports.
    """
    sums: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        if cell.size and (word := getattr(cell, axis)):
            row = sums.setdefault(word, {size: Cell(size, word, word) for size in sizes})
            row[cell.size] = row[cell.size].plus(cell)

    def rank(line: tuple[str, Sequence[Cell]]) -> tuple[int, int, str]:
        word, row = line
        records, reports = (cell.records for cell in row), (cell.reports for cell in row)
        return -sum(records), -sum(reports), word

    return sorted(((word, [*row.values()]) for word, row in sums.items()), key=rank)


def _start_of_contribution(repository: str, contributing: str, cell: Cell, task: str = "") -> str:
    """Where a record of a cell begins: the form of the repository, filled in, or our own page."""
    known = {"task": task or cell.task, "device": cell.device}
    if repository:
        return f"{repository}/issues/new?{urlencode({'template': 'record.yml', **known})}"
    return f"{contributing}?{urlencode({'size': cell.size, **known})}"
