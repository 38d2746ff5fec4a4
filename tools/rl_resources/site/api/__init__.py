"""The published JSON: documents (values), their schemas, and the OpenAPI document of them all."""

from rl_resources.site.api.document import (
    BASE,
    SCRIPTS,
    Document,
    Publication,
    documents,
    record_id,
    records_document,
    size_document,
)
from rl_resources.site.api.schema import schemas
from rl_resources.site.api.text import as_json
from rl_resources.site.api.tree import files

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
