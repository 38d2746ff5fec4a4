"""What fits in general: the least hardware of each size, and the largest size of given hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rl_resources.query.configurations import Configuration
from rl_resources.query.find import Answer, Largest, answers, largest_known, size_of
from rl_resources.query.fit import SHOULD_FIT, TESTED, fit
from rl_resources.query.question import Question

WEIGHTS = {"full": "full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}
"""The kinds of training that have a headline of their own."""
NO_TEXT = frozenset({"image-generation", "video-generation", "robotics"})
GPUS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Hardware:
    """So many accelerators of so much memory each, and the largest size of each task on them."""

    gpus: int
    memory_gb: float
    largest: dict[str, Largest]


def least(rows: Sequence[Configuration], size: str) -> list[Answer]:
    """For each task of a size the run that needs the least memory in all, least first.

    Runs of which nobody says what trains do not count.
    """
    best: dict[tuple[str, str], Answer] = {}
    for item in answers(rows, Question(size=size)):
        row = item.configuration
        if row.task and row.weights and item.fit == TESTED:
            key = row.task, row.weights
            best[key] = min(best.get(key, item), item, key=_size)
    return sorted(best.values(), key=_size)


def headline(rows: Sequence[Configuration], size: str, weights: str) -> Answer | None:
    """The run of a size that needs the least memory in all, of those known to train `weights`.

    Nothing disputed or contradicted counts, and no model of images, videos or robots.
    """
    runs = (
        item
        for item in answers(rows, Question(size=size, weights=weights))
        if item.fit == TESTED
        and item.configuration.weights == weights
        and item.configuration.evidence_level != "disputed"
        and not item.configuration.contradicts
        and item.configuration.memory_gb
        and NO_TEXT.isdisjoint(item.configuration.scenario)
    )
    return min(runs, key=_best_of_size, default=None)


def _best_of_size(answer: Answer) -> tuple[object, ...]:
    """Least memory first; of equal ones a real run, a measured one, the longest context."""
    row = answer.configuration
    return (
        *(row.total_memory_gb, row.gpus, "synthetic" in row.scenario),
        *(row.statement != "measured-run", -row.length, row.id),
    )


def _size(answer: Answer) -> tuple[bool, float, int, bool, str]:
    return size_of(answer.configuration)


def by_hardware(rows: Sequence[Configuration], memory_gb: float) -> list[Hardware]:
    """The largest sizes by the number of accelerators; one that adds nothing is left out."""
    any_number = Question(memory_gb=memory_gb)
    fitting = [row for row in rows if fit(any_number, row) in {TESTED, SHOULD_FIT}]
    found: list[Hardware] = []
    for gpus in GPUS:
        asked = Question(memory_gb=memory_gb, gpus=gpus)
        enough = [row for row in fitting if row.gpus <= gpus]
        largest = {item.task: item for item in largest_known(enough, asked)}
        if largest and (not found or _told(largest) != _told(found[-1].largest)):
            found.append(Hardware(gpus, memory_gb, largest))
    return found


def _told(largest: dict[str, Largest]) -> dict[str, tuple[str, int]]:
    return {task: (item.size, item.longest.configuration.length) for task, item in largest.items()}
