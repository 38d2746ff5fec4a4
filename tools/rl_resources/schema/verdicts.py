"""Tables in which no cell is wrong, remembered by their content.

Importing polars takes longer than judging the shipped tables. What the same engine found clean
under the same schema and vocabulary is clean, so it is asked only about tables that have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.cache import cache_folder, keep
from rl_resources.package import TableSchema

if TYPE_CHECKING:
    from rl_resources.schema.validate import Failure


def failures(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> list[Failure]:
    """The failures of `validate`, those that `text_mistake` knows among them, by column.

    Of a cell with several the first is told. Where there were none the last time, that is known.
    """
    known = cache_folder("tables") / _key(schema, columns, vocabulary)
    if known.exists():
        return []
    found = list(_judged(schema, columns, vocabulary))
    if not found:
        keep(known, "")
    return found


def _judged(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> Iterator[Failure]:
    from rl_resources.schema.text import may_be_broken, text_mistake
    from rl_resources.schema.validate import Failure, failures

    found = failures(schema, columns, vocabulary)
    by_schema = {(failure.row, failure.field): failure.constraint for failure in found}
    told = {field for _, field in by_schema}
    for field in schema.fields:
        cells = columns.get(field.name, ())
        for row, cell in enumerate(cells if field.name in told or may_be_broken(cells) else ()):
            constraint = by_schema.get((row, field.name)) if "\n" not in cell else None
            if wrong := text_mistake(field, cell, constraint) or constraint:
                yield Failure(row, field.name, wrong)


def _key(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Mapping[str, Collection[str]],
) -> str:
    sha = hashlib.sha256(f"{_engine()}\0{schema.fields!r}\0{schema.foreign_keys!r}".encode())
    for name, cells in columns.items():
        sha.update(_joined([name, *cells]))
    for name, words in vocabulary.items():
        sha.update(_joined([name, *sorted(words)]))
    return sha.hexdigest()


def _joined(cells: Iterable[str]) -> bytes:
    """Cells as bytes that no other cells have."""
    return "".join(f"{len(cell)}:{cell}" for cell in cells).encode("utf-8", "surrogatepass") + b"\0"


@lru_cache(maxsize=1)
def _engine() -> str:
    """What the verdict depends on beside the table: the translation and what it runs on."""
    folder = Path(__file__).parent
    names = ("validate.py", "constraints.py", "text.py", "letters.py", "../package.py")
    texts = [folder / name for name in names]
    return "\0".join([version("polars"), *(path.read_text(encoding="utf-8") for path in texts)])
