"""Tables on the site: sorted and filtered by mouse and keyboard, cards on a phone."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize

from cases import cases
from website import PAGES, visited

NUMBERS = count()
REPORTS = "/reports/7b/"
FACTS = "(rows) => rows.map(({ dataset }) => ({ ...dataset }))"


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An empty page for tables of our own, below the modules of the site."""
    blank = browser.new_page(base_url=f"{address}/javascripts/")
    blank.route("**/blank", lambda route: route.fulfill(body="", content_type="text/html"))
    blank.goto("blank")
    yield blank
    blank.close()


def with_script(page: Page, content: str) -> None:
    """Show a page with the script at work, which a module is once for each URL."""
    page.set_content(content)
    page.add_script_tag(url=f"tables.js?{next(NUMBERS)}", type="module")


def table(page: Page, columns: dict[str, Sequence[str]], rows: str = "") -> Locator:
    """A table of these columns, with the script at work."""
    heads = "".join(f"<th>{name}</th>" for name in columns)
    each_row = zip(*columns.values(), strict=True)
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in each_row]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    with_script(
        page,
        f"<article><h1>Things</h1><table><thead><tr>{heads}</tr></thead>"
        f"{rows or f'<tbody>{body}</tbody>'}</table></article>",
    )
    return page.locator("table")


def order(found: Locator, column: int = 1) -> list[str]:
    return found.locator(f"tbody tr:not([hidden]) > :nth-child({column})").all_text_contents()


@cases("tables", "sorted")
def test_a_column_sorts_as_a_reader_expects(page, cells, ascending):
    found = table(page, {"Figure": cells})
    button = found.get_by_role("button", name="Figure")
    button.click()
    assert order(found) == ascending
    filled = [cell for cell in ascending if cell]
    button.click()
    assert order(found) == filled[::-1] + [""] * (len(cells) - len(filled))
    button.click()
    assert order(found) == cells


def test_equal_cells_keep_the_order_given_in_either_direction(page):
    found = table(page, {"Task": ["b", "a", "b", "a"], "Place": ["1", "2", "3", "4"]})
    button = found.get_by_role("button", name="Task")
    button.click()
    assert order(found, 2) == ["2", "4", "1", "3"]
    button.click()
    assert order(found, 2) == ["1", "3", "2", "4"]


def test_a_header_is_a_button_for_the_keyboard_that_says_its_order(page):
    found = table(page, {"Task": ["b", "a"], "Place": ["1", "2"]})
    header = found.locator("th").first
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.textContent") != "Task":
        page.keyboard.press("Tab")
    reported = []
    for _ in range(3):
        page.keyboard.press("Enter")
        reported.append(header.get_attribute("aria-sort"))
    assert reported == ["ascending", "descending", None]


@cases("tables", "together")
def test_rows_that_belong_together_stay_together(page, body, ascending):
    bodies = "".join(f"<tbody>{body.replace('NAME', name)}</tbody>" for name in "ba")
    found = table(page, {"Name": []}, bodies)
    found.get_by_role("button", name="Name").click()
    assert order(found) == ascending


def test_a_table_of_one_row_or_marked_as_plain_is_left_alone(page):
    assert table(page, {"Name": ["a"]}).get_by_role("button").count() == 0
    with_script(
        page,
        "<article data-plain><table><thead><tr><th>a</th></tr></thead>"
        "<tbody><tr><td>1</td></tr><tr><td>2</td></tr></tbody></table></article>",
    )
    assert page.get_by_role("button").count() == 0


def test_every_word_of_the_filter_must_stand_in_the_row_and_the_count_is_reported(browser, address):
    with visited(browser, address + REPORTS) as page:
        tools = page.get_by_role("group", name="Filter and order: Reports of 7B models")
        page.get_by_role("button", name="Show all").click()
        every = page.locator("table.reports tbody tr").count()
        assert tools.get_by_role("status").inner_text() == f"{every} rows"
        tools.get_by_role("searchbox", name="Filter").fill("H100 grpo")
        shown = page.locator("table.reports tbody tr:visible").all_text_contents()
        assert 0 < len(shown) < every
        assert all("h100" in row.lower() and "grpo" in row.lower() for row in shown)
        assert tools.get_by_role("status").inner_text() == f"{len(shown)} of {every} rows"
        page.keyboard.press("Escape")
        assert page.locator("table.reports tbody tr:visible").count() == every


