"""Table Schema to pandera on polars: which cells break which constraint.

Cells come in as text and rows are told by index; where a cell stands in the file is the caller's
knowledge. Types are read by polars, constraints are judged by pandera, and a cell that breaks
several of them is told once, for the first in `PRECEDENCE`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandera.polars as pa
import polars as pl

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TYPES, Field, TableSchema

VOCABULARY = "vocabulary"
PRECEDENCE = (
    "required",
    "type",
    "pattern",
    "enum",
    VOCABULARY,
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
)
# A blank cell is nullability, `pattern` may be an item's, `duplicates` tells what is unique.
_ELSEWHERE = frozenset({"required", "pattern", "unique"})

_DTYPES: Mapping[str, Any] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "list": pl.String,
}


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
    fields = [field for field in schema.fields if field.name in columns]
    for field in fields:
        _hold_usable(schema, field)
    raw = pl.DataFrame(
        {field.name: columns[field.name] for field in fields},
        schema={field.name: pl.String for field in fields},
    ).with_columns(pl.all().replace("", None))
    found: dict[tuple[int, str], str] = {}
    for failure in (*_type_failures(raw, fields), *_constraint_failures(raw, fields, vocabulary)):
        place = (failure.row, failure.field)
        found[place] = min(found.get(place, failure.constraint), failure.constraint, key=_rank)
    order = {field.name: index for index, field in enumerate(fields)}
    return [
        Failure(row, name, constraint)
        for (row, name), constraint in sorted(
            found.items(), key=lambda item: (item[0][0], order[item[0][1]])
        )
    ]


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


def _rank(constraint: str) -> int:
    return PRECEDENCE.index(constraint)


def _type_failures(raw: pl.DataFrame, fields: Sequence[Field]) -> Iterator[Failure]:
    """Cells not written as their type, and whole numbers that no machine integer holds."""
    for field in fields:
        if field.type in {"string", "list"}:
            continue
        column = raw.get_column(field.name)
        written = column.str.contains(f"^(?:{TYPES[field.type].pattern})$")
        unreadable = column.is_not_null() & _typed(column, field).is_null()
        for row in (~written | unreadable).fill_null(value=False).arg_true():
            huge = field.type == "integer" and written[row]
            limit = "minimum" if column[row].startswith("-") else "maximum"
            yield Failure(row, field.name, limit if huge else "type")


def _typed(column: pl.Series, field: Field) -> pl.Series:
    if field.type == "boolean":
        return column.replace_strict({"true": True, "false": False}, default=None)
    if field.type == "date":
        return column.str.to_date("%Y-%m-%d", strict=False)
    dtype = _DTYPES[field.type]
    return column if dtype == pl.String else column.cast(dtype, strict=False)


def _constraint_failures(
    raw: pl.DataFrame, fields: Sequence[Field], vocabulary: Mapping[str, Collection[str]]
) -> Iterator[Failure]:
    typed = raw.with_columns(_typed(raw.get_column(field.name), field) for field in fields)
    try:
        pandera_schema(fields, vocabulary).validate(typed, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases = error.failure_cases
    else:
        return
    for name, check, row in cases.select("column", "check", "index").iter_rows():
        if row is None:
            raise NotImplementedError(f"the check {check!r} of {name!r} could not be run")
        if check != "not_nullable":
            yield Failure(row, name, check)
        elif raw[name][row] is None:
            yield Failure(row, name, "required")


def pandera_schema(
    fields: Sequence[Field], vocabulary: Mapping[str, Collection[str]]
) -> pa.DataFrameSchema:
    """The pandera schema of typed columns; each check is named after its constraint."""
    return pa.DataFrameSchema(
        {
            field.name: pa.Column(
                _DTYPES[field.type],
                [*_checks(field), *_vocabulary(vocabulary.get(field.name))],
                nullable=not field.required,
            )
            for field in fields
        }
    )


def _vocabulary(words: Collection[str] | None) -> list[pa.Check]:
    return [] if words is None else [pa.Check.isin(list(words), error=VOCABULARY)]


def _checks(field: Field) -> Iterator[pa.Check]:
    if field.pattern:
        yield pa.Check.str_matches(f"^(?:{field.pattern})$", error="pattern")
    for name, limit in field.constraints.items():
        if name in _ELSEWHERE:
            continue
        yield _check(field, name, limit)


def _check(field: Field, name: str, limit: Any) -> pa.Check:
    if field.type == "date":
        limit = TYPES["date"].read(limit)
    match name:
        case "enum":
            return pa.Check.isin(limit, error=name)
        case "minLength":
            return pa.Check.str_length(min_value=limit, error=name)
        case "maxLength":
            return pa.Check.str_length(max_value=limit, error=name)
        case "minimum":
            return pa.Check.ge(limit, error=name)
        case "exclusiveMinimum":
            return pa.Check.gt(limit, error=name)
        case "maximum":
            return pa.Check.le(limit, error=name)
        case "exclusiveMaximum":
            return pa.Check.lt(limit, error=name)
        case _:
            raise NotImplementedError(f"nothing checks the constraint {name!r}")
