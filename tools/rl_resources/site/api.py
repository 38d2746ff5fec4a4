"""The published JSON documents, under `/api/v1`.

Numbers are numbers, empty cells are null, every key is always there, ids are script names without
`.sh`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from rl_resources.dataset import Dataset, moves, script_path
from rl_resources.estimate.configuration import estimable, model_figures
from rl_resources.estimate.estimate import VERDICTS
from rl_resources.estimate.formula import published
from rl_resources.git import Repository, utc
from rl_resources.package import Record
from rl_resources.site.tuning_table import records_of_size, sizes

BASE = "api/v1"
_UP = "../../"
SCRIPTS = "scripts"
"""The directory of the scripts, as they are."""
DOWNLOADS = ("downloads/", "rst/", f"{SCRIPTS}/")
"""Where files for programs are published outside the API."""


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
        return "{\n" + ",\n".join(lines) + "\n}\n"


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
    tables = [records_document(dataset)]
    tables += [
        _table(dataset, name, rows) for name, rows in dataset.records.items() if name != "tuning"
    ]
    head = _head(dataset, repository)
    whole = {item.schema: item.value[item.schema] for item in tables}
    listed = [
        *tables,
        *(size_document(dataset, size) for size in sizes(dataset)),
        *_by_id(dataset),
        Document("estimate.json", "estimate", _estimate(dataset)),
        Document("all.json", "all", head | whole),
    ]
    counts = {name_of(name): len(rows) for name, rows in dataset.records.items()}
    return [_index(head | {"counts": counts}, listed, files), *listed]


def _estimate(dataset: Dataset) -> dict[str, Any]:
    """The formula, with the figures of each model and device that it can be asked for."""
    models = [row for row in dataset.records["models"] if estimable(row)]
    figures = {str(row["model"]): model_figures(row) for row in models}
    devices = dataset.records["devices"]
    return {
        "dataset_version": dataset.version,
        **published(),
        "verdicts": dict(VERDICTS),
        "models": [
            {"model": name, "inputs": found, "assumed": [item.input for item in guesses]}
            for name, (found, guesses) in figures.items()
        ],
        "devices": {row["device"]: row["memory_gb"] for row in devices if row["memory_gb"]},
    }


def records_document(dataset: Dataset) -> Document:
    """All tuning records."""
    return _table(dataset, "records", (_record(dataset, row) for row in dataset.records["tuning"]))


def size_document(dataset: Dataset, size: str) -> Document:
    """The tuning records of one size."""
    rows = [_record(dataset, record) for record in records_of_size(dataset, size)]
    about = {"dataset_version": dataset.version, "size": dataset.by_key["sizes"][size]}
    value = {**about, "count": len(rows), "records": rows}
    return Document(f"sizes/{size.lower()}.json", "size", value)


def _table(dataset: Dataset, name: str, rows: Iterable[Record]) -> Document:
    listed = list(rows)
    value = {"dataset_version": dataset.version, "count": len(listed), name: listed}
    return Document(f"{name}.json", name, value)


def _by_id(dataset: Dataset) -> Iterator[Document]:
    """A document for each id of a record, also for those that are gone."""

    def document(id_: str, script: object, **value: object) -> Document:
        root = f"../{_UP}"  # the document lies one directory below `BASE`
        links = {
            "page": root + quote(f"records/{id_}/"),
            "script": root + quote(f"{SCRIPTS}/{script}") if script else None,
        }
        known = {"dataset_version": dataset.version, "id": id_, **value, "links": links}
        return Document(f"records/{id_}.json", "record", known)

    for row in dataset.records["tuning"]:
        name = row["script"]
        trials = list(dataset.by_script["trials"].get(name, ()))
        record = _record(dataset, row)
        yield document(record_id(row), name, record=record, trials=trials, moved=None)
    for id_, move in moves(dataset, "tuning").items():
        moved = {name: move[name] for name in ("moved_to", "version", "reason")}
        yield document(id_, None, record=None, trials=[], moved=moved)


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
            {"path": f"{_UP}{path}", **_checksum(content)}
            for path, content in sorted(files.items())
            if path.startswith(DOWNLOADS)
        ],
    }
    return Document("index.json", "index", value)


def _head(dataset: Dataset, repository: Repository) -> dict[str, Any]:
    package = dataset.package
    time = repository.commit_time if repository.commit else None
    words = ("name", "title", "path")
    return {
        "title": package.title,
        "description": package.description,
        "dataset_version": package.version,
        "commit": repository.commit,
        "committed_at": None if time is None else utc(time),
        "licenses": [{word: item.get(word) for word in words} for item in package.licenses],
    }


def _checksum(content: str | bytes) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _record(dataset: Dataset, record: Record) -> dict[str, Any]:
    size = dataset.by_key["models"][record["model"]]["size"]
    derived = {"id": record_id(record), "size": size, "path": script_path(dataset, record)}
    return {**derived, **record}


def _lines(item: Any) -> str:
    if not isinstance(item, list) or not all(isinstance(row, dict) for row in item):
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]" if rows else "[]"


# A day in ISO form. A figure of type number stays one where it is whole: `80.0`.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode
