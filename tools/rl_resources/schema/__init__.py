"""A Table Schema as JSON Schema (2020-12), for rows as JSON objects. The schemas are open."""

from __future__ import annotations

from typing import Any

from rl_resources.package import TYPES, Field

Schema = dict[str, Any]
_LIMITS = {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
}


def object_of(description: str = "", /, **properties: Schema) -> Schema:
    """An object. It has no title: generators of clients would call their class by that."""
    about = {"description": description} if description else {}
    return {
        **about,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def array_of(items: Schema) -> Schema:
    """A list of items of one kind."""
    return {"type": "array", "items": items}


def property_schema(field: Field) -> Schema:
    """What a JSON value of this column may be. An empty cell is `null`, so no key is absent."""
    schema: Schema = {
        "title": field.title,
        "description": field.sentence,
        **TYPES[field.type].json,
    }
    if field.item_words:
        schema["items"] = {"type": "string", "enum": list(field.item_words)}
    elif field.item_pattern:
        schema["items"] = {"type": "string", "pattern": f"^(?:{field.item_pattern})$"}
    if not field.required:
        schema["type"] = [schema["type"], "null"]
    if field.format != "default":
        schema["format"] = field.format
    known = field.constraints
    if "enum" in known:
        schema["enum"] = list(known["enum"])
        if not field.required:
            schema["enum"].append(None)
    # The constraints of a list and a date are of the cell, not of the JSON value.
    if field.type not in {"list", "date"}:
        if "pattern" in known:
            schema["pattern"] = f"^(?:{known['pattern']})$"
        schema |= {word: known[word] for word in known if word in _LIMITS}
    return schema
