"""The pictures of points that there are: which points, in what words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import Configuration
from rl_resources.query.points import (
    Point,
    Points,
    fewest_gigabytes,
    largest_batches,
    throughputs,
)
from rl_resources.site.charts.scale import figure


def _nothing(_: Point) -> str:
    return ""


def _never(_: Point) -> float:
    return 0


@dataclass(frozen=True, slots=True)
class Design:
    """One picture before its data.

    `figures` are the cells of the table under `headers`. `said` is what the key of a scatter plot
    says of a point; a design `in_lanes` is a dot plot and needs none.
    """

    name: str
    heading: str
    caption: tuple[str, ...]
    nothing: str
    axis: str
    headers: tuple[str, ...]
    figures: Callable[[Point], tuple[str, ...]]
    points: Callable[[Dataset, Sequence[Configuration]], Points]
    said: Callable[[Point], str] = _nothing
    failed_at: Callable[[Point], float] = _never
    in_lanes: bool = False


DESIGNS = (
    Design(
        name="memory",
        heading="The least memory that a run is known to fit",
        caption=(
            "Each mark is the run with the fewest gigabytes of accelerator memory (cards times the "
            "memory of each) among those of its task, size, kind and tag; n says among how many. "
            "It is only the least that anybody has told of: less may do.",
            "The runs differ in length, batch and engine, which the table gives. So no line joins "
            "the marks, and what lies between two of them is not known. Where a source leaves open "
            "how much memory its cards have, the most that they can have is taken. Marks that "
            "would cover each other stand side by side.",
        ),
        nothing="No run with known memory has been told of.",
        axis="Memory of all accelerators in GB, logarithmic",
        headers=("GPU memory (GB)", "Least of"),
        figures=lambda point: (figure(point.value), f"{point.of:,}"),
        points=fewest_gigabytes,
        said=lambda point: f"{figure(point.value)} GB",
    ),
    Design(
        name="batch",
        heading="The largest batch that a record is known to run",
        caption=(
            "Each mark is the record with the most prompts for each training step that somebody "
            "found to run among those of its task, size and tag; n says among how many. The number "
            "of cards differs from mark to mark, as the key tells, so this does not show that "
            "larger models take larger batches.",
            "A cross is the smallest batch that failed in a published search; one that "
            "would cover a mark stands beside it.",
        ),
        nothing="No record names its largest batch.",
        axis="Prompts for each training step, logarithmic",
        headers=("MaxBatch (prompts)", "Largest of", "Failed at"),
        figures=lambda point: (
            figure(point.value),
            f"{point.of:,}",
            ", ".join(map(str, point.configuration.failed_batches)),
        ),
        points=largest_batches,
        said=lambda point: f"{figure(point.value)} prompts",
        failed_at=lambda point: min(point.configuration.failed_batches, default=0),
    ),
    Design(
        name="throughput",
        heading="Published throughput",
        caption=(
            "Each mark is one published run, in tokens per second and accelerator; a line holds "
            "the runs of one model by one publisher. Which tokens a publisher counts is not "
            "known here, and lengths, batches, precision and numbers of cards differ, as the notes "
            "in the table tell: compare marks within a line, hardly between lines, and do not rank "
            "devices by this.",
            "Only the place from left to right has a meaning: marks that would cover each other "
            "stand above each other.",
        ),
        nothing="No throughput has been published.",
        axis="Tokens per second and accelerator, logarithmic",
        headers=("Tokens per second per GPU",),
        figures=lambda point: (figure(point.value),),
        points=throughputs,
        in_lanes=True,
    ),
)
