"""All that is wrong with cells: what their schema has against them, and what no text may hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

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
    texts: dict[tuple[Field, str], list[int]] = defaultdict(list)
    fields = [field for field in schema.fields if field.name in rows.columns]
    doubtful = rows.select(_doubtful(field, asked, rows.columns) for field in fields)
    for field in fields:
        at = doubtful[field.name].arg_true()
        for row, cell in zip(at, rows[field.name].gather(at), strict=True):
            if mistake := text_mistake(field, cell, None):
                texts[field, mistake].append(row)
    more = (as_found(schema, field, at, mistake) for (field, mistake), at in texts.items())
    return told(schema, [*found(schema, asked, rows, rows), *more])


def _sign(field: Field) -> str:
    return f"{field.name} has a sign"


def _doubtful(field: Field, asked: Sequence[Question], known: Collection[str]) -> pl.Expr:
    """In which rows a cell of a column may have a mistake."""
    cell = pl.col(field.name)
    if _sign(field) in known:
        return pl.col(_sign(field)).alias(field.name)
    wrong = [question.name for question in asked if question.field is field]
    return pl.when(pl.any_horizontal(pl.lit(value=False), *wrong)).then(cell).str.contains(SIGNS)
