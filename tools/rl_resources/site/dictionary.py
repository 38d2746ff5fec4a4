"""The data dictionary: what the Table Schemas say about every column, ready to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rl_resources.package import Field, Resource

WORDS: Mapping[str, str] = {
    "required": "required",
    "unique": "unique",
    "enum": "one of",
    "pattern": "has the form",
    "minLength": "characters, at least",
    "maxLength": "characters, at most",
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing a value must hold to: words, then literal values, then the table it refers to."""

    words: str
    values: tuple[str, ...] = ()
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column as a reader of the dictionary sees it; `example` is written as in the CSV file."""

    name: str
    title: str
    type: str
    unit: str
    limits: tuple[Limit, ...]
    description: str
    mlperf: str
    example: str


def columns(resource: Resource) -> list[Column]:
    """The dictionary of one table, in the order of its file."""
    return [
        Column(
            name=field.name,
            title=field.title,
            type=field.type,
            unit=field.unit,
            limits=tuple(_limits(resource, field)),
            description=field.description,
            mlperf=field.mlperf,
            example=field.example,
        )
        for field in resource.schema.fields
    ]


def _limits(resource: Resource, field: Field) -> Iterator[Limit]:
    if field.name in resource.schema.primary_key:
        yield Limit("part of the key" if len(resource.schema.primary_key) > 1 else "the key")
    if key := resource.schema.foreign_key(field.name):
        yield Limit("a key of", resource=key.resource)
    if field.type == "list":
        yield Limit("separated by", (field.delimiter,))
    if field.format != "default":
        yield Limit("written as", (field.format,))
    for constraint, limit in field.constraints.items():
        if limit is not False:
            yield Limit(WORDS[constraint], _values(limit))


def _values(limit: Any) -> tuple[str, ...]:
    if limit is True:
        return ()
    return tuple(map(str, limit)) if isinstance(limit, list) else (str(limit),)
