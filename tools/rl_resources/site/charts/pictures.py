"""The pictures of the site, each with its legend and its data as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.coverage import Cell, coverage
from rl_resources.query.points import Panel, Point, Points
from rl_resources.site.charts.designs import DESIGNS, Design
from rl_resources.site.charts.legend import Legend, legend_of
from rl_resources.site.charts.matrix import Matrix, matrix, summed, with_room
from rl_resources.site.charts.plot import Plot, dot_plot, scale_of
from rl_resources.site.charts.scatter import Axes, Scatter, scatter
from rl_resources.site.charts.words import HEADERS, LATER_HEADERS, Words
from rl_resources.site.site import Piece, slug

_COVERAGE_HEADERS = (
    *("Task", "Device", "Size"),
    *("MIN", "RECOMMENDED", "Untested", "Reports", "Out of memory"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """The data behind a picture: one row for each mark, in the order of the marks."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of several panels. Without panels `nothing` says what is missing.

    `left_out` says of what no mark is drawn, and of how much; `beyond`, for what there is no room.
    """

    name: str
    heading: str
    caption: tuple[str, ...]
    nothing: str
    left_out: str
    panels: tuple[Scatter | Plot | Matrix, ...]
    legend: Legend
    table: Table
    beyond: str = ""


def pictures(dataset: Dataset) -> list[Picture]:
    """All pictures, in their order on the page."""
    known = configurations(dataset)
    return [*(_drawn(design, dataset, known) for design in DESIGNS), coverage_map(dataset)]


def _drawn(design: Design, dataset: Dataset, known: Sequence[Configuration]) -> Picture:
    found, words = design.points(dataset, known), Words(dataset)
    draw = _dot_plots if design.in_lanes else _scatters
    panels, points = draw(design, dataset, found, words) if found.panels else ((), [])
    return Picture(
        name=design.name,
        heading=design.heading,
        caption=design.caption,
        nothing=design.nothing,
        left_out=", ".join(f"{count:,} {reason}" for reason, count in found.left_out),
        panels=panels,
        legend=legend_of(panels),
        table=Table(
            (*HEADERS, *design.headers, *LATER_HEADERS),
            tuple(words.cells(point, design.figures(point)) for point in points),
        ),
        beyond=f"{found.beyond:,} slower runs of the same models" if found.beyond else "",
    )


def _scatters(
    design: Design, dataset: Dataset, found: Points, words: Words
) -> tuple[tuple[Scatter, ...], list[Point]]:
    items = {
        panel.name: [words.item(p, design.said(p), design.failed_at(p)) for p in panel.points]
        for panel in found.panels
    }
    bounds = {str(row["size"]): _bounds(row) for row in dataset.records["sizes"]}
    axes = Axes.over([item for members in items.values() for item in members], bounds)
    panels = tuple(
        scatter(
            f"{design.name}-{slug(panel.name)}",
            panel.name,
            _behind(panel),
            design.axis,
            items[panel.name],
            axes,
        )
        for panel in found.panels
    )
    return panels, [point for panel in found.panels for point in panel.points]


def _bounds(row: Record) -> tuple[float, float]:
    low, high = row["from_parameters_b"], row["below_parameters_b"]
    return (
        float(low) if isinstance(low, int | float) else 0,
        float(high) if isinstance(high, int | float) else 0,
    )


def _dot_plots(
    design: Design, _: Dataset, found: Points, words: Words
) -> tuple[tuple[Plot, ...], list[Point]]:
    rows = {panel.name: words.lanes(panel) for panel in found.panels}
    scale = scale_of([row for members in rows.values() for row in members])
    panels = tuple(
        dot_plot(
            f"{design.name}-{slug(panel.name)}",
            panel.name,
            _behind(panel),
            design.axis,
            rows[panel.name],
            scale,
        )
        for panel in found.panels
    )
    return panels, [p for panel in found.panels for row in rows[panel.name] for p in row.points]


def _behind(panel: Panel) -> str:
    counts = {kind: panel.behind(kind) for kind in ("record", "report")}
    words = (f"{n:,} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items() if n)
    return f"n = {' and '.join(words)}"


def coverage_map(dataset: Dataset) -> Picture:
    """Sizes by task, and sizes by device."""
    known = coverage(dataset)
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    sums = {axis: summed(known.cells, axis) for axis in ("task", "device")} if known.cells else {}
    drawn = {axis: with_room(cells, axis) for axis, cells in sums.items()}
    panels = tuple(
        matrix(f"coverage-{axis}", f"Size by {axis}", axis, cells, sizes)
        for axis, cells in drawn.items()
    )
    return Picture(
        name="coverage",
        heading="What is known at a glance",
        caption=(
            "A cell counts the reports that ran, its shade tells the same in steps, and its signs "
            "tell which records there are. An empty cell is not known to fail: nobody has told of "
            "it. This is a map of what is published, not of what is possible.",
        ),
        nothing="No record and no report names size, task and device.",
        left_out=f"{known.unplaced:,} leave size, task or device open" if known.unplaced else "",
        panels=panels,
        legend=legend_of(panels),
        table=Table(
            _COVERAGE_HEADERS,
            tuple(_cells(cell) for cells in drawn.values() for cell in cells),
        ),
        beyond=" and ".join(filter(None, (_fewer(sums[axis], drawn[axis], axis) for axis in sums))),
    )


def _fewer(known: Sequence[Cell], drawn: Sequence[Cell], axis: str) -> str:
    words = {getattr(cell, axis) for cell in known} - {getattr(cell, axis) for cell in drawn}
    plural = "" if len(words) == 1 else "s"
    return f"{len(words)} {axis}{plural} of which less is known" if words else ""


def _cells(cell: Cell) -> tuple[Piece, ...]:
    records, reports = f"sizes/{cell.size.lower()}/", f"reports/{cell.size.lower()}/"
    counts = (
        (cell.records_min, records),
        (cell.records_recommended, records),
        (cell.untested, records),
        (cell.all_reports, reports),
        (cell.out_of_memory, reports),
    )
    return (
        Piece(cell.task or "any"),
        Piece(cell.device or "any"),
        Piece(cell.size, records if cell.records or cell.untested else reports),
        *(Piece(str(count or ""), address if count else "") for count, address in counts),
    )
