"""The site: its pages as text, in a browser, under `mkdocs serve`, and its policy."""

import json
import re
from functools import cache
from itertools import product

import pytest
from lxml import html
from playwright.sync_api import Route

from cases import cases, read_cases
from rl_resources.build import build
from rl_resources.site.environment import Site
from rl_resources.site.pages import pages
from sample_tree import with_tables
from shipped import DATASET
from website import PAGES, RECORD, ROOT, broken_links, served, visited

WIDTHS = (360, 768, 1120, 1440)
SHOW_ALL = """(found) => {
    for (const one of found) one.tagName === "BUTTON" ? one.click() : (one.open = true);
}"""
META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
PLANTED = (ROOT / "tests/hostile/planted.html").read_text()


@cache
def made() -> dict[str, str]:
    """The pages of this checkout as text."""
    return pages(Site(DATASET))


def test_a_size_without_records_says_how_to_add_one():
    bare = with_tables(DATASET, tuning=(), reports=())
    text = pages(Site(bare))["sizes/671b.md"]
    assert "No record exists yet" in text
    assert re.search(r'<a href="[^"]*contributing[^"]*">Add it', text)


def test_the_dictionary_has_every_column():
    page = made()["data.md"].replace("<wbr>", "")
    columns = []
    for resource in DATASET.package.resources.values():
        columns += resource.schema.names
    head = r'<th data-label="Column" scope="row"><code>(.*?)</code>'
    assert re.findall(head, page) == columns


def test_every_report_is_on_one_page():
    ids = []
    for path, page in made().items():
        if path.startswith("reports/"):
            ids += re.findall(r'<tr id="([^"]+)"', page)
    reports = map(str, DATASET.by_key["reports"])
    assert sorted(ids) == sorted(reports)
    listed = made()["reports/7b.md"].count('<tr id="')
    assert f"{listed} reports" in made()["index.md"]
    assert f"{listed} reports" in made()["sizes/7b.md"]


# The built site


def test_every_link_inside_the_site_leads_somewhere(built):
    assert broken_links(built) == []


def test_a_device_is_written_with_its_name_outside_code(built):
    devices = "|".join(map(re.escape, DATASET.by_key["devices"]))
    written = re.compile(
        rf"(?<![\w./-])(?:{devices})(?![\w./-])|(?<!\w)[0-9]+\*[A-Z][A-Z0-9-]+"
    )
    contributed = set()
    for row in (*DATASET.records["reports"], *DATASET.records["tuning"]):
        contributed |= set(map(str, row.values()))
    # What scripts say has examples of what to write.
    codes = " or ".join(
        f"ancestor::{name}" for name in ("code", "pre", "script", "template")
    )
    outside_code = f"//text()[not({codes})]"
    read = f"{outside_code} | //@title | //@aria-label | //@placeholder | //@content"
    found = []
    for path in built.rglob("*.html"):
        texts = html.parse(path).xpath(read)
        ids = [text for text in texts if written.search(text)]
        found += [
            f"{path.parent.name}: {text}"
            for text in ids
            if text.strip() not in contributed
        ]
    assert found == []


def test_search_finds_sizes_and_no_single_record(built):
    text = (built / "search/search_index.json").read_text()
    index = json.loads(text)
    locations = {doc["location"].partition("#")[0] for doc in index["docs"]}
    assert "contributing/" in locations
    assert "sizes/7b/" in locations
    assert [place for place in locations if place.startswith("records/")] == [
        "records/"
    ]


def test_a_policy_allows_no_inline_script_unhashed(built):
    for path in PAGES:
        file = built / path.removeprefix("/")
        if file.is_dir():
            file /= "index.html"
        text = file.read_text()
        (policy,) = META.findall(text)
        assert "unsafe" not in policy
        assert text.index("Content-Security-Policy") < text.index("<script")
        inline = re.findall(r"<script>(.*?)</script>", text, re.S)
        assert inline
        assert policy.count("sha256-") == len(inline)


EVERY_WIDTH = [
    pytest.param(*at, marks=pytest.mark.nightly) for at in product(PAGES, WIDTHS)
]


@pytest.mark.parametrize(
    ("path", "width"), [*read_cases("site")["widths"].items(), *EVERY_WIDTH]
)
def test_a_page_loads_from_its_own_origin_and_has_eight_screens_of_a_phone_and_its_width_at_most(
    visit, path, width
):
    with visit(path, width) as page:
        assert page.locator("h1").count() == 1
        if width == 360:
            height = page.evaluate("document.documentElement.scrollHeight")
            assert height <= 8 * 740
        page.locator("details.fold, button.md-button").evaluate_all(SHOW_ALL)
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(beyond) == 0


