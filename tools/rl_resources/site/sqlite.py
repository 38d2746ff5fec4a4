"""All tables as one SQLite database: keys, foreign keys, indexes, a joined view.

Lists are JSON arrays, dates ISO text, booleans 0 and 1.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date

from rl_resources.dataset import Dataset
from rl_resources.package import Package, Resource, Value

VIEW = "records"
_JOINED = ("models", "devices")
_TYPES: Mapping[str, str] = {
    "string": "TEXT",
    "integer": "INTEGER",
    "number": "REAL",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "list": "TEXT",
}


def database(dataset: Dataset) -> bytes:
    """The file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, resource in dataset.package.resources.items():
            connection.execute(_create_table(resource))
            rows = [[_stored(value) for value in row.values()] for row in dataset.records[name]]
            places = ", ".join("?" * len(resource.schema.fields))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)  # noqa: S608
            for key in resource.schema.foreign_keys:
                index = f'"{name}_{key.field}" ON "{name}" ("{key.field}")'
                connection.execute(f"CREATE INDEX {index}")
        connection.execute(_create_view(dataset.package))
        connection.commit()
        return connection.serialize()


def _stored(value: Value) -> object:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, date) else value


def _create_table(resource: Resource) -> str:
    """The statement; the database keeps it with its comments, so `.schema` shows their meaning."""
    schema = resource.schema
    columns = [
        f'"{field.name}" {_TYPES[field.type]}{" NOT NULL" * field.required}, -- {field.sentence}\n'
        for field in schema.fields
    ]
    keys = [
        f', FOREIGN KEY ("{key.field}") REFERENCES "{key.resource}" ("{key.reference}")\n'
        for key in schema.foreign_keys
    ]
    primary_key = ", ".join(f'"{name}"' for name in schema.primary_key)
    rest = f"PRIMARY KEY ({primary_key})\n{''.join(keys)}"
    return f'CREATE TABLE "{resource.name}" ( -- {schema.title}\n{"".join(columns)}{rest})'


def _create_view(package: Package) -> str:
    """The tuning records, each with what is known of its model and its device."""
    schema = package.resources["tuning"].schema
    keys = [key for key in schema.foreign_keys if key.resource in _JOINED]
    columns = ["tuning.*"]
    columns += [
        f'"{key.resource}"."{name}" AS "{key.field}_{name}"'
        for key in keys
        for name in package.resources[key.resource].schema.names
        if name != key.reference
    ]
    joins = "".join(
        f'\nLEFT JOIN "{key.resource}" ON "{key.resource}"."{key.reference}" = tuning."{key.field}"'
        for key in keys
    )
    selected = ",\n  ".join(columns)
    return f"CREATE VIEW {VIEW} AS SELECT\n  {selected}\nFROM tuning{joins}"
