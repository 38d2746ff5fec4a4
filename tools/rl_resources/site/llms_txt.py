"""`llms.txt`: where assistants find the data and the pages, by the form of https://llmstxt.org."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

import yaml

from rl_resources.dataset import Dataset
from rl_resources.site.api import BASE
from rl_resources.site.downloads import BASE as DOWNLOADS
from rl_resources.site.environment import page_url
from rl_resources.site.tuning_table import tuning_rows

PATH = "llms.txt"
HAND_WRITTEN = "site/pages"
_MEANING = """\
A record is a tested configuration with a script in this repository; a report was published
elsewhere. Tag MIN: runs with every memory optimization on. Tag RECOMMENDED: fast, without what
trades time for memory. MaxBatch is the most prompts per training step that are known to run; empty
means that nobody has searched. Say the status with every figure: `untested` has never run,
`disputed` means that published facts contradict each other, `reproduced` that others ran it too."""
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.S)
_ACTIVE = re.compile(r"[\\`*\[\]|<&~]|(?<![^\W_])_|_(?![^\W_])")


class Link(NamedTuple):
    """A path below the site's root, its name and a note."""

    path: str
    name: str
    note: str


def files(dataset: Dataset, site_url: str, made: Mapping[str, str | bytes]) -> dict[str, str]:
    """The file by its path; `made` are the generated files, whose pages it lists."""
    package = dataset.package
    parts = [f"# {_escape(package.title)}", f"> {_escape(package.description)}", _MEANING]
    for title, links in _sections(dataset, made).items():
        lines = [
            f"- [{_escape(name)}]({site_url + quote(path) or './'}): {_escape(note)}"
            for path, name, note in links
        ]
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    return {PATH: "\n\n".join(parts) + "\n"}


def _sections(dataset: Dataset, made: Mapping[str, str | bytes]) -> dict[str, list[Link]]:
    sizes = {
        str(row["size"]): tuning_rows(dataset, str(row["size"])) for row in dataset.records["sizes"]
    }
    tables = {
        name: (resource.schema.title, _count(len(dataset.records[name]), "row"))
        for name, resource in dataset.package.resources.items()
    }
    return {
        "API": [
            Link(f"{BASE}/index.json", "Index of the API", "every document and download"),
            Link(f"{BASE}/openapi.json", "OpenAPI document", "URLs, schemas, examples"),
            Link(f"{BASE}/all.json", "All tables", "one JSON document, some megabytes"),
        ],
        "Pages": list(_pages(dataset, made)),
        "Records by size": [
            Link(
                f"{BASE}/sizes/{size.lower()}.json",
                f"{size} models",
                _count(len(rows), "record"),
            )
            for size, rows in sizes.items()
        ],
        "Tables as JSON": [
            Link(f"{BASE}/{'records' if name == 'tuning' else name}.json", *words)
            for name, words in tables.items()
        ],
        "Tables as CSV": [
            Link(f"{DOWNLOADS}/{name}.csv", *words) for name, words in tables.items()
        ],
        "Optional": [
            Link(
                f"{BASE}/records/{row.record_id}.json",
                row.record_id,
                ", ".join(filter(None, row.cells()[:5])),
            )
            for rows in sizes.values()
            for row in rows
        ],
    }


def _pages(dataset: Dataset, made: Mapping[str, str | bytes]) -> Iterator[Link]:
    """The pages at the top by their front matter: generated ones, then those written by hand."""
    by_hand = sorted((dataset.package.root / HAND_WRITTEN).glob("*.md"))
    texts = {**made, **{file.name: file.read_text(encoding="utf-8") for file in by_hand}}
    for path, text in texts.items():
        found = _FRONT_MATTER.match(text) if isinstance(text, str) and "/" not in path else None
        if found:
            meta = yaml.safe_load(found[1])
            title, description = (html.unescape(meta[key]) for key in ("title", "description"))
            yield Link(page_url(path), title, description)


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def _escape(text: str) -> str:
    """Text that Markdown shows as it is, with as few escapes as that needs."""
    return _ACTIVE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    # Not every renderer takes a backslash before these two.
    return {"<": "&lt;", "&": "&amp;"}.get(match[0], f"\\{match[0]}")
