"""What was decided by reading, as data: each table maps what is published to our words."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one table of words."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as text:
        return tuple(csv.DictReader(text))


@cache
def mapping(name: str) -> dict[str, str]:
    """A table of two columns as a mapping from the first to the second."""
    return {first: second for first, second, *_ in (row.values() for row in table(name))}
