"""The published JSON documents and the JSON Schema of each, under `/api/v1`.

Numbers are numbers, blanks are null, every key is always there, ids are script names without `.sh`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from rl_resources.answer.moves import Move, moves
from rl_resources.dataset import Dataset, script_path
from rl_resources.package import Record, Value
from rl_resources.render.tuning_table import records_of_size
from rl_resources.schema.json_schema import DIALECT, row_schema

BASE = "api/v1"


@dataclass(frozen=True, slots=True)
class Document:
    """One published document: its path, the path of its schema (both below `BASE`), its value."""

    path: str
    schema: str
    value: Mapping[str, Any]


def documents(dataset: Dataset, commit: str | None) -> list[Document]:
    """Every document. `commit` is the revision that they were made from, where it is known."""
    tables = [name for name in dataset.package.resources if name != "tuning"]
    listed = [
        records_document(dataset),
        *(size_document(dataset, str(size["size"])) for size in dataset.records["sizes"]),
        *(_record_document(dataset, record) for record in dataset.records["tuning"]),
        *(_moved_document(dataset, move) for move in moves(dataset, "tuning")),
        *(_table_document(dataset, name) for name in tables),
    ]
    return [_index_document(dataset, listed, commit), *listed]


def record_id(record: Record) -> str:
    """The stable id of a tuning record."""
    return str(record["script"]).removesuffix(".sh")


def records_document(dataset: Dataset) -> Document:
    """All tuning records."""
    rows = [_record(dataset, record) for record in dataset.records["tuning"]]
    return Document("records.json", "schema/records.json", _counted(dataset, {}, "records", rows))


def size_document(dataset: Dataset, size: str) -> Document:
    """The tuning records of one size."""
    section = dataset.by_key["sizes"][size]
    rows = [_record(dataset, record) for record in records_of_size(dataset, size)]
    value = _counted(dataset, {"size": _plain(section)}, "records", rows)
    return Document(f"sizes/{size.lower()}.json", "schema/size.json", value)


def _record_document(dataset: Dataset, record: Record) -> Document:
    trials = [
        _plain(trial) for trial in dataset.records["trials"] if trial["script"] == record["script"]
    ]
    value = {
        "dataset_version": dataset.version,
        "record": _record(dataset, record),
        "trials": trials,
    }
    return Document(f"records/{record_id(record)}.json", "schema/record.json", value)


def _moved_document(dataset: Dataset, move: Move) -> Document:
    value = {"dataset_version": dataset.version, **asdict(move), "moved_to": list(move.moved_to)}
    return Document(f"records/{move.id}.json", "schema/moved-record.json", value)


def _table_document(dataset: Dataset, name: str) -> Document:
    rows = [_plain(row) for row in dataset.records[name]]
    return Document(f"{name}.json", f"schema/{name}.json", _counted(dataset, {}, name, rows))


def _index_document(dataset: Dataset, listed: Sequence[Document], commit: str | None) -> Document:
    package = dataset.package
    value = {
        "title": package.title,
        "description": package.description,
        "dataset_version": package.version,
        "commit": commit,
        "licenses": [dict(licence) for licence in package.licenses],
        "counts": {name: len(rows) for name, rows in dataset.records.items()},
        "documents": [{"path": item.path, "schema": item.schema} for item in listed],
    }
    return Document("index.json", "schema/index.json", value)


def _counted(
    dataset: Dataset, head: Mapping[str, Any], name: str, rows: Sequence[Any]
) -> dict[str, Any]:
    return {"dataset_version": dataset.version, **head, "count": len(rows), name: list(rows)}


def _record(dataset: Dataset, record: Record) -> dict[str, Any]:
    size = dataset.by_key["models"][record["model"]]["size"]
    derived = {"id": record_id(record), "size": size, "path": script_path(dataset, record)}
    return derived | _plain(record)


def _plain(row: Record) -> dict[str, Any]:
    return {name: _json(value) for name, value in row.items()}


def _json(value: Value) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, date) else value


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_DERIVED = {
    "id": {**_TEXT, "description": "Stable id: the script's name without its ending."},
    "size": {**_TEXT, "description": "The section that the model belongs to."},
    "path": {**_TEXT, "description": "Where the script lies in the repository."},
}


def schemas(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """The JSON Schema of every kind of document by its path below `BASE`."""
    tables = {name: item.schema for name, item in dataset.package.resources.items()}
    rows = {name: row_schema(schema) for name, schema in tables.items()}
    record = row_schema(tables["tuning"], _DERIVED)
    found = {
        "index": _index_schema(tables),
        "records": _object("Tuning records", {"count": _COUNT, "records": _array(record)}),
        "record": _object(
            "One tuning record with its trials",
            {"record": record, "trials": _array(rows["trials"])},
        ),
        "size": _object(
            "The tuning records of one size",
            {"size": rows["sizes"], "count": _COUNT, "records": _array(record)},
        ),
    }
    found["moved-record"] = _object(
        "An id that is gone, and the records that stand for it today",
        {"id": _TEXT, "moved_to": _array(_TEXT), "version": _TEXT, "reason": _TEXT},
    )
    for name in tables:
        if name != "tuning":
            found[name] = _object(tables[name].title, {"count": _COUNT, name: _array(rows[name])})
    return {f"schema/{name}.json": {"$schema": DIALECT, **schema} for name, schema in found.items()}


def _index_schema(tables: Mapping[str, Any]) -> dict[str, Any]:
    document = _closed({"path": _TEXT, "schema": _TEXT})
    licence = {"type": "object", "additionalProperties": _TEXT}
    return _object(
        "What there is",
        {
            "title": _TEXT,
            "description": _TEXT,
            "commit": {
                "type": ["string", "null"],
                "description": "Revision of the repository that this was made from.",
            },
            "licenses": _array(licence),
            "counts": _closed(dict.fromkeys(tables, _COUNT)),
            "documents": _array(document),
        },
    )


def _object(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    version = {**_TEXT, "description": "CalVer version of the dataset."}
    return {"title": title, **_closed({"dataset_version": version, **properties})}


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def as_json(value: Mapping[str, Any]) -> str:
    """JSON text as it is published: keys in the order given, one row of a table a line."""
    lines = [f" {_compact(name)}: {_rows(item)}" for name, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rows(item: Any) -> str:
    if not isinstance(item, list) or not all(isinstance(row, dict) for row in item):
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]" if rows else "[]"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _indented(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def files(dataset: Dataset, commit: str | None) -> dict[str, str]:
    """Documents and schemas by their path on the site."""
    found = {item.path: as_json(item.value) for item in documents(dataset, commit)}
    found |= {path: _indented(schema) for path, schema in schemas(dataset).items()}
    return {f"{BASE}/{path}": text for path, text in found.items()}
