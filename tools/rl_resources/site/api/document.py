"""The published JSON documents, under `/api/v1`.

Numbers are numbers, empty cells are null, every key is always there, ids are script names without
`.sh`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.git import utc
from rl_resources.package import Record
from rl_resources.query.diff import TableDiff
from rl_resources.query.moves import Move, moves
from rl_resources.revision import Release
from rl_resources.site.changes import as_values
from rl_resources.site.tuning_table import records_of_size

BASE = "api/v1"
_UP = "../" * (BASE.count("/") + 1)
SCRIPTS = "scripts"
"""The folder of the scripts, as they are."""
DOWNLOADS = ("downloads/", "rst/", f"{SCRIPTS}/")
"""Where files for programs are published beside the API."""


@dataclass(frozen=True)
class Document:
    """One published document: its path below `BASE`, the name of its schema, its value.

    `template` is the path with what differs between documents of its kind in braces; empty where
    there is only one.
    """

    path: str
    schema: str
    value: Mapping[str, Any]
    template: str = ""

    @cached_property
    def text(self) -> str:
        """The document as it is published."""
        return as_json(self.value)

    @property
    def schema_path(self) -> str:
        """The path of its schema below `BASE`."""
        return f"schema/{self.schema}.json"


@dataclass(frozen=True)
class Publication:
    """What is published, where from and where to, beyond the dataset itself.

    `commit` and `commit_time` (seconds since 1970) are `None` where unknown, `site` is the URL of
    the site with its closing slash, or empty. `files` is what else is published, by path below the
    site's root. `releases` are newest first.
    """

    commit: str | None = None
    commit_time: int | None = None
    site: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    releases: Sequence[Release] = ()


def documents(dataset: Dataset, publication: Publication) -> list[Document]:
    """Every document, the index first."""
    whole = {"records": records_document(dataset)}
    whole |= {name: _table(dataset, name) for name in dataset.records if name != "tuning"}
    all_tables = {name: item.value[name] for name, item in whole.items()}
    listed = [
        *whole.values(),
        *(size_document(dataset, str(size["size"])) for size in dataset.records["sizes"]),
        *(_record_document(dataset, record) for record in dataset.records["tuning"]),
        *(_moved_document(dataset, move) for move in moves(dataset, "tuning")),
        _changes_document(dataset, publication.releases),
        *(_release_document(dataset, release) for release in publication.releases),
        Document("all.json", "all", _head(dataset, publication) | all_tables),
    ]
    return [_index_document(dataset, publication, listed), *listed]


def record_id(record: Record) -> str:
    """The stable id of a tuning record."""
    return str(record["script"]).removesuffix(".sh")


def records_document(dataset: Dataset) -> Document:
    """All tuning records."""
    rows = [_record(dataset, record) for record in dataset.records["tuning"]]
    return Document("records.json", "records", _counted(dataset, {}, "records", rows))


def size_document(dataset: Dataset, size: str) -> Document:
    """The tuning records of one size."""
    section = _row(dataset.by_key["sizes"][size])
    rows = [_record(dataset, record) for record in records_of_size(dataset, size)]
    value = _counted(dataset, {"size": section}, "records", rows)
    return Document(f"sizes/{size.lower()}.json", "size", value, "sizes/{size}.json")


def _record_document(dataset: Dataset, record: Record) -> Document:
    trials = [_row(trial) for trial in dataset.by_script["trials"].get(record["script"], ())]
    script = f"{SCRIPTS}/{record['script']}"
    return _at_id(
        dataset,
        record_id(record),
        {"record": _record(dataset, record), "trials": trials, "moved": None},
        script,
    )


def _moved_document(dataset: Dataset, move: Move) -> Document:
    moved = {"moved_to": list(move.moved_to), "version": move.version, "reason": move.reason}
    return _at_id(dataset, move.id, {"record": None, "trials": [], "moved": moved}, None)


def _at_id(dataset: Dataset, name: str, value: Mapping[str, Any], script: str | None) -> Document:
    root = f"../{_UP}"  # the document lies one folder below `BASE`
    links = {
        "page": root + quote(f"records/{name}/"),
        "script": root + quote(script) if script else None,
    }
    value = {"dataset_version": dataset.version, "id": name, **value, "links": links}
    return Document(f"records/{name}.json", "record", value, "records/{id}.json")


def _table(dataset: Dataset, name: str) -> Document:
    rows = [_row(row) for row in dataset.records[name]]
    return Document(f"{name}.json", name, _counted(dataset, {}, name, rows))


def _changes_document(dataset: Dataset, releases: Sequence[Release]) -> Document:
    rows = [
        {**_of_release(item), "path": f"changes/{item.version}.json", **_counts(item.made)}
        for item in releases
    ]
    return Document("changes.json", "changes", _counted(dataset, {}, "releases", rows))


def _counts(changes: Sequence[TableDiff]) -> dict[str, int]:
    kinds = ("added", "removed", "renamed", "changed")
    return {kind: sum(len(getattr(item, kind)) for item in changes) for kind in kinds}


def _release_document(dataset: Dataset, release: Release) -> Document:
    value = {
        "dataset_version": dataset.version,
        **_of_release(release),
        "in_release": as_values(release.made),
        "since_release": as_values(release.since),
    }
    path = f"changes/{release.version}.json"
    return Document(path, "release", value, "changes/{version}.json")


def _of_release(release: Release) -> dict[str, Any]:
    return {
        "version": release.version,
        "released_on": release.day,
        "previous": release.previous,
    }


def _index_document(
    dataset: Dataset, publication: Publication, listed: Sequence[Document]
) -> Document:
    value = {
        **_head(dataset, publication),
        "counts": {
            "records" if name == "tuning" else name: len(rows)
            for name, rows in dataset.records.items()
        },
        "openapi": "openapi.json",
        "documents": [
            {"path": item.path, "schema": item.schema_path, **_checksum(item.text)}
            for item in listed
        ],
        "downloads": [
            {"path": f"{_UP}{path}", **_checksum(content)}
            for path, content in sorted(publication.files.items())
            if path.startswith(DOWNLOADS)
        ],
    }
    return Document("index.json", "index", value)


def _head(dataset: Dataset, publication: Publication) -> dict[str, Any]:
    package = dataset.package
    time = publication.commit_time if publication.commit else None
    return {
        "title": package.title,
        "description": package.description,
        "dataset_version": package.version,
        "commit": publication.commit,
        "committed_at": None if time is None else utc(time),
        "licenses": [
            {name: item.get(name) for name in ("name", "title", "path")}
            for item in package.licenses
        ],
    }


def _checksum(content: str | bytes) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _counted(
    dataset: Dataset, head: Mapping[str, Any], name: str, rows: Sequence[Any]
) -> dict[str, Any]:
    return {"dataset_version": dataset.version, **head, "count": len(rows), name: list(rows)}


def _record(dataset: Dataset, record: Record) -> dict[str, Any]:
    size = dataset.by_key["models"][record["model"]]["size"]
    derived = {"id": record_id(record), "size": size, "path": script_path(dataset, record)}
    return derived | _row(record)


def _row(row: Record) -> dict[str, Any]:
    """A row in the types of JSON. A figure of type number stays one where it is whole: `80.0`."""
    return {name: _json(value) for name, value in row.items()}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, date) else value


def as_json(value: Mapping[str, Any]) -> str:
    """A document as text: keys in the order given, one row of a table a line."""
    lines = [f" {_compact(name)}: {_lines(item)}" for name, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(item: Any) -> str:
    if not isinstance(item, list) or not all(isinstance(row, dict) for row in item):
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]" if rows else "[]"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
