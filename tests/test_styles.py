"""The style sheets as one."""

from __future__ import annotations

import re
from pathlib import Path

from rl_resources.site.styles import classes_of_page, one_sheet, words_of_script


def test_rules_for_classes_that_no_page_has_are_left_out() -> None:
    sheet = one_sheet([".card { color: red }", ".tab b { color: blue }"], {"card"})
    assert sheet == ".card{color:red}"


def test_a_rule_stays_that_is_for_elements_or_for_what_lacks_a_class() -> None:
    sheet = one_sheet(["p { margin: 0 }", "a:not(.gone) { margin: 0 }"], set())
    assert sheet == "p,a:not(.gone){margin:0}"


def test_a_class_that_a_script_puts_together_is_known_by_its_beginning() -> None:
    used = words_of_script('node.classList.add("fact--" + kind)')
    assert one_sheet([".fact--stars { order: 1 }", ".fact { order: 1 }"], used) == (
        ".fact--stars{order:1}"
    )


def test_later_sheets_win_as_they_did_apart() -> None:
    assert one_sheet(["p { color: red }", "p { color: blue }"], set()) == "p{color:#00f}"


def test_the_classes_of_a_page_are_those_of_its_elements() -> None:
    page = "<p class=\"lead quiet\"><a class=button><b class='one'>text</b></a>"
    assert {"lead", "quiet", "button", "one"} <= classes_of_page(page)


def test_every_page_of_the_site_names_the_one_sheet_that_is_there(built: Path) -> None:
    for page in (built / "index.html", built / "404.html", built / "sizes/7b/index.html"):
        text = page.read_text(encoding="utf-8")
        links = re.findall(r'<link rel="?stylesheet"? href="?([^">]+)', text)
        assert [link for link in links if "all.css" in link]
        for link in links:
            base = built if link.startswith("/") else page.parent
            assert (base / link.lstrip("/")).is_file(), link
    assert not list(built.rglob("*.min.css*"))
