"""Hand-kept pages: read into the values below, validated, turned into records.

`reader.py` makes the values; only it needs docutils.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from rl_resources.files import UTF_8
from rl_resources.rule import Mistake

LARGEST_PAGE_BYTES = 1 << 18
"""That of five hundred records."""
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([BM])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as one line of text; its first hyperlink, if any, leads to `target`.

    `line` and `column` count from 1 and say where its markup begins.
    """

    text: str
    target: str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class PageRow:
    """The cells of one row, as many as the page has; `line` and `column` are those of the row."""

    cells: tuple[Cell, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and its underline; not `made` if docutils reads both as ordinary text."""

    title: str
    line: int
    underline: str
    made: bool

    @property
    def billions(self) -> float | None:
        """The model size that it names, in billions of parameters."""
        match = _SIZE.fullmatch(self.title)
        if match is None:
            return None
        size = float(match[1])
        if match[2] in "mM":
            size /= 1000
        return size


@dataclass(frozen=True, slots=True)
class PageTable:
    """The first row of a table, and the others in which a cell says anything."""

    header: PageRow
    rows: tuple[PageRow, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its lines, headings and tables in order; `mistakes` are its unreadable tables."""

    path: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    tables: tuple[PageTable, ...]
    mistakes: tuple[Mistake, ...]
    encoding: str = UTF_8

    def heading_above(self, cell: Cell) -> Heading | None:
        """The heading that readers see above a cell, even if docutils takes it for text."""
        for heading in reversed(self.headings):
            if heading.line < cell.line:
                return heading
        return None


def width(text: str) -> int:
    """The columns of a text: docutils counts two for a wide character."""
    columns = len(text)
    for character in text:
        if unicodedata.east_asian_width(character) in {"W", "F"}:
            columns += 1
    return columns
