"""Where a published id is to be found today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.package import items_of


@dataclass(frozen=True, slots=True)
class Move:
    """An id that is gone, the ids that replace it today (none: withdrawn), and why."""

    id: str
    moved_to: tuple[str, ...]
    version: str
    reason: str


def moves(dataset: Dataset, resource: str) -> list[Move]:
    """Every id of a table that is gone; each leads to ids that are in it today."""
    rows = {row["id"]: row for row in dataset.records["moved"] if row["resource"] == resource}
    steps = {str(name): items_of(row, "moved_to") for name, row in rows.items()}
    return [
        Move(
            str(name),
            tuple(dict.fromkeys(_today(steps, str(name)))),
            str(row["version"]),
            str(row["reason"]),
        )
        for name, row in rows.items()
    ]


def _today(steps: dict[str, tuple[str, ...]], name: str) -> Iterator[str]:
    for target in steps[name]:
        if target in steps:
            yield from _today(steps, target)
        else:
            yield target


def former_ids(dataset: Dataset, resource: str, name: str) -> list[str]:
    """The ids under which a row of today was published before."""
    return [move.id for move in moves(dataset, resource) if name in move.moved_to]
