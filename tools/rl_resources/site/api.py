"""The published JSON documents, under `/api/v1`, with their schemas and the OpenAPI document.

Numbers are numbers, empty cells are null, every key is always there, ids are script names without
`.sh`. The JSON Schemas (2020-12) follow from the Table Schemas. They are open: an object may have
more than they name, because fields may be added. The tests validate what we publish closed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from rl_resources.certainty import MARKS, SCALE, certainty, marks
from rl_resources.dataset import Dataset, moves, script_path
from rl_resources.estimate import SPEEDS
from rl_resources.estimate.estimate import VERDICTS
from rl_resources.estimate.model import model_figures
from rl_resources.estimate.published import published
from rl_resources.git import Repository, utc
from rl_resources.package import TYPES, Field, Record, TableSchema, text_of
from rl_resources.query.estimate import estimated_models
from rl_resources.query.plan_question import published_runs
from rl_resources.query.vocabulary import vocabulary
from rl_resources.site.tuning_table import records_of_size, sizes
from rl_resources.text import json_text

BASE = "api/v1"
_ROOT = "../../../"
"""From a document in a directory below `BASE` to the site's root."""
SCRIPTS = "scripts"
"""The directory of the scripts, as they are."""
DOWNLOADS = ("downloads/", "rst/", f"{SCRIPTS}/")
"""Where files for programs are published outside the API."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
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
_SURE: Mapping[str, Schema] = {
    "certainty": {
        **_TEXT,
        "enum": list(SCALE),
        "description": " ".join(f"`{word}`: {meaning}" for word, meaning in SCALE.items()),
    },
    "marks": {
        "type": ["array", "null"],
        "items": {**_TEXT, "enum": list(MARKS)},
        "description": " ".join(f"`{word}`: {meaning}" for word, meaning in MARKS.items()),
    },
}
"""How sure a record or report is; a column of neither table."""
_CHECKSUM: Mapping[str, Schema] = {
    "bytes": {**_COUNT, "description": "Length of what is served, uncompressed."},
    "sha256": {**_TEXT, "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of these bytes."},
}
_HEAD: Mapping[str, Schema] = {
    "title": _TEXT,
    "description": _TEXT,
    "dataset_version": _VERSION,
    "commit": {**_MAYBE, "description": "Revision of the repository that this was made from."},
    "committed_at": {**_MAYBE, "format": "date-time", "description": "Time of that revision."},
}
_PARAMETERS = {"record": "id", "size": "size"}
"""By schema, in place of a file's name in the path of all documents of a directory."""
_LIMITS = {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
}


@dataclass(frozen=True)
class Document:
    """One published document: its path below `BASE`, the name of its schema, its value.

    Documents in one directory are of one kind.
    """

    path: str
    schema: str
    value: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The document as it is published: keys in the order given, one row of a table a line."""
        lines = [f" {_compact(name)}: {_lines(item)}" for name, item in self.value.items()]
        text = ",\n".join(lines)
        return f"{{\n{text}\n}}\n"


def name_of(table: str) -> str:
    """What the API calls a table: `tuning` is `records`."""
    return "records" if table == "tuning" else table


def record_id(record: Record) -> str:
    """The stable id of a tuning record."""
    return str(record["script"]).removesuffix(".sh")


def documents(
    dataset: Dataset, repository: Repository, files: Mapping[str, str | bytes]
) -> list[Document]:
    """Every document, the index first; `files` is what else is published, by path on the site."""
    tables = {name_of(name): [*rows] for name, rows in dataset.records.items()}
    tables["records"] = _records(dataset, dataset.records["tuning"])
    tables["reports"] = [{**row, **_sure(row)} for row in dataset.records["reports"]]
    head = _head(dataset, repository)
    listed = [_table(dataset, name, rows) for name, rows in tables.items()]
    listed += [size_document(dataset, size) for size in sizes(dataset)]
    listed += _by_id(dataset)
    listed.append(Document("estimate.json", "estimate", _estimate(dataset)))
    listed.append(Document("all.json", "all", head | tables))
    head["counts"] = {name: len(rows) for name, rows in tables.items()}
    return [_index(head, listed, files), *listed]


def _estimate(dataset: Dataset) -> dict[str, Any]:
    """The formula, with the figures of each model and device that it can be asked for."""
    models: list[dict[str, Any]] = []
    for row in estimated_models(dataset):
        figures, reasons = model_figures(row)
        assumed = list(reasons)
        one = {"model": row["model"], "inputs": figures, "assumed": assumed, "reasons": reasons}
        models.append(one)
    devices = dataset.records["devices"]
    return {
        "dataset_version": dataset.version,
        **published(),
        "verdicts": dict(VERDICTS),
        "models": models,
        "devices": {row["device"]: row["memory_gb"] for row in devices if row["memory_gb"]},
        "speeds": {str(row["device"]): _speeds(row) for row in devices},
        "sizes_of_models": [size._asdict() for size in vocabulary(dataset).sizes],
        "runs": [run._asdict() for run in published_runs(dataset)],
    }


def _speeds(row: Record) -> dict[str, Any]:
    """What is known of a device's speed, by the inputs of the time."""
    return {name: row[name] for name in SPEEDS if row[name]}


