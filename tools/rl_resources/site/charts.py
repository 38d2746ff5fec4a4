"""The charts page: the memory chart as SVG, other figures as tables, and the coverage map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from math import log
from pathlib import PurePosixPath

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import configurations
from rl_resources.query.coverage import Cell, coverage
from rl_resources.query.points import Point, largest_batches, least_memory, throughputs
from rl_resources.site.environment import Site, source_name

STYLE = PurePosixPath("site/assets/stylesheets/charts.css")
FEWEST_SIZES = 4
"""A task gets a panel of its own from this number of sizes on; the table has all."""
WIDTH, HEIGHT = 330, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 324.0, 46.0, 216.0
_STEP = 4
"""Each line of the memory axis is four times the one below: 16, 64, 256 GB."""
_OFFSETS = {"MIN": -9.0, "RECOMMENDED": 0.0, "": 9.0}
"""Tags of one size stand side by side."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point at its place in a panel."""

    x: float
    y: float
    point: Point


@dataclass(frozen=True, slots=True)
class Panel:
    """The scatter plot of one task: sizes across, memory up, on the axes that all panels share."""

    task: str
    marks: tuple[Mark, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels with the lines of their axes: places with labels."""

    panels: tuple[Panel, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]

    left, right, top, bottom = _LEFT, _RIGHT, _TOP, _BOTTOM
    width, height = WIDTH, HEIGHT


def pages(site: Site) -> dict[str, str]:
    """`charts.md`, and the memory chart as `charts/memory.svg`."""
    dataset, known = site.dataset, configurations(site.dataset)
    memory = least_memory(known)
    reports = dataset.by_key["reports"]
    shared = {
        "memory": memory,
        "chart": memory_chart(memory.points, [size.name for size in site.sizes]),
        "publisher": lambda item: source_name(reports[item.id]) if item.kind == "report" else "",
    }
    tables = {
        "batches": largest_batches(known),
        "throughputs": throughputs(dataset, known),
        "coverage_map": coverage_map(dataset),
    }
    style = (dataset.package.root / STYLE).read_text(encoding="utf-8")
    return {
        "charts.md": site.page("charts.md", **shared, **tables),
        "charts/memory.svg": site.page("charts.md", "memory.svg", **shared, style=style),
    }


def memory_chart(points: Sequence[Point], sizes: Sequence[str]) -> Chart:
    """The points of each task known at enough sizes, on common axes; memory is logarithmic."""
    low = min((point.value for point in points), default=1.0)
    high = max((point.value for point in points), default=1.0)
    powers = range(int(log(low, _STEP)), int(log(high, _STEP)) + 2)
    across = {size: _between(_LEFT, _RIGHT, at + 0.5, len(sizes)) for at, size in enumerate(sizes)}

    def up(value: float) -> float:
        return _between(_BOTTOM, _TOP, log(value, _STEP) - powers[0], len(powers) - 1)

    def mark(point: Point) -> Mark:
        item = point.configuration
        return Mark(round(across[item.size] + _OFFSETS[item.tag], 1), up(point.value), point)

    panels = []
    for task, group in groupby(points, lambda point: point.configuration.task):
        members = list(group)
        if len({point.configuration.size for point in members}) >= FEWEST_SIZES:
            count = sum(point.of for point in members)
            panels.append(Panel(task, tuple(map(mark, members)), count))
    panels.sort(key=lambda panel: (-panel.count, panel.task))
    lines = tuple((up(_STEP**power), f"{_STEP**power:,}") for power in powers)
    return Chart(tuple(panels), tuple((x, size) for size, x in across.items()), lines)


def _between(low: float, high: float, part: float, whole: int) -> float:
    return round(low + (high - low) * part / whole, 1)


@dataclass(frozen=True, slots=True)
class MapRow:
    """What is known of one task or device: a cell for each size."""

    name: str
    cells: tuple[Cell, ...]


def coverage_map(dataset: Dataset) -> dict[str, list[MapRow]]:
    """Sizes by `Task` and by `Device`, the best covered first."""
    known = coverage(dataset).cells
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    return {axis: _map_rows(known, axis.lower(), sizes) for axis in ("Task", "Device")}


def _map_rows(known: Iterable[Cell], axis: str, sizes: Sequence[str]) -> list[MapRow]:
    sums: dict[tuple[str, str], Cell] = {}
    for cell in known:
        key = getattr(cell, axis), cell.size
        sums[key] = _added(sums.get(key, Cell(cell.size, "", "")), cell)
    rows = [
        MapRow(name, tuple(sums.get((name, size), Cell(size, "", "")) for size in sizes))
        for name in dict.fromkeys(name for name, _ in sums)
    ]
    return sorted(rows, key=_rank)


def _rank(row: MapRow) -> tuple[int, int, str]:
    records = sum(cell.records for cell in row.cells)
    return -records, -sum(cell.all_reports for cell in row.cells), row.name


def _added(one: Cell, other: Cell) -> Cell:
    counts = [field.name for field in fields(Cell) if field.type == "int"]
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in counts})
