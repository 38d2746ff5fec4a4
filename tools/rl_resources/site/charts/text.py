"""Text in pictures: how wide it may become, and what of it XML can hold."""

from __future__ import annotations

import unicodedata
from functools import cache

SMALL = 11.0
"""Size of the smaller of the two fonts, in units of the picture; `charts.css` sets them."""
LARGE = 12.0

# Shares of the font's size, for the widest of the common sans-serif fonts (DejaVu Sans).
_NARROW, _NARROW_SHARE = frozenset("iIjl.,:;|!'()[] ·ftr-/"), 0.42
_WIDE, _WIDE_SHARE = frozenset("mwMWQO@%…—≠"), 0.92
_LETTER_SHARE, _CAPITAL_SHARE, _FOREIGN_SHARE = 0.635, 0.72, 1.05
_LAST_NARROW = 0x24F


def width(text: str, size: float) -> float:
    """The most units that a text takes in a font of that size."""
    return sum(map(_share, text)) * size


@cache
def _share(sign: str) -> float:
    if sign in _NARROW:
        return _NARROW_SHARE
    if sign in _WIDE:
        return _WIDE_SHARE
    if ord(sign) > _LAST_NARROW:
        return _FOREIGN_SHARE * (2 if unicodedata.east_asian_width(sign) in "WF" else 1)
    return _CAPITAL_SHARE if sign.isupper() else _LETTER_SHARE


def shortened(text: str, room: float, size: float) -> str:
    """A text cut to the room that it has, with a sign where something was left out."""
    text = plain(text)
    if width(text, size) <= room:
        return text
    room -= width("…", size)
    kept = 0
    for sign in text:
        room -= width(sign, size)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"


def plain(text: str) -> str:
    """One line without signs that XML forbids or that nobody sees, such as a turn of direction."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
