"""One rendering alone: the RST page or table, the JSON document, the Markdown table."""

from __future__ import annotations

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.site import api, markdown, rst
from rl_resources.words import nearest


def export(dataset: Dataset, kind: str, size: str | None, script_url: str | None) -> str:
    """The text of rendering `kind` (`rst`, `json`, `markdown`), of all sizes or of one.

    Raises `UnusableInput` for a size that the dataset does not have.
    """
    section = _section(dataset, size) if size else None
    if kind == "json":
        document = api.size_document(dataset, section) if section else api.records_document(dataset)
        return api.as_json(document.value)
    if kind == "rst":
        if section:
            return rst.size_table(dataset, section, script_url)
        return rst.device_tuning(dataset, script_url)
    if section:
        return markdown.size_table(dataset, section, script_url)
    return markdown.device_tuning(dataset, script_url)


def _section(dataset: Dataset, size: str) -> str:
    known = [str(row["size"]) for row in dataset.records["sizes"]]
    for name in known:
        if name.lower() == size.lower():
            return name
    raise UnusableInput(f"no size is called {size!r}", nearest(size, known).sentence())
