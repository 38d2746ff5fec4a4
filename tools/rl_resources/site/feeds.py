"""Atom feeds of what became of records: one of all, one for each size.

A feed tells what releases did and what has changed since the newest. An entry stays as it is from
the first time that it is published: its time is that of the commit that wrote the row, its id
follows from what happened to which record, and neither changes when it becomes part of a release.
Source of the format: RFC 4287.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from xml.etree import ElementTree

from rl_resources.dataset import Dataset
from rl_resources.history import Release
from rl_resources.package import Record
from rl_resources.query.diff import Change, Row, TableDiff
from rl_resources.query.moves import moves
from rl_resources.repository import moment
from rl_resources.site.api import record_id
from rl_resources.words import printable

FOLDER = "feeds"
ALL = "all"
MOST_ENTRIES = 200
_NAMESPACE = uuid.UUID("2b181242-a48a-4f7d-bbd9-b09cefcc15bc")
_ATOM = "http://www.w3.org/2005/Atom"
_NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one record, and when: `what` in a word, `detail` of this time only.

    `record` has a page unless it is `gone`. `size` is blank where nobody knows it any more.
    `before` is how often the same had happened before.
    """

    record: str
    size: str
    what: str
    detail: str
    time: str
    facts: str = ""
    author: str = ""
    gone: bool = False
    before: int = 0

    @property
    def name(self) -> str:
        """What happened to which record, without when."""
        return f"{self.what} {self.record} {self.detail}"


def feeds(
    dataset: Dataset,
    releases: Sequence[Release],
    moments: Mapping[str, str],
    commit_time: int | None,
    site: str,
) -> dict[str, str]:
    """Every feed by its path. `site` is the address of the site with its closing slash, or blank.

    Without it links are relative to the feed, which Atom allows. `moments` has the time of each
    record that has changed since the newest release, by script; one that it lacks has the time of
    the commit.
    """
    day = max((_midnight(release) for release in releases), default=_NEVER)
    now = day if commit_time is None else moment(commit_time)
    listed = events(dataset, releases, moments, now)
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    feed = partial(_feed, dataset, site, day)
    found = {_path(ALL): feed(ALL, "All records", "", listed)}
    for size in sizes:
        own = [event for event in listed if event.size == size]
        page = f"sizes/{size.lower()}/"
        found[_path(size)] = feed(size, f"Records of {size} models", page, own)
    return found


def _path(name: str) -> str:
    return f"{FOLDER}/{name.lower()}.xml"


def events(
    dataset: Dataset, releases: Sequence[Release], moments: Mapping[str, str], now: str
) -> list[Event]:
    """What happened to records, newest first.

    `moments` and `now` are of what no release holds yet: the time of each record, and of others.
    """
    found: list[Event] = []
    for release in releases[:1]:
        found += _events_of(dataset, release.since or (), moments, now)
    for release in releases:
        found += _events_of(dataset, release.made, release.moments, _midnight(release))
    return sorted(_counted(found), key=attrgetter("time"), reverse=True)


def _counted(newest_first: Sequence[Event]) -> list[Event]:
    """The events, each with how often the same had happened before."""
    seen: Counter[str] = Counter()
    found = []
    for event in reversed(newest_first):
        found.append(replace(event, before=seen[event.name]))
        seen[event.name] += 1
    return found[::-1]


def _midnight(release: Release) -> str:
    return f"{release.day}T00:00:00Z"


def _events_of(
    dataset: Dataset, changes: Sequence[TableDiff], moments: Mapping[str, str], otherwise: str
) -> Iterator[Event]:
    def event(script: str, what: str, detail: str = "") -> Event:
        return _event(dataset, script, what, detail, moments.get(script, otherwise))

    for change in changes:
        if change.name == "tuning":
            yield from (event(row["script"], "Added") for row in change.added)
            for item in change.changed:
                yield event(item.key[0], "Changed", _cells(item.changes))
            for pair in change.renamed:
                yield event(pair.new[0], "Renamed", f"Formerly {_id(pair.old[0])}.")
            for row in change.removed:
                yield _removed(dataset, row, moments.get(row["script"], otherwise))


