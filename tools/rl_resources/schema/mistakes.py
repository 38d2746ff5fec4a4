"""All that is wrong with cells: what their schema has against them, and what no text may hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.constraints import hold_usable
from rl_resources.schema.text import SIGNS, text_mistake
from rl_resources.schema.validate import (
    Failure,
    Question,
    Vocabulary,
    answered,
    as_found,
    found,
    frame_of,
    questions,
    told,
    with_typed,
)


def mistakes(
    schema: TableSchema, columns: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> list[Failure]:
    """As `failures`, and what is wrong with texts; what is told first of all that is wrong.

    Of a cell with a line break nothing is told: it is told as that.
    """
    hold_usable(schema)
    raw = frame_of(schema, columns)
    fields = [field for field in schema.fields if field.name in columns]
    asked = questions(fields, vocabulary)
    answers = with_typed(raw.lazy(), fields).with_columns(**answered(asked), **signs(fields))
    wrong = wrong_cells(schema, asked, answers.collect())
    every = (Failure(*values) for values in wrong.iter_rows())
    return [failure for failure in every if "\n" not in columns[failure.field][failure.row]]


def signs(fields: Iterable[Field]) -> dict[str, pl.Expr]:
    """Which cells of these columns have a sign of a mistake, by a name for each column."""
    return {_sign(field): pl.col(field.name).str.contains(SIGNS) for field in fields}


def wrong_cells(schema: TableSchema, asked: Sequence[Question], rows: pl.DataFrame) -> pl.DataFrame:
    """What is told, as `FAILURES`, of rows of text with the answers to what was asked of them.

    Texts are looked at that have a sign, and, of a column whose signs were not asked for, those
    that an answer has something against.
    """
    texts = (
        as_found(schema, field, at, mistake)
        for field in schema.fields
        if field.name in rows.columns
        for mistake, at in _mistaken(field, rows[field.name], _doubtful(field, asked, rows))
    )
    return told(schema, [*found(schema, asked, rows, rows), *texts])


def _sign(field: Field) -> str:
    return f"{field.name} has a sign"


def _doubtful(field: Field, asked: Sequence[Question], rows: pl.DataFrame) -> pl.Series:
    """The rows in which a cell of a column may have a mistake."""
    if _sign(field) in rows.columns:
        return rows[_sign(field)].arg_true()
    wrong = [rows[question.name] for question in asked if question.field is field]
    at = reduce(or_, wrong).arg_true() if wrong else pl.Series(dtype=pl.UInt32)
    return at.filter(rows[field.name].gather(at).str.contains(SIGNS))


def _mistaken(field: Field, column: pl.Series, at: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """Which cells at these rows have a mistake; each text is looked at once."""
    cells = column.gather(at)
    by_mistake = defaultdict(list)
    for cell in cells.unique():
        by_mistake[text_mistake(field, cell, None)].append(cell)
    for mistake, texts in by_mistake.items():
        if mistake:
            yield mistake, at.filter(cells.is_in(texts))
