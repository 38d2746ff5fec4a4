"""The OpenAPI 3.1 document: what is at which URL, with the schemas and real responses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.site.api.document import Document, Publication
from rl_resources.site.api.schema import COMPONENTS, component_of, components

MOST_CHARACTERS = 12_000
"""Longest document that is in the description as a whole; of a longer one it has the URL."""

_PARAMETERS = {
    "id": "Id of a record, as `id` in `records.json`; one that has moved works too.",
    "size": "Key of a size in lower case, as `sizes.json` lists them.",
    "version": "A release, as `changes.json` lists them.",
}


def openapi(
    dataset: Dataset, publication: Publication, listed: Sequence[Document]
) -> dict[str, Any]:
    """The description of `listed`, whose first is the example of its kind."""
    kinds: dict[str, Document] = {}
    for item in listed:
        kinds.setdefault(item.template or item.path, item)
    known = components(dataset)
    summaries = {item.schema: known[component_of(item.schema)]["description"] for item in listed}
    return {
        "openapi": "3.1.0",
        "info": _info(dataset),
        "externalDocs": {
            "description": "What you may rely on",
            "url": f"{publication.site or '../../'}data/#api",
        },
        "servers": [{"url": f"{publication.site}api/v1" if publication.site else "."}],
        "paths": {
            f"/{path}": {"get": _operation(path, item, summaries)} for path, item in kinds.items()
        },
        "components": {
            "schemas": known,
            "responses": {"NotFound": _not_found()},
        },
    }


def _info(dataset: Dataset) -> dict[str, Any]:
    (license_, *_) = dataset.package.licenses
    return {
        "title": dataset.package.title,
        "summary": "Static JSON documents: every URL is a file, and none needs a key.",
        "description": dataset.package.description,
        "version": dataset.version,
        "license": {"name": license_["title"], "identifier": license_["name"]},
    }


def _operation(path: str, item: Document, summaries: Mapping[str, str]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", path)
    return {
        "operationId": _operation_id(path),
        "summary": summaries[item.schema],
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
    if len(item.text) <= MOST_CHARACTERS:
        return {"summary": f"{item.path} as it is", "value": item.value}
    return {"summary": f"{item.path} as it is", "externalValue": item.path}


def _not_found() -> dict[str, Any]:
    """Without the page that comes with it: clients would hand it out as if it were a document."""
    text = "There is nothing at this URL. `index.json` lists every document."
    return {"description": text}
