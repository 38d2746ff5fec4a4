"""The pages of charts, of coverage and of the estimate, with its back-test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import log
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

import polars as pl

from rl_resources.dataset import grouped
from rl_resources.estimate.estimate import VERDICTS
from rl_resources.estimate.formula import published
from rl_resources.query import coverage
from rl_resources.query.configurations import configurations
from rl_resources.site.environment import Site, link
from rl_resources.site.record_page import OWN_FIELDS

STYLE = PurePosixPath("site/assets/stylesheets/charts.css")
BACKTEST = PurePosixPath("benchmarks/backtest.csv")
"""The measured runs with their estimates, in a checkout; no wheel has it."""
SIMULATED = "pytorch"
"""The kind of cases that no GPU ran: PyTorch's own accounts of steps on fake tensors."""
OUTCOMES = {"ran": "ran", "out-of-memory": "ran out of memory"}
GOALS = (0.08, 0.20)
"""The errors that half and nine of ten estimates should stay below."""
FEWEST_SIZES = 4
"""A task gets a panel of its own from this number of sizes on; the table has all."""
STEP = 4
"""Each line of the memory axis is four times the one below: 16, 64, 256 GB."""


def pages(site: Site) -> dict[str, str]:
    """`charts.md` with the memory chart as `charts/memory.svg`, `coverage.md`, `estimate.md`."""
    dataset, known = site.dataset, configurations(site.dataset)
    memory = coverage.minimum_memory(known)
    values = {
        "memory": memory,
        "chart": memory_chart(memory, [size.name for size in site.sizes]),
        "throughputs": coverage.throughputs(dataset, known),
        "known": known,
        "reports": dataset.by_key["reports"],
        "style": (dataset.package.root / STYLE).read_text(encoding="utf-8"),
    }
    return {
        "charts.md": site.page("charts.md", **values),
        "charts/memory.svg": site.page("charts.md", "memory.svg", **values),
        "coverage.md": _coverage_page(site),
        "estimate.md": site.page(
            "estimate.md",
            formula=published(),
            own_fields=OWN_FIELDS,
            backtest=backtest(dataset.package.root / BACKTEST),
            verdicts=VERDICTS,
        ),
    }


def memory_chart(points: Sequence[coverage.Point], sizes: Sequence[str]) -> dict[str, Any]:
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
    found = coverage.coverage(site.dataset)
    sizes = [size.name for size in site.sizes]
    every = (*found.cells, *found.partial)
    tasks, devices = (grid(every, axis, sizes) for axis in ("task", "device"))
    of_task = {task: [cell for cell in found.cells if cell.task == task] for task, _ in tasks}
    return site.page(
        "coverage.md",
        by_task=tasks,
        by_device=devices,
        found=found,
        wanted=found.wanted[: coverage.MOST_WANTED],
        wanted_rule=coverage.WANTED_RULE,
        tables=[
            (site.dataset.by_key["tasks"][task], grid(cells, "device", sizes))
            for task, cells in of_task.items()
            if cells
        ],
        start=partial(_start_of_contribution, site),
    )


def grid(
    cells: Iterable[coverage.Cell], axis: str, sizes: Sequence[str]
) -> list[tuple[str, Sequence[coverage.Cell]]]:
    """For each word of an axis a cell for each size, summed over the other axis.

    The best covered is first: by its records, then by its reports.
    """
    sums: dict[str, dict[str, coverage.Cell]] = {}
    for cell in cells:
        if cell.size and (word := getattr(cell, axis)):
            row = sums.setdefault(word, {size: coverage.Cell(size, word, word) for size in sizes})
            row[cell.size] = row[cell.size].plus(cell)

    def rank(line: tuple[str, Sequence[coverage.Cell]]) -> tuple[int, int, str]:
        word, row = line
        records, reports = (cell.records for cell in row), (cell.reports for cell in row)
        return -sum(records), -sum(reports), word

    return sorted(((word, [*row.values()]) for word, row in sums.items()), key=rank)


def _start_of_contribution(site: Site, cell: coverage.Cell, task: str = "") -> str:
    """Where a record of a cell begins: the form of the repository, filled in, or our own page."""
    if not site.repository:
        return link("coverage.md", "contributing/")
    known = {"template": "record.yml", "task": task or cell.task, "device": cell.device}
    return f"{site.repository}/issues/new?{urlencode(known)}"


def backtest(path: Path) -> dict[str, Any] | None:
    """The runs of the back-test with the errors of their estimates; `None` without its file."""
    if not path.is_file():
        return None
    cases = pl.read_csv(path, infer_schema_length=None).with_columns(
        every=pl.lit("all"),
        length=pl.when("known")
        .then(pl.lit("tokens known"))
        .otherwise(pl.lit("only the longest sequence known")),
    )
    peaks = cases.filter(pl.col("measured_gb") > 0)
    return {
        "runs": cases.height,
        "peaks": peaks.with_columns(
            x=pl.col("measured_gb").log(2), y=pl.col("estimated_gb").log(2)
        ).to_dicts(),
        "all": errors(peaks.filter(pl.col("kind") != SIMULATED), "every"),
        "errors": {by: errors(peaks, by) for by in ("kind", "length", "project")},
        "decided": {
            words: {
                verdict: cases.filter(outcome=outcome, verdict=verdict).height
                for verdict in VERDICTS
            }
            for outcome, words in OUTCOMES.items()
        },
    }


def errors(peaks: pl.DataFrame, by: str) -> list[dict[str, Any]]:
    """How far estimates of each group are off, the groups with most runs first.

    Relative errors: their median and 90th percentile, and the share of peaks within the interval.
    """
    off = (pl.col("estimated_gb") / pl.col("measured_gb") - 1).abs()
    found = peaks.group_by(group=pl.col(by)).agg(
        runs=pl.len(),
        median=off.median(),
        ninth=off.quantile(0.9, "higher"),
        within=pl.col("measured_gb").is_between("low_gb", "high_gb").mean(),
    )
    misses = (pl.col("median") > GOALS[0]) | (pl.col("ninth") > GOALS[1])
    ranked = found.with_columns(misses=misses).sort("runs", "group", descending=[True, False])
    return ranked.to_dicts()
