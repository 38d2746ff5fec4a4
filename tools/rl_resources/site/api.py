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
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote

from rl_resources.certainty import MARKS, SCALE, certainty, marks
from rl_resources.dataset import Dataset, moves, script_path
from rl_resources.estimate.model import device_inputs, model_figures
from rl_resources.estimate.published import published
from rl_resources.files import table_beside
from rl_resources.git import Repository, utc
from rl_resources.package import Record, TableSchema, text_of
from rl_resources.query.configurations import every_configuration
from rl_resources.query.estimate import estimated_models, sizes_as_models
from rl_resources.query.plan import published_runs, run_of_size
from rl_resources.query.vocabulary import vocabulary
from rl_resources.schema import Schema, array_of, object_of, property_schema
from rl_resources.site import document
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

_WORDS = table_beside(__file__)


def _meanings(scale: Mapping[str, str]) -> str:
    """The words of a scale, each with its definition."""
    return " ".join(f"`{word}`: {meaning}" for word, meaning in scale.items())


_SURE: Mapping[str, Schema] = {
    "certainty": {
        "type": "string",
        "enum": list(SCALE),
        "description": _meanings(SCALE),
    },
    "marks": {
        "type": ["array", "null"],
        "items": {"type": "string", "enum": list(MARKS)},
        "description": _meanings(MARKS),
    },
}
"""How sure a record or report is; a column of neither table."""
_PARAMETERS = {"record": "id", "size": "size"}
"""By schema, in place of a file's name in the path of all documents of a directory."""


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
        lines = [
            f" {_compact(name)}: {_lines(item)}" for name, item in self.value.items()
        ]
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
    tables = _tables(dataset)
    head = _head(dataset, repository)
    estimate = {"dataset_version": dataset.version, **_estimate_parts(dataset)}
    listed = [
        *(_table(dataset, name, rows) for name, rows in tables.items()),
        *(size_document(dataset, size) for size in sizes(dataset)),
        *_by_id(dataset),
        Document("estimate.json", "estimate", estimate),
        Document("all.json", "all", head | tables),
    ]
    head["counts"] = {name: len(rows) for name, rows in tables.items()}
    return [_index(head, listed, files), *listed]


def _tables(dataset: Dataset) -> dict[str, list[Record]]:
    """The rows of each table by what the API calls it, with what follows from them."""
    found = {name_of(name): [*rows] for name, rows in dataset.records.items()}
    found["records"] = _records(dataset, dataset.records["tuning"])
    found["reports"] = [{**row, **_sure(row)} for row in dataset.records["reports"]]
    return found


@lru_cache(maxsize=1)
def _estimate_parts(dataset: Dataset) -> dict[str, Any]:
    """The formula, with the figures of each model and device that it can be asked for."""
    devices = dataset.records["devices"]
    models = (*estimated_models(dataset), *sizes_as_models(dataset))
    return {
        **published(),
        "models": list(map(_inputs, models)),
        "devices": {
            row["device"]: row["memory_gb"] for row in devices if row["memory_gb"]
        },
        "speeds": {str(row["device"]): _speeds(row) for row in devices},
        "sizes_of_models": [size._asdict() for size in vocabulary(dataset).sizes],
        "runs": list(map(run_of_size, published_runs(every_configuration(dataset)))),
    }


def _inputs(row: Record) -> dict[str, Any]:
    """The figures of a model, and those that are assumed, with their reasons."""
    figures, reasons = model_figures(row)
    return {
        "model": row["model"],
        "inputs": figures,
        "assumed": list(reasons),
        "reasons": reasons,
    }


def _speeds(row: Record) -> dict[str, Any]:
    """What is known of a device besides its memory, by inputs of the estimate."""
    return {name: value for name, value in device_inputs(row).items() if value}


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
    trials = dataset.by_script["trials"]
    for row in _records(dataset, dataset.records["tuning"]):
        own = trials.get(row["script"], ())
        yield _of_id(dataset, str(row["id"]), record=row, trials=list(own))
    for id_, move in moves(dataset, "tuning").items():
        moved = {name: move[name] for name in _WORDS["moved"]}
        yield _of_id(dataset, id_, moved=moved)


def _of_id(
    dataset: Dataset,
    id_: str,
    *,
    record: Record | None = None,
    trials: Sequence[Record] = (),
    moved: Record | None = None,
) -> Document:
    # An id may have a folder before its name.
    root = _ROOT + "../" * id_.count("/")
    links = {"page": quote(f"{root}records/{id_}/"), "script": None}
    if record:
        links["script"] = quote(f"{root}{SCRIPTS}/{record['script']}")
    value = {
        "dataset_version": dataset.version,
        "id": id_,
        "record": record,
        "trials": trials,
        "moved": moved,
        "links": links,
    }
    return Document(f"records/{id_}.json", "record", value)


