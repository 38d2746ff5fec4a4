"""All tables as one SQLite database: keys, foreign keys, indexes, checks, a joined view.

Lists are JSON arrays, dates ISO text, booleans 0 and 1. The file opens with any SQLite 3.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.package import Field, Package, Resource, TableSchema, Value

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
_COMPARISONS: Mapping[str, str] = {
    "minimum": ">=",
    "maximum": "<=",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
}
_PAGE_BYTES = 4096
# Places in the header that tell how often and by which release of SQLite a file was written.
# https://www.sqlite.org/fileformat.html#the_database_header
_WRITTEN_BY: Mapping[int, int] = {24: 1, 92: 1, 96: 3_007_000}


def database(dataset: Dataset) -> bytes:
    """The file; the same dataset gives the same bytes, whichever release of SQLite writes them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        for name, resource in dataset.package.resources.items():
            connection.execute(_table(dataset.package, resource))
            rows = [[_stored(row[key]) for key in row] for row in dataset.records[name]]
            _insert(connection, name, len(resource.schema.fields), rows)
            for key in resource.schema.foreign_keys:
                index = _quoted(f"{name}_{key.field}")
                connection.execute(
                    f"CREATE INDEX {index} ON {_quoted(name)} ({_quoted(key.field)})"
                )
        connection.execute(_view(dataset.package))
        _describe(connection, dataset.package)
        connection.commit()
        return _as_written_once(connection.serialize())


def _as_written_once(content: bytes) -> bytes:
    header = bytearray(content[:100])
    for place, number in _WRITTEN_BY.items():
        header[place : place + 4] = number.to_bytes(4, "big")
    return bytes(header) + content[100:]


def _insert(
    connection: sqlite3.Connection, table: str, width: int, rows: Iterable[Sequence[Any]]
) -> None:
    places = ", ".join("?" * width)
    connection.executemany(f"INSERT INTO {_quoted(table)} VALUES ({places})", rows)  # noqa: S608


def _stored(value: Value) -> object:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, date) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _table(package: Package, resource: Resource) -> str:
    schema = resource.schema
    key = schema.primary_key
    parts = [
        *(_column(field, unique=field.name not in key) for field in schema.fields),
        f"PRIMARY KEY ({', '.join(map(_quoted, key))})",
        *_foreign_keys(package, schema),
    ]
    return f"CREATE TABLE {_quoted(resource.name)} (\n  " + ",\n  ".join(parts) + "\n)"


def _column(field: Field, *, unique: bool) -> str:
    words = [_quoted(field.name), _TYPES[field.type]]
    words += ["NOT NULL"] * field.required
    words += ["UNIQUE"] * bool(unique and field.constraints.get("unique"))
    if checks := " AND ".join(_checks(field)):
        words.append(f"CHECK ({checks})")
    return " ".join(words)


def _checks(field: Field) -> Iterator[str]:
    name = _quoted(field.name)
    if field.type == "boolean":
        yield f"{name} IN (0, 1)"
    if field.type == "list":
        return  # its constraints are those of the cell, not of the items
    for word, limit in field.constraints.items():
        if word == "enum":
            yield f"{name} IN ({', '.join(map(_literal, limit))})"
        elif word in _COMPARISONS:
            yield f"{name} {_COMPARISONS[word]} {_literal(limit)}"


def _foreign_keys(package: Package, schema: TableSchema) -> Iterator[str]:
    for key in schema.foreign_keys:
        if package.resources[key.resource].schema.primary_key == (key.reference,):
            target = f"{_quoted(key.resource)} ({_quoted(key.reference)})"
            yield f"FOREIGN KEY ({_quoted(key.field)}) REFERENCES {target}"


def _view(package: Package) -> str:
    """The tuning records, each with what is known of its model and its device."""
    schema = package.resources["tuning"].schema
    columns = [f"tuning.{_quoted(name)}" for name in schema.names]
    joins = []
    for key in schema.foreign_keys:
        if key.resource in _JOINED:
            table, field = _quoted(key.resource), _quoted(key.field)
            columns += [
                f"{table}.{_quoted(name)} AS {_quoted(f'{key.field}_{name}')}"
                for name in package.resources[key.resource].schema.names
                if name != key.reference
            ]
            joins.append(f"LEFT JOIN {table} ON {table}.{_quoted(key.reference)} = tuning.{field}")
    selected = ",\n  ".join(columns)
    return f"CREATE VIEW {VIEW} AS SELECT\n  {selected}\nFROM tuning\n" + "\n".join(joins)


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
    described = (
        (name, field.name, field.title, field.type, field.unit or None, field.description)
        for name, resource in package.resources.items()
        for field in resource.schema.fields
    )
    _insert(connection, "data_dictionary", 6, described)
