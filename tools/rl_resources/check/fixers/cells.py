"""Fixers of cells that are spelt in another way than their column wants."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset.broken import broken_cells
from rl_resources.check.dataset.spelling import certain
from rl_resources.check.fixers.lines import with_cells
from rl_resources.check.registry import Rewrite, fixer
from rl_resources.check.snapshot import Snapshot


def _spelt(snapshot: Snapshot, *constraints: str) -> Iterator[Rewrite]:
    cells = (cell for cell in broken_cells(snapshot) if cell.constraint in constraints)
    meant = ((cell, certain(snapshot, cell)) for cell in cells)
    return with_cells([(cell, text) for cell, text in meant if text is not None])


@fixer
def type(snapshot: Snapshot) -> Iterator[Rewrite]:  # noqa: A001 (the rule's name)
    return _spelt(snapshot, "type")


@fixer
def vocabulary(snapshot: Snapshot) -> Iterator[Rewrite]:
    return _spelt(snapshot, "enum", "vocabulary")


@fixer
def pattern(snapshot: Snapshot) -> Iterator[Rewrite]:
    return _spelt(snapshot, "pattern")


@fixer
def outer_space(snapshot: Snapshot) -> Iterator[Rewrite]:
    return _spelt(snapshot, "space")


@fixer
def invisible_character(snapshot: Snapshot) -> Iterator[Rewrite]:
    return _spelt(snapshot, "invisible")
