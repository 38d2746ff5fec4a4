"""OmegaConf's interpolations, `${a.b}` and `${oc.select:a.b,default}`, over dotted keys.

Environment variables and resolvers that a program registers cannot be known from its files, and
are not looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rl_resources.script.framework.grammar import read_value

_PATH = re.compile(r"\.*[A-Za-z_][\w-]*(?:\.[\w-]+)*")
_SELECT = "oc.select:"
_LONGEST_TEXT = 100_000

Lookup = Callable[[str], Any]


def resolve(text: str, key: str, lookup: Lookup, unknown: Any) -> Any:
    """The value of `text`, which stands at the dotted `key`.

    `lookup` gives another key's value and raises `KeyError`; `unknown` stands for what cannot be
    told. Raises `KeyError` for a reference that leads nowhere.
    """
    pieces = list(_pieces(text))
    if len(pieces) == 1 and pieces[0][1]:
        return _reference(pieces[0][0], key, lookup, unknown)
    whole = ""
    for piece, is_reference in pieces:
        value = _reference(piece, key, lookup, unknown) if is_reference else piece
        if value is unknown or isinstance(value, list | dict) or len(whole) > _LONGEST_TEXT:
            return unknown
        whole += str(value)
    return whole


def references(text: str, key: str) -> Iterator[str]:
    """The absolute keys that must exist for `text`, standing at `key`, to be resolved."""
    for piece, is_reference in _pieces(text):
        if is_reference and _PATH.fullmatch(piece):
            yield _absolute(piece, key)


def reference_to_group(value: Any, key: str) -> str | None:
    """The absolute key that `value`, standing at `key`, stands for as a whole, if it does."""
    if not isinstance(value, str) or not value.startswith("${") or not value.endswith("}"):
        return None
    path = value[2:-1].removeprefix(_SELECT).partition(",")[0].strip()
    return _absolute(path, key) if _PATH.fullmatch(path) else None


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Literal pieces and the insides of `${…}`, in order; an unclosed one is literal."""
    at = 0
    while (start := text.find("${", at)) >= 0:
        end = _closing(text, start)
        if end < 0:
            break
        if start > at:
            yield text[at:start], False
        yield text[start + 2 : end], True
        at = end + 1
    if at < len(text):
        yield text[at:], False


def _closing(text: str, start: int) -> int:
    """Where the brace that closes the one after `start` stands, or -1."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0 and text[at] == "}":
            return at
    return -1


def _reference(inside: str, key: str, lookup: Lookup, unknown: Any) -> Any:
    if _PATH.fullmatch(inside):
        return lookup(_absolute(inside, key))
    if not inside.startswith(_SELECT):
        return unknown
    path, comma, default = inside.removeprefix(_SELECT).partition(",")
    if not _PATH.fullmatch(path.strip()):
        return unknown
    try:
        value = lookup(_absolute(path.strip(), key))
    except KeyError:
        value = "???"
    if value != "???":
        return value
    return _default(default.strip(), key, lookup, unknown) if comma else None


def _default(text: str, key: str, lookup: Lookup, unknown: Any) -> Any:
    if "${" in text:
        return resolve(text, key, lookup, unknown)
    try:
        return read_value(text)
    except ValueError:
        return unknown


def _absolute(path: str, key: str) -> str:
    """The key that `path`, written at `key`, means: each leading dot is one level up."""
    name = path.lstrip(".")
    dots = len(path) - len(name)
    if not dots:
        return name
    above = key.split(".")[: -dots or None]
    return ".".join([*above, name])
