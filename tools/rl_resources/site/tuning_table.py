"""The nine-column table of tuning records as values, and in Markdown (GitHub's pipe tables)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import PurePosixPath
from urllib.parse import quote

from rl_resources.certainty import (
    DISPUTED,
    NOT_RUN,
    SCALE,
    certainty,
    in_words,
    marks,
    script_said,
)
from rl_resources.dataset import Dataset, script_path
from rl_resources.devices import devices_of, hardware
from rl_resources.facts.comparison import NO_TAG
from rl_resources.package import Field, Record, text_of
from rl_resources.page.records import HEADERS
from rl_resources.site import rendered

_MEANING = re.compile(
    r"`(?P<word>[\w-]+)`: (?P<meaning>.+?)(?= `[\w-]+`: | Empty | Of these |$)"
)
"""A word with its meaning, up to the next one or to what is said of all of them."""
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#+!|~^$&:@=-]")


def sizes(dataset: Dataset) -> list[str]:
    """The names of the sizes, smallest first."""
    return [str(row["size"]) for row in dataset.records["sizes"]]


def records_of_size(dataset: Dataset, size: str) -> Sequence[Record]:
    """The tuning records whose model belongs to `size`, in canonical order."""
    models = dataset.by_key["models"]
    return [
        row for row in dataset.records["tuning"] if models[row["model"]]["size"] == size
    ]


def meaning(field: Field, word: str) -> str:
    """What a word of a column means, as the column's description says: `word`: meaning."""
    found: dict[str, str] = dict(_MEANING.findall(field.description))
    return found.get(word, "")


def doubt(record: Record) -> str:
    """What a reader must know before any figure: that it is disputed, or not run; else empty."""
    if DISPUTED in marks(record):
        return DISPUTED
    word = certainty(record)
    return word if word == NOT_RUN else ""


def sure_of(record: Record) -> str:
    """The word of the scale for a record, of a claim with its kind, and the marks beside it."""
    return ", ".join((in_words(record), *marks(record)))


def script_line(record: Record) -> str:
    """Whether the script of a record ran here."""
    return script_said(record["tested_on"], record["source"])


def cells(dataset: Dataset, record: Record) -> dict[str, str]:
    """The nine cells by header, as on verl's page (`vllm0.8.3`); an empty one is unknown."""
    cell = partial(text_of, record)
    doubted = doubt(record)
    max_batch = cell("max_batch")
    if doubted:
        max_batch = f"{max_batch} ({doubted})".strip()
    return {
        "Tag": cell("tag") or NO_TAG,
        "Model": cell("model").partition("/")[2],
        "Task": cell("task"),
        "Resource": hardware(record["gpus"], devices_of(dataset).label(cell("device"))),
        "MaxBatch": max_batch,
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
    script = text_of(record, "script")
    parts = {
        "path": path,
        "script": script,
        "size": PurePosixPath(path.removesuffix(script)).name,
    }
    return re.sub(
        r"\{(path|script|size)\}", lambda name: quote(parts[name[1]]), template or ""
    )


def escaped_cells(
    dataset: Dataset, record: Record, escape: Callable[[str], str], script: str
) -> list[str]:
    """The nine cells, escaped for a markup in which `script` is the link to the script."""
    found = {name: escape(text) for name, text in cells(dataset, record).items()}
    found["Link"] = script
    return list(found.values())


def markdown(dataset: Dataset, sections: Sequence[str], script_url: str | None) -> str:
    """For each size a heading and a table; a sentence in its place where there is no record."""

    def linked(record: Record) -> list[str]:
        script = escape(str(record["script"]))
        found = url(dataset, record, script_url)
        if found:
            script = f"[{script}](<{found}>)"
        return escaped_cells(dataset, record, escape, script)

    tables = {size: records_of_size(dataset, size) for size in sections}
    return rendered(
        "tuning.md",
        tables=tables,
        headers=HEADERS,
        cells=linked,
        escape=escape,
        sure=sure_of,
        script_line=script_line,
        legend=legend(chain.from_iterable(tables.values())),
    )


def legend(records: Iterable[Record]) -> dict[str, str]:
    """The words of the scale that records have, with their definitions."""
    used = {certainty(record) for record in records}
    return {word: meaning for word, meaning in SCALE.items() if word in used}


def escape(text: str) -> str:
    """Text that every Markdown renderer shows as it is. Shape: one line in, one line out."""
    return _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", text)
