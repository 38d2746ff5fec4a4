"""Whether the JSON that is about to be published holds the schemas published beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema_rs import Draft202012Validator, meta

from rl_resources.errors import InvalidOutput
from rl_resources.render.api import Document

MOST_TOLD = 10


def hold_to_schemas(documents: Sequence[Document], schemas: Mapping[str, dict[str, Any]]) -> None:
    """Raise `InvalidOutput` with every place at which a document breaks its schema."""
    validators = {
        path: Draft202012Validator(schema, validate_formats=True)
        for path, schema in schemas.items()
    }
    for schema in schemas.values():
        meta.validate(schema)
    broken = [
        line for document in documents for line in _errors(validators[document.schema], document)
    ]
    if broken:
        more = [f"and {len(broken) - MOST_TOLD} more"] if len(broken) > MOST_TOLD else []
        raise InvalidOutput(
            "\n".join([*broken[:MOST_TOLD], *more]),
            "The old output is kept. The data are right by their rules, so a rendering is wrong.",
        )


def _errors(validator: Draft202012Validator, document: Document) -> Iterator[str]:
    # The value as a consumer would read it back, so that a tuple or a date cannot slip through.
    value = json.loads(json.dumps(document.value))
    for error in validator.iter_errors(value):
        where = "/".join(map(str, error.instance_path))
        yield f"{document.path}: {where or '(whole)'}: {error.message[:200]}"
