"""All pages but those of records and rules.

Records in, Markdown text out. Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the
URL `/sizes/7b/` can take the same files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from math import log
from operator import attrgetter, itemgetter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

import polars as pl

from rl_resources.dataset import grouped
from rl_resources.estimate.estimate import VERDICTS
from rl_resources.estimate.formula import formula
from rl_resources.estimate.published import published
from rl_resources.estimate.time import PHASES
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.package import Field, Record
from rl_resources.query import coverage
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
    recorded,
)
from rl_resources.query.estimate import estimate, estimated_models
from rl_resources.site import finder
from rl_resources.site.api import record_id
from rl_resources.site.downloads import Download
from rl_resources.site.environment import UNKNOWN_SIZE, Site, link, reports_url
from rl_resources.site.record_page import OWN_FIELDS
from rl_resources.site.tuning_table import cells

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
    return {
        "index.md": finder.front(site),
        **_reports(site),
        **_records(site),
        "models.md": _rows_page(site, "models", "size"),
        "devices.md": _rows_page(site, "devices", "vendor"),
        "recipes.md": site.page("recipes.md"),
        "data.md": data_page(site, files),
        **charts(site),
    }


def _records(site: Site) -> dict[str, str]:
    """All records, the sizes, and the records of each size."""
    dataset = site.dataset
    known = {row.id: row for row in configurations(dataset)}
    every: list[dict[str, Any]] = []
    by_size: dict[str, list[dict[str, Any]]] = {}
    for record in site.records["tuning"]:
        item = known[record_id(record)]
        row = {
            "record": record,
            "item": item,
            "cells": cells(dataset, record),
            "accepted": accepted_by(releases_of(dataset, record["script"])),
        }
        every.append(row)
        by_size.setdefault(item.size, []).append(row)
    found = {
        "records/index.md": site.page("records/index.md", "records.md", rows=every),
        "sizes/index.md": site.page("sizes/index.md", "sizes.md"),
    }
    for size in site.sizes:
        path = f"sizes/{size.name.lower()}.md"
        rows = by_size.get(size.name, [])
        found[path] = site.page(path, "size.md", size=size, rows=rows)
    return found


def _reports(site: Site) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    by_id = {item.id: item for item in every_configuration(site.dataset)}
    by_size: dict[str, list[tuple[Record, Configuration]]] = {}
    for row in site.records["reports"]:
        item = by_id[str(row["report"])]
        by_size.setdefault(item.size or UNKNOWN_SIZE, []).append((row, item))
    sections: dict[str, list[tuple[Record, Configuration]]] = {}
    for name in (*(size.name for size in site.sizes), UNKNOWN_SIZE):
        if name in by_size:
            sections[name] = sorted(by_size[name], key=_rank_of_report)
    shared = {
        "sections": sections,
        "schema": site.package.resources["reports"].schema,
        "by_id": by_id,
        "recorded": recorded(site.dataset),
    }
    found = {"reports.md": site.page("reports.md", **shared)}
    for name in sections:
        path = f"{reports_url(name).removesuffix('/')}.md"
        only = "" if name == UNKNOWN_SIZE else name
        found[path] = site.page(path, "reports-of-size.md", **shared, section=name, only=only)
    return found


def _rank_of_report(report: tuple[Record, Configuration]) -> tuple[bool, int]:
    """Runs before benchmarks on random tokens, then those with the fewest empty cells."""
    row, item = report
    empty = list(row.values()).count(None)
    return "synthetic" in item.scenario, empty


def _rows_page(site: Site, table: str, group: str) -> str:
    """A page with all rows of a table, in sections, with the columns that any row of one fills."""
    schema = site.package.resources[table].schema
    (key,) = schema.primary_key
    every = site.records[table]
    sections: list[tuple[str, list[Field], list[Record]]] = []
    fields = [field for field in schema.fields if field.name != group]
    for title, rows in grouped(every, lambda row: str(row[group])).items():
        filled = [field for field in fields if _fills(rows, field.name)]
        sections.append((title, filled, rows))
    runs: dict[str, Counter[tuple[str, str]]] = {str(row[key]): Counter() for row in every}
    for item in every_configuration(site.dataset):
        named = getattr(item, key)
        if named in runs and item.size:
            runs[named][item.kind, item.size] += 1
    return site.page(
        f"{table}.md",
        "rows.md",
        sections=sections,
        table=table,
        schema=schema,
        runs=runs,
        name=partial(_name_of_row, site),
    )


def _fills(rows: Iterable[Record], column: str) -> bool:
    return any(row[column] is not None for row in rows)


def _name_of_row(site: Site, row: Record) -> str:
    """A device by its label, a model without its owner."""
    if "device" in row:
        return site.devices.label(str(row["device"]))
    return str(row["model"]).rpartition("/")[2]


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
        "verdicts": VERDICTS,
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
        start=partial(_start_of_contribution, site),
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


def _start_of_contribution(site: Site, cell: coverage.CoverageCell, task: str = "") -> str:
    """Where a record of a cell begins: the form of the repository, filled in, or our own page."""
    if not site.repository:
        return link("coverage.md", "contributing/")
    known = {
        "template": "record.yml",
        "task": task or cell.task,
        "device": cell.device,
    }
    return f"{site.repository}/issues/new?{urlencode(known)}"


def time_backtest(folder: Path) -> dict[str, Any] | None:
    """The timed runs with the factors of their errors, by what is known of the lengths and by
    project, and the mean share of each phase; `None` without the file.
    """
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
    shares: dict[str, Any] = {}
    for phase in PHASES:
        shares[phase] = (
            runs.select(pl.col(f"estimated_{phase}") / pl.col("estimated")).mean().item()
        )
    return {
        "runs": runs.to_dicts(),
        "lengths": runs.group_by("lengths")
        .agg(*figures)
        .sort("lengths", descending=True)
        .to_dicts(),
        "projects": runs.group_by("project").agg(*figures).sort("project").to_dicts(),
        "shares": shares,
        "scaling": _scaling(runs),
    }


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
        decided[words] = {verdict: counts[outcome, verdict] for verdict in VERDICTS}
    return {
        "runs": cases.height,
        "peaks": peaks.to_dicts(),
        "errors": grouped(errors.to_dicts(), itemgetter("by")),
        "decided": decided,
        "assumed": assumed.to_dicts(),
    }
