"""Validation of text cells against a Table Schema: the first thing that is wrong with each cell.

This is the one implementation of the constraints; frictionless and pandera judge it in the tests.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from rl_resources.package import NUMBERS, TEXTS, TYPES, Field, TableSchema
from rl_resources.schema.text_rules import AFTER, text_mistake

Vocabulary = Mapping[str, Collection[str]]
"""The words that a column with a foreign key may contain, by the name of the column."""

VOCABULARY = "vocabulary"
END_CHARACTERS = 5_000
"""Of a very long cell the beginning and the end are searched for what no text may contain."""
BOUNDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "minimum": operator.lt,
    "exclusiveMinimum": operator.le,
    "maximum": operator.gt,
    "exclusiveMaximum": operator.ge,
}
"""Whether a value breaks a bound, of one value or of a column."""

_BREAKS: Mapping[str, Callable[[Any, Any], bool]] = {
    **BOUNDS,
    "enum": lambda value, words: value not in words,
    "minLength": lambda text, length: len(text) < length,
    "maxLength": lambda text, length: len(text) > length,
}


class Failure(NamedTuple):
    """Cell `field` of row `row` (from 0) breaks `constraint`: a word of Table Schema, `type`,
    `vocabulary`, or a mistake of `text_rules`.
    """

    row: int
    field: str
    constraint: str


def failures(
    schema: TableSchema, columns: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> list[Failure]:
    """All cells with a mistake, each once, by row and then by column.

    `columns` maps the columns that a file has to their cells; all have the same length.
    """
    found: list[Failure] = []
    for field in schema.fields:
        cells, words = columns.get(field.name, ()), vocabulary.get(field.name)
        wrong = {cell: kind for cell in set(cells) if (kind := mistake(field, words, cell))}
        if wrong:
            found += [
                Failure(row, field.name, wrong[cell])
                for row, cell in enumerate(cells)
                if cell in wrong
            ]
    return sorted(found, key=lambda failure: failure.row)


def mistake(field: Field, words: Collection[str] | None, cell: str) -> str | None:
    """The first thing that is wrong with a cell of a column with these `words`; else `None`.

    An invisible character in `h100` goes before the vocabulary that lacks such a word. Where the
    words of a column are known, only a broken cell has a mistake in its text.
    """
    broken = _broken_constraint(field, words, cell)
    closed = words is not None or "enum" in field.constraints or field.type not in TEXTS
    if closed and not broken:
        return None
    long = len(cell) > 2 * END_CHARACTERS
    in_text = text_mistake(field, cell[:END_CHARACTERS] + cell[-END_CHARACTERS:] if long else cell)
    return broken or in_text if in_text in AFTER else in_text or broken


def _broken_constraint(field: Field, words: Collection[str] | None, cell: str) -> str | None:
    if not cell:
        return "required" if field.required else None
    if not _is_typed(field, cell):
        return "type"
    value = float(cell) if field.type in NUMBERS else cell  # dates compare as they are written
    if field.pattern and not re.fullmatch(field.pattern, cell):
        return VOCABULARY if field.item_words else "pattern"
    if words is not None and cell not in words:
        return VOCABULARY
    for name, limit in field.constraints.items():
        if name in _BREAKS and _BREAKS[name](value, limit):
            return name
    return None


def _is_typed(field: Field, cell: str) -> bool:
    """Whether a cell is written as the type of its column wants it."""
    if field.type in TEXTS:
        return True
    written = re.fullmatch(TYPES[field.type].pattern, cell) is not None
    return written and (field.type != "date" or _is_day(cell))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
