"""All pages but those of records and rules.

Records in, Markdown text out. Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the
URL `/sizes/7b/` can take the same files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import log
from operator import attrgetter, itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from rl_resources.dataset import grouped, moves
from rl_resources.estimate.formula import formula
from rl_resources.estimate.published import published
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.package import Record
from rl_resources.query import coverage
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
)
from rl_resources.query.estimate import estimate, estimated_models
from rl_resources.site import finder, things
from rl_resources.site.api import record_id
from rl_resources.site.downloads import Download
from rl_resources.site.environment import UNKNOWN_SIZE, Site, reports_url
from rl_resources.site.record_page import OWN_FIELDS

STYLE = PurePosixPath("site/assets/stylesheets/charts.css")
BACKTEST = PurePosixPath("benchmarks")
"""Where a checkout has the measured runs with their estimates and errors; no wheel has them."""
OUTCOMES = {"ran": "ran", "out-of-memory": "ran out of memory"}
FEWEST_SIZES = 4
"""A task gets a panel of its own from this number of sizes on; the table has all."""
STEP = 4
"""Each line of the memory axis is four times the one below: 16, 64, 256 GB."""


def pages(site: Site, files: Sequence[Download] = ()) -> dict[str, str]:
    """All pages here by path; `files` are the downloads that the page of the data lists."""
    rows = things.run_rows(site, every_configuration(site.dataset))
    return {
        "index.md": finder.front(site),
        **_reports(site, rows),
        **_records(site, rows),
        **things.pages(site, rows),
        "recipes.md": site.page("recipes.md"),
        "data.md": data_page(site, files),
        **charts(site),
    }


def _records(site: Site, html: Mapping[str, str]) -> dict[str, str]:
    """All records, the sizes, and the records of each size."""
    by_id = {row.id: row for row in configurations(site.dataset)}
    every = [by_id[record_id(record)] for record in site.records["tuning"]]
    index = "records/index.md"
    rows = things.run_rows(site, every, index)
    found = {
        index: site.page(index, "records.md", records=every, html=rows),
        "sizes/index.md": site.page("sizes/index.md", "sizes.md"),
    }
    by_size = grouped(every, attrgetter("size"))
    for size in site.sizes:
        path = f"sizes/{size.name.lower()}.md"
        records = by_size.get(size.name, [])
        found[path] = site.page(path, "size.md", size=size, records=records, html=html)
    return found


def _reports(site: Site, html: Mapping[str, str]) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    reports = [row for row in every_configuration(site.dataset) if row.kind == "report"]
    empty = {row["report"]: list(row.values()).count(None) for row in site.records["reports"]}
    by_size = grouped(reports, lambda row: row.size or UNKNOWN_SIZE)

    def rank(row: Configuration) -> tuple[bool, int]:
        """Runs before benchmarks on random tokens, then those with the fewest empty cells."""
        return "synthetic" in row.scenario, empty[row.id]

    sections: dict[str, list[Configuration]] = {}
    for name in (*(size.name for size in site.sizes), UNKNOWN_SIZE):
        if name in by_size:
            sections[name] = sorted(by_size[name], key=rank)
    shared = {
        "sections": sections,
        "schema": site.package.resources["reports"].schema,
        "html": html,
        "moved": moves(site.dataset, "reports"),
    }
    found = {"reports.md": site.page("reports.md", **shared)}
    for name in sections:
        path = f"{reports_url(name).removesuffix('/')}.md"
        only = "" if name == UNKNOWN_SIZE else name
        found[path] = site.page(path, "reports-of-size.md", **shared, section=name, only=only)
    return found


def data_page(site: Site, files: Sequence[Download]) -> str:
    """The page of the downloads and of what every column means."""
    contents = {item.name: item.content for item in files}
    croissant = json.loads(contents.get("croissant.json", "{}"))
    return site.page(
        "data.md",
        formats=[(name, list(found)) for name, found in groupby(files, attrgetter("format"))],
        structured={name: value for name, value in croissant.items() if name != "recordSet"},
    )


def charts(site: Site) -> dict[str, str]:
    """`charts.md` with the memory chart as `charts/memory.svg`, `coverage.md`, `estimate.md`."""
    dataset = site.dataset
    known = configurations(dataset)
    memory = coverage.minimum_memory(known)
    values = {
        "memory": memory,
        "chart": memory_chart(memory, [size.name for size in site.sizes]),
        "throughputs": coverage.throughputs(known),
        "known": known,
        "reports": dataset.by_key["reports"],
        "style": (dataset.package.root / STYLE).read_text(encoding="utf-8"),
    }
    return {
        "charts.md": site.page("charts.md", **values),
        "charts/memory.svg": site.page("charts.md", "memory.svg", **values),
        "coverage.md": _coverage_page(site),
        **_estimate_pages(site),
    }


def _estimate_pages(site: Site) -> dict[str, str]:
    """The calculator with its example, its errors, and its formula."""
    dataset = site.dataset
    folder = dataset.package.root / BACKTEST
    values = {
        "formula": published(),
        "backtest": backtest(folder),
        "time": formula()["time"],
        "timed": time_backtest(folder),
        "verdicts": formula()["verdicts"],
        "gb_per_gib": GB_PER_GIB,
        "own_fields": OWN_FIELDS,
        "models": {row["model"] for row in estimated_models(dataset)},
        "example": finder.CALCULATOR,
        "shown": estimate(dataset, finder.CALCULATOR),
    }
    return {
        "estimate.md": site.page("estimate.md", **values),
        "estimate/accuracy.md": site.page("estimate/accuracy.md", "accuracy.md", **values),
        "estimate/formula.md": site.page("estimate/formula.md", "formula.md", **values),
    }


def memory_chart(points: Sequence[coverage.Point], sizes: Sequence[str]) -> dict[str, Any]:
    """A panel for each task known at enough sizes, the task with most runs first.

    All have the same axes: sizes across, memory up, with a line for each of `powers`.
    """
    panels: list[tuple[str, list[coverage.Point]]] = []
    for task, group in grouped(points, attrgetter("configuration.task")).items():
        known = {point.configuration.size for point in group}
        if len(known) >= FEWEST_SIZES:
            panels.append((task, group))
    panels.sort(key=_rank_of_panel)
    values = [point.value for point in points] or [1.0]
    lowest = int(log(min(values), STEP))
    highest = int(log(max(values), STEP))
    return {
        "panels": panels,
        "sizes": sizes,
        "powers": range(lowest, highest + 2),
        "step": STEP,
        "log": log,
    }


def _rank_of_panel(panel: tuple[str, Sequence[coverage.Point]]) -> tuple[int, str]:
    task, points = panel
    return -sum(point.of for point in points), task


def _coverage_page(site: Site) -> str:
    found = coverage.coverage(site.dataset)
    sizes = [size.name for size in site.sizes]
    every = (*found.cells, *found.partial)
    by_task = grid(every, "task", sizes)
    tables: list[tuple[Record, Grid]] = []
    for task, _ in by_task:
        cells = [cell for cell in found.cells if cell.task == task]
        if cells:
            row = site.dataset.by_key["tasks"][task]
            tables.append((row, grid(cells, "device", sizes)))
    return site.page(
        "coverage.md",
        by_task=by_task,
        by_device=grid(every, "device", sizes),
        found=found,
        wanted=found.wanted[: coverage.MOST_WANTED],
        wanted_rule=coverage.WANTED_RULE,
        tables=tables,
    )


Grid = list[tuple[str, Sequence[coverage.CoverageCell]]]


def grid(cells: Iterable[coverage.CoverageCell], axis: str, sizes: Sequence[str]) -> Grid:
    """For each word of an axis a cell for each size, summed over the other axis.

    The best covered is first: by its records, then by its reports.
    """
    sums: dict[str, dict[str, coverage.CoverageCell]] = {}
    for cell in cells:
        word = getattr(cell, axis)
        if not word or not cell.size:
            continue
        if word not in sums:
            sums[word] = {size: coverage.CoverageCell(size, word, word) for size in sizes}
        row = sums[word]
        row[cell.size] = row[cell.size].plus(cell)
    lines = [(word, list(row.values())) for word, row in sums.items()]
    return sorted(lines, key=_rank_of_line)


def _rank_of_line(line: tuple[str, Sequence[coverage.CoverageCell]]) -> tuple[int, int, str]:
    word, row = line
    records = sum(cell.records for cell in row)
    reports = sum(cell.reports for cell in row)
    return -records, -reports, word


def time_backtest(folder: Path) -> dict[str, Any] | None:
    """The timed runs with their errors, their order and their phases; `None` without the file."""
    path = folder / "time_backtest.csv"
    if not path.is_file():
        return None
    runs = pl.read_csv(path, infer_schema_length=None).with_columns(
        x=pl.col("measured").log(2),
        y=pl.col("estimated").log(2),
        factor=(pl.col("estimated") / pl.col("measured")).log().abs().exp(),
    )
    figures = (
        pl.len().alias("runs"),
        pl.col("factor").median().alias("median"),
        pl.col("factor").quantile(0.9, "linear").alias("ninth"),
    )
    both = runs.join(runs, on="source")
    pairs = both.filter(pl.col("measured") < 0.95 * pl.col("measured_right"))
    return {
        "runs": runs.to_dicts(),
        "lengths": runs.group_by("lengths").agg(*figures).sort("lengths").to_dicts()[::-1],
        "projects": runs.group_by("project").agg(*figures).sort("project").to_dicts(),
        "pairs": pairs.height,
        "ordered": (pairs["estimated"] < pairs["estimated_right"]).mean(),
        "shares": _shares(runs),
        "scaling": _scaling(runs),
    }


def _shares(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """The mean share of each phase, by model, where phases do not overlap; most runs first."""
    phases = pl.col("^estimated_.+$")
    together = pl.sum_horizontal(phases)
    share = (phases / together).mean().name.replace("estimated_", "")
    alone = runs.filter(together < 1.01 * pl.col("estimated")).group_by("model")
    models = alone.agg(share, runs=pl.len()).sort("runs", "model", descending=True)
    return models.head(8).to_dicts()


def _scaling(runs: pl.DataFrame) -> dict[str, Any]:
    """The runs of the model that ran on most numbers of GPUs."""
    counted = runs.group_by("model").agg(numbers=pl.col("gpus").n_unique(), runs=pl.len())
    model = counted.sort("numbers", "runs", "model", descending=True)["model"][0]
    return {"model": model, "runs": runs.filter(pl.col("model") == model).sort("gpus").to_dicts()}


def backtest(folder: Path) -> dict[str, Any] | None:
    """The runs of the back-test with the errors of their estimates; `None` without its files."""
    if not folder.is_dir():
        return None
    cases = pl.read_csv(folder / "backtest.csv", infer_schema_length=None)
    errors = pl.read_csv(folder / "backtest_errors.csv", infer_schema_length=None)
    assumed = pl.read_csv(folder / "backtest_assumed.csv")
    peaks = cases.filter(pl.col("measured_gb") > 0).with_columns(
        x=pl.col("measured_gb").log(2), y=pl.col("estimated_gb").log(2)
    )
    counts = Counter(cases.select("outcome", "verdict").rows())
    decided: dict[str, dict[str, int]] = {}
    for outcome, words in OUTCOMES.items():
        decided[words] = {verdict: counts[outcome, verdict] for verdict in formula()["verdicts"]}
    return {
        "runs": cases.height,
        "peaks": peaks.to_dicts(),
        "errors": grouped(errors.to_dicts(), itemgetter("by")),
        "decided": decided,
        "assumed": assumed.to_dicts(),
    }
