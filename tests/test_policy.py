"""The Content-Security-Policy: nothing runs or loads but what the site ships."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from website import (
    PAGES,
    RECORD,
    copy_checkout,
    mkdocs_serve,
    replace_in,
    visited,
)

META_TAG = "meta[http-equiv=Content-Security-Policy]"
META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
PLANTED = (
    "<script>window.planted = 1</script>"
    "<img src=x alt=x onerror='window.planted = 1'>"
    "<a href='javascript:window.planted = 1'>planted</a>"
    "<style>h1 { display: none }</style>"
)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_carries_a_policy_that_allows_no_inline_script_unhashed(
    built: Path, path: str
) -> None:
    name = path.removeprefix("/") if path.endswith(".html") else f"{path[1:]}index.html"
    text = (built / name).read_text(encoding="utf-8")
    (policy,) = META.findall(text)
    assert "unsafe" not in policy
    assert text.index("Content-Security-Policy") < text.index("<script")
    inline = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert policy.count("sha256-") == len(inline) > 0


def test_a_planted_script_or_style_does_nothing(browser: Browser, address: str) -> None:
    with _planted(browser, address, lambda text: text) as (page, wrong):
        assert page.evaluate("window.planted") is None
        assert page.locator("h1").is_visible()
        assert sum("Content Security Policy" in line for line in wrong) >= 3


def test_without_the_policy_what_is_planted_would_run(browser: Browser, address: str) -> None:
    with _planted(browser, address, partial(META.sub, "")) as (page, _):
        assert page.evaluate("window.planted") == 1
        assert not page.locator("h1").is_visible()


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
    assert PLANTED in text
    route.fulfill(response=reply, body=text)


def test_search_copy_and_colours_work_under_the_policy(browser: Browser, address: str) -> None:
    with visited(browser, f"{address}/records/{RECORD}/", width=1440) as (page, wrong):
        page.locator("body").press("/")
        page.get_by_role("textbox", name="Search").press_sequentially("coverage")
        page.locator(".md-search-result__link").first.wait_for()
        page.keyboard.press("Escape")
        page.get_by_title("Copy to clipboard").first.click()
        page.get_by_title("Use the dark colours").click()
        page.locator("body[data-md-color-scheme=slate]").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith("bash examples/")
        assert wrong == []


def test_a_preview_reloads_itself_under_its_policy(browser: Browser, tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "checkout")
    with (
        mkdocs_serve(root, tmp_path / "log") as origin,
        visited(browser, f"{origin}/rules/", until="load") as (page, wrong),
    ):
        replace_in(root / "site/templates/rules.md.jinja", "# Rules", "# All the rules there are")
        page.get_by_text("All the rules there are").wait_for()
        assert page.locator(META_TAG).count() == 1
        assert wrong == []
