"""Table Schema to pandera on polars: which cells break which constraint.

Cells come in as text and rows are told by index; where a cell stands in the file is the caller's
knowledge. Types are read by polars, constraints are judged by pandera, and a cell that breaks
several of them is told once, for the first in `PRECEDENCE`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandera.polars as pa
import polars as pl

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TYPES, Field, TableSchema
from rl_resources.schema.compiled import PRECEDENCE, compiled

_RANKS = {constraint: rank for rank, constraint in enumerate(PRECEDENCE)}
_DATE_BYTES = len("2026-01-31")

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
    vocabulary: Mapping[str, Collection[str]],
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


def judged(
    schema: TableSchema, raw: pl.DataFrame, vocabulary: Mapping[str, Collection[str]]
) -> pl.DataFrame:
    """The failures in a frame of text, in which blank cells are null, as `FAILURES`.

    The schema must have passed `hold_usable`.
    """
    fields = [field for field in schema.fields if field.name in raw.columns]
    typed = raw.select(_typed(pl.col(field.name), field) for field in fields)
    found = pl.concat(
        [
            *(_type_failures(raw[field.name], typed[field.name], field) for field in fields),
            _constraint_failures(raw, typed, compiled(fields, vocabulary)),
        ]
    )
    by_rank = pl.col("constraint").replace_strict(_RANKS)
    by_place = pl.col("field").replace_strict({name: at for at, name in enumerate(schema.names)})
    ranked = found.sort("row", by_place, by_rank) if found.height else found
    return ranked.unique(["row", "field"], keep="first", maintain_order=True)


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
    return field.type in {"integer", "number"} and _is_value(field, limit)


def _is_value(field: Field, value: object) -> bool:
    if field.type in {"integer", "number"}:
        return type(value) in {int, float}
    return isinstance(value, str)


def _is_date(text: str) -> bool:
    try:
        TYPES["date"].read(text)
    except ValueError:
        return False
    return True


def _type_failures(column: pl.Series, typed: pl.Series, field: Field) -> pl.DataFrame:
    """Cells not written as their type, and whole numbers that no machine integer holds."""
    if field.type in {"string", "list"}:
        return _failures_in(field.name, [], "type")
    doubtful = column.is_not_null() & typed.is_null()
    if field.type == "number":
        doubtful |= ~typed.is_finite()
    if field.type == "date":
        doubtful |= column.str.len_bytes() != _DATE_BYTES
    rows = doubtful.fill_null(value=False).arg_true()
    cells = column.gather(rows)
    written = cells.str.contains(f"^(?:{TYPES[field.type].pattern})$")
    if field.type == "number":
        return _failures_in(field.name, rows.filter(~written), "type")
    if field.type != "integer":
        return _failures_in(field.name, rows, "type")
    low = cells.str.starts_with("-")
    return pl.concat(
        [
            _failures_in(field.name, rows.filter(~written), "type"),
            _failures_in(field.name, rows.filter(written & low), "minimum"),
            _failures_in(field.name, rows.filter(written & ~low), "maximum"),
        ]
    )


def _failures_in(name: str, rows: pl.Series | Sequence[int], constraint: str) -> pl.DataFrame:
    found = pl.DataFrame({"row": rows}, schema={"row": FAILURES["row"]})
    return found.with_columns(field=pl.lit(name), constraint=pl.lit(constraint))


def _typed(column: pl.Expr, field: Field) -> pl.Expr:
    if field.type == "boolean":
        return column.replace_strict({"true": True, "false": False}, default=None)
    if field.type == "date":
        return column.str.to_date("%Y-%m-%d", strict=False)
    if field.type in {"string", "list"}:
        return column
    return column.cast(pl.Int64 if field.type == "integer" else pl.Float64, strict=False)


def _constraint_failures(
    raw: pl.DataFrame, typed: pl.DataFrame, schema: pa.DataFrameSchema
) -> pl.DataFrame:
    try:
        schema.validate(typed, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases: pl.DataFrame = error.failure_cases
    else:
        return pl.DataFrame(schema=FAILURES)
    if (unrun := cases.filter(pl.col("index").is_null())).height:
        raise NotImplementedError(f"a check could not be run: {unrun.row(0)}")
    found = cases.select(
        row=pl.col("index").cast(FAILURES["row"]),
        field=pl.col("column").cast(pl.String),
        constraint=pl.col("check").replace({"not_nullable": "required"}),
    )
    blank = [
        _failures_in(name, raw[name].is_null().arg_true(), "required")
        for name in found.filter(constraint="required")["field"].unique()
    ]
    return pl.concat([found.filter(pl.col("constraint") != "required"), *blank])
