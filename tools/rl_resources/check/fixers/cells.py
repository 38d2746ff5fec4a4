"""Fixers of cells that are spelt in another way than their column wants."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset.broken import broken_cells
from rl_resources.check.dataset.spelling import certain
from rl_resources.check.fixers.lines import with_cells
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot


def _spelt(snapshot: Snapshot, *constraints: str) -> Iterator[Rewrite]:
    cells = (cell for cell in broken_cells(snapshot) if cell.constraint in constraints)
    meant = ((cell, certain(snapshot, cell)) for cell in cells)
    return with_cells([(cell, text) for cell, text in meant if text is not None])


def cell_type(snapshot: Snapshot) -> Iterator[Rewrite]:
    """A number or date in its canonical form."""
    return _spelt(snapshot, "type")


def vocabulary(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The known word that a misspelt one means."""
    return _spelt(snapshot, "enum", "vocabulary")


def pattern(snapshot: Snapshot) -> Iterator[Rewrite]:
    """A text in the form of its column."""
    return _spelt(snapshot, "pattern")


def outer_space(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Spaces around a cell go."""
    return _spelt(snapshot, "space")


def invisible_character(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Invisible characters go, and letters of another form become plain."""
    return _spelt(snapshot, "hidden", "character")
