"""All files of the API by their path on the site."""

from __future__ import annotations

from collections.abc import Sequence

from rl_resources.dataset import Dataset
from rl_resources.site.api.document import BASE, Document, Publication
from rl_resources.site.api.openapi import openapi
from rl_resources.site.api.schema import schemas
from rl_resources.site.api.text import indented


def files(dataset: Dataset, publication: Publication, listed: Sequence[Document]) -> dict[str, str]:
    """The documents `listed`, their schemas, and what describes them all."""
    found = {item.path: item.text for item in listed}
    found |= {path: indented(schema) for path, schema in schemas(dataset).items()}
    found["openapi.json"] = indented(openapi(dataset, publication, listed))
    return {f"{BASE}/{path}": text for path, text in found.items()}
