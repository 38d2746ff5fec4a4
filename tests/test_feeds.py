"""Following along: feeds of what became of records, and tables shown on other sites."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import feedparser  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import Browser

from rl_resources import load
from rl_resources.answer.diff import Table, TableDiff, diff
from rl_resources.dataset import Dataset
from rl_resources.history import Release
from rl_resources.render import embed
from rl_resources.render.feeds import feeds

ATOM = "{http://www.w3.org/2005/Atom}"
SCRIPT = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"
DAY = "2026-11-21T00:00:00Z"
COMMIT_TIME = 1_800_000_000
HOSTILE = "]]></summary><script>alert(1)</script> & \x00\x1b \u202e <b>"


def change(old: dict[str, str] | None, new: dict[str, str] | None) -> tuple[TableDiff, ...]:
    columns = tuple((new or old or {}).keys())
    tables = [
        {"tuning": Table(("script",), columns, tuple([row] if row else []))} for row in (old, new)
    ]
    return tuple(diff(*tables))


def row(script: str = SCRIPT, **cells: str) -> dict[str, str]:
    return {"script": script, "gpus": "2", "notes": "", **cells}


def released(
    made: tuple[TableDiff, ...] = (), since: tuple[TableDiff, ...] | None = ()
) -> list[Release]:
    return [Release("2026.11.0", "2026-11-21", None, made, since)]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


def entries(text: str) -> list[dict[str, str]]:
    return [
        {part.tag.removeprefix(ATOM): part.text or part.get("href", "") for part in entry}
        for entry in ElementTree.fromstring(text).iter(f"{ATOM}entry")  # noqa: S314
    ]


def test_a_feed_is_atom_that_a_reader_of_feeds_takes_without_complaint(dataset: Dataset) -> None:
    made = change(None, row())
    for path, text in feeds(dataset, released(made), COMMIT_TIME, "").items():
        found = feedparser.parse(text.encode())
        assert (found.version, found.bozo) == ("atom10", False), path
        root = ElementTree.fromstring(text)  # noqa: S314
        for name in ("id", "title", "updated"):
            assert len(root.findall(f"{ATOM}{name}")) == 1
        for entry in root.iter(f"{ATOM}entry"):
            for name in ("id", "title", "updated", "summary"):
                assert len(entry.findall(f"{ATOM}{name}")) == 1
    assert set(feeds(dataset, [], None, "")) == {
        "feeds/all.xml",
        *(f"feeds/{str(size['size']).lower()}.xml" for size in dataset.records["sizes"]),
    }


def test_a_record_stands_in_the_feed_of_all_and_in_that_of_its_size_alone(
    dataset: Dataset,
) -> None:
    found = feeds(dataset, released(change(None, row())), COMMIT_TIME, "")
    holding = [path for path, text in found.items() if SCRIPT.removesuffix(".sh") in text]
    assert holding == ["feeds/all.xml", "feeds/7b.xml"]


def test_a_released_change_has_the_day_of_its_release_and_a_later_one_the_time_of_the_commit(
    dataset: Dataset,
) -> None:
    later = change(row(), row(gpus="4"))
    text = feeds(dataset, released(change(None, row()), later), COMMIT_TIME, "")["feeds/all.xml"]
    newest, oldest = entries(text)
    assert (newest["title"][:8], newest["updated"]) == ("Changed:", "2027-01-15T08:00:00Z")
    assert newest["summary"].endswith("Changed: gpus from 2 to 4.")
    assert (oldest["title"][:6], oldest["updated"]) == ("Added:", DAY)


def test_an_entry_keeps_its_id_when_its_change_is_released(dataset: Dataset) -> None:
    made = change(row(), row(gpus="4"))
    before = feeds(dataset, released((), made), COMMIT_TIME, "")["feeds/all.xml"]
    after = feeds(dataset, released(made), COMMIT_TIME, "https://example.org/")["feeds/all.xml"]
    ((one,), (other,)) = entries(before), entries(after)
    assert one["id"] == other["id"]
    assert one["id"].startswith("urn:uuid:")
    assert one["updated"] != other["updated"]


def test_different_changes_have_different_ids(dataset: Dataset) -> None:
    made = (*change(None, row()), *change(row(), row(gpus="4")), *change(row(), row(gpus="8")))
    text = feeds(dataset, released(made), COMMIT_TIME, "")["feeds/all.xml"]
    assert len({entry["id"] for entry in entries(text)}) == 3


def test_addresses_are_absolute_only_where_the_site_has_one(dataset: Dataset) -> None:
    history = released(change(None, row()))
    here = feeds(dataset, history, None, "")["feeds/7b.xml"]
    there = feeds(dataset, history, None, "https://example.org/x/")["feeds/7b.xml"]
    page = f"records/{SCRIPT.removesuffix('.sh')}/"
    assert re.findall('href="([^"]+)"', here) == ["7b.xml", "../sizes/7b/", f"../{page}"]
    assert re.findall('href="([^"]+)"', there) == [
        "https://example.org/x/feeds/7b.xml",
        "https://example.org/x/sizes/7b/",
        f"https://example.org/x/{page}",
    ]


def test_a_renamed_and_a_withdrawn_record_are_told(dataset: Dataset) -> None:
    model = {"model": "Qwen/Qwen2-7B-Instruct"}
    gone = (
        *change(row("gone.sh", **model), None),
        *change(row("old.sh", notes="n"), row(notes="n")),
    )
    titles = [
        entry["title"]
        for entry in entries(feeds(dataset, released(gone), None, "")["feeds/all.xml"])
    ]
    assert titles == ["Withdrawn: gone", f"Renamed: {SCRIPT.removesuffix('.sh')}"]


def test_without_a_release_or_a_commit_every_feed_is_empty_and_valid(dataset: Dataset) -> None:
    for text in feeds(dataset, [], None, "").values():
        assert entries(text) == []
        assert not feedparser.parse(text.encode()).bozo


def test_hostile_text_stays_text_in_a_feed(dataset: Dataset) -> None:
    made = change(row(), row(notes=HOSTILE))
    (entry,) = entries(feeds(dataset, released(made), None, "")["feeds/all.xml"])
    assert "<script>alert(1)</script>" in entry["summary"]
    assert "\\u0000" in entry["summary"]


class Elements(HTMLParser):
    """Names of elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_an_embedded_table_has_no_script_and_no_style_attribute_even_of_hostile_text(
    dataset: Dataset,
) -> None:
    tuning = [{**item, "contributor": HOSTILE} for item in dataset.records["tuning"]]
    hostile = dataclasses.replace(dataset, records={**dataset.records, "tuning": tuple(tuning)})
    for text in embed.files(hostile, "").values():
        found = Elements(text)
        assert not found.names & {"script", "b", "img", "link", "form", "iframe"}
        assert not {name for name in found.attributes if name.startswith("on")} | (
            found.attributes & {"style"}
        )


def test_an_embedded_table_follows_the_colours_of_its_reader(
    browser: Browser, dataset: Dataset
) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_content(embed.files(dataset, "https://example.org/")["embed/7b.html"])
        assert page.locator("tbody tr").count() >= 2
        links = page.locator("a").evaluate_all("links => links.map(link => link.href)")
        assert all(link.startswith("https://example.org/") for link in links)
        colour = "getComputedStyle(document.querySelector('.rl-resources')).backgroundColor"
        grounds.append(page.evaluate(colour))
        context.close()
    assert grounds[0] != grounds[1]
