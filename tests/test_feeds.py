"""Following along: feeds of what became of records, and tables shown on other sites."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import feedparser  # type: ignore[import-untyped]
import pytest
from lxml import etree

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.history import Release, read_history
from rl_resources.moments import moments
from rl_resources.query.diff import Table, TableDiff, diff
from rl_resources.site.feeds import feeds
from website import ROOT

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


@pytest.fixture(scope="module")
def grammar() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(Path(__file__).with_name("atom.rng")))


@pytest.mark.parametrize("site", ["", "https://example.org/x/"])
def test_every_feed_has_the_form_of_rfc_4287_and_feed_readers_take_it(
    dataset: Dataset, grammar: etree.RelaxNG, site: str
) -> None:
    hostile = change(row(), row(notes=HOSTILE))
    gone = change(row("gone.sh", model="Qwen/Qwen2-7B-Instruct"), None)
    history = released((*change(None, row()), *hostile, *gone))
    for releases in (read_history(ROOT), history, []):
        for path, text in feeds(dataset, releases, {}, COMMIT_TIME, site).items():
            grammar.assertValid(etree.fromstring(text.encode()))
            found = feedparser.parse(text.encode())
            assert (found.version, found.bozo) == ("atom10", False), path
            ids = [entry.id for entry in found.entries]
            assert len(set(ids)) == len(ids)


def test_there_is_a_feed_of_all_and_one_of_each_size(dataset: Dataset) -> None:
    assert set(feeds(dataset, [], {}, None, "")) == {
        "feeds/all.xml",
        *(f"feeds/{str(size['size']).lower()}.xml" for size in dataset.records["sizes"]),
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<updated>20", "<updated>the year 20"),
        ("<id>urn:uuid:", "<id>"),
        ("<title>", "<title type='html'>"),
        ("<summary>", "<summary><b/>"),
        ('rel="self"', 'rel="self" target="_blank"'),
        ("<name>Contributors of rl-resources</name>", "<email>a</email>"),
        ("</entry>", "<id>urn:x:y</id></entry>"),
    ],
)
def test_the_grammar_tells_what_is_no_feed(
    dataset: Dataset, grammar: etree.RelaxNG, old: str, new: str
) -> None:
    text = feeds(dataset, released(change(None, row())), {}, None, "")["feeds/7b.xml"]
    assert old in text
    assert not grammar.validate(etree.fromstring(text.replace(old, new, 1).encode()))


def test_a_record_stands_in_the_feed_of_all_and_in_that_of_its_size_alone(
    dataset: Dataset,
) -> None:
    found = feeds(dataset, released(change(None, row())), {}, COMMIT_TIME, "")
    holding = [path for path, text in found.items() if SCRIPT.removesuffix(".sh") in text]
    assert holding == ["feeds/all.xml", "feeds/7b.xml"]


def test_where_nobody_knows_more_a_change_has_the_day_of_its_release_or_the_time_of_the_commit(
    dataset: Dataset,
) -> None:
    later = change(row(), row(gpus="4"))
    text = feeds(dataset, released(change(None, row()), later), {}, COMMIT_TIME, "")[
        "feeds/all.xml"
    ]
    newest, oldest = entries(text)
    assert (newest["title"][:8], newest["updated"]) == ("Changed:", "2027-01-15T08:00:00Z")
    assert newest["summary"].endswith("Changed: gpus from 2 to 4.")
    assert (oldest["title"][:6], oldest["updated"]) == ("Added:", DAY)


def test_an_entry_stays_as_it_is_through_later_commits_and_a_release(dataset: Dataset) -> None:
    made = change(row(), row(gpus="4"))
    at = {SCRIPT: "2026-11-20T09:00:00Z"}
    (release,) = released(made)
    states = (
        (released((), made), at, COMMIT_TIME),
        (released((), made), at, COMMIT_TIME + 1000),
        ([dataclasses.replace(release, moments=at)], {}, COMMIT_TIME + 2000),
    )
    (one, *others) = (
        entries(feeds(dataset, *state, "https://example.org/")["feeds/all.xml"]) for state in states
    )
    assert others == [one, one]
    assert one[0]["id"].startswith("urn:uuid:")
    assert one[0]["updated"] == at[SCRIPT]


def test_git_tells_when_a_record_came_changed_and_went(tmp_path: Path, dataset: Dataset) -> None:
    (tmp_path / "records").mkdir()
    git = partial(_git, tmp_path)
    git("init", "-q")

    def commit(day: str, table: str, *lines: str) -> None:
        (tmp_path / f"records/{table}.csv").write_text("".join(f"{line}\n" for line in lines))
        git("add", ".")
        git("commit", "-qm", "x", GIT_COMMITTER_DATE=f"2026-11-{day}T12:00:00Z")

    commit("01", "tuning", "script", "a.sh,1", "b.sh,1")
    commit("02", "tuning", "script", "a.sh,1", "b.sh,2")
    commit("03", "moved", "id", "tuning,c", "reports,r")
    commit("04", "other", "anything")
    (tmp_path / "records/tuning.csv").write_text("script\na.sh,1\nb.sh,2\nd.sh,1\n")
    rows = {
        "tuning": tuple({"script": f"{name}.sh"} for name in "abd"),
        "moved": ({"resource": "tuning", "id": "c"}, {"resource": "reports", "id": "r"}),
    }
    mine = dataclasses.replace(dataset, records={**dataset.records, **rows})
    assert moments(tmp_path, mine, change(None, row())) == {
        "a.sh": "2026-11-01T12:00:00Z",
        "b.sh": "2026-11-02T12:00:00Z",
        "c.sh": "2026-11-03T12:00:00Z",
    }
    assert moments(tmp_path, mine, ()) == {}


def _git(root: Path, *arguments: str, **variables: str) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x"]
    command = ["git", "-C", str(root), *names, *arguments]
    subprocess.run(command, check=True, env={**os.environ, **variables})


def test_what_happens_twice_is_two_entries(dataset: Dataset) -> None:
    there, back = change(row(), row(gpus="4")), change(row(gpus="4"), row())
    releases = [
        Release(f"2026.1{month}.0", f"2026-1{month}-01", None, made)
        for month, made in ((2, there), (1, back), (0, there))
    ]
    found = entries(feeds(dataset, releases, {}, None, "")["feeds/7b.xml"])
    assert len({entry["id"] for entry in found}) == 3
    (before,) = entries(feeds(dataset, releases[2:], {}, None, "")["feeds/7b.xml"])
    assert found[2]["id"] == before["id"]


def test_what_is_told_of_a_record_that_went_leads_to_the_page_that_says_why(
    dataset: Dataset,
) -> None:
    moved = {"resource": "tuning", "id": "gone", "moved_to": None, "version": "1", "reason": "Why."}
    mine = dataclasses.replace(dataset, records={**dataset.records, "moved": (moved,)})
    made = (*change(row("gone.sh"), None), *change(None, row("gone.sh")))
    withdrawn, added = entries(feeds(mine, released(made), {}, None, "")["feeds/all.xml"])
    assert (withdrawn["title"], withdrawn["summary"]) == ("Withdrawn: gone", "Why.")
    assert {withdrawn["link"], added["link"]} == {"../records/gone/"}


def test_different_changes_have_different_ids(dataset: Dataset) -> None:
    made = (*change(None, row()), *change(row(), row(gpus="4")), *change(row(), row(gpus="8")))
    text = feeds(dataset, released(made), {}, COMMIT_TIME, "")["feeds/all.xml"]
    assert len({entry["id"] for entry in entries(text)}) == 3


def test_addresses_are_absolute_only_where_the_site_has_one(dataset: Dataset) -> None:
    history = released(change(None, row()))
    here = feeds(dataset, history, {}, None, "")["feeds/7b.xml"]
    there = feeds(dataset, history, {}, None, "https://example.org/x/")["feeds/7b.xml"]
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
        for entry in entries(feeds(dataset, released(gone), {}, None, "")["feeds/all.xml"])
    ]
    assert titles == ["Withdrawn: gone", f"Renamed: {SCRIPT.removesuffix('.sh')}"]


def test_without_a_release_or_a_commit_every_feed_is_empty_and_valid(dataset: Dataset) -> None:
    for text in feeds(dataset, [], {}, None, "").values():
        assert entries(text) == []
        assert not feedparser.parse(text.encode()).bozo


def test_hostile_text_stays_text_in_a_feed(dataset: Dataset) -> None:
    made = change(row(), row(notes=HOSTILE))
    (entry,) = entries(feeds(dataset, released(made), {}, None, "")["feeds/all.xml"])
    assert "<script>alert(1)</script>" in entry["summary"]
    assert "\\u0000" in entry["summary"]
