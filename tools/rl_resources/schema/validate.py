"""Table Schema on polars: which cells break which constraint.

Cells come in as text and rows are told by index; where a cell stands in the file is the caller's
knowledge. Types and constraints are questions that polars answers all at once, and a cell that
breaks several of them is told once, for the first in `PRECEDENCE`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import polars as pl

from rl_resources.package import TYPES, Field, TableSchema
from rl_resources.schema.constraints import (
    PRECEDENCE,
    TEXTS,
    Limit,
    hold_usable,
    limits,
    whole,
)
from rl_resources.schema.text import AFTER, BEFORE

ORDER = (*BEFORE, *PRECEDENCE, *AFTER)
"""Of all that is wrong with a cell, the mistakes of texts among it, the first of these is told."""

_RANKS = {constraint: rank for rank, constraint in enumerate(ORDER)}
_ISO = "%Y-%m-%d"
_DATE_BYTES = len("2026-01-31")
_FOUR_DIGITS = date(1000, 1, 1)
Vocabulary = Mapping[str, Collection[str]]

FAILURES = {"row": pl.UInt32(), "field": pl.String(), "constraint": pl.String()}
"""Columns of a frame of failures: see `Failure`. Field and constraint may be enumerations."""

ROW = "number of row"
ROW_NUMBER, _FIELD = 2**32, 2**8
"""What is wrong with a cell is one number: of the row, the place of the column, and the rank."""
_FOUND = "found"
_NOTHING_FOUND = pl.LazyFrame(schema={_FOUND: pl.UInt64})


@dataclass(frozen=True, slots=True)
class Failure:
    """Cell `field` of row `row` (from 0) breaks `constraint`."""

    row: int
    field: str
    constraint: str


def failures(
    schema: TableSchema,
    columns: Mapping[str, Sequence[str]],
    vocabulary: Vocabulary,
) -> list[Failure]:
    """All cells that break a constraint, each once, by row and then by column.

    `columns` maps the names of the columns that the file has to their cells. `vocabulary` maps a
    column with a foreign key to the keys that it may hold. Raises `UnreadableDataset` where a
    constraint of the schema has a value that cannot be applied to its column.
    """
    hold_usable(schema)
    raw = frame_of(schema, columns)
    return [Failure(*values) for values in judged(schema, raw, vocabulary).iter_rows()]


def frame_of(schema: TableSchema, columns: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Columns of text in the order of the schema; blank cells are null."""
    names = [name for name in schema.names if name in columns]
    frame = pl.DataFrame(
        {name: columns[name] for name in names}, schema=dict.fromkeys(names, pl.String)
    )
    return frame.with_columns(pl.all().replace("", None))


def judged(schema: TableSchema, raw: pl.DataFrame, vocabulary: Vocabulary) -> pl.DataFrame:
    """The failures in a frame of text as `FAILURES`.

    The schema must have passed `hold_usable`.
    """
    fields = [field for field in schema.fields if field.name in raw.columns]
    asked = questions(fields, vocabulary)
    rows = with_typed(raw.with_row_index(ROW).lazy(), fields).with_columns(**answered(asked))
    return told(schema, found(schema, asked, rows.collect()))


def answered(asked: Sequence[Question]) -> dict[str, pl.Expr]:
    """Where cells are wrong, by the name of the question."""
    return {question.name: question.wrong for question in asked}


def found(schema: TableSchema, asked: Sequence[Question], rows: pl.DataFrame) -> pl.Series:
    """All that the answers to what was asked of rows of text say, for `told`.

    The number of each row stands in the column `ROW`.
    """
    wrong = [
        rows.lazy().filter(question.name).select(_failure(schema, question))
        for question in asked
        if rows[question.name].any()
    ]
    return pl.concat([_NOTHING_FOUND, *wrong]).collect().to_series().drop_nulls()


def number_of(schema: TableSchema, field: Field, constraint: str) -> int:
    """What a cell of a column that breaks a constraint adds to the number of its row."""
    return schema.index(field.name) * _FIELD + _RANKS[constraint]


