"""Cells of a record for those who need no `None`: blank where nothing is known."""

from __future__ import annotations

from rl_resources.package import Record


def text_of(record: Record, name: str) -> str:
    """A cell as text."""
    value = record[name]
    return "" if value is None else str(value)


def items_of(record: Record, name: str) -> tuple[str, ...]:
    """The items of a cell that holds a list."""
    value = record[name]
    return value if isinstance(value, tuple) else ()
