"""Table Schema to pandera, for tables beyond one machine: pandas, Dask, PySpark, Ibis databases.

    schema = read_package(root).resources["tuning"].schema
    pandera_schema(schema, {"device": words}, "ibis").validate(table, lazy=True)

Each check is named after its constraint. `rl-resources check` needs no pandera.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, datetime, time
from importlib import import_module
from typing import Any, Literal

from rl_resources.package import Field, TableSchema
from rl_resources.schema.validation import VOCABULARY, Vocabulary

Engine = Literal["polars", "pandas", "ibis"]
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

_TYPES = {"integer": int, "number": float, "boolean": bool, "date": date}
_PANDAS = {"integer": "Int64", "number": "Float64", "boolean": "boolean", "date": "datetime64[s]"}


def pandera_schema(schema: TableSchema, vocabulary: Vocabulary, engine: Engine = "polars") -> Any:
    """The `DataFrameSchema` of typed columns; a list is one text, as in a cell."""
    api = import_module(f"pandera.{engine}")
    types: dict[str, Any] = _PANDAS if engine == "pandas" else _TYPES
    columns = {
        field.name: api.Column(
            types.get(field.type, "str" if engine == "pandas" else str),
            [*_checks(api.Check, field, vocabulary.get(field.name), engine)],
            nullable=not field.required,
        )
        for field in schema.fields
    }
    # The columns of Dask and Spark have types of their own.
    return api.DataFrameSchema(columns, coerce=engine == "pandas")


def _checks(
    check: Any, field: Field, words: Collection[str] | None, engine: Engine
) -> Iterator[Any]:
    if field.pattern:
        error = VOCABULARY if field.item_words else "pattern"
        yield check.str_matches(f"^(?:{field.pattern})$", error=error)
    for name, value in field.constraints.items():
        if name in _CHECKS:
            method, argument = _CHECKS[name]
            yield getattr(check, method)(**{argument: _limit(field, value, engine)}, error=name)
    if words is not None:
        yield check.isin(list(words), error=VOCABULARY)


def _limit(field: Field, value: Any, engine: Engine) -> Any:
    """A constraint's value as the engine compares it; pandas compares times with days."""
    if field.type != "date" or isinstance(value, list):
        return value
    day = date.fromisoformat(value)
    return datetime.combine(day, time()) if engine == "pandas" else day
