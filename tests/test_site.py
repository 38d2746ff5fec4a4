"""The site: its pages as text, in a browser, under `mkdocs serve`, and its policy."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import pytest
from mkdocs.config import load_config
from playwright.sync_api import Browser, Page, Route

from rl_resources import load
from rl_resources.dataset import read_dataset, script_path
from rl_resources.git import Repository
from rl_resources.package import read_package
from rl_resources.page.rows import HEADERS
from rl_resources.site import record_page
from rl_resources.site.environment import Site, coded, in_bytes, labelled
from rl_resources.site.pages import pages
from website import (
    PAGES,
    RECORD,
    ROOT,
    broken_links,
    build_site,
    copy_checkout,
    edit_row,
    mkdocs_serve,
    read,
    replace_in,
    seconds_until,
    served,
    visited,
)

SCRIPT = Path("examples/tuning/7b") / f"{RECORD}.sh"
KEY_PAGES = ("/", "/sizes/7b/", f"/records/{RECORD}/", "/charts/")
OTHER_PAGES = [page for page in PAGES if page not in KEY_PAGES]
META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
PLANTED = (
    "<script>window.planted = 1</script>"
    "<img src=x alt=x onerror='window.planted = 1'>"
    "<a href='javascript:window.planted = 1'>planted</a>"
    "<style>h1 { display: none }</style>"
)


@cache
def made() -> dict[str, str]:
    """The pages of this checkout as text."""
    return pages(Site(load(ROOT)))


def test_a_build_cannot_delete_the_sources_of_pages() -> None:
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    sources = ROOT / "site"
    assert Path(config.docs_dir).is_relative_to(sources)
    assert not Path(config.site_dir).is_relative_to(sources)
    assert not sources.is_relative_to(config.site_dir)


def test_a_size_without_records_says_how_to_add_one() -> None:
    dataset = load()
    bare = dataclasses.replace(dataset, records={**dataset.records, "tuning": ()})
    text = pages(Site(bare))["sizes/671b.md"]
    assert "No record exists yet" in text
    assert re.search(r'<a href="[^"]*contributing[^"]*">Add it', text)


def test_models_that_differ_only_in_case_are_in_one_order() -> None:
    """The order of a set differs between processes, and so would the page."""
    for text in made().values():
        names = re.findall(r'&amp;model=[^"]*">([^<]*)<', text)
        assert names == sorted(names, key=lambda name: (name.lower(), name))


def test_the_dictionary_has_every_column_and_words_for_every_constraint() -> None:
    dataset = load()
    text = made()["data.md"]
    names = re.findall(r'<th data-label="Column" scope="row"><code>(.*?)</code>', text)
    assert [name.replace("<wbr>", "") for name in names] == [
        field.name
        for resource in dataset.package.resources.values()
        for field in resource.schema.fields
    ]


def test_every_report_is_on_one_page() -> None:
    text = "".join(page for path, page in made().items() if path.startswith("reports/"))
    ids = re.findall(r'<tr id="([^"]+)"', text)
    assert sorted(ids) == sorted(str(row["report"]) for row in load().records["reports"])


@pytest.mark.parametrize("remote", [None, "javascript:alert(2)", "https://example.org/o/r"])
def test_pages_link_to_the_repository_only_where_it_has_a_web_address(remote: str | None) -> None:
    dataset = load(ROOT)
    scripts = {str(record["script"]): "true\n" for record in dataset.records["tuning"]}
    repository = Repository(None, None, remote)
    site = Site(dataset, repository.url)
    page = record_page.pages(site, scripts, lambda _: None, repository)[f"records/{RECORD}.md"]
    link = f'href="https://example.org/o/r/blob/HEAD/{SCRIPT}"'
    assert (link in page) == (remote == "https://example.org/o/r")
    assert "alert(2)" not in page


def test_a_url_that_is_not_https_never_becomes_a_link(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    edit_row(root, "tuning", f"{RECORD}.sh", evidence="javascript:alert(1)", source="http://a/")
    dataset = read_dataset(read_package(root))
    scripts = {
        str(record["script"]): (root / script_path(dataset, record)).read_text()
        for record in dataset.records["tuning"]
    }
    nowhere = Repository(None, None, None)
    made = record_page.pages(Site(dataset), scripts, lambda _: None, nowhere)
    page = made[f"records/{RECORD}.md"]
    assert "<td>javascript:alert(1)</td>" in page
    assert "<td>http://a/</td>" in page


def test_filters_of_templates() -> None:
    rows = '<tr id="a"><th>1</th><td class="b">2</td></tr><tr><td colspan="2">c</td></tr>'
    assert labelled(rows, ["A", '"B"']) == (
        '<tr id="a"><th data-label="A">1</th><td data-label="&#34;B&#34;" class="b">2</td></tr>'
        '<tr><td colspan="2">c</td></tr>'
    )
    assert coded("<a> `b` c`") == "&lt;a&gt; <code>b</code> c`"
    assert [in_bytes(n) for n in (12, 1_234, 56_789, 12_345_678)] == [
        "12 B",
        "1.2 kB",
        "57 kB",
        "12 MB",
    ]


def test_every_link_inside_the_site_leads_somewhere(built: Path) -> None:
    assert broken_links(built) == []


def test_search_finds_sizes_and_no_single_record(built: Path) -> None:
    docs = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    locations = {doc["location"].partition("#")[0] for doc in docs}
    assert "contributing/" in locations
    assert not any(location.startswith("records/") for location in locations)
    assert {doc["location"] for doc in docs if "h800" in doc["text"]} >= {"sizes/7b/", "sizes/70b/"}


@pytest.mark.parametrize("path", PAGES)
def test_a_policy_allows_no_inline_script_unhashed(built: Path, path: str) -> None:
    name = path.removeprefix("/") if path.endswith(".html") else f"{path[1:]}index.html"
    text = (built / name).read_text(encoding="utf-8")
    (policy,) = META.findall(text)
    assert "unsafe" not in policy
    assert text.index("Content-Security-Policy") < text.index("<script")
    inline = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert policy.count("sha256-") == len(inline) > 0


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "path", [*KEY_PAGES, *(pytest.param(path, marks=pytest.mark.nightly) for path in OTHER_PAGES)]
)
def test_a_page_loads_without_errors_from_its_own_origin_and_never_scrolls_sideways(
    browser: Browser, address: str, path: str, width: int
) -> None:
    with visited(browser, address + path, width) as (page, wrong):
        assert wrong == []
        assert page.locator("h1").count() == 1
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(beyond) == 0


def test_the_table_of_a_size_leads_to_its_records(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, wrong):
        headers = page.locator("table.tuning thead th").all_inner_texts()
        assert headers == list(HEADERS)
        row = page.locator("table.tuning tbody").filter(has_text=f"{RECORD}.sh")
        assert "16 disputed" in row.locator("[data-label=MaxBatch]").inner_text()
        page.get_by_role("link", name=f"{RECORD}.sh").click()
        page.wait_for_url(f"**/records/{RECORD}/")
        assert "16 disputed" in page.locator("table.facts tr", has_text="MaxBatch").inner_text()
        assert wrong == []


def test_search_copy_and_dark_mode_work_under_the_policy(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/records/{RECORD}/", width=1440) as (page, wrong):
        page.locator("body").press("/")
        page.get_by_role("textbox", name="Search").press_sequentially("coverage")
        page.locator(".md-search-result__link").first.wait_for()
        page.keyboard.press("Escape")
        page.get_by_title("Copy to clipboard").first.click()
        assert page.evaluate("navigator.clipboard.readText()").startswith("bash examples/")
        page.locator("article .highlight").last.hover()
        page.locator("article .highlight").last.get_by_role("button").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == (ROOT / SCRIPT).read_text().rstrip("\n")
        page.get_by_title("Use the dark colours").click()
        page.locator("body[data-md-color-scheme=slate]").wait_for()
        assert wrong == []


@pytest.mark.parametrize("policy", [True, False])
def test_only_without_the_policy_planted_markup_does_something(
    browser: Browser, address: str, *, policy: bool
) -> None:
    edit = str if policy else partial(META.sub, "")
    with _planted(browser, address, edit) as (page, wrong):
        assert page.evaluate("window.planted") == (None if policy else 1)
        assert page.locator("h1").is_visible() == policy
        assert (sum("Content Security Policy" in line for line in wrong) >= 3) == policy


@contextmanager
def _planted(
    browser: Browser, address: str, edit: Callable[[str], str]
) -> Iterator[tuple[Page, list[str]]]:
    """A page of the site with markup that got past every escaping, edited once more."""
    page = browser.new_page()
    wrong: list[str] = []
    page.on("console", lambda line: wrong.append(line.text))
    page.route("**/sizes/7b/", lambda route: _fulfil(route, edit))
    page.goto(f"{address}/sizes/7b/")
    page.get_by_role("link", name="planted").click()
    yield page, wrong
    page.close()


def _fulfil(route: Route, edit: Callable[[str], str]) -> None:
    reply = route.fetch()
    text = edit(reply.text().replace("</h1>", f"</h1>{PLANTED}", 1))
    route.fulfill(response=reply, body=text)


def test_words_of_a_size_are_questions_to_the_finder(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, wrong):
        page.get_by_text("Ask the finder for one").click()
        page.get_by_role("link", name="h800", exact=True).click()
        page.locator("#finder-headline", has_text=re.compile("7B.*h800", re.I)).wait_for()
        assert wrong == []


@pytest.mark.nightly
def test_nothing_leaves_the_origin_where_repository_and_site_have_an_address(
    browser: Browser, tmp_path: Path
) -> None:
    repository = "https://github.com/example/example"
    known = {"REPOSITORY_URL": repository, "SITE_URL": "https://example.org/x/"}
    assert build_site(ROOT, tmp_path / "site", **known).returncode == 0
    with served(tmp_path / "site") as origin, visited(browser, f"{origin}/") as (page, wrong):
        assert page.locator(f'article a[href="{repository}"]').count() == 1
        assert wrong == []


def test_edits_and_mistakes_show_under_serve(browser: Browser, tmp_path: Path) -> None:
    """The page reloads itself; a mistake shows above the last good pages until it is fixed."""
    root = copy_checkout(tmp_path / "checkout")
    edits = [
        ("records/tuning.csv", ",SimonHuang,", ",SimonOne,", "/sizes/7b/"),
        ("site/templates/rules.md.jinja", "# Rules", "# SimonTwo", "/rules/"),
    ]
    with (
        mkdocs_serve(root, tmp_path / "log") as origin,
        visited(browser, f"{origin}/rules/", until="load") as (page, wrong),
    ):
        for name, old, new, path in edits:
            (mark,) = re.findall("Simon[A-Z][a-z]+", new)
            assert mark not in read(origin + path)
            replace_in(root / name, old, new)
            seconds_until(partial(_shows, origin + path, mark))
        page.get_by_text("SimonTwo").wait_for()
        assert wrong == []
        assert "SimonOne" in read(f"{origin}/api/v1/records.json")
        replace_in(root / "records/tuning.csv", ",h800,", ",h8000,")
        seconds_until(partial(_shows, f"{origin}/", "which have mistakes"))
        assert "records/tuning.csv:5:" in read(f"{origin}/sizes/7b/")
        replace_in(root / "records/tuning.csv", ",h8000,", ",h800,")
        seconds_until(lambda: "which have mistakes" not in read(f"{origin}/"))


def _shows(address: str, mark: str) -> bool:
    return mark in read(address)


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        ("records/tuning.csv", ",h800,", ",h8000,", "records/tuning.csv:5:"),
        ("datapackage.json", "{", "", "datapackage.json:2:"),
        ("site/templates/size.md.jinja", "{{ size.record", "{{ nothing.record", "size.md.jinja:"),
    ],
)
def test_a_mistake_stops_mkdocs_and_leaves_the_last_build_alone(
    tmp_path: Path, path: str, old: str, new: str, message: str
) -> None:
    root = copy_checkout(tmp_path / "checkout")
    target = tmp_path / "site"
    target.mkdir()
    (target / "index.html").write_text("the last build")
    replace_in(root / path, old, new)
    done = build_site(root, target)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (target / "index.html").read_text() == "the last build"
