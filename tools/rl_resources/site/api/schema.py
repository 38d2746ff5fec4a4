"""The JSON Schemas of the documents, derived from the Table Schemas.

`components` has each schema by name, referring to the others as OpenAPI does; `schemas` gives one
document each, with what it refers to inside. They are open: an object may hold more than they name,
because fields may be added. What we publish is validated closed, in `validation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.package import TableSchema
from rl_resources.schema.json_schema import DIALECT, row_schema

COMPONENTS = "#/components/schemas/"
Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_MAYBE: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_VERSION: Schema = {**_TEXT, "description": "CalVer version of the dataset."}
_URL: Schema = {**_TEXT, "description": "URL, relative to this document."}
_DERIVED: Mapping[str, Schema] = {
    "id": {**_TEXT, "description": "Stable id: the script's name without its ending."},
    "size": {**_TEXT, "description": "The section that the model belongs to."},
    "path": {**_TEXT, "description": "Where the script lies in the repository."},
}
_CHECKSUM: Mapping[str, Schema] = {
    "bytes": {**_COUNT, "description": "Length of what is served, uncompressed."},
    "sha256": {**_TEXT, "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of these bytes."},
}


def schemas(dataset: Dataset) -> dict[str, Schema]:
    """The JSON Schema of every kind of document by its path below the API's root."""
    known = components(dataset)
    return {
        f"schema/{name}.json": _standalone(known, component_of(name))
        for name in _documents(_tables(dataset))
    }


def component_of(schema: str) -> str:
    """The component that is the schema of documents: `sizes` has `SizesDocument`."""
    return f"{schema.capitalize()}Document"


def row_component(table: str) -> str:
    """The component that is one row of a table: `devices` has `Device`.

    A record's is not just `Record`, which in TypeScript and Java is a word of the language.
    """
    return "TuningRecord" if table == "tuning" else table.removesuffix("s").capitalize()


def components(dataset: Dataset) -> dict[str, Schema]:
    """Every schema by its name."""
    tables = _tables(dataset)
    return {
        **{
            row_component(name): row_schema(schema, _DERIVED if name == "tuning" else None)
            for name, schema in tables.items()
        },
        "License": _object(name=_MAYBE, title=_MAYBE, path=_MAYBE),
        "MovedRecord": _object(
            moved_to=_array(_TEXT, "Ids that stand for it today; none where it was withdrawn."),
            version={**_TEXT, "description": "The version from which on the id is gone."},
            reason=_TEXT,
        ),
        "TableChange": _table_change(),
        **{component_of(name): schema for name, schema in _documents(tables).items()},
    }


def _tables(dataset: Dataset) -> dict[str, TableSchema]:
    return {name: item.schema for name, item in dataset.package.resources.items()}


def _documents(tables: Mapping[str, TableSchema]) -> dict[str, Schema]:
    """The schema of each kind of document."""
    head = {
        "title": _TEXT,
        "description": _TEXT,
        "dataset_version": _VERSION,
        "commit": {**_MAYBE, "description": "Revision of the repository that this was made from."},
        "committed_at": {**_MAYBE, "format": "date-time", "description": "Time of that revision."},
        "licenses": _rows("License"),
    }
    names = {name: "records" if name == "tuning" else name for name in tables}
    rows = {names[table]: _rows(row_component(table)) for table in tables}
    counted = {"dataset_version": _VERSION, "count": _COUNT}
    listed = {name: _object(**counted, **{name: rows[name]}) for name in rows}
    described = {
        name: {"description": tables[table].title, **listed[name]} for table, name in names.items()
    }
    return described | {
        "index": _object(
            "What there is",
            **head,
            counts={**_object(**dict.fromkeys(rows, _COUNT)), "description": "Rows by table."},
            openapi=_URL,
            documents=_array(_object(path=_URL, schema=_URL, **_CHECKSUM)),
            downloads=_array(_object(path=_URL, **_CHECKSUM)),
        ),
        "all": _object("Everything in one document", **head, **rows),
        "size": _object(
            "The tuning records of one size",
            size=_ref("Size"),
            **counted,
            records=rows["records"],
        ),
        "record": _record(rows["trials"]),
        **_changes(counted),
    }


def _record(trials: Schema) -> Schema:
    return _object(
        "One tuning record with its trials, or where it moved to",
        dataset_version=_VERSION,
        id=_DERIVED["id"],
        record=_or_null("TuningRecord", "Null where the id is gone."),
        trials=trials,
        moved=_or_null("MovedRecord", "Set where the id is gone; `record` is null then."),
        links=_object(page=_URL, script={**_URL, **_MAYBE}),
    )


def _changes(counted: Mapping[str, Schema]) -> dict[str, Schema]:
    release: dict[str, Schema] = {
        "version": _VERSION,
        "released_on": {**_TEXT, "format": "date"},
        "previous": {**_MAYBE, "description": "The release before it; null for the first."},
    }
    counts = dict.fromkeys(("added", "removed", "renamed", "changed"), _COUNT)
    change = _ref("TableChange")
    since = "What has changed from that release to this data."
    return {
        "changes": _object(
            "The releases, newest first",
            **counted,
            releases=_array(_object(**release, path=_URL, **counts)),
        ),
        "release": _object(
            "What one release changed, and what has changed since",
            dataset_version=_VERSION,
            **release,
            in_release=_array(change, "What it changed in `previous`; nothing for the first."),
            since_release=_array(change, since),
        ),
    }


def _table_change() -> Schema:
    """One table as `rl-resources diff --format json` prints it."""
    row = {"type": "object", "additionalProperties": _TEXT, "description": "Cells as text."}
    cell = _object(field=_TEXT, old=_TEXT, new=_TEXT)
    return _object(
        "What changed in one table",
        table=_TEXT,
        removed=_array(row),
        added=_array(row),
        renamed=_array(_object(old=row, new=row)),
        changed=_array(_object(key=row, changes=_array(cell))),
        columns_removed=_array(_TEXT),
        columns_added=_array(_TEXT),
    )


def _object(description: str = "", /, **properties: Schema) -> Schema:
    """An object. It has no title: generators of clients would call their class by that."""
    about = {"description": description} if description else {}
    return {**about, "type": "object", "properties": properties, "required": list(properties)}


def _array(items: Schema, description: str = "") -> Schema:
    about = {"description": description} if description else {}
    return {"type": "array", "items": items, **about}


def _rows(component: str) -> Schema:
    return _array(_ref(component))


def _ref(component: str) -> Schema:
    return {"$ref": f"{COMPONENTS}{component}"}


def _or_null(component: str, description: str) -> Schema:
    return {"anyOf": [_ref(component), {"type": "null"}], "description": description}


def _standalone(known: Mapping[str, Schema], name: str) -> Schema:
    """A schema with all that it refers to, also indirectly, in its `$defs`."""
    needed: dict[str, Schema] = {}
    waiting = [name]
    while waiting:
        for found in re.findall(f'"{COMPONENTS}(.*?)"', json.dumps(known[waiting.pop()])):
            if found not in needed:
                needed[found] = known[found]
                waiting.append(found)
    own = {"$schema": DIALECT, **known[name], **({"$defs": needed} if needed else {})}
    standalone: Schema = json.loads(json.dumps(own).replace(COMPONENTS, "#/$defs/"))
    return standalone
