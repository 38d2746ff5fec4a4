"""The Atom feed (RFC 4287) of all records, by when each was last changed or withdrawn.

An entry keeps its id; its time is that of the commit that last wrote the row, or the day of the
release where git does not say.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from xml.etree import ElementTree

from rl_resources.dataset import Dataset
from rl_resources.git import utc
from rl_resources.package import Record
from rl_resources.query.moves import moves
from rl_resources.words import printable

PATH = "feeds/all.xml"
MOST_ENTRIES = 200
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")

LineTimes = Mapping[int, int]
"""When each line of a file was last written, in seconds since 1970, by line from 1."""


@dataclass(frozen=True, slots=True)
class _Entry:
    record: str
    title: str
    updated: str
    summary: str
    author: str = ""


def feed(dataset: Dataset, times: Mapping[str, LineTimes], site: str) -> str:
    """The feed as XML. `times` has the lines of the tables `tuning` and `moved`.

    `site` is the URL of the site with its closing slash, or empty: links are then relative.
    """
    released = f"{dataset.package.created or '1970-01-01'}T00:00:00Z"
    entries = [*_records(dataset, times["tuning"], released)]
    entries += _moves(dataset, times["moved"], released)
    entries.sort(key=attrgetter("updated"), reverse=True)
    root = ElementTree.Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": "en"})
    _add(root, "id", _urn("feed all"))
    _add(root, "title", f"All records: {dataset.package.title}")
    _add(root, "updated", entries[0].updated if entries else released)
    self_url = f"{site}{PATH}" if site else PATH.rpartition("/")[2]
    _add(root, "link", rel="self", type="application/atom+xml", href=self_url)
    _add(root, "link", rel="alternate", type="text/html", href=site or "../")
    _add(_add(root, "author"), "name", "Contributors of rl-resources")
    _add(root, "rights", ", ".join(item.get("title", "") for item in dataset.package.licenses))
    for entry in entries[:MOST_ENTRIES]:
        _add_entry(root, entry, site or "../")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _records(dataset: Dataset, times: LineTimes, released: str) -> Iterator[_Entry]:
    for line, row in enumerate(dataset.records["tuning"], start=2):
        name, author = str(row["script"]).removesuffix(".sh"), str(row["contributor"] or "")
        yield _Entry(name, name, _updated(times, line, released), _facts(row), author)


def _moves(dataset: Dataset, times: LineTimes, released: str) -> Iterator[_Entry]:
    rows = enumerate(dataset.records["moved"], start=2)
    lines = {row["id"]: line for line, row in rows if row["resource"] == "tuning"}
    for move in moves(dataset, "tuning"):
        title = f"{'Moved' if move.moved_to else 'Withdrawn'}: {move.id}"
        updated = _updated(times, lines[move.id], released)
        yield _Entry(move.id, title, updated, move.reason)


def _updated(times: LineTimes, line: int, otherwise: str) -> str:
    return utc(times[line]) if line in times else otherwise


def _facts(row: Record) -> str:
    batch = "unknown" if row["max_batch"] is None else row["max_batch"]
    return (
        f"{row['tag']}, {row['model']}, {row['task']} on {row['gpus']} {row['device']} with "
        f"{row['train']} and {row['infer']}. MaxBatch {batch}, {row['status']}."
    )


def _add_entry(root: ElementTree.Element, entry: _Entry, base: str) -> None:
    item = _add(root, "entry")
    _add(item, "id", _urn(entry.record))
    _add(item, "title", entry.title)
    _add(item, "updated", entry.updated)
    _add(item, "link", rel="alternate", type="text/html", href=f"{base}records/{entry.record}/")
    if entry.author:
        _add(_add(item, "author"), "name", entry.author)
    _add(item, "summary", entry.summary)


def _add(
    parent: ElementTree.Element, name: str, text: str = "", **attributes: str
) -> ElementTree.Element:
    """An element with its text; characters that XML has no place for become visible ones."""
    element = ElementTree.SubElement(parent, name, attributes)
    element.text = printable(text) or None
    return element


def _urn(name: str) -> str:
    return uuid.uuid5(_NAMESPACE, name).urn
