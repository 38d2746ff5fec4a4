"""A page of tables as a value: what it says and where, before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass

from rl_resources.finding import Finding


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
class Table:
    """One table. `title` is that of its section; `remarks` are the list items that follow it."""

    title: str
    header: Row
    rows: tuple[Row, ...]
    remarks: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """All tables of a page in its order, and what made others unreadable."""

    path: str
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...]