def records_document(dataset: Dataset) -> Document:
    """All tuning records."""
    return _table(dataset, "records", _records(dataset, dataset.records["tuning"]))


def size_document(dataset: Dataset, size: str) -> Document:
    """The tuning records of one size."""
    rows = _records(dataset, records_of_size(dataset, size))
    value = {
        "dataset_version": dataset.version,
        "size": dataset.by_key["sizes"][size],
        "count": len(rows),
        "records": rows,
    }
    return Document(f"sizes/{size.lower()}.json", "size", value)


def _table(dataset: Dataset, name: str, rows: list[Record]) -> Document:
    value = {"dataset_version": dataset.version, "count": len(rows), name: rows}
    return Document(f"{name}.json", name, value)


def _by_id(dataset: Dataset) -> Iterator[Document]:
    """A document for each id of a record, also for those that are gone."""
    for row in _records(dataset, dataset.records["tuning"]):
        value = {
            "record": row,
            "trials": list(dataset.by_script["trials"].get(row["script"], ())),
            "moved": None,
        }
        script = f"{SCRIPTS}/{row['script']}"
        yield _of_id(dataset, str(row["id"]), value, script)
    for id_, move in moves(dataset, "tuning").items():
        moved = {name: move[name] for name in ("moved_to", "version", "reason")}
        gone: dict[str, Any] = {"record": None, "trials": [], "moved": moved}
        yield _of_id(dataset, id_, gone, None)


def _of_id(dataset: Dataset, id_: str, value: Mapping[str, Any], script: str | None) -> Document:
    # An id may have a folder before its name.
    root = _ROOT + "../" * id_.count("/")
    known = {
        "dataset_version": dataset.version,
        "id": id_,
        **value,
        "links": {
            "page": quote(f"{root}records/{id_}/"),
            "script": quote(f"{root}{script}") if script else None,
        },
    }
    return Document(f"records/{id_}.json", "record", known)


def _index(
    head: Mapping[str, Any], listed: Sequence[Document], files: Mapping[str, str | bytes]
) -> Document:
    value = {
        **head,
        "openapi": "openapi.json",
        "documents": [
            {"path": item.path, "schema": f"schema/{item.schema}.json", **_checksum(item.text)}
            for item in listed
        ],
        "downloads": [
            {"path": f"../../{path}", **_checksum(content)}
            for path, content in sorted(files.items())
            if path.startswith(DOWNLOADS)
        ],
    }
    return Document("index.json", "index", value)


def _head(dataset: Dataset, repository: Repository) -> dict[str, Any]:
    about = dataset.package.document
    return {
        "title": about["title"],
        "description": about["description"],
        "dataset_version": dataset.version,
        "commit": repository.commit,
        "committed_at": utc(repository.commit_time or 0) if repository.commit else None,
        "licenses": about["licenses"],
    }


def _checksum(content: str | bytes) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _records(dataset: Dataset, rows: Iterable[Record]) -> list[Record]:
    """Tuning records, each after what follows from it.

    Their tag was always there when v1 was published, so an empty one is a text too.
    """
    models = dataset.by_key["models"]
    return [
        {
            "id": record_id(row),
            "size": models[row["model"]]["size"],
            "path": script_path(dataset, row),
            **row,
            "tag": text_of(row, "tag"),
            **_sure(row),
        }
        for row in rows
    ]


def _sure(row: Record) -> dict[str, Any]:
    """How sure a record or report is; without a mark `marks` is null."""
    return {
        "certainty": certainty(row),
        "marks": list(marks(row)) or None,
    }


def _lines(item: Any) -> str:
    if not isinstance(item, list) or not item:
        return _compact(item)
    if not all(isinstance(row, dict) for row in item):
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]"


# A day in ISO form. A figure of type number stays one where it is whole: `80.0`.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode


def files(dataset: Dataset, site_url: str, listed: Sequence[Document]) -> dict[str, str]:
    """The documents `listed`, their schemas and the OpenAPI document, by path on the site.

    `site_url` is that of the site with its closing slash, or empty.
    """
    known = schemas(dataset)
    texts = {item.path: item.text for item in listed}
    for name, schema in known.items():
        texts[f"schema/{name}.json"] = json_text({"$schema": DIALECT, **schema}, 1)
    texts["openapi.json"] = json_text(openapi(dataset, site_url, listed, known), 1)
    return {f"{BASE}/{path}": text for path, text in texts.items()}


