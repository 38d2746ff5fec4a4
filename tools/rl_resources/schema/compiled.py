"""Table Schema to pandera, for every engine that pandera drives: one translation for all.

`compiled` judges typed columns as `check` does: pandas is for who has DataFrames, Ibis hands the
checks to a database (DuckDB, Spark, BigQuery, …) where records do not fit into memory:

    schema = read_package(root).resources["tuning"].schema
    compiled(schema.fields, {"device": words}, "ibis").validate(table, lazy=True)

Each check is named after its constraint; what it asks stands in `constraints`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, time
from importlib import import_module
from typing import Any, Literal

from pandera.api.checks import Check

from rl_resources.package import Field
from rl_resources.schema.constraints import Limit, limits

Engine = Literal["polars", "pandas", "ibis"]

_DTYPES: Mapping[Engine, Mapping[str, str]] = {
    "polars": {
        "string": "String",
        "integer": "Int64",
        "number": "Float64",
        "boolean": "Boolean",
        "date": "Date",
        "list": "String",
    },
    "pandas": {
        "string": "str",
        "integer": "Int64",
        "number": "Float64",
        "boolean": "boolean",
        "date": "datetime64[s]",
        "list": "str",
    },
    "ibis": {
        "string": "string",
        "integer": "int64",
        "number": "float64",
        "boolean": "boolean",
        "date": "date",
        "list": "string",
    },
}


_MODULES: Mapping[Engine, str] = {"polars": "polars", "ibis": "ibis.expr.datatypes"}


def compiled(
    fields: Sequence[Field],
    vocabulary: Mapping[str, Collection[str]],
    engine: Engine = "polars",
) -> Any:
    """The pandera schema of typed columns; a list is one text, as in a cell.

    `vocabulary` maps a column with a foreign key to the keys that it may hold.
    """
    api = import_module(f"pandera.{engine}")
    return api.DataFrameSchema(
        {
            field.name: api.Column(
                _dtype(field, engine),
                [_check(limit, engine) for limit in limits(field, vocabulary.get(field.name))],
                nullable=not field.required,
            )
            for field in fields
        }
    )


def _dtype(field: Field, engine: Engine) -> Any:
    name = _DTYPES[engine][field.type]
    module = _MODULES.get(engine)
    return getattr(import_module(module), name) if module else name


def _check(limit: Limit, engine: Engine) -> Check:
    value = _as_moments(limit.value) if engine == "pandas" else limit.value
    check = getattr(Check, limit.meaning.check)
    made: Check = check(**{limit.meaning.argument: value}, error=limit.constraint)
    return made


def _as_moments(value: Any) -> Any:
    """A constraint's value as pandas compares it, which keeps days as moments."""
    if isinstance(value, list):
        return [*map(_as_moments, value)]
    return datetime.combine(value, time()) if isinstance(value, date) else value