def told(schema: TableSchema, *numbers: pl.Series) -> pl.DataFrame:
    """What is told of all that was `found`, by row and then by column: as `FAILURES`."""
    every = pl.concat([pl.Series(dtype=pl.UInt64), *numbers]).sort()
    first = every.filter((every // _FIELD).diff().fill_null(1) != 0)
    return pl.DataFrame(
        {
            "row": (first // ROW_NUMBER).cast(FAILURES["row"]),
            "field": (first % ROW_NUMBER // _FIELD).cast(pl.UInt32).cat.to(pl.Enum(schema.names)),
            "constraint": (first % _FIELD).cast(pl.UInt32).cat.to(pl.Enum(ORDER)),
        }
    )


def with_typed(lazy: pl.LazyFrame, fields: Sequence[Field]) -> pl.LazyFrame:
    """Columns of text with their typed cells for `questions`."""
    return lazy.with_columns(
        _typed(pl.col(field.name), field).alias(_typed_name(field)) for field in _closed(fields)
    )


class Question(NamedTuple):
    """Which cells of a column break a constraint; null for none.

    A blank cell is null or an empty text, of which `required` alone is asked: what is said of an
    empty text otherwise does not count. Those that are said to break `type`, `pattern` or
    `maxLength` may do so; only their text tells.
    """

    field: Field
    constraint: str
    wrong: pl.Expr

    @property
    def name(self) -> str:
        """Not the name of any column."""
        return f"{self.field.name} breaks {self.constraint}"


def questions(fields: Sequence[Field], vocabulary: Vocabulary) -> list[Question]:
    """All that is asked of the columns of `with_typed`."""
    return [
        *(Question(field, "type", _mistyped(field)) for field in _closed(fields)),
        *(
            Question(field, "required", pl.col(field.name).fill_null("") == "")
            for field in fields
            if field.required
        ),
        *(
            Question(field, limit.constraint, ~_holds(limit, field))
            for field in fields
            for limit in limits(field, vocabulary.get(field.name))
        ),
    ]


def _holds(limit: Limit, field: Field) -> pl.Expr:
    return limit.meaning.holds(pl.col(_typed_name(field)), limit.value)


def _closed(fields: Sequence[Field]) -> list[Field]:
    return [field for field in fields if field.type not in TEXTS]


def _typed_name(field: Field) -> str:
    return field.name if field.type in TEXTS else f"typed {field.name}"


def _mistyped(field: Field) -> pl.Expr:
    """Whether a cell may be not written as its type."""
    cell, typed = pl.col(field.name), pl.col(_typed_name(field))
    doubtful = cell.is_not_null() & typed.is_null()
    if field.type == "number":
        doubtful |= ~typed.is_finite()
    if field.type == "date":  # polars reads `+999-01-01`, and years before the first
        doubtful |= (cell.str.len_bytes() != _DATE_BYTES) | (typed < _FOUR_DIGITS)
    return doubtful


def _failure(schema: TableSchema, question: Question) -> pl.Expr:
    """The number of a cell that a question says to be wrong; null where it is not."""
    row = pl.col(ROW).cast(pl.UInt64) * ROW_NUMBER
    number = pl.lit(None, pl.UInt64)
    for constraint, wrong in _broken(question).items():
        told = row + number_of(schema, question.field, constraint)
        number = pl.when(wrong).then(told).otherwise(number)
    return number.alias(_FOUND)


def _broken(question: Question) -> dict[str, pl.Expr]:
    """Which of the cells that a question says to be wrong are so, by constraint."""
    field, cell = question.field, pl.col(question.field.name)
    filled = cell != ""
    if question.constraint == "required":
        return {"required": pl.lit(value=True)}
    if question.constraint == "maxLength":
        filled &= cell.str.len_chars() > field.constraints["maxLength"]
    if question.constraint == "pattern" and field.pattern:
        filled &= ~cell.str.contains(whole(field.pattern))
    if question.constraint != "type":
        return {question.constraint: filled}
    written = cell.str.contains(whole(TYPES[field.type].pattern))
    if field.type == "date":
        written &= (cell.str.to_date(_ISO, strict=False) >= date.min).fill_null(value=False)
    if field.type != "integer":
        return {"type": filled & ~written}
    low = cell.str.starts_with("-")  # and more digits than a machine integer has
    return {"type": filled & ~written, "minimum": written & low, "maximum": written & ~low}


def _typed(column: pl.Expr, field: Field) -> pl.Expr:
    if field.type == "boolean":
        return column.replace_strict({"true": True, "false": False}, default=None)
    if field.type == "date":
        return column.str.to_date(_ISO, strict=False)
    if field.type in TEXTS:
        return column
    return column.cast(pl.Int64 if field.type == "integer" else pl.Float64, strict=False)
