"""The published JSON: documents (values), their schemas, and the OpenAPI document of them all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.site.api.document import (
    BASE,
    SCRIPTS,
    Document,
    Publication,
    as_json,
    documents,
    record_id,
    records_document,
    size_document,
)
from rl_resources.site.api.openapi import openapi
from rl_resources.site.api.schema import schemas

__all__ = [
    "BASE",
    "SCRIPTS",
    "Document",
    "Publication",
    "as_json",
    "documents",
    "files",
    "record_id",
    "records_document",
    "schemas",
    "size_document",
]


def files(dataset: Dataset, publication: Publication, listed: Sequence[Document]) -> dict[str, str]:
    """The documents `listed`, their schemas and the OpenAPI document, by path on the site."""
    found = {item.path: item.text for item in listed}
    found |= {path: _indented(schema) for path, schema in schemas(dataset).items()}
    found["openapi.json"] = _indented(openapi(dataset, publication, listed))
    return {f"{BASE}/{path}": text for path, text in found.items()}


def _indented(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
