"""Whether the JSON that is about to be published holds the schemas published beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema_rs import Draft202012Validator, meta

from rl_resources.errors import InvalidOutput
from rl_resources.site.api import Document

MOST_TOLD = 10


def hold_to_schemas(documents: Sequence[Document], schemas: Mapping[str, dict[str, Any]]) -> None:
    """Raise `InvalidOutput` with every place at which a document breaks its schema.

    Schemas are open to consumers, who must bear a field that is added; what we publish holds none
    that its schema does not name.
    """
    validators = {
        path: Draft202012Validator(_closed(schema), validate_formats=True)
        for path, schema in schemas.items()
    }
    for schema in schemas.values():
        meta.validate(schema)
    broken = [
        line
        for document in documents
        for line in _errors(validators[document.schema_path], document)
    ]
    if broken:
        more = [f"and {len(broken) - MOST_TOLD} more"] if len(broken) > MOST_TOLD else []
        raise InvalidOutput(
            "\n".join([*broken[:MOST_TOLD], *more]),
            "The old output is kept. The data are right by their rules, so a rendering is wrong.",
        )


def _closed(schema: Any) -> Any:
    """The schema with no room for what it does not name."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {name: _closed(item) for name, item in schema.items()}
    if "properties" in schema:
        found.setdefault("additionalProperties", False)
    return found


def _errors(validator: Draft202012Validator, document: Document) -> Iterator[str]:
    for error in validator.iter_errors(json.loads(document.text)):
        where = "/".join(map(str, error.instance_path))
        yield f"{document.path}: {where or '(whole)'}: {error.message[:200]}"
