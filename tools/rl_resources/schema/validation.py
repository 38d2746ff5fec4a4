"""Validation of text cells against a Table Schema: the first thing that is wrong with each cell.

Cells are typed as the Table Schema says, pandera on polars checks the constraints, and
`text_rules` adds what no text may contain. Rows are counted from 0; the caller knows where a cell
stands in its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TEXTS, TYPES, Field, TableSchema
from rl_resources.schema.pandera_schema import PRECEDENCE, Vocabulary, pandera_columns, whole
from rl_resources.schema.text_rules import AFTER, BEFORE, SUSPECT, text_mistake

ORDER = (*BEFORE, *PRECEDENCE, *AFTER)
"""Of all that is wrong with a cell, the first of these is reported."""

_TYPES = {"integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean, "date": pl.Date}


class Failure(NamedTuple):
    """Cell `field` of row `row` (from 0) breaks `constraint`, one of `ORDER`."""

    row: int
    field: str
    constraint: str


def failures(
    schema: TableSchema, columns: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> list[Failure]:
    """All cells that break a constraint, each once, by row and then by column.

    `columns` maps every column of the schema to its cells; all have the same length. Raises
    `UnreadableDataset` for a schema that makes no sense.
    """
    frame = pl.DataFrame(
        {name: columns[name] for name in schema.names}, dict.fromkeys(schema.names, pl.String)
    )
    try:
        return Validator(schema, vocabulary).failures(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise UnreadableDataset(f"{schema.path}: a constraint cannot be used: {error}") from error


class Validator:
    """A Table Schema with the words of its foreign keys, ready for any number of frames."""

    def __init__(self, schema: TableSchema, vocabulary: Vocabulary) -> None:
        self.schema = schema
        self.pandera = pandera_columns(schema, vocabulary)
        closed = {field.name for field in schema.fields if field.words} | vocabulary.keys()
        self.open = {field.name for field in schema.fields if field.type in TEXTS} - closed

    def failures(self, frame: pl.DataFrame) -> list[Failure]:
        """All broken cells of a frame of text columns, each once, by row and then by column.

        An empty text is an empty cell, as null is.
        """
        text = frame.with_columns(pl.all().replace("", None))
        fields = [field for field in self.schema.fields if field.type in _TYPES]
        typed = text.with_columns(map(_typed, fields))
        found = [*self._broken(typed), *_mistyped(fields, text, typed)]
        found += [*self._text_mistakes(text, found)]
        first: dict[tuple[int, str], Failure] = {}
        for item in sorted(found, key=self._position):
            first.setdefault((item.row, item.field), item)
        return list(first.values())

    def _position(self, item: Failure) -> tuple[int, int, int]:
        return item.row, self.schema.names.index(item.field), ORDER.index(item.constraint)

    def _broken(self, typed: pl.DataFrame) -> Iterator[Failure]:
        """The cells that break a constraint for pandera.

        All checks run as one query; `Column.validate` would run several for each of them.
        """
        queries = [*self._queries(typed)]
        answers = pl.collect_all([query for *_, query in queries])
        for (name, constraint, _), answer in zip(queries, answers, strict=True):
            holds = answer.to_series()
            for row in () if holds.all() else (~holds).arg_true():  # `arg_true` is slow
                yield Failure(row, name, constraint)

    def _queries(self, typed: pl.DataFrame) -> Iterator[tuple[str, str, pl.LazyFrame]]:
        """Column, constraint, and a query for whether each of its cells holds it, or null."""
        from pandera.backends.polars import builtin_checks
        from pandera.polars import PolarsData

        lazy = typed.lazy()
        for column in self.pandera:
            data = PolarsData(lazy, column.name)
            for check in column.checks:
                holds = getattr(builtin_checks, check.name)
                yield column.name, check.error, holds(data, **check.statistics)
            if not column.nullable:
                yield column.name, "required", lazy.select(pl.col(column.name).is_not_null())

    def _text_mistakes(self, text: pl.DataFrame, broken: Sequence[Failure]) -> Iterator[Failure]:
        """What no text may contain; of words that are known only a broken cell can have it."""
        for field in self.schema.fields:
            cells = text[field.name]
            rows: Iterable[int] = (item.row for item in broken if item.field == field.name)
            if field.name in self.open:
                words = cells.unique()
                suspicious = words.filter(words.str.contains(SUSPECT))
                rows = cells.is_in(suspicious.implode()).arg_true() if len(suspicious) else ()
            for row in rows:
                if mistake := text_mistake(field, cells[row] or ""):
                    yield Failure(row, field.name, mistake)


def _typed(field: Field) -> pl.Expr:
    """A column of text as values; null for a cell that is not written as the type wants it."""
    cell = pl.col(field.name)
    if field.type == "boolean":
        return cell.replace_strict({"true": True, "false": False}, default=None)
    if field.type == "date":
        return cell.str.to_date("%Y-%m-%d", strict=False)
    return cell.cast(_TYPES[field.type], strict=False)


def _mistyped(
    fields: Sequence[Field], text: pl.DataFrame, typed: pl.DataFrame
) -> Iterator[Failure]:
    """The cells that are not written as their type."""
    for field in fields:
        cells = text[field.name]
        wrong = typed[field.name].is_null()
        if field.type in {"number", "date"}:  # polars reads `NaN`, `2026-1-5` and others, too
            wrong |= ~cells.str.contains(whole(TYPES[field.type].pattern))
        wrong &= cells.is_not_null()
        for row in wrong.arg_true() if wrong.any() else ():  # `arg_true` is slow
            yield Failure(row, field.name, "type")
