"""Hydra's grammar of override values, without Hydra: the text after `=` to a typed value.

Hydra's own parser costs a quarter of a second to import, too much for every `check`. The tests
hold this one to it. Functions such as `choice(1,2)` are not evaluated.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

_INTEGER = re.compile(r"[+-]?(?:0|[1-9](?:_?[0-9])*)")
_UNSIGNED = r"(?:0|[1-9](?:_?[0-9])*)"
_POINT = rf"(?:{_UNSIGNED}?\.[0-9](?:_?[0-9])*|{_UNSIGNED}\.)"
_FLOAT = re.compile(
    rf"[+-]?(?:(?:{_POINT}|{_UNSIGNED})[eE][+-]?[0-9](?:_?[0-9])*|{_POINT}|inf|nan)", re.IGNORECASE
)
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*)(?P=quote)""", re.S)
_BARE = re.compile(r"(?:\$\{[^}]+\}|\\[\\()\[\]{}:=, \t]|[A-Za-z0-9_/\\.+$%*@?|:\- \t-])+")
_KEY = re.compile(r"(?:\\[\\()\[\]{}:=, \t]|[A-Za-z0-9_/\\.+$%*@?|\- \t-])+")
_PIECE = re.compile(r"[ \t]*:[ \t]*|\\[\\()\[\]{}:=, \t]|[ \t]+|[^ \t]")
_ESCAPED = re.compile(r"\\([\\()\[\]{}:=, \t])")
_FUNCTION = re.compile(r"[A-Za-z_][\w-]*[ \t]*\(")
_BLANKS = re.compile(r"[ \t]*")
_WORDS = {"true": True, "false": False, "null": None}


class SweepError(ValueError):
    """Several values, which only a multi-run takes."""


def is_function(text: str) -> bool:
    """Whether the value is a call such as `range(1,5)`."""
    return _FUNCTION.match(text.strip(" \t")) is not None


def read_value(text: str) -> Any:
    """The value that Hydra reads: text, number, truth value, `None`, list or dictionary.

    Raises `ValueError` where Hydra's grammar has no reading, `SweepError` for several values.
    """
    text = text.lstrip(" \t")
    if not text:
        return ""
    try:
        value, end = _element(text, 0)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if text.startswith(",", end):
        raise SweepError("holds several values, separated by commas outside brackets")
    if end != len(text):
        _refuse(text, end)
    return value


def _refuse(text: str, at: int) -> NoReturn:
    found = f"`{text[at]}`" if at < len(text) else "the end"
    raise ValueError(f"is not Hydra's syntax: {found} at character {at + 1} needs quotes")


def _blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _closed(text: str, at: int) -> int:
    """Past the blanks after a closed value, which belong to the sign that must follow them."""
    end = _blanks(text, at)
    return end if text[end : end + 1] in (",", "]", "}") else at


def _element(text: str, at: int) -> tuple[Any, int]:
    start = _blanks(text, at)
    if text.startswith("[", start):
        return _list(text, start + 1)
    if text.startswith("{", start):
        return _dictionary(text, start + 1)
    if quoted := _QUOTED.match(text, start):
        return _unquoted(quoted), _closed(text, quoted.end())
    bare = _BARE.match(text, start)
    if bare is None:
        _refuse(text, start)
    return _typed(bare[0]), bare.end()


def _unquoted(match: re.Match[str]) -> str:
    """The text between quotes; backslashes count only before a quote, as Hydra has it."""
    pattern = r"\\+(?=" + match["quote"] + "|$)"
    return re.sub(pattern, lambda found: "\\" * (len(found[0]) // 2), match["text"])


def _typed(text: str) -> Any:
    stripped = _stripped(text)
    if stripped.lower() in _WORDS:
        return _WORDS[stripped.lower()]
    if _INTEGER.fullmatch(stripped):
        return int(stripped)
    if _FLOAT.fullmatch(stripped):
        return float(stripped)
    return _ESCAPED.sub(r"\1", stripped)


def _stripped(text: str) -> str:
    """The text without blanks around it; an escaped blank is none."""
    pieces = _PIECE.findall(text.lstrip(" \t"))
    return "".join(pieces[:-1] if pieces and pieces[-1].isspace() else pieces)


def _list(text: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _blanks(text, at)
    if text.startswith("]", at):
        return items, _closed(text, at + 1)
    while True:
        item, at = _element(text, at)
        items.append(item)
        at = _blanks(text, at)
        if text.startswith("]", at):
            return items, _closed(text, at + 1)
        if not text.startswith(",", at):
            _refuse(text, at)
        at += 1


def _dictionary(text: str, at: int) -> tuple[dict[Any, Any], int]:
    items: dict[Any, Any] = {}
    at = _blanks(text, at)
    if text.startswith("}", at):
        return items, _closed(text, at + 1)
    while True:
        key = _KEY.match(text, at)
        if key is None or not text.startswith(":", key.end()):
            _refuse(text, key.end() if key else at)
        items[_typed(key[0])], at = _element(text, key.end() + 1)
        at = _blanks(text, at)
        if text.startswith("}", at):
            return items, _closed(text, at + 1)
        if not text.startswith(",", at):
            _refuse(text, at)
        at += 1
