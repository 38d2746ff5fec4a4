"""Tables that broke no constraint, remembered by their content.

Importing pandera takes longer than judging the shipped tables. What the same engine found clean
under the same schema and vocabulary is clean, so it is asked only about tables that have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    """The same as `validate.failures`, from memory where there were none the last time."""
    known = cache_folder("tables") / _key(schema, columns, vocabulary)
    if known.exists():
        return []
    from rl_resources.schema.validate import failures as judged

    found = judged(schema, columns, vocabulary)
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
    texts = [folder / "validate.py", folder / "compiled.py", folder.parent / "package.py"]
    releases = [version(name) for name in ("pandera", "polars")]
    return "\0".join([*releases, *(path.read_text(encoding="utf-8") for path in texts)])
