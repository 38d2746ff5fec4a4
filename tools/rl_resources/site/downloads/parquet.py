"""A table as Parquet: typed columns, each with its description in the Arrow schema.

polars writes the file. It cannot say anything about a column, so nanoarrow states the schema.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import nanoarrow as na
import polars as pl

from rl_resources.package import Field, Package, Record, Resource

# The Arrow types are those that polars gives to the file's own schema.
_TYPES: Mapping[str, tuple[Any, na.Type, Mapping[str, Any]]] = {
    "string": (pl.String, na.Type.LARGE_STRING, {}),
    "integer": (pl.Int64, na.Type.INT64, {}),
    "number": (pl.Float64, na.Type.DOUBLE, {}),
    "boolean": (pl.Boolean, na.Type.BOOL, {}),
    "date": (pl.Date, na.Type.DATE32, {}),
    "list": (pl.List(pl.String), na.Type.LARGE_LIST, {"value_type": na.large_string()}),
}


def parquet(package: Package, resource: Resource, rows: Sequence[Record]) -> bytes:
    """One table; the file's metadata hold its Table Schema, version and licences as well."""
    fields = resource.schema.fields
    frame = pl.DataFrame(
        {field.name: [row[field.name] for row in rows] for field in fields},
        schema={field.name: _TYPES[field.type][0] for field in fields},
    )
    file = io.BytesIO()
    frame.write_parquet(
        file,
        arrow_schema=na.struct({field.name: _arrow(field) for field in fields}),
        metadata=_about(package, resource),
    )
    return file.getvalue()


def _arrow(field: Field) -> na.Schema:
    _, kind, parameters = _TYPES[field.type]
    words = {"title": field.title, "description": field.description, "unit": field.unit}
    said = {name: text for name, text in words.items() if text}
    return na.Schema(kind, nullable=not field.required, metadata=said, **parameters)


def _about(package: Package, resource: Resource) -> dict[str, str]:
    return {
        "title": resource.schema.title,
        "description": resource.schema.description,
        "version": package.version,
        "licenses": json.dumps(package.licenses),
        "table_schema": json.dumps(resource.schema.document, ensure_ascii=False),
    }