def _id(script: str) -> str:
    return script.removesuffix(".sh")


def _event(dataset: Dataset, script: str, what: str, detail: str, time: str) -> Event:
    row = dataset.by_key["tuning"].get(script)
    if row is None:
        return Event(_id(script), "", what, detail, time, gone=not _reasons(dataset, script))
    author = str(row["contributor"] or "")
    size = _size(dataset, row["model"])
    return Event(record_id(row), size, what, detail, time, _facts(row), author)


def _removed(dataset: Dataset, row: Row, time: str) -> Event:
    reasons = _reasons(dataset, row["script"])
    size = _size(dataset, row.get("model", ""))
    why = " ".join(reasons)
    return Event(_id(row["script"]), size, "Withdrawn", "", time, why, gone=not reasons)


def _reasons(dataset: Dataset, script: str) -> list[str]:
    """Why a record is gone, as its page says; none where it has no page."""
    return [move.reason for move in moves(dataset, "tuning") if move.id == _id(script)]


def _size(dataset: Dataset, model: object) -> str:
    return str(dataset.by_key["models"].get(model, {}).get("size") or "")


def _facts(row: Record) -> str:
    batch = "unknown" if row["max_batch"] is None else row["max_batch"]
    return (
        f"{row['tag']}, {row['model']}, {row['task']} on {row['gpus']} {row['device']} with "
        f"{row['train']} and {row['infer']}. MaxBatch {batch}, {row['status']}."
    )


def _cells(changes: Sequence[Change]) -> str:
    told = (f"{item.field} from {item.old or 'blank'} to {item.new or 'blank'}" for item in changes)
    return f"Changed: {'; '.join(told)}."


def _feed(
    dataset: Dataset, site: str, day: str, name: str, title: str, page: str, listed: Sequence[Event]
) -> str:
    root = ElementTree.Element("feed", {"xmlns": _ATOM, "xml:lang": "en"})
    base = site or "../"
    _text(root, "id", _urn(f"feed {name.lower()}"))
    _text(root, "title", f"{title}: {dataset.package.title}")
    _text(root, "updated", max((event.time for event in listed), default=day))
    _link(root, "self", f"{site}{_path(name)}" if site else f"{name.lower()}.xml", "atom+xml")
    _link(root, "alternate", base + page)
    _author(root, "Contributors of rl-resources")
    _text(root, "rights", ", ".join(item.get("title", "") for item in dataset.package.licenses))
    for event in listed[:MOST_ENTRIES]:
        _entry(root, event, base)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _entry(root: ElementTree.Element, event: Event, base: str) -> None:
    entry = ElementTree.SubElement(root, "entry")
    _text(entry, "id", _urn(f"{event.name} {event.before}" if event.before else event.name))
    _text(entry, "title", f"{event.what}: {event.record}")
    _text(entry, "updated", event.time)
    section = f"sizes/{event.size.lower()}/" if event.size else ""
    _link(entry, "alternate", base + (section if event.gone else f"records/{event.record}/"))
    if event.author:
        _author(entry, event.author)
    _text(entry, "summary", f"{event.facts} {event.detail}".strip() or event.what)


def _author(parent: ElementTree.Element, name: str) -> None:
    _text(ElementTree.SubElement(parent, "author"), "name", name)


def _link(parent: ElementTree.Element, rel: str, href: str, kind: str = "") -> None:
    words = {"rel": rel, "type": f"application/{kind}" if kind else "text/html", "href": href}
    ElementTree.SubElement(parent, "link", words)


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    """An element; signs that XML has no place for become visible ones."""
    ElementTree.SubElement(parent, name).text = printable(text)


def _urn(name: str) -> str:
    return uuid.uuid5(_NAMESPACE, name).urn
