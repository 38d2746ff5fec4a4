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
)

_RANKS = {constraint: rank for rank, constraint in enumerate(PRECEDENCE)}
_ISO = "%Y-%m-%d"
_DATE_BYTES = len("2026-01-31")
_FOUR_DIGITS = date(1000, 1, 1)
Vocabulary = Mapping[str, Collection[str]]

FAILURES = {"row": pl.UInt32(), "field": pl.String(), "constraint": pl.String()}
"""Columns of a frame of failures: see `Failure`."""


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
    raw = pl.DataFrame(
        {name: columns[name] for name in schema.names if name in columns},
        schema={name: pl.String for name in schema.names if name in columns},
    ).with_columns(pl.all().replace("", None))
    return [Failure(*values) for values in judged(schema, raw, vocabulary).iter_rows()]


def judged(schema: TableSchema, raw: pl.DataFrame, vocabulary: Vocabulary) -> pl.DataFrame:
    """The failures in a frame of text, in which blank cells are null, as `FAILURES`.

    The schema must have passed `hold_usable`.
    """
    fields = [field for field in schema.fields if field.name in raw.columns]
    asked = questions(fields, vocabulary)
    answers = with_typed(raw.lazy(), fields).select(
        question.wrong.fill_null(value=False).alias(question.name) for question in asked
    )
    return told(schema, asked, raw, answers.collect())


def told(
    schema: TableSchema, asked: Sequence[Question], raw: pl.DataFrame, answers: pl.DataFrame
) -> pl.DataFrame:
    """The failures, as `FAILURES`: of the questions asked of `raw`, `answers` has those answered.

    Each answer is a column of the question's name, true where cells are wrong.
    """
    found = [
        _failures(question, raw[question.field.name], answer.arg_true())
        for question in asked
        if (answer := answers[question.name]).any()
    ]
    by_rank = pl.col("constraint").replace_strict(_RANKS)
    by_place = pl.col("field").replace_strict({name: at for at, name in enumerate(schema.names)})
    ranked = (
        pl.concat(found).sort("row", by_place, by_rank) if found else pl.DataFrame(schema=FAILURES)
    )
    return ranked.unique(["row", "field"], keep="first", maintain_order=True)


def with_typed(lazy: pl.LazyFrame, fields: Sequence[Field]) -> pl.LazyFrame:
    """Columns of text, in which blank cells are null, with their typed cells for `questions`."""
    return lazy.with_columns(
        _typed(pl.col(field.name), field).alias(_typed_name(field)) for field in _closed(fields)
    )


class Question(NamedTuple):
    """Which cells of a column break a constraint; null where that is not asked of blank ones.

    Those that are said to break `type` may do so; only their text tells.
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
            Question(field, "required", pl.col(field.name).is_null())
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


def _failures(question: Question, column: pl.Series, rows: pl.Series) -> pl.DataFrame:
    field = question.field
    if question.constraint != "type":
        return _failures_in(field.name, rows, question.constraint)
    cells = column.gather(rows)
    written = cells.str.contains(f"^(?:{TYPES[field.type].pattern})$")
    if field.type == "date":
        written &= (cells.str.to_date(_ISO, strict=False) >= date.min).fill_null(value=False)
    found = [_failures_in(field.name, rows.filter(~written), "type")]
    if field.type == "integer":  # and more digits than a machine integer has
        low = cells.str.starts_with("-")
        found += [
            _failures_in(field.name, rows.filter(written & low), "minimum"),
            _failures_in(field.name, rows.filter(written & ~low), "maximum"),
        ]
    return pl.concat(found)


def _failures_in(name: str, rows: pl.Series | Sequence[int], constraint: str) -> pl.DataFrame:
    found = pl.DataFrame({"row": rows}, schema={"row": FAILURES["row"]})
    return found.with_columns(field=pl.lit(name), constraint=pl.lit(constraint))


def _typed(column: pl.Expr, field: Field) -> pl.Expr:
    if field.type == "boolean":
        return column.replace_strict({"true": True, "false": False}, default=None)
    if field.type == "date":
        return column.str.to_date(_ISO, strict=False)
    if field.type in TEXTS:
        return column
    return column.cast(pl.Int64 if field.type == "integer" else pl.Float64, strict=False)
