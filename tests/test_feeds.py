"""The Atom feed and `llms.txt`: their form, their links, and hostile text in them."""

import re
from collections.abc import Mapping
from typing import Any

import feedparser  # type: ignore[import-untyped]
import pytest

from rl_resources.dataset import Dataset
from rl_resources.publish import feed
from rl_resources.site.environment import Site
from sample_tree import with_tables
from shipped import DATASET

SCRIPTS = [str(row["script"]).removesuffix(".sh") for row in DATASET.records["tuning"]]
HOSTILE = "]]></summary><script>alert(1)</script> & \x00\x1b \u202e <b>"
URL = "https://example.org/x/"


def feed_of(
    dataset: Dataset, url: str = "", times: Mapping[int, int] | None = None
) -> str:
    return feed(Site(dataset, None, url), times or {})


def parsed(text: str) -> Any:
    found = feedparser.parse(text.encode())
    assert found.version == "atom10"
    assert not found.bozo
    return found


def test_every_record_has_an_entry_newest_first():
    found = parsed(feed_of(DATASET, times={3: 1_800_000_000}))
    entries = found.entries
    newest, *others = entries
    assert newest.title == SCRIPTS[1]
    assert newest.updated == "2027-01-15T08:00:00Z"
    assert found.feed.updated == newest.updated
    released = f"{DATASET.package.created}T00:00:00Z"
    assert {entry.updated for entry in others} == {released}
    titles = [entry.title for entry in entries]
    assert sorted(titles) == sorted(SCRIPTS)
    ids = {entry.id for entry in entries}
    assert len(ids) == len(entries)


def test_text_of_contributors_stays_text():
    row = {**DATASET.records["tuning"][0], "contributor": HOSTILE}
    text = feed_of(with_tables(DATASET, tuning=[row]))
    assert not re.search("<script|<b>|[\x00\x1b\u202e]", text)
    (entry,) = parsed(text).entries
    assert "<script>alert(1)</script>" in entry.author


def test_without_records_the_feed_has_no_entry():
    empty = with_tables(DATASET, tuning=())
    assert parsed(feed_of(empty)).entries == []


@pytest.mark.parametrize(
    ("url", "itself", "site"),
    [
        ("", "all.xml", "../"),
        (URL, f"{URL}feeds/all.xml", URL),
    ],
)
def test_urls_are_absolute_only_where_the_site_has_one(url, itself, site):
    mine = with_tables(DATASET, tuning=DATASET.records["tuning"][:1])
    text = feed_of(mine, url)
    record = f"{site}records/{SCRIPTS[0]}/"
    assert re.findall('href="([^"]+)"', text) == [itself, site, record]


def test_llms_txt_has_the_form_of_the_proposal():
    page = {"title": "Contributing", "description": "How to add a record"}
    site = Site(DATASET, None, URL)
    text = site.page("index.md", "llms.txt", pages={"contributing/": page})
    first, second, _, *sections = text.strip().split("\n\n")
    assert re.fullmatch(r"# .+", first)
    assert re.fullmatch(r"> .+", second)
    for heading, links in zip(sections[::2], sections[1::2], strict=True):
        assert heading.startswith("## ")
        for line in links.splitlines():
            assert re.fullmatch(rf"- \[.+\]\({URL}[^)]*\): .+", line)
    assert f"({URL}contributing/)" in text
    assert f"({URL}api/v1/index.json)" in text
