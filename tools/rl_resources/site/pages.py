"""All pages but those of records and rules.

Records in, Markdown text out. Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the
URL `/sizes/7b/` can take the same files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from math import floor, log
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
from rl_resources.site import finder, run_pages
from rl_resources.site.api import record_id
from rl_resources.site.downloads import Download
from rl_resources.site.environment import UNKNOWN_SIZE, Site, reports_url
from rl_resources.site.record_page import OWN_FIELDS, records_by_id
from rl_resources.site.tuning_table import sizes

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
    rows = run_pages.run_rows(site, every_configuration(site.dataset))
    return {
        "index.md": finder.front(site),
        **_reports(site, rows),
        **_records(site, rows),
        **run_pages.pages(site, rows),
        "recipes.md": site.page("recipes.md"),
        "data.md": data_page(site, files),
        **charts(site),
    }


def _records(site: Site, html: Mapping[str, str]) -> dict[str, str]:
    """All records, the sizes, and the records of each size."""
    by_id = records_by_id(site.dataset)
    every = [by_id[record_id(record)] for record in site.records["tuning"]]
    by_size = grouped(every, attrgetter("size"))
    index = "records/index.md"
    rows = run_pages.run_rows(site, every, index)
    found = {
        index: site.page(index, "records.md", records=every, html=rows),
        "sizes/index.md": site.page("sizes/index.md", "sizes.md"),
    }
    for size in site.sizes:
        path = f"{size.url.removesuffix('/')}.md"
        records = by_size.get(size.name, [])
        found[path] = site.page(path, "size.md", size=size, records=records, html=html)
    return found


def _reports(site: Site, html: Mapping[str, str]) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    empty = {
        row["report"]: list(row.values()).count(None) for row in site.records["reports"]
    }

    def rank(row: Configuration) -> tuple[bool, int]:
        """Runs before benchmarks on random tokens, then those with the fewest empty cells."""
        return "synthetic" in row.scenario, empty[row.id]

    reports = [row for row in every_configuration(site.dataset) if row.kind == "report"]
    reports.sort(key=rank)
    by_size = grouped(reports, lambda row: row.size or UNKNOWN_SIZE)
    names = [*sizes(site.dataset), UNKNOWN_SIZE]
    sections = {name: by_size[name] for name in names if name in by_size}
    schema = site.package.resources["reports"].schema
    moved = moves(site.dataset, "reports")
    found = {"reports.md": site.page("reports.md", sections=sections, schema=schema)}
    for name in sections:
        url = reports_url(name)
        path = f"{url.removesuffix('/')}.md"
        found[path] = site.page(
            path,
            "reports-of-size.md",
            sections=sections,
            section=name,
            html=html,
            moved=moved,
        )
    return found


def data_page(site: Site, files: Sequence[Download]) -> str:
    """The page of the downloads and of what every column means."""
    structured: dict[str, Any] = {}
    for file in files:
        if file.name == "croissant.json":
            structured = json.loads(file.content)
            del structured["recordSet"]
    return site.page("data.md", files=files, structured=structured)


def charts(site: Site) -> dict[str, str]:
    """`charts.md` with the memory chart as `charts/memory.svg`, `coverage.md`, `estimate.md`."""
    dataset = site.dataset
    known = configurations(dataset)
    memory = coverage.minimum_memory(known)
    throughputs = coverage.throughputs(known)
    named = [point for point in throughputs if point.configuration.device]
    covered = coverage.coverage(dataset)
    values = {
        "memory": memory,
        "chart": memory_chart(memory, sizes(dataset)),
        "throughputs": throughputs,
        "speeds": throughput_chart(named, sizes(dataset)),
        "known": known,
        "reports": dataset.by_key["reports"],
        "style": (dataset.package.root / STYLE).read_text(encoding="utf-8"),
    }
    return {
        "charts.md": site.page("charts.md", **values),
        "charts/memory.svg": site.page("charts.md", "memory.svg", **values),
        "coverage.md": site.once(repr(covered), partial(_coverage_page, site, covered)),
        **site.once("estimate", partial(_estimate_pages, site)),
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
        "short": formula()["short"],
        "gb_per_gib": GB_PER_GIB,
        "own_fields": OWN_FIELDS,
        "models": {row["model"] for row in estimated_models(dataset)},
        "example": finder.CALCULATOR,
        "said": finder.said_of_calculator(),
        "vocabulary": finder.WORDS_PATH,
        "shown": estimate(dataset, finder.CALCULATOR),
    }
    return {
        "estimate.md": site.page("estimate.md", **values),
        "estimate/accuracy.md": site.page(
            "estimate/accuracy.md", "accuracy.md", **values
        ),
        "estimate/formula.md": site.page("estimate/formula.md", "formula.md", **values),
    }


def memory_chart(
    points: Sequence[coverage.Point], sizes: Sequence[str]
) -> dict[str, Any]:
    """A panel for each task known at enough sizes, the task with most runs first."""
    up = "GPU memory in GB, all devices together"
    return _size_chart(points, "task", sizes=sizes, up=up, value="%g GB")


def throughput_chart(
    points: Sequence[coverage.Point], sizes: Sequence[str]
) -> dict[str, Any]:
    """A panel for each device with published throughput at enough sizes."""
    up = "tokens per second per GPU"
    return _size_chart(points, "device_label", sizes=sizes, up=up, value=f"%g {up}")


def _size_chart(
    points: Sequence[coverage.Point], by: str, **texts: object
) -> dict[str, Any]:
    """Panels with the same axes: sizes across, values up, with a line for each of `powers`."""
    panels: list[tuple[str, list[coverage.Point]]] = []
    for word, group in grouped(points, attrgetter(f"configuration.{by}")).items():
        shown = [point for point in group if point.configuration.size]
        if len({point.configuration.size for point in shown}) >= FEWEST_SIZES:
            panels.append((word, shown))
    panels.sort(key=_rank_of_panel)
    values = [point.value for point in points] or [1.0]
    lowest = floor(log(min(values), STEP))
    highest = floor(log(max(values), STEP))
    powers = range(lowest, highest + 2)
    return {"panels": panels, "powers": powers, "step": STEP, "log": log, **texts}


def _rank_of_panel(panel: tuple[str, Sequence[coverage.Point]]) -> tuple[int, str]:
    task, points = panel
    return -sum(point.of for point in points), task


def _coverage_page(site: Site, found: coverage.Coverage) -> str:
    names = sizes(site.dataset)
    every = (*found.cells, *found.partial)
    by_task = grid(every, "task", names)
    cells = grouped(found.cells, attrgetter("task"))
    tables: list[tuple[Record, Grid]] = []
    for task, _ in by_task:
        if task in cells:
            row = site.dataset.by_key["tasks"][task]
            tables.append((row, grid(cells[task], "device", names)))
    return site.page(
        "coverage.md",
        by_task=by_task,
        by_device=grid(every, "device", names),
        found=found,
        wanted=found.wanted[: coverage.MOST_WANTED],
        wanted_rule=coverage.WANTED_RULE,
        tables=tables,
    )


Grid = list[tuple[str, Sequence[coverage.CoverageCell]]]


def grid(
    cells: Iterable[coverage.CoverageCell], axis: str, sizes: Sequence[str]
) -> Grid:
    """For each word of an axis a cell for each size, summed over the other axis.

    The best covered is first: by its records, then by its reports.
    """
    placed = [cell for cell in cells if cell.size and getattr(cell, axis)]
    by_word = grouped(placed, attrgetter(axis))
    lines: Grid = []
    for word, row in sorted(by_word.items(), key=_rank_of_line):
        by_size = grouped(row, attrgetter("size"))
        sums: list[coverage.CoverageCell] = []
        for size in sizes:
            nothing = coverage.CoverageCell(size, word, word)
            sums.append(reduce(_plus, by_size.get(size, ()), nothing))
        lines.append((word, sums))
    return lines


_plus = coverage.CoverageCell.plus


def _rank_of_line(
    line: tuple[str, Sequence[coverage.CoverageCell]],
) -> tuple[int, int, str]:
    word, row = line
    together = reduce(_plus, row)
    return -together.records, -together.reports, word


def time_backtest(folder: Path) -> dict[str, Any] | None:
    """The timed runs with their errors, their order and their phases; `None` without the file."""
    path = folder / "time_backtest.csv"
    if not path.is_file():
        return None
    ratio = pl.col("measured") / pl.col("estimated")
    runs = pl.read_csv(path, infer_schema_length=None).with_columns(
        x=pl.col("measured").log(2),
        y=pl.col("estimated").log(2),
        factor=ratio.log().abs().exp(),
    )
    ratios = runs.group_by("project").agg(ratio.median().alias("ratio"))["ratio"]
    pairs = runs.join(runs, on="source").filter(
        pl.col("measured") < 0.95 * pl.col("measured_right")
    )
    return {
        "runs": runs.to_dicts(),
        "lengths": _factors(runs, "lengths")[::-1],
        "projects": _factors(runs, "project"),
        "pairs": pairs.height,
        "ratio": ratios.median(),
        "ordered": (pairs["estimated"] < pairs["estimated_right"]).mean(),
        "shares": _shares(runs),
        "scaling": _scaling(runs),
    }


def _factors(runs: pl.DataFrame, by: str) -> list[dict[str, Any]]:
    """The errors of each group of runs, sorted."""
    factor = pl.col("factor")
    groups = runs.group_by(by).agg(
        runs=pl.len(), median=factor.median(), ninth=factor.quantile(0.9, "linear")
    )
    return groups.sort(by).to_dicts()


def _shares(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """The mean share of each phase, by model, where phases do not overlap; most runs first."""
    phases = pl.col("^estimated_.+$")
    together = pl.sum_horizontal(phases)
    alone = runs.filter(together < 1.01 * pl.col("estimated"))
    share = (phases / together).mean().name.replace("estimated_", "")
    models = alone.group_by("model").agg(share, runs=pl.len())
    return models.sort("runs", "model", descending=True).head(8).to_dicts()


def _scaling(runs: pl.DataFrame) -> dict[str, Any]:
    """The runs of the model that ran on most numbers of GPUs."""
    models = runs.group_by("model").agg(
        numbers=pl.col("gpus").n_unique(), runs=pl.len()
    )
    most = models.sort("numbers", "runs", "model", descending=True)
    model = most["model"][0]
    own = runs.filter(pl.col("model") == model)
    return {"model": model, "runs": own.sort("gpus").to_dicts()}


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
        decided[words] = {
            verdict: counts[outcome, verdict] for verdict in formula()["verdicts"]
        }
    return {
        "runs": cases.height,
        "peaks": peaks.to_dicts(),
        "errors": grouped(errors.to_dicts(), itemgetter("by")),
        "decided": decided,
        "assumed": assumed.to_dicts(),
    }
