"""Where a published id is to be found today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.package import items_of, text_of


@dataclass(frozen=True, slots=True)
class Move:
    """An id that is gone, the ids that replace it today (none: withdrawn), and why."""

    id: str
    moved_to: tuple[str, ...]
    version: str
    reason: str


def moves(dataset: Dataset, resource: str) -> list[Move]:
    """Every id of a table that is gone; each leads to ids that are in it today."""
    rows = [row for row in dataset.records["moved"] if row["resource"] == resource]
    steps = {text_of(row, "id"): items_of(row, "moved_to") for row in rows}
    return [
        Move(
            text_of(row, "id"),
            tuple(dict.fromkeys(_today(steps, text_of(row, "id")))),
            text_of(row, "version"),
            text_of(row, "reason"),
        )
        for row in rows
    ]


def _today(steps: Mapping[str, Sequence[str]], name: str) -> Iterator[str]:
    """The ids that a published one leads to; itself where it never moved."""
    if name not in steps:
        yield name
    for target in steps.get(name, ()):
        yield from _today(steps, target)


def former_ids(dataset: Dataset, resource: str, name: str) -> list[str]:
    """The ids under which a row of today was published before."""
    return [move.id for move in moves(dataset, resource) if name in move.moved_to]
