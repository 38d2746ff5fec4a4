"""Tables in which no cell is wrong, remembered by their content.

Importing polars takes longer than judging the shipped tables. What the same engine found clean
under the same schema and vocabulary is clean, so it is asked only about tables that have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.cache import cache_folder, keep, release_of
from rl_resources.package import TableSchema

if TYPE_CHECKING:
    from rl_resources.schema.validate import Failure


def failures(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> list[Failure]:
    """The failures of `mistakes`. Where there were none the last time, that is known."""
    known = cache_folder("tables") / _key(schema, columns, vocabulary)
    if known.exists():
        return []
    from rl_resources.schema.mistakes import mistakes

    found = mistakes(schema, columns, vocabulary)
    if not found:
        keep(known, "")
    return found


def _key(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> str:
    sha = hashlib.sha256(f"{_engine()}\0{schema.fields!r}\0{schema.foreign_keys!r}".encode())
    for name, cells in columns.items():
        sha.update(repr((name, *cells)).encode())
    for name, words in vocabulary.items():
        sha.update(repr((name, sorted(words))).encode())
    return sha.hexdigest()


@lru_cache(maxsize=1)
def _engine() -> str:
    """What the verdict depends on beside the table: the translation and what it runs on."""
    folder = Path(__file__).parent
    names = (
        "mistakes.py",
        "validate.py",
        "constraints.py",
        "text.py",
        "letters.py",
        "../package.py",
    )
    texts = [folder / name for name in names]
    return "\0".join([release_of("polars"), *(path.read_text(encoding="utf-8") for path in texts)])
