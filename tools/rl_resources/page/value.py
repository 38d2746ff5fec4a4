"""A page of tables as a value: what it says and where, before anything is made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rl_resources.check.rule import Mistake

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([BM])\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell on one line of text; its first hyperlink, if any, leads to `target`.

    `line` and `column` count from 1 and tell where its markup begins.
    """

    text: str
    target: str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row, as many as the page has; `line` and `column` are those of the row."""

    cells: tuple[Cell, ...]
    line: int
    column: int

    @property
    def blank(self) -> bool:
        """Whether no cell says anything."""
        return not any(cell.text.strip() for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Heading:
    """A section's title, or a line that was meant as one: then it is not `made`.

    `underline` is what stands below it where that is shorter than the title, else empty.
    """

    title: str
    line: int
    underline: str = ""
    made: bool = True

    @property
    def billions(self) -> float | None:
        """The size of models that it names, in billions of parameters."""
        match = _SIZE.match(self.title)
        if match is None or not float(match[1]):
            return None
        return float(match[1]) / (1 if match[2] in "bB" else 1000)


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `title` is that of its section; `remarks` are the list items that follow it."""

    title: str
    header: Row
    rows: tuple[Row, ...]
    remarks: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its lines, its headings and its tables, each in order.

    `mistakes` are what made other tables unreadable, each with the name of its rule.
    """

    path: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    tables: tuple[Table, ...]
    mistakes: tuple[tuple[str, Mistake], ...]

    def heading_of(self, table: Table) -> Heading | None:
        """The heading that a reader sees above a table, also one that docutils takes for text."""
        above = [heading for heading in self.headings if heading.line < table.header.line]
        return above[-1] if above else None
