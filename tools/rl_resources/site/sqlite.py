"""All tables as one SQLite database: keys, foreign keys, indexes, a joined view, descriptions.

Lists are JSON arrays, dates ISO text, booleans 0 and 1.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
            _insert(connection, name, len(resource.schema.fields), rows)
            for key in resource.schema.foreign_keys:
                index = f'"{name}_{key.field}" ON "{name}" ("{key.field}")'
                connection.execute(f"CREATE INDEX {index}")
        connection.execute(_create_view(dataset.package))
        _describe(connection, dataset.package)
        connection.commit()
        return connection.serialize()


def _insert(
    connection: sqlite3.Connection, table: str, width: int, rows: Iterable[Sequence[object]]
) -> None:
    places = ", ".join("?" * width)
    connection.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)  # noqa: S608


def _stored(value: Value) -> object:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, date) else value


def _create_table(resource: Resource) -> str:
    schema = resource.schema
    lines = [
        f'"{field.name}" {_TYPES[field.type]}{" NOT NULL" * field.required}'
        for field in schema.fields
    ]
    key = ", ".join(f'"{name}"' for name in schema.primary_key)
    lines.append(f"PRIMARY KEY ({key})")
    lines += [
        f'FOREIGN KEY ("{key.field}") REFERENCES "{key.resource}" ("{key.reference}")'
        for key in schema.foreign_keys
    ]
    return f'CREATE TABLE "{resource.name}" (\n  ' + ",\n  ".join(lines) + "\n)"


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


def _describe(connection: sqlite3.Connection, package: Package) -> None:
    """What the tables and columns mean, for whoever has nothing but this file."""
    connection.execute("CREATE TABLE about (title, description, version, license, license_url)")
    about = (package.title, package.description, package.version)
    licences = [(item.get("name"), item.get("path")) for item in package.licenses]
    _insert(connection, "about", 5, ((*about, *licence) for licence in licences))
    connection.execute(
        'CREATE TABLE data_dictionary ("table" TEXT, "column" TEXT, title TEXT, type TEXT,'
        ' unit TEXT, description TEXT, PRIMARY KEY ("table", "column"))'
    )
    _insert(connection, "data_dictionary", 6, _columns(package))


def _columns(package: Package) -> Iterator[tuple[str | None, ...]]:
    for name, resource in package.resources.items():
        for field in resource.schema.fields:
            unit = field.unit or None
            yield name, field.name, field.title, field.type, unit, field.description
