"""All that is wrong with cells: what their schema has against them, and what no text may hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.constraints import hold_usable
from rl_resources.schema.text import SIGNS, text_mistake
from rl_resources.schema.validate import (
    ROW,
    ROW_NUMBER,
    Failure,
    Question,
    Vocabulary,
    answered,
    found,
    frame_of,
    number_of,
    questions,
    told,
    with_typed,
)

_NO_CELLS = pl.LazyFrame(schema={ROW: pl.UInt32, "place": pl.UInt32, "cell": pl.String})


def mistakes(
    schema: TableSchema, columns: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> list[Failure]:
    """As `failures`, and what is wrong with texts; what is told first of all that is wrong.

    Of a cell with a line break nothing is told: it is told as that.
    """
    hold_usable(schema)
    raw = frame_of(schema, columns).with_row_index(ROW)
    fields = [field for field in schema.fields if field.name in columns]
    asked = questions(fields, vocabulary)
    answers = with_typed(raw.lazy(), fields).with_columns(**answered(asked), **signs(fields))
    wrong = wrong_cells(schema, asked, answers.collect())
    every = (Failure(*values) for values in wrong.iter_rows())
    return [failure for failure in every if "\n" not in columns[failure.field][failure.row]]


def signs(fields: Iterable[Field]) -> dict[str, pl.Expr]:
    """Which cells of these columns have a sign of a mistake, by a name for each column."""
    return {_sign(field): pl.col(field.name).str.contains(SIGNS) for field in fields}


def _sign(field: Field) -> str:
    return f"{field.name} has a sign"


def wrong_cells(schema: TableSchema, asked: Sequence[Question], rows: pl.DataFrame) -> pl.DataFrame:
    """What is told, as `FAILURES`, of rows of text with the answers to what was asked of them.

    Texts are looked at that have a sign, and, of a column whose signs were not asked for, those
    that an answer has something against. The number of each row stands in the column `ROW`.
    """
    return told(schema, found(schema, asked, rows), _texts(schema, asked, rows))


def _texts(schema: TableSchema, asked: Sequence[Question], rows: pl.DataFrame) -> pl.Series:
    """The mistakes of texts, for `told`; each text is looked at once."""
    fields = schema.fields
    doubtful = [cells for field in fields for cells in _doubtful(schema, field, asked, rows)]
    cells = pl.concat([_NO_CELLS, *doubtful]).collect().filter(pl.col("cell").str.contains(SIGNS))

    @cache
    def number(place: int, cell: str) -> int | None:
        mistake = text_mistake(fields[place], cell, None)
        return number_of(schema, fields[place], mistake) if mistake else None

    numbers = (
        row * ROW_NUMBER + kind
        for row, place, cell in cells.iter_rows()
        if (kind := number(place, cell)) is not None
    )
    return pl.Series(numbers, dtype=pl.UInt64)


def _doubtful(
    schema: TableSchema, field: Field, asked: Sequence[Question], rows: pl.DataFrame
) -> Iterator[pl.LazyFrame]:
    """The cells of a column that may have a mistake, as `_NO_CELLS`."""
    told = [question.name for question in asked if question.field is field]
    names = [_sign(field)] if _sign(field) in rows.columns else told
    if any(rows[name].any() for name in names):
        place = pl.lit(schema.index(field.name), pl.UInt32)
        doubtful = rows.lazy().filter(pl.any_horizontal(names))
        yield doubtful.select(ROW, place=place, cell=pl.col(field.name))
