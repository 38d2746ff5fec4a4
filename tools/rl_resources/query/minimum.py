"""What fits in general: the minimum hardware of each size, the largest size of given hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rl_resources.query.configurations import Configuration
from rl_resources.query.find import (
    SHOULD_FIT,
    TESTED,
    Answer,
    Largest,
    answers,
    fit,
    largest,
    size_of,
)
from rl_resources.query.understand import Query

WEIGHTS = {"full": "full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})
GPUS = (1, 2, 4, 8, 16, 32, 64, 128)


class HardwareRow(NamedTuple):
    """So many GPUs of so much memory each, and the largest size of each task on them."""

    gpus: int
    memory_gb: float
    largest: dict[str, Largest]


def minimum(rows: Sequence[Configuration], size: str) -> list[Answer]:
    """For each task of a size the run that needs the least memory in all, the least first.

    Runs of which nobody says what trains do not count.
    """
    best: dict[tuple[str, str], Answer] = {}
    for item in sorted(_tested(rows, Query(size=size)), key=_size):
        row = item.configuration
        if row.task and row.weights:
            best.setdefault((row.task, row.weights), item)
    return list(best.values())


def headline(rows: Sequence[Configuration], size: str, weights: str) -> Answer | None:
    """The run of a size that needs the least memory in all, of those known to train `weights`.

    Nothing disputed or contradicted counts, and no model of images, videos or robots.
    """
    runs = (
        item
        for item in _tested(rows, Query(size=size, weights=weights))
        if item.configuration.weights == weights
        and not item.configuration.doubtful
        and item.configuration.memory_gb
        and NO_TEXT.isdisjoint(item.configuration.scenario)
    )
    return min(runs, key=_best_of_size, default=None)


def _tested(rows: Sequence[Configuration], query: Query) -> list[Answer]:
    return [item for item in answers(rows, query) if item.fit == TESTED]


def _best_of_size(answer: Answer) -> tuple[object, ...]:
    """The least memory first; of equal ones a real run, a measured one, the longest context."""
    row = answer.configuration
    return (
        *(row.total_memory_gb, row.gpus, "synthetic" in row.scenario),
        *(row.statement != "measured-run", -row.length, row.id),
    )


def _size(answer: Answer) -> tuple[bool, float, int, bool, str]:
    return size_of(answer.configuration)


def by_hardware(rows: Sequence[Configuration], memory_gb: float) -> list[HardwareRow]:
    """The largest sizes by the number of GPUs; one that adds nothing is left out."""
    any_number = Query(memory_gb=memory_gb)
    fitting = [row for row in rows if fit(any_number, row) in {TESTED, SHOULD_FIT}]
    found: list[HardwareRow] = []
    for gpus in GPUS:
        runs = answers(
            [row for row in fitting if row.gpus <= gpus], Query(memory_gb=memory_gb, gpus=gpus)
        )
        by_task = {item.task: item for item in largest(runs)}
        if by_task and (not found or _figures(by_task) != _figures(found[-1].largest)):
            found.append(HardwareRow(gpus, memory_gb, by_task))
    return found


def _figures(largest_: dict[str, Largest]) -> dict[str, tuple[str, int]]:
    return {task: (item.size, item.longest.configuration.length) for task, item in largest_.items()}
