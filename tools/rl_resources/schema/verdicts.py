"""Cells in which nothing is wrong, remembered by what they were held to.

Importing polars takes longer than judging the shipped tables. Whether a cell is clean follows from
its text and from what its column is held to, never from another cell; so the engine is asked only
about rows with a cell that it has not found clean before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.cache import cache_folder, keep, kept_json, own_code, release_of
from rl_resources.package import Field, TableSchema

if TYPE_CHECKING:
    from rl_resources.schema.validate import Failure

MOST_ROWS = 20_000
"""Of a table whose cells are remembered; to read them takes longer than to judge more."""
LEAST_CELLS = 100

Columns = Mapping[str, Sequence[str]]


def failures(
    schema: TableSchema, columns: Columns, vocabulary: Mapping[str, Collection[str]]
) -> list[Failure]:
    """The failures of `mistakes`, which is asked about rows with a cell that is new."""
    keys = {name: _key(schema.field(name), vocabulary.get(name)) for name in columns}
    memory = cache_folder("tables") / f"{_digest(schema.path)}.json"
    known = _known(memory)
    new = {name: set(columns[name]) - known.get(key, frozenset()) for name, key in keys.items()}
    if not any(new.values()):
        return []
    from rl_resources.schema.mistakes import mistakes

    rows = sorted({row for name, cells in new.items() for row in _where(columns[name], cells)})
    some = {name: [cells[row] for row in rows] for name, cells in columns.items()}
    found = mistakes(schema, some, vocabulary)
    if not found and len(next(iter(columns.values()))) <= MOST_ROWS:
        clean = {key: sorted(_lasting(known.get(key), columns[name])) for name, key in keys.items()}
        keep(memory, json.dumps(clean, ensure_ascii=False))
    return [replace(failure, row=rows[failure.row]) for failure in found]


def _lasting(known: frozenset[str] | None, cells: Sequence[str]) -> Collection[str]:
    """The cells of a column with those that it had before, as who goes back and forth wants them,
    unless most are long gone.
    """
    now = frozenset(cells)
    return now | known if known and len(known) < 2 * len(now) + LEAST_CELLS else now


def _where(cells: Sequence[str], wanted: Collection[str]) -> list[int]:
    return [row for row, cell in enumerate(cells) if cell in wanted] if wanted else []


def _key(field: Field, words: Collection[str] | None) -> str:
    """All that a cell of a column is held to, and by which code on which engine."""
    held_to = repr((field, None if words is None else sorted(words)))
    return _digest("\0".join((own_code(), release_of("polars"), held_to)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _known(memory: Path) -> Mapping[str, frozenset[str]]:
    """Cells that were clean in tables in which all were, by `_key`."""
    try:
        return {key: frozenset(map(str, cells)) for key, cells in kept_json(memory).items()}
    except (TypeError, AttributeError):
        return {}
