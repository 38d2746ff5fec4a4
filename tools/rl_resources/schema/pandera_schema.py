"""Table Schema to pandera: one translation for polars, pandas (also on Dask) and Ibis databases.

    schema = read_package(root).resources["tuning"].schema
    pandera_schema(schema, {"device": words}, "ibis").validate(table, lazy=True)

Each check is named after its constraint. polars judges what `rl-resources check` reads.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime, time
from functools import cache
from importlib import import_module
from typing import Any, Literal

import polars as pl

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TEXTS, TYPES, Field, TableSchema

Engine = Literal["polars", "pandas", "ibis"]
Vocabulary = Mapping[str, Collection[str]]
"""The words that a column with a foreign key may contain, by the name of the column."""

VOCABULARY = "vocabulary"
NUMBERS = frozenset({"integer", "number"})
_CHECKS = {
    "enum": ("isin", "allowed_values"),
    "minimum": ("greater_than_or_equal_to", "min_value"),
    "exclusiveMinimum": ("greater_than", "min_value"),
    "maximum": ("less_than_or_equal_to", "max_value"),
    "exclusiveMaximum": ("less_than", "max_value"),
    "minLength": ("str_length", "min_value"),
    "maxLength": ("str_length", "max_value"),
}
"""Pandera's check of a constraint, and the argument that takes its value."""

PRECEDENCE = ("type", "pattern", "enum", VOCABULARY, *[*_CHECKS][1:], "required")
"""Of a cell that breaks several constraints the first of these is reported; a cell that is not
written as its type wants it is empty for `required`.
"""

_TYPES = {"integer": int, "number": float, "boolean": bool, "date": date}
_PANDAS = {"integer": "Int64", "number": "Float64", "boolean": "boolean", "date": "datetime64[s]"}
_LARGEST_INTEGER = 2**63


def pandera_schema(schema: TableSchema, vocabulary: Vocabulary, engine: Engine = "polars") -> Any:
    """The `DataFrameSchema` of typed columns; a list is one text, as in a cell.

    Raises `UnreadableDataset` where a constraint cannot be applied to its column.
    """
    api = import_module(f"pandera.{engine}")
    require_usable(schema)
    return api.DataFrameSchema(
        {
            field.name: api.Column(
                _PANDAS.get(field.type, "str")
                if engine == "pandas"
                else _TYPES.get(field.type, str),
                [*_checks(api.Check, field, vocabulary.get(field.name), engine)],
                nullable=not field.required,
            )
            for field in schema.fields
        },
        coerce=engine == "pandas",  # columns of Dask and Spark have types of their own
    )


def _checks(
    check: Any, field: Field, words: Collection[str] | None, engine: Engine
) -> Iterator[Any]:
    if field.pattern:
        error = VOCABULARY if field.item_words else "pattern"
        yield check.str_matches(whole(field.pattern), error=error)
    for name, value in field.constraints.items():
        if name in _CHECKS:
            method, argument = _CHECKS[name]
            yield getattr(check, method)(**{argument: _limit(field, value, engine)}, error=name)
    if words is not None:
        yield check.isin(list(words), error=VOCABULARY)


def whole(pattern: str) -> str:
    """The regular expression that matches all of a text."""
    return f"^(?:{pattern})$"


def _limit(field: Field, value: Any, engine: Engine) -> Any:
    """A constraint's value as the engine compares it; pandas compares moments with days."""
    if isinstance(value, list):
        return [_limit(field, item, engine) for item in value]
    if field.type != "date":
        return value
    day = date.fromisoformat(value)
    return datetime.combine(day, time()) if engine == "pandas" else day


def require_usable(schema: TableSchema) -> None:
    """Raise `UnreadableDataset` where a constraint cannot be applied to its column."""
    for field in schema.fields:
        for name, value in field.constraints.items():
            if not _is_usable(field, name, value):
                raise UnreadableDataset(
                    f"{schema.path}: field {field.name!r} is {field.type}, "
                    f"its constraint {name!r} cannot be {json.dumps(value)}",
                    "See Table Schema in the Data Package standard for what the constraint may be.",
                )
        if field.pattern and not _is_regex_of_polars(field.pattern):
            raise UnreadableDataset(
                f"{schema.path}: pattern of field {field.name!r} is none that every engine knows",
                "Write it without look-around and without references to groups.",
            )


@cache
def _is_regex_of_polars(pattern: str) -> bool:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        return False
    return True


def _is_usable(field: Field, name: str, value: Any) -> bool:
    """Whether a constraint's value is of the kind that its check takes."""
    if name in {"required", "unique"}:
        return isinstance(value, bool)
    if name == "pattern":
        return isinstance(value, str) and field.type == "string"
    if name in {"minLength", "maxLength"}:
        return type(value) is int and 0 <= value < _LARGEST_INTEGER and field.type in TEXTS
    if name == "enum":
        return isinstance(value, list) and all(_is_value(field, word) for word in value)
    return field.type in {*NUMBERS, "date"} and _is_value(field, value)


def _is_value(field: Field, value: object) -> bool:
    if field.type in NUMBERS:
        number = type(value) is int and abs(value) < _LARGEST_INTEGER
        return number or type(value) is float
    if field.type == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) and (field.type != "date" or is_day(value))


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, as a Table Schema writes it."""
    try:
        TYPES["date"].read(text)
    except ValueError:
        return False
    return True