def schemas(dataset: Dataset) -> dict[str, Schema]:
    """The JSON Schema of every kind of document by its name."""
    tables = {name_of(name): item.schema for name, item in dataset.package.resources.items()}
    rows = {name: _row_schema(name, schema) for name, schema in tables.items()}
    arrays = {name: _array(row) for name, row in rows.items()}
    counted = {"dataset_version": _VERSION, "count": _COUNT}
    found: dict[str, Schema] = {}
    for name, schema in tables.items():
        found[name] = _object(schema.title, **counted, **{name: arrays[name]})
    license_ = _object(name=_MAYBE, title=_MAYBE, path=_MAYBE)
    head = {**_HEAD, "licenses": _array(license_)}
    found["index"] = _object(
        "What there is",
        **head,
        counts=_object("Rows by table.", **dict.fromkeys(rows, _COUNT)),
        openapi=_URL,
        documents=_array(_object(path=_URL, schema=_URL, **_CHECKSUM)),
        downloads=_array(_object(path=_URL, **_CHECKSUM)),
    )
    found["all"] = _object("Everything in one document", **head, **arrays)
    found["size"] = _object(
        "The tuning records of one size",
        size=rows["sizes"],
        **counted,
        records=arrays["records"],
    )
    found["record"] = _record_schema(rows)
    found["estimate"] = _estimate_schema()
    return found


def _row_schema(name: str, schema: TableSchema) -> Schema:
    columns = {field.name: property_schema(field) for field in schema.fields}
    if name == "records":
        columns |= _DERIVED
        tags = schema.field("tag").words
        columns["tag"] |= {"type": "string", "enum": [*tags, ""]}
    if name in {"records", "reports"}:
        columns |= _SURE
    return _object(schema.description, **columns)


def _record_schema(rows: Mapping[str, Schema]) -> Schema:
    today = "Ids that stand for it today; none where it was withdrawn."
    moved = _object(
        moved_to={**_array(_TEXT), "description": today},
        version={**_TEXT, "description": "The version from which on the id is gone."},
        reason=_TEXT,
    )
    return _object(
        "One tuning record with its trials, or where it moved to",
        dataset_version=_VERSION,
        id=_DERIVED["id"],
        record=_or_null(rows["records"], "Null where the id is gone."),
        trials=_array(rows["trials"]),
        moved=_or_null(moved, "Set where the id is gone; `record` is null then."),
        links=_object(page=_URL, script=_MAYBE),
    )


def _estimate_schema() -> Schema:
    """The parts of the formula; `estimate/formula.toml` explains what is in each."""
    parts: dict[str, Any] = {
        **published(),
        "verdicts": {},
        "models": [],
        "devices": {},
        "speeds": {},
        "sizes_of_models": [],
        "runs": [],
    }
    kinds: dict[str, Schema] = {}
    for name, value in parts.items():
        kinds[name] = {"type": "array" if isinstance(value, list) else "object"}
    about = "The estimate of GPU memory: inputs, and terms that are evaluated in their order"
    return _object(about, dataset_version=_VERSION, **kinds)


def _object(description: str = "", /, **properties: Schema) -> Schema:
    """An object. It has no title: generators of clients would call their class by that."""
    about = {"description": description} if description else {}
    return {
        **about,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema, description: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": description}


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


def openapi(
    dataset: Dataset, site_url: str, listed: Sequence[Document], known: Mapping[str, Schema]
) -> Schema:
    """The OpenAPI 3.1 description of `listed`; the first document of a kind is its example."""
    operations: dict[str, Schema] = {}
    for item in listed:
        path = f"/{_path_of_kind(item)}"
        if path not in operations:
            operations[path] = {"get": _get(item, known)}
    about = dataset.package.document
    license_ = about["licenses"][0]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about["title"],
            "summary": "Static JSON documents: every URL is a file, and none needs a key.",
            "description": about["description"],
            "version": dataset.version,
            "license": {"name": license_["title"], "identifier": license_["name"]},
        },
        "servers": [{"url": f"{site_url}{BASE}" if site_url else "."}],
        "paths": operations,
        "components": {"schemas": dict(known)},
    }


def _path_of_kind(item: Document) -> str:
    parameter = _PARAMETERS.get(item.schema)
    if not parameter:
        return item.path
    folder, _, _ = item.path.partition("/")
    return f"{folder}/{{{parameter}}}.json"


def _get(item: Document, known: Mapping[str, Schema]) -> Schema:
    """The operation that gets a document, and all of its kind."""
    operation: Schema = {"summary": known[item.schema]["description"]}
    if item.schema in _PARAMETERS:
        parameter = {
            "name": _PARAMETERS[item.schema],
            "in": "path",
            "required": True,
            "description": "Its `/`, if it has one, is not encoded.",
            "schema": _TEXT,
            "example": item.path.partition("/")[2].removesuffix(".json"),
        }
        operation["parameters"] = [parameter]
    content = {
        "schema": {"$ref": f"#/components/schemas/{item.schema}"},
        "examples": {"published": {"externalValue": item.path}},
    }
    reply = {
        "description": "The document.",
        "content": {"application/json": content},
    }
    operation["responses"] = {"200": reply}
    return operation
