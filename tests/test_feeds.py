"""The Atom feed: its form, its times, its links, and hostile text in it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import feedparser  # type: ignore[import-untyped]
import pytest

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.site.feed import feed

HOSTILE = "]]></summary><script>alert(1)</script> & \x00\x1b \u202e <b>"
NO_TIMES: Mapping[str, Any] = {"tuning": {}, "moved": {}}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


def changed(dataset: Dataset, table: str, *rows: Mapping[str, Any]) -> Dataset:
    return dataclasses.replace(dataset, records={**dataset.records, table: rows})


def moved(name: str, *to: str) -> dict[str, Any]:
    return {"resource": "tuning", "id": name, "moved_to": to, "version": "1", "reason": HOSTILE}


def parsed(text: str) -> Any:
    found = feedparser.parse(text.encode())
    assert (found.version, found.bozo) == ("atom10", False)
    return found


def test_every_record_has_an_entry_newest_first(dataset: Dataset) -> None:
    times = {"tuning": {3: 1_800_000_000}, "moved": {}}
    found = parsed(feed(dataset, times, ""))
    scripts = [str(row["script"]).removesuffix(".sh") for row in dataset.records["tuning"]]
    newest, *others = found.entries
    assert (newest.title, newest.updated) == (scripts[1], "2027-01-15T08:00:00Z")
    assert found.feed.updated == newest.updated
    assert {entry.updated for entry in others} == {f"{dataset.package.created}T00:00:00Z"}
    assert sorted(scripts) <= sorted(entry.title for entry in found.entries)
    assert len({entry.id for entry in found.entries}) == len(found.entries)


def test_an_id_that_is_gone_has_an_entry_that_says_why(dataset: Dataset) -> None:
    mine = changed(changed(dataset, "tuning"), "moved", moved("a"), moved("b", "c"))
    entries = parsed(feed(mine, NO_TIMES, "https://example.org/x/")).entries
    assert [(entry.title, entry.link) for entry in entries] == [
        ("Withdrawn: a", "https://example.org/x/records/a/"),
        ("Moved: b", "https://example.org/x/records/b/"),
    ]
    assert "\\u0000" in entries[0].summary


def test_text_of_contributors_stays_text(dataset: Dataset) -> None:
    row = {**dataset.records["tuning"][0], "contributor": HOSTILE}
    text = feed(changed(dataset, "tuning", row), NO_TIMES, "")
    assert "<script>" not in text
    (entry, *_) = parsed(text).entries
    assert "<script>alert(1)</script>" in entry.author


def test_urls_are_absolute_only_where_the_site_has_one(dataset: Dataset) -> None:
    mine = changed(changed(dataset, "tuning"), "moved", moved("a"))
    here, there = (feed(mine, NO_TIMES, site) for site in ("", "https://example.org/x/"))
    assert re.findall('href="([^"]+)"', here) == ["all.xml", "../", "../records/a/"]
    assert re.findall('href="([^"]+)"', there) == [
        "https://example.org/x/feeds/all.xml",
        "https://example.org/x/",
        "https://example.org/x/records/a/",
    ]


def test_a_feed_without_any_entry_is_valid(dataset: Dataset) -> None:
    assert parsed(feed(changed(changed(dataset, "tuning"), "moved"), NO_TIMES, "")).entries == []
