"""The site: what a browser makes of it, and what `mkdocs build` and `mkdocs serve` do."""

from __future__ import annotations

import csv
import dataclasses
import filecmp
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from mkdocs.config import load_config
from playwright.sync_api import Browser

from rl_resources import load
from rl_resources.dataset import read_dataset, script_path
from rl_resources.git import Repository
from rl_resources.package import CONSTRAINTS, Record, read_package
from rl_resources.site import dictionary, record_page, site, size_page
from rl_resources.site.tuning_table import HEADERS
from website import (
    MKDOCS_WITHOUT_RULES,
    PAGES,
    RECORD,
    ROOT,
    broken_links,
    build_site,
    copy_checkout,
    mkdocs_serve,
    read,
    replace_in,
    seconds_until,
    served,
    visited,
)

SCRIPT = Path("examples/tuning/7b") / f"{RECORD}.sh"

PAYLOAD = (
    "<script>window.hacked=1</script> <img src=x onerror='window.hacked=1'> </td></table></div>"
    " [click](javascript:window.hacked=1) ![i](https://elsewhere.invalid/i.png) **bold** `code`"
    " <https://elsewhere.invalid/> {{ 7*7 }} {% raw %} {#id .c} &lt;b&gt; _it_ \"'> ```"
)
DEVICE_PAYLOAD = "x\"'><script>window.hacked=1</script>*a*`b`[c](javascript:d){{e}}"
SCRIPT_PAYLOAD = (
    "\n#!/usr/bin/env bash\n```\n</code></pre><script>window.hacked=1</script>\n````bash\n"
    "~~~\n<img src=x onerror='window.hacked=1'>\n--8<-- 'x'\n{{ 7*7 }} {% raw %} &amp;\n"
    "cat <<-END\n\ttab\n\tEND\n   \nline with spaces at its end   \n\n\n# [x](javascript:1)\n"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of which one record, its script and its size are full of markup."""
    folder = tmp_path_factory.mktemp("hostile")
    root = copy_checkout(folder / "checkout")
    edit_row(root, "tuning", f"{RECORD}.sh", notes=PAYLOAD, device=DEVICE_PAYLOAD)
    edit_row(root, "sizes", "7B", description=PAYLOAD)
    edit_row(root, "devices", "h100", name=PAYLOAD, interconnect=PAYLOAD)
    (root / SCRIPT).write_text(SCRIPT_PAYLOAD, encoding="utf-8")
    done = build_site(root, folder / "site", MKDOCS_WITHOUT_RULES)
    assert done.returncode == 0, done.stderr
    with served(folder / "site") as origin:
        yield origin


def edit_row(root: Path, table: str, key: str, **cells: str) -> None:
    """Change cells of the row whose first cell is `key`."""
    path = root / "records" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    next(row for row in rows if next(iter(row.values())) == key).update(cells)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_sources_of_pages_cannot_be_deleted_by_a_build() -> None:
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    sources = ROOT / "site"
    assert Path(config.docs_dir).is_relative_to(sources)
    assert not Path(config.site_dir).is_relative_to(sources)
    assert not sources.is_relative_to(config.site_dir)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_without_errors_from_its_own_origin_and_never_scrolls_sideways(
    browser: Browser, address: str, path: str, width: int
) -> None:
    with visited(browser, address + path, width) as (page, wrong):
        assert wrong == []
        assert page.locator("h1").count() == 1
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(beyond) == 0


def test_nothing_leaves_the_origin_where_repository_and_site_have_an_address(
    browser: Browser, tmp_path: Path
) -> None:
    repository = "https://github.com/example/example"
    known = {"REPOSITORY_URL": repository, "SITE_URL": "https://example.org/x/"}
    assert build_site(ROOT, tmp_path / "site", **known).returncode == 0
    with served(tmp_path / "site") as origin, visited(browser, f"{origin}/") as (page, wrong):
        assert page.locator(f'article a[href="{repository}"]').count() == 1
        assert wrong == []


def test_the_table_of_a_size_has_the_nine_headers_in_order(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, _):
        headers = page.locator("table.tuning thead th").all_inner_texts()
        assert headers == list(HEADERS)
        assert len(headers) == 9
        assert page.locator("table.tuning tr:not(.note) td:first-child").count() == 2


def test_a_row_links_to_its_record(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, wrong):
        page.get_by_role("link", name=f"{RECORD}.sh").click()
        page.wait_for_url(f"**/records/{RECORD}/")
        assert wrong == []


def test_a_disputed_figure_never_stands_without_its_doubt(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, _):
        row = page.locator("table.tuning tbody").filter(has_text=f"{RECORD}.sh")
        assert "16 disputed" in row.locator("[data-label=MaxBatch]").inner_text()
        assert "100 as the largest batch that ran" in row.locator(".note").inner_text()
    with visited(browser, f"{address}/records/{RECORD}/") as (page, _):
        fact = page.locator("table.facts tr").filter(has_text="MaxBatch")
        assert "16 disputed" in fact.inner_text()


def test_every_row_of_a_size_shows_how_sure_it_is(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, _):
        rows = page.locator("table.tuning tr:has([data-label=Tag])")
        assert rows.count() == 2
        assert rows.locator(".status").all_inner_texts() == ["reported", "disputed"]


def test_a_size_without_records_says_so_and_how_to_add_one() -> None:
    dataset = load()
    bare = dataclasses.replace(dataset, records={**dataset.records, "tuning": ()})
    text = size_page.pages(bare, None)["sizes/671b.md"]
    assert "No record exists yet" in text
    assert re.search(r'<a href="[^"]*contributing[^"]*">Add it', text)


def test_models_that_differ_in_case_alone_stand_in_one_order() -> None:
    """The order of a set would be another in each process, and so would the page."""
    pages = size_page.pages(load(), None)
    named = {path: re.findall(r'&amp;model=[^"]*">([^<]*)<', text) for path, text in pages.items()}
    assert any(len(set(map(str.lower, names))) < len(names) for names in named.values())
    for names in named.values():
        assert names == sorted(names, key=lambda name: (name.lower(), name))


def test_the_copy_button_copies_the_script(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/records/{RECORD}/") as (page, _):
        assert copied_script(page) == (ROOT / SCRIPT).read_text().rstrip("\n")


def copied_script(page) -> str:  # type: ignore[no-untyped-def]
    """What the copy button of the last code block, the script, puts on the clipboard."""
    page.locator("article .highlight").last.hover()
    page.locator("article .highlight").last.get_by_role("button").click()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


@pytest.mark.parametrize(
    ("path", "places"),
    [
        (f"/records/{RECORD}/", {".remark": PAYLOAD}),
        ("/sizes/7b/", {"table.tuning .note": PAYLOAD, "article > p": PAYLOAD}),
        ("/devices/", {"#row-h100 td:nth-child(2)": PAYLOAD}),
        ("/?size=7B&tag=MIN&gpus=1", {".finder-doubt + .finder-doubt": f"Disputed: {PAYLOAD}"}),
    ],
)
def test_hostile_text_is_shown_literally_and_runs_nothing(
    browser: Browser, hostile: str, path: str, places: dict[str, str]
) -> None:
    with visited(browser, hostile + path) as (page, wrong):
        assert wrong == []
        assert page.evaluate("window.hacked") is None
        assert page.locator("a[href^=javascript], article img").count() == 0
        for place, text in places.items():
            assert page.locator(place).first.inner_text() == text


def test_hostile_text_in_a_title_is_shown_literally(browser: Browser, hostile: str) -> None:
    with visited(browser, f"{hostile}/records/{RECORD}/") as (page, wrong):
        title = f"Qwen2.5-7B-Instruct, GRPO-LoRA on 1*{DEVICE_PAYLOAD.upper()}"
        assert page.locator("h1").inner_text() == title
        assert page.title() == f"{title} - rl-resources"
        assert wrong == []


def test_a_hostile_script_is_copied_character_for_character(browser: Browser, hostile: str) -> None:
    with visited(browser, f"{hostile}/records/{RECORD}/") as (page, _):
        assert copied_script(page) == SCRIPT_PAYLOAD.rstrip("\n")


def test_every_link_inside_the_site_leads_somewhere(built: Path) -> None:
    assert broken_links(built) == []


def test_the_dictionary_tells_every_column_of_every_table(browser: Browser, address: str) -> None:
    names = [
        column.name
        for resource in load(ROOT).package.resources.values()
        for column in dictionary.columns(resource)
    ]
    with visited(browser, f"{address}/data/") as (page, _):
        assert page.locator("table.dictionary tbody th").all_inner_texts() == names


def test_the_dictionary_has_words_for_every_constraint() -> None:
    assert set(dictionary.WORDS) == CONSTRAINTS


def test_records_stay_out_of_the_search_index(built: Path) -> None:
    index = (built / "search" / "search_index.json").read_text()
    assert "contributing/" in index
    assert RECORD not in index.replace(f"examples/tuning/7b/{RECORD}.sh", "")


def test_a_search_for_a_device_or_model_leads_to_the_sizes_that_it_ran(built: Path) -> None:
    docs = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    assert {doc["location"] for doc in docs if "h800" in doc["text"]} >= {"sizes/7b/", "sizes/70b/"}
    assert [doc["location"] for doc in docs if "Qwen2.5-Math-7B" in doc["text"]] == ["sizes/7b/"]


def test_words_of_a_size_are_questions_to_the_finder(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/sizes/7b/") as (page, wrong):
        page.get_by_text("Ask the finder for one").click()
        page.get_by_role("link", name="h800", exact=True).click()
        page.locator("#finder-headline", has_text="7B on h800: ").wait_for()
        assert wrong == []


def test_nothing_links_to_the_repository_where_nobody_knows_it() -> None:
    dataset = load(ROOT)
    scripts = {str(record["script"]): "true\n" for record in dataset.records["tuning"]}
    without = record_page.pages(dataset, scripts, lambda _: None, Repository(None, None, None))
    known = record_page.pages(
        dataset, scripts, lambda _: None, Repository(None, None, "https://example.org/o/r")
    )
    page = f"records/{RECORD}.md"
    assert "/blob/" not in without[page].replace(str(_record(dataset)["source"]), "")
    assert f'href="https://example.org/o/r/blob/HEAD/{SCRIPT}"' in known[page]


def _record(dataset: site.Dataset) -> Record:
    return dataset.by_key["tuning"][f"{RECORD}.sh"]


def test_an_address_that_is_not_https_never_becomes_a_link(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    edit_row(root, "tuning", f"{RECORD}.sh", evidence="javascript:alert(1)", source="http://a/")
    dataset = read_dataset(read_package(root))
    scripts = {
        str(record["script"]): (root / script_path(dataset, record)).read_text()
        for record in dataset.records["tuning"]
    }
    hostile = Repository("0" * 40, None, "javascript:alert(2)")
    page = record_page.pages(dataset, scripts, lambda _: None, hostile)[f"records/{RECORD}.md"]
    assert "<td>javascript:alert(1)</td>" in page
    assert "<td>http://a/</td>" in page
    assert "alert(2)" not in page


def test_two_builds_of_one_checkout_are_byte_for_byte_equal(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    one, other = tmp_path / "one", tmp_path / "other"
    assert [build_site(root, target).returncode for target in (one, other)] == [0, 0]
    names = [files_below(one), files_below(other)]
    assert names[0] == names[1] != []
    _, different, unreadable = filecmp.cmpfiles(one, other, names[0], shallow=False)
    assert (different, unreadable) == ([], [])


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_mistake_stops_the_build_and_leaves_the_last_one_alone(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    target = tmp_path / "site"
    target.mkdir()
    (target / "index.html").write_text("the last build")
    replace_in(root / "records" / "tuning.csv", ",h800,", ",h8000,")
    done = build_site(root, target)
    assert done.returncode != 0
    assert "records/tuning.csv:5:" in done.stderr
    assert "h8000" in done.stderr
    assert (target / "index.html").read_text() == "the last build"


def test_a_broken_descriptor_stops_the_build_with_its_place(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    (root / "datapackage.json").write_text("{")
    done = build_site(root, tmp_path / "site")
    assert done.returncode != 0
    assert "datapackage.json:1:2: is not JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "site").exists()


def test_an_edit_of_row_schema_script_template_or_style_shows_under_serve(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    edits = [
        ("records/tuning.csv", ",SimonHuang,", ",SimonOne,", "/sizes/7b/"),
        ("schema/tuning.json", "Training backend.", "Backend of SimonTwo.", "/data/"),
        (str(SCRIPT), "set -euo pipefail", "# SimonThree", f"/records/{RECORD}/"),
        ("site/templates/index.md.jinja", "Which hardware", "SimonFour", "/"),
        ("site/assets/stylesheets/site.css", ":root,", ".SimonFive,", "/stylesheets/site.css"),
    ]
    with mkdocs_serve(root, tmp_path / "log") as origin:
        for name, old, new, page in edits:
            (mark,) = re.findall("Simon[A-Z][a-z]+", new)
            assert mark not in read(origin + page)
            replace_in(root / name, old, new)
            seconds = seconds_until(partial(_shows, origin + page, mark))
            print(f"{name}: shown after {seconds:.2f} s")  # noqa: T201
        assert "SimonOne" in read(f"{origin}/api/v1/records.json")
        assert read(f"{origin}/api/v1/nothing.json") == ""
        replace_in(root / "records/tuning.csv", ",SimonOne,", ",SimonSix,")
        seconds_until(partial(_shows, f"{origin}/api/v1/records.json", "SimonSix"))


def _shows(address: str, mark: str) -> bool:
    return mark in read(address)


def test_a_mistake_shows_on_the_last_good_pages_under_serve_until_it_is_mended(
    tmp_path: Path,
) -> None:
    root = copy_checkout(tmp_path / "checkout")
    tuning = root / "records" / "tuning.csv"
    descriptor = root / "datapackage.json"
    breaks = [(tuning, ",h800,", ",h80<b>0,"), (descriptor, '"resources"', '"resource"')]
    page = "/sizes/7b/"
    with mkdocs_serve(root, tmp_path / "log") as origin:
        for path, good, bad in breaks:
            replace_in(path, good, bad)
            seconds_until(lambda: 'class="admonition failure mistakes"' in read(origin + page))
            shown = read(origin + page)
            assert path.name in shown
            assert "h80<b>0" not in shown
            assert f"{RECORD}.sh" in "".join(shown.split("<wbr>"))
            assert path.name in (tmp_path / "log").read_text()
            replace_in(path, bad, good)
            seconds_until(lambda: "mistakes" not in read(origin + page))
            assert "2*H800" in read(origin + page)


def test_a_server_started_on_broken_data_shows_the_hand_written_pages_until_they_are_mended(
    tmp_path: Path,
) -> None:
    root = copy_checkout(tmp_path / "checkout")
    replace_in(root / "records" / "tuning.csv", ",h800,", ",h8000,")
    with mkdocs_serve(root, tmp_path / "log") as origin:
        for page in ("/", "/contributing/", "/data/"):
            assert "h8000" in read(origin + page)
        assert "Name the script" in read(f"{origin}/contributing/")
        assert "contains a link" not in (tmp_path / "log").read_text(encoding="utf-8")
        replace_in(root / "records" / "tuning.csv", ",h8000,", ",h800,")
        seconds_until(lambda: "2*H800" in read(f"{origin}/sizes/7b/"))
        assert "mistakes" not in read(f"{origin}/")
