"""Keys that stand twice."""

from __future__ import annotations

from collections.abc import Sequence


def duplicates(columns: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Rows whose key, the cells of all `columns` together, stood before: (copy, first) by index.

    Rows with a blank in the key are left out.
    """
    first: dict[tuple[str, ...], int] = {}
    copies = []
    for row, key in enumerate(zip(*columns, strict=True)):
        if all(key) and first.setdefault(key, row) != row:
            copies.append((row, first[key]))
    return copies