def test_a_link_to_a_row_that_the_filter_hides_shows_it(browser, address):
    with visited(browser, address + REPORTS) as page:
        row = page.locator("table.reports tbody tr").last
        page.get_by_role("searchbox", name="Filter").fill("no row has these words")
        assert not row.is_visible()
        page.evaluate(f"location.hash = '{row.get_attribute('id')}'")
        row.wait_for()
        assert page.get_by_role("searchbox", name="Filter").input_value() == ""


def test_lists_above_a_table_choose_by_facts_and_come_from_the_url(browser, address):
    query = "?task=GRPO&outcome=out+of+memory"
    with visited(browser, f"{address}{REPORTS}{query}") as page:
        rows = page.locator("table.reports tbody tr:visible")
        found = [(row["task"], row["outcome"]) for row in rows.evaluate_all(FACTS)]
        assert {*found} == {("GRPO", "out of memory")}
        page.get_by_role("combobox", name="Weights").select_option("full fine-tuning")
        page.get_by_role("button", name="Resource").click()
        asked = {"task": "GRPO", "outcome": "out of memory", "weights": "full fine-tuning"}
        assert dict(parse_qsl(urlsplit(page.url).query)) == asked | {"order": "2 ascending"}
        assert {row["weights"] for row in rows.evaluate_all(FACTS)} == {"full fine-tuning"}
        page.get_by_text("Columns", exact=True).click()
        page.get_by_role("checkbox", name="Batch").uncheck()
        assert not page.locator("[data-label=Batch]").filter(visible=True).count()
        assert not page.get_by_role("columnheader", name="Batch").is_visible()
        count = page.locator(".table-tools output").inner_text()
        page.goto(f"{address}/sizes/")
        page.go_back()
        assert page.get_by_role("combobox", name="Weights").input_value() == "full fine-tuning"
        assert page.locator(".table-tools output").inner_text() == count
        assert page.get_by_role("columnheader", name="Batch").is_visible()
        page.go_back()
        assert "by Resource" not in page.locator(".table-tools output").inner_text()
        page.go_back()
        assert page.get_by_role("combobox", name="Weights").input_value() == ""
        assert page.get_by_role("combobox", name="Task").input_value() == "GRPO"
        assert page.locator(".table-tools output").inner_text() != count


def test_a_table_begins_with_a_few_rows_and_a_link_to_another_row_shows_all(browser, address):
    with visited(browser, address + REPORTS) as page:
        rows = page.locator("table.reports tbody tr")
        assert rows.filter(visible=True).count() == 8
        last = rows.last.get_attribute("id")
    with visited(browser, f"{address}{REPORTS}?task=PPO#{last}") as page:
        assert page.locator(f"[id='{last}']").is_visible()


@pytest.mark.nightly
@pytest.mark.parametrize("path", PAGES)
def test_every_table_of_rows_can_be_ordered_on_a_wide_screen_and_on_a_phone(browser, address, path):
    plain = ":not([data-plain], [data-plain] *)"
    several = f"article table{plain}:has(thead):has(tbody tr ~ tr, tbody ~ tbody)"
    with visited(browser, address + path, 1440) as page:
        tables = page.locator(several).count()
        assert page.locator(".table-order select").count() == tables
        for width, handle in ((1440, f"{several} thead button"), (360, ".table-order select")):
            page.set_viewport_size({"width": width, "height": 740})
            in_sight = page.locator(several).filter(visible=True).count()
            assert page.locator(handle).filter(visible=True).count() >= in_sight


def test_a_phone_orders_cards_by_a_list_of_columns(browser, address):
    with visited(browser, address + REPORTS, 360) as page:
        page.get_by_role("combobox", name="Order").select_option("Resource descending")
        gpus = page.locator("[data-label=Resource]").all_text_contents()
        counts = [int(re.match(r"\d+", text)[0]) for text in gpus]  # type: ignore[index]
        assert counts == sorted(counts, reverse=True)
        assert "by Resource descending" in page.get_by_role("status").first.inner_text()


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scripting", [True, False])
def test_a_table_without_its_script_shows_every_row_and_no_dead_controls(
    browser, address, width, scripting
):
    viewport: ViewportSize = {"width": width, "height": 740}
    context = browser.new_context(java_script_enabled=scripting, viewport=viewport)
    page = context.new_page()
    page.route("**/tables.js", lambda route: route.abort())
    page.goto(address + REPORTS)
    rows = page.locator("table.reports tbody tr")
    assert rows.filter(visible=True).count() == rows.count() > 200
    assert page.locator(".table-tools, thead button").count() == 0
    context.close()
