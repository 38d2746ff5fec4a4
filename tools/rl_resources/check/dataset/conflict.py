"""Merge conflicts that are left in a script."""

from __future__ import annotations

import re

_BEGIN = re.compile(r"<{7}(?: .*)?")
_END = re.compile(r">{7}(?: .*)?")


def conflicts(text: str) -> list[tuple[int, int]]:
    """First and last line of every conflict; of a single marker that is left, its line twice."""
    found: list[tuple[int, int]] = []
    if "<<<<<<<" not in text and ">>>>>>>" not in text:
        return found
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if _BEGIN.fullmatch(line):
            begin = number
        elif _END.fullmatch(line) and begin:
            found.append((begin, number))
            begin = 0
        elif _END.fullmatch(line):
            found.append((number, number))
    return [*found, (begin, begin)] if begin else found
