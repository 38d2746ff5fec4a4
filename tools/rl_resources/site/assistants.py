"""`llms.txt`: where assistants find the data as JSON and CSV, by the form of https://llmstxt.org."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from rl_resources.dataset import Dataset
from rl_resources.site.api import BASE
from rl_resources.site.downloads import BASE as DOWNLOADS
from rl_resources.site.tuning_table import tuning_rows

INDEX = "llms.txt"
_MEANING = """\
A record is a tested configuration with a script in this repository; a report was published
elsewhere. Tag MIN: runs with everything on that saves memory. Tag RECOMMENDED: fast, without what
trades time for memory. MaxBatch is the most prompts for one training step that are known to run;
blank means that nobody has searched. Say the status with every figure: `untested` has never run,
`disputed` means that published facts contradict each other, `reproduced` that others ran it too."""
_ACTIVE = re.compile(r"[\\`*\[\]|<&~]|(?<![^\W_])_|_(?![^\W_])")


def files(dataset: Dataset, site: str) -> dict[str, str]:
    """The file by its path; `site` is the URL of the site with its closing slash, or blank."""
    package = dataset.package
    parts = [f"# {_escape(package.title)}", f"> {_escape(package.description)}", _MEANING]
    for title, items in _sections(dataset):
        lines = [
            f"- [{_escape(name)}]({site}{quote(path)}): {_escape(notes)}"
            for path, name, notes in items
        ]
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    return {INDEX: "\n\n".join(parts) + "\n"}


Item = tuple[str, str, str]
"""A path below the site's root, its name and a note."""


def _sections(dataset: Dataset) -> Iterator[tuple[str, list[Item]]]:
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    tables = {
        name: (resource.schema.title, _count(len(dataset.records[name]), "row"))
        for name, resource in dataset.package.resources.items()
    }
    yield (
        "Start",
        [
            (f"{BASE}/index.json", "Index of the API", "every document and download"),
            (f"{BASE}/openapi.json", "OpenAPI document", "URLs, schemas, examples"),
            (f"{BASE}/all.json", "All tables", "one JSON document, some megabytes"),
            ("data/", "Data dictionary", "a page: what every column means"),
            ("what-fits/", "What fits", "a page: the largest size by hardware, and back"),
            ("contributing/", "Contributing", "a page: how a record is added"),
        ],
    )
    yield (
        "Records by size",
        [
            (
                f"{BASE}/sizes/{size.lower()}.json",
                f"{size} models",
                _count(len(tuning_rows(dataset, size)), "record"),
            )
            for size in sizes
        ],
    )
    yield (
        "Tables as JSON",
        [
            (f"{BASE}/{'records' if name == 'tuning' else name}.json", *words)
            for name, words in tables.items()
        ],
    )
    yield "Tables as CSV", [(f"{DOWNLOADS}/{name}.csv", *words) for name, words in tables.items()]
    yield (
        "Optional",
        [
            (
                f"{BASE}/records/{row.record_id}.json",
                row.record_id,
                ", ".join(filter(None, row.cells()[:5])),
            )
            for size in sizes
            for row in tuning_rows(dataset, size)
        ],
    )


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def _escape(text: str) -> str:
    """Text that Markdown shows as it is, with as few escapes as that needs."""
    return _ACTIVE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    # Not every renderer takes a backslash before these two.
    return {"<": "&lt;", "&": "&amp;"}.get(match[0], f"\\{match[0]}")
