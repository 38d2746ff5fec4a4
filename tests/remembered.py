"""The engine's verdict on a column remembered by its content, for tests of many like datasets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from rl_resources.package import TableSchema, read_package
from rl_resources.schema.validate import Failure, failures
from sample_tree import REPOSITORY

Words = frozenset[str] | None


@cache
def _failures(path: str, name: str, cells: tuple[str, ...], words: Words) -> list[Failure]:
    schema = read_package(REPOSITORY).resources[Path(path).stem].schema
    return failures(schema, {name: cells}, {} if words is None else {name: words})


def remembered(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> list[Failure]:
    """What `failures` says, which judges each column by itself: here each content once."""
    found = []
    for name, cells in columns.items():
        words = frozenset(vocabulary[name]) if name in vocabulary else None
        found += _failures(schema.path, name, tuple(cells), words)
    return sorted(found, key=lambda failure: (failure.row, schema.index(failure.field)))
