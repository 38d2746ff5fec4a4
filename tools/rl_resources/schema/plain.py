"""Texts that are plain: of so few letters that no mistake is in them, and as their pattern wants.

What a pattern asks and what no text may hold are expressions that each read every letter. Most
cells are of letters that are in no mistake; whether they hold their pattern with such letters alone
is one expression in place of two. What is not plain is not wrong for that: it must be asked again.
"""

from __future__ import annotations

import re

import polars as pl

from rl_resources.schema.constraints import whole
from rl_resources.schema.text import PLAIN, RARE, SCHEME

_TOKEN = re.compile(
    rf"(?P<syntax>{SCHEME}|\(\?:|\((?!\?)|[)|*+?^$]|\{{[0-9]+(?:,[0-9]*)?\}})"
    r"|(?P<letters>\[\^?(?:[^\[\]\\]|\\.)+\]|\\[dwsDWS])"
    r"|(?P<letter>\\[^0-9A-Za-z]|[^\[\]\\(){}.|*+?^$])"
)
_NO_LETTER = "[a&&b]"


def plain_cells(cell: pl.Expr, pattern: str) -> pl.Expr | None:
    """Which texts are plain: they hold the pattern, and `SIGNS` matches none of them.

    `None` where that cannot be told of a pattern, or where it lets blanks stand, which are in most
    texts of that kind. The pattern is one that every engine knows.
    """
    form = plain_form(pattern)
    if form is None:
        return None
    return cell.str.contains(whole(form)) & ~cell.str.contains(RARE) & ~cell.str.starts_with("-")


def plain_form(pattern: str) -> str | None:
    """The pattern with no more than plain letters, in the words of the engine of polars."""
    if _TOKEN.sub("", pattern) or any(_lets_blanks(token) for token in _TOKEN.finditer(pattern)):
        return None
    return _TOKEN.sub(_plain, pattern)


def _lets_blanks(token: re.Match[str]) -> bool:
    letters = token["letters"] or token["letter"]
    return letters is not None and re.match(letters, " ") is not None


def _plain(token: re.Match[str]) -> str:
    if token["letters"]:
        return f"[{token[0]}&&[{PLAIN}]]"
    if token["letter"] and not re.match(f"[{PLAIN}]", token[0][-1]):
        return _NO_LETTER
    return token[0]
