"""The OpenAPI 3.1 document: what is at which address, with the schemas and real responses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.site.api.document import Document, Publication
from rl_resources.site.api.schema import COMPONENTS, component_of, components, row_component

PROMISE = (
    "An address under `/api/v1/` that has once been published stays, and so does the shape of "
    "what it gives: no field goes away, changes its type, may be null where it never was, or loses "
    "a word of its vocabulary. What would break this gets `/api/v2/` beside it.",
    "Every field that a schema names is always there. What is not known is null; a list that is "
    "not known is null too, never empty. No field holds two types.",
    "Addresses, fields, tables and words of a vocabulary may be added at any time: ignore what "
    "you do not know, and hold a document to the schema published with it, not to an older copy. "
    "The order of fields means nothing; rows stand in a fixed order, in which new ones find their "
    "place.",
    "Ids are stable: `id` of a record, `report` of a report, the key of any other table. A record "
    "that is renamed, split or withdrawn keeps its address: there `record` is null, and `moved` "
    "names the ids that stand for it today, with the version and the reason.",
    "Figures may be corrected. `dataset_version` names the release and `commit` the revision. "
    "`changes.json` lists the releases; `changes/<version>.json` has every row that one changed, "
    "and what has changed since. `index.json` has the SHA-256 of every document and download, so "
    "that you need to fetch only what differs.",
    "A `status` of `untested` or `disputed` is part of the figure: show it with the figure.",
)
"""What those who build on the data may rely on; backticks enclose code."""

MOST_LETTERS = 12_000
"""Longest document that stands in the description as a whole; of a longer one there is its address
and, in the schema, its first row."""

_PARAMETERS = {
    "id": "Id of a record, as `id` in `records.json`; one that has moved works too.",
    "size": "Key of a size in lower case, as `sizes.json` lists them.",
    "version": "A release, as `changes.json` lists them.",
}


def openapi(
    dataset: Dataset, publication: Publication, listed: Sequence[Document]
) -> dict[str, Any]:
    """The description of `listed`, whose first stands as the example of its kind."""
    kinds: dict[str, Document] = {}
    for item in listed:
        kinds.setdefault(item.template or item.path, item)
    known = components(dataset)
    told = {item.schema: known[component_of(item.schema)]["description"] for item in listed}
    return {
        "openapi": "3.1.0",
        "info": _info(dataset),
        "servers": [{"url": f"{publication.site}api/v1" if publication.site else "."}],
        "paths": {
            f"/{path}": {"get": _operation(path, item, told)} for path, item in kinds.items()
        },
        "components": {
            "schemas": _with_examples(dataset, known, listed),
            "responses": {"NotFound": _not_found()},
        },
    }


def _info(dataset: Dataset) -> dict[str, Any]:
    (licence, *_) = dataset.package.licenses
    rules = "\n".join(f"- {rule}" for rule in PROMISE)
    return {
        "title": dataset.package.title,
        "summary": "Static JSON documents: every address is a file, and none needs a key.",
        "description": f"{dataset.package.description}\n\n{rules}\n",
        "version": dataset.version,
        "license": {"name": licence["title"], "identifier": licence["name"]},
    }


def _operation(path: str, item: Document, told: Mapping[str, str]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", path)
    return {
        "operationId": _operation_id(path),
        "summary": told[item.schema],
        **({"parameters": [_parameter(name, path, item) for name in names]} if names else {}),
        "responses": {
            "200": {
                "description": "The document.",
                "content": {
                    "application/json": {
                        "schema": {"$ref": f"{COMPONENTS}{component_of(item.schema)}"},
                        "examples": {"published": _example(item)},
                    }
                },
            },
            **({"404": {"$ref": "#/components/responses/NotFound"}} if names else {}),
        },
    }


def _operation_id(path: str) -> str:
    """`records/{id}.json` has `getRecordsById`."""
    words = re.findall(r"\{?\w+", path.removesuffix(".json"))
    return "get" + "".join(
        f"By{word[1:].capitalize()}" if word.startswith("{") else word.capitalize()
        for word in words
    )


def _parameter(name: str, path: str, item: Document) -> dict[str, Any]:
    before, _, after = path.partition(f"{{{name}}}")
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": _PARAMETERS[name],
        "schema": {"type": "string"},
        "example": item.path.removeprefix(before).removesuffix(after),
    }


def _example(item: Document) -> dict[str, Any]:
    if len(item.text) <= MOST_LETTERS:
        return {"summary": f"{item.path} as it is", "value": item.value}
    return {"summary": f"{item.path} as it is", "externalValue": item.path}


def _with_examples(
    dataset: Dataset, known: Mapping[str, Any], listed: Sequence[Document]
) -> dict[str, Any]:
    """The schemas, each row's with a row that is published."""
    found = dict(known)
    values = {item.path: item.value for item in listed}
    for table in dataset.package.resources:
        name = "records" if table == "tuning" else table
        rows = values[f"{name}.json"][name]
        if rows:
            component = row_component(table)
            found[component] = {**found[component], "examples": rows[:1]}
    return found


def _not_found() -> dict[str, Any]:
    """Without the page that comes with it: clients would hand it out as if it were a document."""
    text = "There is nothing at this address. `index.json` lists every document."
    return {"description": text}
