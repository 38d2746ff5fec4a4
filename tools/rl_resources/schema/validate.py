"""Table Schema to pandera on polars: which cells break which constraint.

Cells come in as text and rows are told by index; where a cell stands in the file is the caller's
knowledge. Types are read by polars, constraints are judged by pandera, and a cell that breaks
several of them is told once, for the first in `PRECEDENCE`. pandera looks at a frame once and more
for each check; here its checks are questions that polars answers all at once, which takes a third
of the time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import pandera.polars as pa
import polars as pl
from pandera.api.polars.types import PolarsData
from pandera.backends.polars.checks import PolarsCheckBackend
from pandera.backends.polars.register import register_polars_backends

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TYPES, Field, TableSchema
from rl_resources.schema.compiled import PRECEDENCE, compiled

_RANKS = {constraint: rank for rank, constraint in enumerate(PRECEDENCE)}
_DATE_BYTES = len("2026-01-31")
_TEXTS = frozenset({"string", "list"})
_NUMBERS = frozenset({"integer", "number"})
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
        question.wrong.fill_null(value=False).alias(str(at)) for at, question in enumerate(asked)
    )
    found = pl.concat(
        [
            pl.DataFrame(schema=FAILURES),
            *(
                _failures(question, raw[question.field.name], answer.arg_true())
                for question, answer in zip(asked, answers.collect(), strict=True)
                if answer.any()
            ),
        ]
    )
    by_rank = pl.col("constraint").replace_strict(_RANKS)
    by_place = pl.col("field").replace_strict({name: at for at, name in enumerate(schema.names)})
    ranked = found.sort("row", by_place, by_rank) if found.height else found
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


def questions(fields: Sequence[Field], vocabulary: Vocabulary) -> list[Question]:
    """All that is asked of the columns of `with_typed`."""
    register_polars_backends()  # checks made before it know no columns of polars
    columns = compiled(fields, vocabulary).columns
    return [
        *(Question(field, "type", _mistyped(field)) for field in _closed(fields)),
        *(
            Question(field, "required", pl.col(field.name).is_null())
            for field in fields
            if field.required
        ),
        *(
            Question(field, check.error, ~_passed(check, field))
            for field in fields
            for check in columns[field.name].checks
        ),
    ]


def _closed(fields: Sequence[Field]) -> list[Field]:
    return [field for field in fields if field.type not in _TEXTS]


def _typed_name(field: Field) -> str:
    return field.name if field.type in _TEXTS else f"typed {field.name}"


class _Asking:
    """Stands for a frame: what a check of pandera selects from it is the check as a question."""

    def select(self, asked: pl.Expr) -> pl.Expr:
        return asked


def _passed(check: pa.Check, field: Field) -> pl.Expr:
    asked: pl.Expr = PolarsCheckBackend(check).check_fn(
        PolarsData(cast("pl.LazyFrame", _Asking()), _typed_name(field))
    )
    return asked


def hold_usable(schema: TableSchema) -> None:
    """Raise `UnreadableDataset` where a constraint cannot be applied to its column."""
    for field in schema.fields:
        _hold_usable(schema, field)


def _hold_usable(schema: TableSchema, field: Field) -> None:
    for name, limit in field.constraints.items():
        if not _usable(field, name, limit):
            raise UnreadableDataset(
                f"{schema.path}: field {field.name!r} is {field.type}, "
                f"its constraint {name!r} cannot be {json.dumps(limit)}",
                "See Table Schema in the Data Package standard for what the constraint may be.",
            )
    try:
        pl.Series([""]).str.contains(field.pattern or "")
    except pl.exceptions.ComputeError as error:
        raise UnreadableDataset(
            f"{schema.path}: pattern of field {field.name!r} is none that every engine knows",
            "Write it without look-around and without references to groups.",
        ) from error


def _usable(field: Field, name: str, limit: Any) -> bool:
    """Whether a constraint's value is of the kind that its check wants."""
    if name in {"required", "unique"}:
        return isinstance(limit, bool)
    if name == "pattern":
        return isinstance(limit, str) and field.type == "string"
    if name in {"minLength", "maxLength"}:
        return type(limit) is int and field.type in {"string", "list"}
    if name == "enum":
        return isinstance(limit, list) and all(_is_value(field, word) for word in limit)
    if field.type == "date":
        return isinstance(limit, str) and _is_date(limit)
    return field.type in _NUMBERS and _is_value(field, limit)


def _is_value(field: Field, value: object) -> bool:
    if field.type in _NUMBERS:
        return type(value) in {int, float}
    return isinstance(value, str)


def _is_date(text: str) -> bool:
    try:
        TYPES["date"].read(text)
    except ValueError:
        return False
    return True


def _mistyped(field: Field) -> pl.Expr:
    """Whether a cell may be not written as its type."""
    cell, typed = pl.col(field.name), pl.col(_typed_name(field))
    doubtful = cell.is_not_null() & typed.is_null()
    if field.type == "number":
        doubtful |= ~typed.is_finite()
    if field.type == "date":
        doubtful |= cell.str.len_bytes() != _DATE_BYTES
    return doubtful


def _failures(question: Question, column: pl.Series, rows: pl.Series) -> pl.DataFrame:
    field = question.field
    if question.constraint != "type" or field.type not in _NUMBERS:
        return _failures_in(field.name, rows, question.constraint)
    cells = column.gather(rows)
    written = cells.str.contains(f"^(?:{TYPES[field.type].pattern})$")
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
        return column.str.to_date("%Y-%m-%d", strict=False)
    if field.type in _TEXTS:
        return column
    return column.cast(pl.Int64 if field.type == "integer" else pl.Float64, strict=False)
