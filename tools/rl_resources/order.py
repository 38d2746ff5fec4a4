"""The canonical order of rows (`orderBy` along foreign keys) and of release numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from packaging.version import InvalidVersion, Version

from rl_resources.package import TYPES, Package, TableSchema

SortValue = tuple[int, float, str]
SortKey = tuple[SortValue, ...]

Cells = Callable[[str], str]
"""The text of a row's cell, by the name of its column."""

Find = Callable[[str, str], Cells | None]
"""The row that a foreign key means, by resource and word; `None` where there is none."""


def number(cell: str) -> float | None:
    """The value of a cell that is written as a number."""
    return float(cell) if re.fullmatch(TYPES["number"].pattern, cell) else None


def sort_key(package: Package, schema: TableSchema, row: Cells, find: Find) -> SortKey:
    """Where a row stands: numbers before text, and last what leads nowhere."""
    return tuple(
        sort_value(package, schema, path, row(path.partition(".")[0]), find)
        for path in schema.order_by
    )


def sort_value(
    package: Package, schema: TableSchema, path: str, cell: str, find: Find
) -> SortValue:
    """What one path of `orderBy` leads to from a cell of its first column."""
    name, _, rest = path.partition(".")
    if not rest:
        numeric = schema.field(name).type in {"integer", "number"}
        known = number(cell) if numeric else None
        return (0, known, "") if known is not None else (1, 0.0, cell)
    key = schema.foreign_key(name)
    target = find(key.resource, cell) if key else None
    if key is None or target is None:
        return (2, 0.0, cell)
    further = package.resources[key.resource].schema
    return sort_value(package, further, rest, target(rest.partition(".")[0]), find)


def in_order(versions: Iterable[str]) -> list[str]:
    """Release numbers, oldest first; one that PEP 440 does not know comes before all others."""
    return sorted(versions, key=_version_key)


def is_version(text: str) -> bool:
    """Whether PEP 440 knows a text as a release number."""
    return _version_key(text)[0]


def _version_key(text: str) -> tuple[bool, Version, str]:
    try:
        return True, Version(text), text
    except InvalidVersion:
        return False, Version("0"), text
