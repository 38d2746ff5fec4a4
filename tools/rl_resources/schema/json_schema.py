"""Table Schema to JSON Schema 2020-12, for the rows of the published JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rl_resources.package import NUMBERS, TYPES, Field, TableSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_LENGTHS = {"minLength", "maxLength"}


def property_schema(field: Field) -> dict[str, Any]:
    """What a JSON value of this column may be. An empty cell is `null`, so no key is absent."""
    kind = dict(TYPES[field.type].json)
    schema: dict[str, Any] = {"title": field.title, "description": field.sentence}
    schema |= kind
    if field.item_words:
        schema["items"] = {"type": "string", "enum": list(field.item_words)}
    elif field.item_pattern:
        schema["items"] = {"type": "string", "pattern": f"^(?:{field.item_pattern})$"}
    if not field.required:
        schema["type"] = [kind["type"], "null"]
    if field.format != "default":
        schema["format"] = field.format
    for word, limit in field.constraints.items():
        schema |= _constraint(field, word, limit)
    if field.example:
        schema["examples"] = [_example(field)]
    return schema


def _example(field: Field) -> Any:
    """The JSON value of the example, which a schema writes as a cell."""
    if field.type == "list":
        return field.example.split(field.delimiter)
    as_text = field.type in {"string", "date"}
    return field.example if as_text else json.loads(field.example)


def _constraint(field: Field, word: str, limit: Any) -> dict[str, Any]:
    if word == "enum":
        return {"enum": [*limit] if field.required else [*limit, None]}
    if field.type == "string" and word == "pattern":
        return {"pattern": f"^(?:{limit})$"}
    known = _LENGTHS if field.type == "string" else _BOUNDS if field.type in NUMBERS else set()
    if word in known:
        return {word: limit}
    return {}  # a list's length and a date's bounds are those of the cell, not of the JSON value


def row_schema(schema: TableSchema, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema of one row; `extra` are properties that rows have beyond the columns."""
    properties = {field.name: property_schema(field) for field in schema.fields} | dict(extra or {})
    return {
        "type": "object",
        "description": schema.description,
        "properties": properties,
        "required": list(properties),
    }