def test_without_javascript_tables_and_a_command_stand_for_finder_and_estimate(
    browser, address
):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/estimate/")
    assert not page.locator("#estimate").is_visible()
    assert page.get_by_text("rl-resources estimate --model").first.is_visible()
    page.goto(f"{address}/")
    assert not page.locator("#finder").is_visible()
    assert page.locator("#finder-headline").inner_text().startswith("Yes: ")
    for name in ("full", "lora", "qlora"):
        page.locator(f".fewest-switch label:has([value={name}])").click()
        shown = page.locator(".fewest-table:visible")
        assert shown.get_attribute("class") == f"fewest-table fewest-table--{name}"
        assert shown.locator("td").count() == 54
    page.get_by_role("link", name="All records by size").click()
    page.wait_for_url("**/sizes/")
    sizes = page.get_by_role("link", name="7B")
    assert sizes.count() > 0
    context.close()


@pytest.mark.parametrize(
    "target", ["rules/#missing-dollar", "data/#trials", "devices/#row-h100"]
)
def test_a_link_into_a_closed_drawer_opens_it(visit, target):
    with visit(f"/{target}") as page:
        row = page.locator(":target")
        assert row.is_visible()
        assert row.evaluate("(row) => row.getBoundingClientRect().top") < 800


def test_a_size_leads_to_its_records_and_its_words_to_the_finder(visit):
    with visit("/sizes/7b/") as page:
        engines = page.locator("[data-label=Infer]")
        assert "vllm 0.8.3" in engines.all_text_contents()
        page.get_by_role("button", name="Show all").click()
        page.get_by_role("link", name=f"{RECORD}.sh").click()
        page.wait_for_url(f"**/records/{RECORD}/")
        page.go_back()
        page.get_by_role("link", name="Ask the finder").click()
        page.locator(
            "#finder-headline", has_text="The least known to run it"
        ).wait_for()


def test_copy_and_dark_mode_work_under_the_policy(visit):
    with visit(f"/records/{RECORD}/", width=1440) as page:
        page.get_by_title("Copy to clipboard").first.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("bash examples/")
        block = page.locator("article .highlight").last
        block.hover()
        block.get_by_role("button").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        script = DATASET.script(f"{RECORD}.sh").read_text()
        assert copied == script.rstrip("\n")
        page.get_by_title("Use the dark colors").click()
        page.locator("body[data-md-color-scheme=slate]").wait_for()


@cases("site", "search")
def test_search_works_under_the_policy_and_leads_to_the_right_page(visit, words, page):
    with visit("/data/", width=1440) as tab:
        tab.locator("body").press("/")
        tab.get_by_role("textbox", name="Search").press_sequentially(words)
        tab.locator(f".md-search-result__link[href$='{page}']").wait_for()


def test_the_size_of_a_download_stands_in_its_sentence(visit):
    with visit("/data/", width=1440) as page:
        size = page.locator("li > .said[title$=bytes]").first
        assert size.evaluate("one => getComputedStyle(one).display") == "inline"


def test_examples_name_the_origin_of_their_page(visit, address):
    for path in ("/recipes/", f"/records/{RECORD}/"):
        with visit(path) as page:
            code = "\n".join(page.locator("article pre").all_text_contents())
            assert f"{address}/" in code
            assert "localhost" not in code


def test_under_the_policy_planted_markup_does_nothing(browser, address):
    def plant(route: Route) -> None:
        reply = route.fetch()
        text = reply.text()
        body = text.replace("</h1>", f"</h1>{PLANTED}", 1)
        route.fulfill(response=reply, body=body)

    refused = []
    page = browser.new_page()
    page.on("console", lambda line: refused.append(line.text))
    page.route("**/sizes/7b/", plant)
    page.goto(f"{address}/sizes/7b/")
    page.get_by_role("link", name="planted").click()
    assert page.evaluate("window.planted") is None
    assert page.locator("h1").is_visible()
    by_policy = [line for line in refused if "Content Security Policy" in line]
    assert len(by_policy) >= 3
    page.close()


@pytest.mark.nightly
def test_with_addresses_pages_link_to_the_repository_and_nothing_leaves_the_origin(
    browser, tmp_path, monkeypatch
):
    repository = "https://github.com/example/example"
    monkeypatch.setenv("REPOSITORY_URL", repository)
    monkeypatch.setenv("SITE_URL", "https://example.org/x/")
    site = build(ROOT, tmp_path)
    with served(site) as origin, visited(browser, f"{origin}/") as page:
        links = page.locator(f'article a[href="{repository}"]')
        assert links.count() == 1
        for path in ("/", "/devices/"):
            page.goto(f"{origin}{path}")
            footer = page.locator(".md-footer").get_by_role("link", name="Repository")
            assert footer.get_attribute("href") == repository
            report = page.get_by_role("link", name="Report a mistake")
            mistake = report.get_attribute("href")
            assert mistake.startswith(f"{repository}/issues/new?")
        assert mistake.endswith(
            "template=mistake.yml&where=https%3A//example.org/x/devices/"
        )
