"""Table Schema to pandera, for every engine that pandera drives: one translation for all.

`compiled` judges typed columns: polars judges ours, pandas is for who has DataFrames, Ibis hands
the same checks to a database (DuckDB, Spark, BigQuery, …) where records do not fit into memory:

    schema = read_package(root).resources["tuning"].schema
    compiled(schema.fields, {"device": words}, "ibis").validate(table, lazy=True)

Each check is named after its constraint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Literal

from pandera.api.checks import Check

from rl_resources.package import TYPES, Field

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
"""Of a cell that breaks several constraints the first of these is told."""

Engine = Literal["polars", "pandas", "ibis"]

# A blank cell is nullability, `pattern` may be an item's, `duplicates` tells what is unique.
_ELSEWHERE = frozenset({"required", "pattern", "unique"})

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
                [*_checks(field, engine), *_vocabulary(vocabulary.get(field.name))],
                nullable=not field.required,
            )
            for field in fields
        }
    )


def _dtype(field: Field, engine: Engine) -> Any:
    name = _DTYPES[engine][field.type]
    module = _MODULES.get(engine)
    return getattr(import_module(module), name) if module else name


def _vocabulary(words: Collection[str] | None) -> list[Check]:
    return [] if words is None else [Check.isin(list(words), error=VOCABULARY)]


def _checks(field: Field, engine: Engine) -> Iterator[Check]:
    if field.pattern:
        yield Check.str_matches(f"^(?:{field.pattern})$", error="pattern")
    for name, limit in field.constraints.items():
        if name in _ELSEWHERE:
            continue
        yield _check(field, name, _limit(field, limit, engine))


def _limit(field: Field, limit: Any, engine: Engine) -> Any:
    """A constraint's value as the engine compares it: pandas keeps days as moments."""
    if field.type != "date":
        return limit
    day = TYPES["date"].read(limit)
    return datetime.fromisoformat(limit) if engine == "pandas" else day


def _check(field: Field, name: str, limit: Any) -> Check:
    match name:
        case "enum":
            return Check.isin(limit, error=name)
        case "minLength":
            return Check.str_length(min_value=limit, error=name)
        case "maxLength":
            return Check.str_length(max_value=limit, error=name)
        case "minimum":
            return Check.ge(limit, error=name)
        case "exclusiveMinimum":
            return Check.gt(limit, error=name)
        case "maximum":
            return Check.le(limit, error=name)
        case "exclusiveMaximum":
            return Check.lt(limit, error=name)
        case _:
            raise NotImplementedError(f"nothing checks the constraint {name!r}")
