"""The quote that was forgotten in a script that bash cannot read.

bash pairs each quote with the next one, so that all that follow change their sides, and it gives up
far below. Few quotes of a launch script go over a line, so the line is looked for whose quotes do
not pair and with which closed the script can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rl_resources.script.bash import read
from rl_resources.script.launch import launches

MOST_LINES_TRIED = 20
_TAIL = re.compile(r"\s*\\?\s*\Z")


class UnclosedQuote(NamedTuple):
    """Where a quote opens that its line does not close, and the line with it closed."""

    line: int
    column: int
    closed: str


def unclosed_quote(text: str) -> UnclosedQuote | None:
    """The quote with which closed the script reads and hands on the most; `None` for none."""
    lines = text.split("\n")
    best: UnclosedQuote | None = None
    most = -1
    for found in _candidates(lines):
        mended = read("\n".join([*lines[: found.line - 1], found.closed, *lines[found.line :]]))
        overrides = sum(len(launch.overrides) for launch in launches(mended))
        if not mended.problems and overrides > most:
            best, most = found, overrides
    return best


def _candidates(lines: list[str]) -> Iterator[UnclosedQuote]:
    """The first lines that leave a quote open, each as if none before it did."""
    tried = 0
    for number, line in enumerate(lines, 1):
        opened = _opened(line)
        if opened is None:
            continue
        tried += 1
        if tried > MOST_LINES_TRIED:
            return
        tail = _TAIL.search(line)
        end = tail.start() if tail else len(line)
        yield UnclosedQuote(number, opened + 1, f"{line[:end]}{line[opened]}{line[end:]}")


def _opened(line: str) -> int | None:
    """Where the quote stands that a line by itself opens and does not close."""
    at, opened = 0, None
    while at < len(line):
        sign = line[at]
        if opened is None and sign == "#" and (at == 0 or line[at - 1].isspace()):
            return None
        if sign == "\\" and (opened is None or line[opened] == '"'):
            at += 1
        elif opened is None and sign in "\"'":
            opened = at
        elif opened is not None and sign == line[opened]:
            opened = None
        at += 1
    return opened
