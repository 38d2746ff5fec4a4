"""The JSON Schemas of the documents, derived from the Table Schemas.

`components` is the one place where shapes are written: each schema by name, referring to the others
as OpenAPI does. `schemas` gives one document each, with what it refers to inside.

They are open: an object may hold more than they name, because fields may be added. What we publish
ourselves is held to them closed, in `validation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.schema.json_schema import DIALECT, row_schema

COMPONENTS = "#/components/schemas/"
_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_VERSION = {**_TEXT, "description": "CalVer version of the dataset."}
_ADDRESS = {**_TEXT, "description": "Address, relative to this document."}
_COMMIT = {**_MAYBE, "description": "Revision of the repository that this was made from."}
_DERIVED = {
    "id": {**_TEXT, "description": "Stable id: the script's name without its ending."},
    "size": {**_TEXT, "description": "The section that the model belongs to."},
    "path": {**_TEXT, "description": "Where the script lies in the repository."},
}
_HEAD = {
    "title": _TEXT,
    "description": _TEXT,
    "dataset_version": _VERSION,
    "commit": _COMMIT,
    "committed_at": {**_MAYBE, "format": "date-time", "description": "Time of that revision."},
}
_CHECKSUM = {
    "bytes": {**_COUNT, "description": "Length of what is served, uncompressed."},
    "sha256": {**_TEXT, "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of these bytes."},
}


def schemas(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """The JSON Schema of every kind of document by its path below the API's root."""
    known = components(dataset)
    return {f"schema/{name}.json": _alone(known, component_of(name)) for name in _kinds(dataset)}


def component_of(schema: str) -> str:
    """The component that is the schema of documents: `sizes` has `SizesDocument`."""
    return f"{schema.capitalize()}Document"


def row_component(table: str) -> str:
    """The component that is one row of a table: `devices` has `Device`.

    A record's is not just `Record`, which in TypeScript and Java is a word of the language.
    """
    return "TuningRecord" if table == "tuning" else table.removesuffix("s").capitalize()


def components(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """Every schema by its name."""
    tables = {name: item.schema for name, item in dataset.package.resources.items()}
    rows = {
        row_component(name): row_schema(schema, _DERIVED if name == "tuning" else None)
        for name, schema in tables.items()
    }
    own = {
        "Licence": _object({"name": _MAYBE, "title": _MAYBE, "path": _MAYBE}),
        "MovedRecord": _move(),
        "TableChange": _table_change(),
    }
    return rows | own | {component_of(k): v for k, v in _kinds(dataset).items()}


def _kinds(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """The schema of each kind of document."""
    tables = {name: item.schema for name, item in dataset.package.resources.items()}
    others = [name for name in tables if name != "tuning"]
    records = {"count": _COUNT, "records": _rows("tuning")}
    return {
        "index": _described("What there is", _index(["records", *others])),
        "all": _described(
            "Everything in one document",
            {**_HEAD, "licenses": _list("Licence"), "records": _rows("tuning")}
            | {name: _rows(name) for name in others},
        ),
        "records": _described("Tuning records", {"dataset_version": _VERSION, **records}),
        "size": _described(
            "The tuning records of one size",
            {"dataset_version": _VERSION, "size": _ref("Size"), **records},
        ),
        "changes": _described(
            "The releases, newest first",
            {
                "dataset_version": _VERSION,
                "count": _COUNT,
                "releases": _array(_object({**_RELEASE, "path": _ADDRESS})),
            },
        ),
        "release": _described("What one release changed, and what has changed since", _release()),
        "record": _described("One tuning record with its trials, or where it moved to", _record()),
        **{
            name: _described(
                tables[name].title,
                {"dataset_version": _VERSION, "count": _COUNT, name: _rows(name)},
            )
            for name in others
        },
    }


def _index(tables: list[str]) -> dict[str, Any]:
    document = _object({"path": _ADDRESS, "schema": _ADDRESS, **_CHECKSUM})
    return {
        **_HEAD,
        "licenses": _list("Licence"),
        "counts": {
            **_object(dict.fromkeys(tables, _COUNT)),
            "description": "Rows of each table.",
        },
        "openapi": _ADDRESS,
        "documents": {"type": "array", "items": document},
        "downloads": {"type": "array", "items": _object({"path": _ADDRESS, **_CHECKSUM})},
    }


def _record() -> dict[str, Any]:
    gone = "Set where the id is gone; `record` is null then."
    return {
        "dataset_version": _VERSION,
        "id": _DERIVED["id"],
        "record": _or_null(row_component("tuning"), "Null where the id is gone."),
        "trials": _rows("trials"),
        "moved": _or_null("MovedRecord", gone),
        "links": _object({"page": _ADDRESS, "script": {**_ADDRESS, **_MAYBE}}),
    }


_RELEASE = {
    "version": _VERSION,
    "released_on": {**_TEXT, "format": "date"},
    "previous": {**_MAYBE, "description": "The release before it; null for the first."},
}


def _release() -> dict[str, Any]:
    return {
        "dataset_version": _VERSION,
        **_RELEASE,
        "in_release": {**_list("TableChange"), "description": "What it changed in `previous`."},
        "since_release": {
            **_list("TableChange"),
            "description": "What has changed from that release to this data.",
        },
    }


def _table_change() -> dict[str, Any]:
    """One table as `rl-resources diff --format json` prints it."""
    row = {"type": "object", "additionalProperties": _TEXT, "description": "Cells as text."}
    cell = _object({"field": _TEXT, "old": _TEXT, "new": _TEXT})
    names = _array(_TEXT)
    return _described(
        "What changed in one table",
        {
            "table": _TEXT,
            "removed": _array(row),
            "added": _array(row),
            "renamed": _array(_object({"old": row, "new": row})),
            "changed": _array(_object({"key": row, "changes": _array(cell)})),
            "columns_removed": names,
            "columns_added": names,
        },
    )


def _move() -> dict[str, Any]:
    ids = "Ids that stand for it today; none where it was withdrawn."
    return _object(
        {
            "moved_to": {"type": "array", "items": _TEXT, "description": ids},
            "version": {**_TEXT, "description": "The version from which on the id is gone."},
            "reason": _TEXT,
        }
    )


def _described(description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object. It has no title: generators of clients would call their class by that."""
    return {"description": description, **_object(properties)}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"{COMPONENTS}{name}"}


def _or_null(name: str, description: str) -> dict[str, Any]:
    return {"anyOf": [_ref(name), {"type": "null"}], "description": description}


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _rows(table: str) -> dict[str, Any]:
    return _list(row_component(table))


def _alone(known: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """A schema with all that it refers to, by way of others too, in its `$defs`."""
    needed: dict[str, Any] = {}
    waiting = list(references(known[name]))
    while waiting:
        found = waiting.pop(0)
        if found not in needed:
            needed[found] = known[found]
            waiting += references(known[found])
    own = {"$schema": DIALECT, **known[name], **({"$defs": needed} if needed else {})}
    alone: dict[str, Any] = json.loads(json.dumps(own).replace(COMPONENTS, "#/$defs/"))
    return alone


def references(schema: Any) -> Iterator[str]:
    """The names of the components that a schema refers to."""
    if isinstance(schema, Mapping):
        target = schema.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(COMPONENTS)
        for item in schema.values():
            yield from references(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)
