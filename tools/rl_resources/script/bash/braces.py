"""Brace expansion: `a{b,c}d` and `{1..3}`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rl_resources.script.bash.parameter import Fragment, Fragments
from rl_resources.script.bash.value import Source

MOST_WORDS = 512
MOST_BRACES = 64
_NUMBERS = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?")


class TooManyWordsError(Exception):
    """The words are more than anyone means to write."""


def alternatives(fragments: Fragments, source: Source) -> list[Fragments]:
    """The words that one word stands for. Raises TooManyWordsError."""
    signs = "".join(map(_sign, fragments))
    if "{" not in signs or "}" not in signs:
        return [fragments]
    if signs.count("{") > MOST_BRACES:
        raise TooManyWordsError
    characters = [piece for item in fragments for piece in _characters(item, source)]
    return [_merged(word) for word in _words(characters)]


def _sign(item: Fragment | None) -> str:
    """The text of an unquoted literal."""
    if item is None or item.quoted or item.expanded:
        return ""
    return item.part.text or ""


def _characters(item: Fragment | None, source: Source) -> Fragments:
    """An unquoted literal cut to single characters."""
    if item is None or len(_sign(item)) < 2:
        return [item]
    start = item.part.origin.offset
    places = [source.place(start + at) for at in range(len(_sign(item)))]
    return [
        item._replace(part=item.part._replace(text=sign, place=place, origin=place))
        for sign, place in zip(_sign(item), places, strict=True)
    ]


def _words(items: Fragments) -> list[Fragments]:
    """All combinations, the leftmost brace varying slowest."""
    for start, item in enumerate(items):
        end = _closing(items, start) if _sign(item) == "{" else None
        choices = _choices(items[start + 1 : end]) if end else []
        if end and choices:
            rests = _words(items[end + 1 :])
            if len(choices) * len(rests) > MOST_WORDS:
                raise TooManyWordsError
            return [[*items[:start], *choice, *rest] for choice in choices for rest in rests]
    return [items]


def _closing(items: Fragments, start: int) -> int | None:
    level = 0
    for at in range(start, len(items)):
        level += {"{": 1, "}": -1}.get(_sign(items[at]), 0)
        if level == 0:
            return at
    return None


def _choices(inner: Fragments) -> list[Fragments]:
    """What braces around `inner` offer, nothing where they are only characters."""
    fields: list[Fragments] = [[]]
    level = 0
    for item in inner:
        level += {"{": 1, "}": -1}.get(_sign(item), 0)
        if _sign(item) == "," and level == 0:
            fields.append([])
        else:
            fields[-1].append(item)
    if len(fields) > 1:
        return [word for field in fields for word in _words(field)]
    return _sequence(inner)


def _sequence(inner: Fragments) -> list[Fragments]:
    text = "".join(map(_sign, inner))
    match = _NUMBERS.fullmatch(text) or _LETTERS.fullmatch(text)
    first = inner[0] if inner else None
    if match is None or first is None or len(text) != len(inner):
        return []
    part = first.part
    return [[first._replace(part=part._replace(text=item))] for item in _items(match)]


def _items(match: re.Match[str]) -> Sequence[str]:
    numeric = match[1].lstrip("-").isdigit()
    first, last = (int(match[at]) if numeric else ord(match[at]) for at in (1, 2))
    step = abs(int(match[3] or 1)) or 1
    if abs(last - first) // step >= MOST_WORDS:
        raise TooManyWordsError
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    width = _width(match[1], match[2])
    return [f"{number:0{width}d}" if numeric else chr(number) for number in numbers]


def _width(first: str, last: str) -> int:
    """Numbers are padded to one width where either is written with a leading zero."""
    padded = any(re.match(r"-?0[0-9]", text) for text in (first, last))
    return max(len(first), len(last)) if padded else 0


def _merged(items: Fragments) -> Fragments:
    """Adjacent characters as one literal again."""
    found: Fragments = []
    for item in items:
        last = found[-1] if found else None
        if item and last and _sign(item) and _sign(last) and _adjacent(last, item):
            part = last.part._replace(text=_sign(last) + _sign(item))
            found[-1] = last._replace(part=part)
        else:
            found.append(item)
    return found


def _adjacent(one: Fragment, two: Fragment) -> bool:
    return one.part.origin.offset + len(_sign(one)) == two.part.origin.offset
