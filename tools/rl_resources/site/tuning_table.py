"""The nine-column table of tuning records as values, and in Markdown (GitHub's pipe tables)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.devices import devices_of, hardware
from rl_resources.package import Record, text_of
from rl_resources.page.rows import HEADERS
from rl_resources.site.templates import rendered

_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#+!|~^$&:@=-]")


def sizes(dataset: Dataset) -> list[str]:
    """The names of the sizes, smallest first."""
    return [str(row["size"]) for row in dataset.records["sizes"]]


def records_of_size(dataset: Dataset, size: str) -> Sequence[Record]:
    """The tuning records whose model belongs to `size`, in canonical order."""
    models = dataset.by_key["models"]
    return [row for row in dataset.records["tuning"] if models[row["model"]]["size"] == size]


def in_doubt(record: Record) -> bool:
    """Whether a reader must know the status before any figure."""
    return record["status"] in {"disputed", "untested"}


def cells(dataset: Dataset, record: Record) -> dict[str, str]:
    """The nine cells by header, as on verl's page (`vllm0.8.3`); an empty one is unknown."""
    cell = partial(text_of, record)
    status = f" ({cell('status')})" if in_doubt(record) else ""
    return {
        "Tag": cell("tag"),
        "Model": cell("model").partition("/")[2],
        "Task": cell("task"),
        "Resource": hardware(record["gpus"], devices_of(dataset).label(cell("device"))),
        "MaxBatch": f"{cell('max_batch')}{status}".strip(),
        "Train": cell("train"),
        "Infer": f"{cell('infer')}{cell('infer_version')}".replace(" ", ""),
        "Link": cell("script"),
        "Contributor": cell("contributor"),
    }


def url(dataset: Dataset, record: Record, template: str | None) -> str:
    """The URL of a script by a `--script-url` template, percent-encoded; empty without one.

    Placeholders are `{path}` (from the repository's root), `{script}` and `{size}`.
    """
    path = script_path(dataset, record)
    parts = {"path": path, "script": text_of(record, "script"), "size": path.split("/")[-2]}
    return re.sub(r"\{(path|script|size)\}", lambda name: quote(parts[name[1]]), template or "")


def markdown(dataset: Dataset, sections: Sequence[str], script_url: str | None) -> str:
    """For each size a heading and a table; a sentence in its place where there is no record."""

    def linked(record: Record) -> list[str]:
        found, texts = url(dataset, record, script_url), cells(dataset, record)
        escaped = {name: escape(text) for name, text in texts.items()}
        link = f"[{escaped['Link']}](<{found}>)" if found else escaped["Link"]
        return list({**escaped, "Link": link}.values())

    tables = {size: records_of_size(dataset, size) for size in sections}
    return rendered("tuning.md", tables=tables, headers=HEADERS, cells=linked, escape=escape)


def escape(text: str) -> str:
    """Text that every Markdown renderer shows as it is. Shape: one line in, one line out."""
    return _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", text)