def _index(
    head: Mapping[str, Any],
    listed: Sequence[Document],
    files: Mapping[str, str | bytes],
) -> Document:
    documents = [
        {
            "path": item.path,
            "schema": f"schema/{item.schema}.json",
            **_checksum(item.text),
        }
        for item in listed
    ]
    downloads = [
        {"path": f"../../{path}", **_checksum(content)}
        for path, content in sorted(files.items())
        if path.startswith(DOWNLOADS)
    ]
    value = {
        **head,
        "openapi": "openapi.json",
        "documents": documents,
        "downloads": downloads,
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
    records: list[Record] = []
    for row in rows:
        derived = {
            "id": record_id(row),
            "size": models[row["model"]]["size"],
            "path": script_path(dataset, row),
        }
        records.append({**derived, **row, "tag": text_of(row, "tag"), **_sure(row)})
    return records


def _sure(row: Record) -> dict[str, Any]:
    """How sure a record or report is; without a mark `marks` is null."""
    return {
        "certainty": certainty(row),
        "marks": list(marks(row)) or None,
    }


def _lines(item: Any) -> str:
    is_table = isinstance(item, list) and all(isinstance(row, dict) for row in item)
    if not is_table or not item:
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]"


# A day in ISO form. A figure of type number stays one where it is whole: `80.0`.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode


def files(
    dataset: Dataset, site_url: str, listed: Sequence[Document]
) -> dict[str, str]:
    """The documents `listed`, their schemas and the OpenAPI document, by path on the site.

    `site_url` is that of the site with its closing slash, or empty.
    """
    found = {f"{BASE}/{item.path}": item.text for item in listed}
    known = schemas(dataset)
    for name, schema in known.items():
        path = f"{BASE}/schema/{name}.json"
        found[path] = json_text({"$schema": DIALECT, **schema}, 1)
    described = openapi(dataset, site_url, listed, known)
    found[f"{BASE}/openapi.json"] = json_text(described, 1)
    return found


def schemas(dataset: Dataset) -> dict[str, Schema]:
    """The JSON Schema of every kind of document by its name."""
    tables = {
        name_of(name): item.schema for name, item in dataset.package.resources.items()
    }
    rows = {name: _row_schema(name, schema) for name, schema in tables.items()}
    arrays = {name: array_of(row) for name, row in rows.items()}
    counted: Mapping[str, Schema] = _WORDS["counted"]
    file: Mapping[str, Schema] = _WORDS["file"]
    entry = {"path": file["path"], "schema": file["path"], **file}
    head = {**_WORDS["head"], "licenses": array_of(object_of(**_WORDS["license"]))}
    found: dict[str, Schema] = {}
    for name, schema in tables.items():
        found[name] = object_of(schema.title, **counted, **{name: arrays[name]})
    found["index"] = _described(
        "index",
        **head,
        counts=_described("counts", **dict.fromkeys(rows, counted["count"])),
        openapi=file["path"],
        documents=array_of(object_of(**entry)),
        downloads=array_of(object_of(**file)),
    )
    found["all"] = _described("all", **head, **arrays)
    found["size"] = _described(
        "size", size=rows["sizes"], **counted, records=arrays["records"]
    )
    found["record"] = _described(
        "record",
        dataset_version=counted["dataset_version"],
        id=_WORDS["derived"]["id"],
        record=_or_null(rows["records"], "gone"),
        trials=arrays["trials"],
        moved=_or_null(object_of(**_WORDS["moved"]), "set"),
        links=object_of(**_WORDS["links"]),
    )
    found["estimate"] = _described(
        "estimate",
        dataset_version=counted["dataset_version"],
        **_estimate_properties(dataset),
    )
    return found


def _row_schema(name: str, schema: TableSchema) -> Schema:
    columns = {field.name: property_schema(field) for field in schema.fields}
    if name == "records":
        columns |= _WORDS["derived"]
        tags = schema.field("tag").words
        columns["tag"] |= {"type": "string", "enum": [*tags, ""]}
    if name in {"records", "reports"}:
        columns |= _SURE
    return object_of(schema.description, **columns)


def _estimate_properties(dataset: Dataset) -> dict[str, Schema]:
    """The parts of the formula; `estimate/formula.toml` explains what is in each."""
    found: dict[str, Schema] = {}
    for name, value in _estimate_parts(dataset).items():
        found[name] = {"type": "array" if isinstance(value, list) else "object"}
    return found


def _described(name: str, /, **properties: Schema) -> Schema:
    """An object with its description in the file of words."""
    return object_of(_WORDS["about"][name], **properties)


def _or_null(schema: Schema, name: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": _WORDS["about"][name]}


def openapi(
    dataset: Dataset,
    site_url: str,
    listed: Iterable[Document],
    known: Mapping[str, Schema],
) -> Schema:
    """The OpenAPI 3.1 description of `listed`; the first document of a kind is its example."""
    operations: dict[str, Document] = {}
    for item in listed:
        operations.setdefault(f"/{_path_of_kind(item)}", item)
    return document(
        "openapi",
        about=dataset.package.document,
        server=f"{site_url}{BASE}" if site_url else ".",
        operations=operations,
        parameters=_PARAMETERS,
        schemas=known,
    )


def _path_of_kind(item: Document) -> str:
    parameter = _PARAMETERS.get(item.schema)
    if not parameter:
        return item.path
    folder, _, _ = item.path.partition("/")
    return f"{folder}/{{{parameter}}}.json"
