"""Lists of any length: their pages do not grow, hold everything, and lead to each other."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from playwright.sync_api import Browser

from rl_resources import load
from rl_resources.answer.configurations import configurations
from rl_resources.answer.points import MOST_RUNS, throughputs
from rl_resources.dataset import Dataset
from rl_resources.render import coverage_page, size_page
from rl_resources.render.charts.matrix import MOST_CELLS
from rl_resources.render.charts.pictures import coverage_map, pictures
from rl_resources.render.parts import ROWS, parted
from website import ROOT, broken_links, build_site, served, visited

# The shipped dataset with pages as small as those of many records are large.
MKDOCS_WITH_SMALL_PAGES = (
    sys.executable,
    "-c",
    "from rl_resources.render import coverage_page, size_page;"
    "size_page.ROWS = 1; coverage_page.DEVICES = 20;"
    "from mkdocs.__main__ import cli; cli()",
)
RECORDS = 2 * ROWS + 30
ADDRESS = "https://example.org/docs/x/"


@pytest.fixture(scope="module")
def shipped() -> Dataset:
    return load(ROOT)


@pytest.fixture(scope="module")
def many(shipped: Dataset) -> Dataset:
    """The dataset with more records of one size than two pages hold, one of them untested."""
    row = next(row for row in shipped.records["tuning"] if "7b-" in str(row["script"]))
    tags, tasks = ("MIN", "RECOMMENDED"), ("GRPO", "PPO", "DAPO")
    kinds = [kind for _, kind in zip(range(RECORDS), [*product(tasks, tags)] * 99, strict=False)]
    rows = tuple(
        {**row, "script": f"r{n:03}.sh", "task": task, "tag": tag, "gpus": RECORDS - n}
        for n, (task, tag) in enumerate(kinds)
    )
    rows = (*rows[:-1], {**rows[-1], "status": "untested"})
    return dataclasses.replace(shipped, records={**shipped.records, "tuning": rows})


def of_size(dataset: Dataset) -> dict[str, str]:
    found = size_page.pages(dataset, None)
    return {path: text for path, text in found.items() if path.startswith("sizes/7b")}


def shown(page: str) -> list[str]:
    return re.findall(r'href="[./]*/records/([^/"]+)/"', page)


def test_a_list_is_parted_into_as_few_pages_as_hold_it_and_the_first_keeps_its_address() -> None:
    pages = parted("a/b.md", range(7), 3)
    assert [page.items for page in pages] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert [page.path for page in pages] == ["a/b.md", "a/b/2.md", "a/b/3.md"]
    assert [(page.before, page.after) for page in pages] == [
        ("", "a/b/2/"),
        ("a/b/", "a/b/3/"),
        ("a/b/2/", ""),
    ]
    assert [page.items for page in parted("a.md", (), 3)] == [()]


def test_what_belongs_together_is_not_parted() -> None:
    pages = parted("a.md", ["aaaa", "b", "cc", "d"], 3, len)
    assert [page.items for page in pages] == [("aaaa",), ("b", "cc"), ("d",)]


def test_a_list_that_fits_is_one_page_and_names_no_other(shipped: Dataset) -> None:
    (page,) = of_size(shipped).values()
    assert 'rel="next"' not in page
    assert 'aria-label="Pages"' not in page


def test_every_record_of_a_size_stands_on_one_of_its_pages_and_none_has_more_than_fit(
    many: Dataset,
) -> None:
    pages = of_size(many)
    assert list(pages) == ["sizes/7b.md", "sizes/7b/2.md", "sizes/7b/3.md"]
    records = [shown(page) for page in pages.values()]
    assert [len(names) for names in records] == [ROWS, ROWS, 30]
    assert sorted(chain.from_iterable(records)) == sorted(
        str(row["script"]).removesuffix(".sh") for row in many.records["tuning"]
    )


def test_the_best_of_each_task_and_tag_comes_first_and_what_nobody_ran_last(many: Dataset) -> None:
    names = [name for page in of_size(many).values() for name in shown(page)]
    by_name = {str(row["script"]).removesuffix(".sh"): row for row in many.records["tuning"]}
    first = [by_name[name] for name in names[:6]]
    assert len({(row["task"], row["tag"]) for row in first}) == 6
    assert sorted(row["gpus"] for row in first) == [2, 3, 4, 5, 6, 7], "the least that ran"
    assert by_name[names[-1]]["status"] == "untested"


def test_pages_of_a_list_have_titles_of_their_own_and_a_search_finds_the_first(
    many: Dataset,
) -> None:
    pages = of_size(many)
    titles = [re.search(r'^title: "(.*)"$', page, re.M)[1] for page in pages.values()]  # type: ignore[index]
    assert titles == ["7B models", "7B models, page 2", "7B models, page 3"]
    assert ["exclude: true" in page for page in pages.values()] == [False, True, True]


@pytest.fixture(scope="module")
def everywhere(shipped: Dataset) -> Dataset:
    """The dataset with a report of every device at every size, in more tasks than a page holds."""
    blank: dict[str, Any] = {**dict.fromkeys(shipped.records["reports"][0]), "outcome": "ran"}
    blank |= {"gpus": 8, "basis": "stated", "evidence_kind": "documentation"}
    names = ("size", "task", "device")
    places = product(
        shipped.by_key["sizes"], [*shipped.by_key["tasks"]][:4], shipped.by_key["devices"]
    )
    told = ({**blank, "report": f"r{n}", "source_url": "https://x/"} for n in range(10**6))
    reports = tuple(
        {**report, **dict(zip(names, place, strict=True)), "tokens_per_second_per_gpu": n + 1}
        for n, (report, place) in enumerate(zip(told, places, strict=False))
    )
    return dataclasses.replace(shipped, records={**shipped.records, "reports": reports})


def test_every_table_of_the_coverage_stands_on_one_page_and_the_first_leads_to_all(
    everywhere: Dataset,
) -> None:
    pages = coverage_page.pages(everywhere, None)
    assert len(pages) > 2
    whole = r"^## (\S+) { #(\S+) }$"
    tasks = [name for page in pages.values() for _, name in re.findall(whole, page, re.M)]
    assert len(tasks) == len(set(tasks)) >= 4
    for page in pages.values():
        rows = page.count('<th data-label="Device"')
        assert rows <= coverage_page.DEVICES or len(re.findall(whole, page, re.M)) == 1
    first = pages["coverage.md"]
    for path, page in pages.items():
        for _, task in re.findall(whole, page, re.M):
            there = f"{PurePosixPath(path).stem}/#{task}"
            assert path == "coverage.md" or f'<a id="{task}" href="{there}">' in first


def test_a_map_draws_the_best_covered_devices_and_tells_how_many_it_leaves_out(
    everywhere: Dataset,
) -> None:
    picture = coverage_map(everywhere)
    _, devices = picture.panels
    assert MOST_CELLS - 9 < len(devices.marks) <= MOST_CELLS
    left = len(everywhere.by_key["devices"]) - len(devices.rows)  # type: ignore[union-attr]
    assert picture.beyond == f"{left} devices of which less is known"
    assert len(picture.table.rows) == sum(len(panel.marks) for panel in picture.panels)


def test_of_many_runs_the_fastest_of_each_device_and_model_are_drawn(everywhere: Dataset) -> None:
    known = configurations(everywhere)
    found = throughputs(everywhere, known)
    points = [point for panel in found.panels for point in panel.points]
    assert len(points) == MOST_RUNS
    left_out = sum(count for _, count in found.left_out)
    assert len(points) + left_out + found.beyond == len(known)
    assert {panel.name for panel in found.panels} == set(everywhere.by_key["devices"])
    best = max(
        float(str(row["tokens_per_second_per_gpu"])) for row in everywhere.records["reports"]
    )
    assert best in [point.value for point in points]
    (picture,) = (item for item in pictures(everywhere) if item.name == "throughput")
    assert picture.beyond == f"{found.beyond:,} slower runs of the same models"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the shipped dataset, built strictly with small pages."""
    folder = tmp_path_factory.mktemp("small") / "site"
    done = build_site(ROOT, folder, MKDOCS_WITH_SMALL_PAGES, SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def origin(small: Path) -> Iterator[str]:
    with served(small) as address:
        yield address


def test_every_link_of_parted_pages_leads_somewhere(small: Path) -> None:
    assert (small / "sizes/7b/2/index.html").is_file()
    assert (small / "coverage/2/index.html").is_file()
    assert broken_links(small) == []


@pytest.mark.parametrize("first", ["sizes/7b", "coverage"])
def test_pages_name_their_neighbours_and_no_other_to_programs(small: Path, first: str) -> None:
    link = r'<link rel="(prev|next)" href="([^"]+)">'
    one, two = (
        re.findall(link, (small / page / "index.html").read_text(encoding="utf-8"))
        for page in (first, f"{first}/2")
    )
    assert one == [("next", "2/")]
    assert two[0] == ("prev", "../")


def test_every_page_stands_once_in_the_sitemap_by_the_address_that_it_gives_itself(
    small: Path,
) -> None:
    pages = {
        ADDRESS + path.relative_to(small).as_posix().removesuffix("index.html"): path
        for path in small.rglob("index.html")
    }
    listed = re.findall("<loc>(.*)</loc>", (small / "sitemap.xml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(pages)
    assert {f"{ADDRESS}sizes/7b/2/", f"{ADDRESS}coverage/2/"} <= pages.keys()
    for address, path in pages.items():
        own = re.findall('<link rel="canonical" href="(.*)">', path.read_text(encoding="utf-8"))
        assert own == [address]


def test_what_names_a_whole_list_names_its_first_page_alone(small: Path) -> None:
    feed = (small / "feeds/7b.xml").read_text(encoding="utf-8")
    assert re.findall(r'<link rel="alternate"[^>]* href="([^"]*/sizes/[^"]*)"', feed) == [
        f"{ADDRESS}sizes/7b/"
    ]


def test_pages_of_a_list_offer_the_feed_of_the_whole_by_one_name(small: Path) -> None:
    link = r'title="([^"]+)" href="[./]*/feeds/7b.xml"'
    for page in ("sizes/7b", "sizes/7b/2"):
        text = (small / page / "index.html").read_text(encoding="utf-8")
        assert re.findall(link, text) == ["7B models"]


def test_a_reader_without_scripts_gets_from_page_to_page_and_to_a_task_by_its_old_address(
    browser: Browser, origin: str
) -> None:
    with visited(browser, f"{origin}/sizes/7b/") as (page, wrong):
        page.get_by_role("link", name="the next page").click()
        page.wait_for_url("**/sizes/7b/2/")
        assert page.locator("nav[aria-label=Pages] [aria-current]").inner_text() == "Page\n2"
        page.get_by_role("link", name="the page before").click()
        page.wait_for_url("**/sizes/7b/")
        page.goto(f"{origin}/coverage/#dapo")
        page.locator("#dapo").click()
        page.wait_for_url("**/coverage/*/#dapo")
        assert page.locator("h2#dapo").is_visible()
        assert wrong == []


def test_a_cell_with_records_of_both_tags_fits_a_telephone(
    browser: Browser, origin: str, many: Dataset
) -> None:
    text = coverage_page.pages(many, None)["coverage.md"]
    cells = re.findall(r'<a class="held".*?</a>', text)
    both = next(cell for cell in cells if "MIN" in cell and "RECOMMENDED" in cell)
    with visited(browser, f"{origin}/coverage/", 360) as (page, wrong):
        old = page.locator("a.held").first
        old.evaluate("(old, both) => { old.outerHTML = both }", both)
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(beyond) == 0
        assert wrong == []
