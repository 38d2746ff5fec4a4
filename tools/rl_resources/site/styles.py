"""The style sheets of all pages as one, without the rules for what no page has.

A browser draws nothing before it has every sheet, and the theme's has rules for all that the theme
can do, of which a quarter, by bytes, is for no page of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from lightningcss import process_stylesheet

_IN_SHEET = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_IN_PAGE = re.compile(r"""class=("[^"]*"|'[^']*'|[^\s"'>]+)""")
_IN_SCRIPT = re.compile(r"[A-Za-z_][\w-]*")


def classes_of_page(page: str) -> Set[str]:
    """The classes that elements of an HTML page have."""
    return {name for text in set(_IN_PAGE.findall(page)) for name in text.strip("\"'").split()}


def words_of_script(script: str) -> Set[str]:
    """Whatever in a script may be a class, or begin one where it ends in a hyphen or `_`."""
    return set(_IN_SCRIPT.findall(script))


def one_sheet(sheets: Iterable[str], used: Set[str]) -> str:
    """The sheets one after the other, made short; rules for classes that are not used are left out.

    A class is used that is named in `used`, or whose beginning is, up to a hyphen or underscore.
    """
    text = "\n".join(sheets)
    beginnings = tuple(word for word in used if word.endswith(("-", "_")))
    unused = {
        name
        for name in _IN_SHEET.findall(text)
        if name not in used and not name.startswith(beginnings)
    }
    return process_stylesheet(text, filename="", unused_symbols=unused, minify=True)
