"""A reStructuredText page as a value: its headings and list tables, and where everything stands.

Only what a page of runs is made of is read: headings and `list-table` directives that are not
indented, so none inside of another directive. All else is text, so nothing on a page is acted on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import NamedTuple

from rl_resources.rule import Mistake

_TABLE_HELP = (
    "Write `.. list-table::`, its options in the lines below, an empty line, then each row as "
    "`* - ` with its other cells below, each as `- `."
)
_OPTION = re.compile(r" +:(?:widths|width|header-rows|stub-columns|align|class|name):(?: |$)")
_BULLET = re.compile(r"( *)[-+*\u2022\u2023\u2043](?: +|$)")
_LINK = re.compile(
    r"(?<![\w`])`(?P<text>[^`<]*?)\s*<(?P<target>[^`<>]*[^`<>\s])>`__?|(?P<bare>https?://[^\s`<>]+)"
)
_REFERENCE = re.compile(r"`?([^`<>]*[^`<>_])`?__?")
_MARKED = re.compile(r"(\*{1,2}|`{1,2})(.+)\1")
_FOOTNOTE = re.compile(r"\s\[(?:\d+|[#*][\w-]*)\]_")
_ESCAPE = re.compile(r"\\(?:\s|(.)|$)")
_TITLE = re.compile(r"[\w`'\"(]")
"""How a title begins; a list item, a field or a directive does not."""
_UNDERLINE = re.compile(r"([^\w\s])\1+")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([BM])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell on one line of text; its first hyperlink, if any, leads to `target`.

    `line` and `column` count from 1 and say where its markup begins.
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


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and its underline. It is not `made` where docutils reads both as ordinary text."""

    title: str
    line: int
    underline: str
    made: bool

    @property
    def billions(self) -> float | None:
        """The model size that it is, in billions of parameters."""
        match = _SIZE.fullmatch(self.title)
        return float(match[1]) / (1 if match[2] in "bB" else 1000) if match else None


@dataclass(frozen=True, slots=True)
class Table:
    """The first row of a table, and the others in which a cell says anything."""

    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its lines, headings and tables in order; `mistakes` are its unreadable tables."""

    path: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    tables: tuple[Table, ...]
    mistakes: tuple[Mistake, ...]

    def heading_above(self, cell: Cell) -> Heading | None:
        """The heading that a reader sees above a cell, also one that docutils takes for text."""
        above = [heading for heading in self.headings if heading.line < cell.line]
        return above[-1] if above else None


class _Item(NamedTuple):
    """An item of a list: where its bullet stands, and its numbered lines without the bullet."""

    line: int
    column: int
    lines: list[tuple[int, str]]


class _UnreadableError(Exception):
    """A list table that breaks off: at which line, and why."""


def read_page(text: str, path: str) -> Page:
    """Read the headings and list tables of the page `text`, which `path` names in findings."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").expandtabs().split("\n")
    tables: list[Table] = []
    mistakes: list[Mistake] = []
    for at in (at for at, line in enumerate(lines) if line.startswith(".. list-table::")):
        try:
            tables.append(_table(lines, at))
        except _UnreadableError as error:
            line, why = error.args
            mistakes.append(Mistake(path, line, 1, f"a table cannot be read: {why}", _TABLE_HELP))
    return Page(path, tuple(lines), tuple(_headings(lines)), tuple(tables), tuple(mistakes))


def width(text: str) -> int:
    """The columns of a text: docutils counts two for a wide character."""
    return len(text) + sum(unicodedata.east_asian_width(one) in {"W", "F"} for one in text)


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Titles with their underlines.

    Docutils takes a title for text where the underline is too short and has less than four
    characters. It was meant as a heading where it is a size.
    """
    before = ""
    for number, (title, underline) in enumerate(pairwise(map(str.rstrip, lines)), 1):
        starts = not before or _UNDERLINE.fullmatch(before)
        drawn = _UNDERLINE.fullmatch(underline) and not _UNDERLINE.fullmatch(title)
        if starts and drawn and _TITLE.match(title):
            made = len(underline) >= min(4, width(title))
            heading = Heading(title, number, underline, made)
            if made or heading.billions:
                yield heading
        before = title


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _table(lines: Sequence[str], at: int) -> Table:
    """The table whose directive is `lines[at]`."""
    inside = takewhile(lambda line: not line.strip() or _indent(line), lines[at + 1 :])
    body = [*enumerate(inside, at + 2)]
    options = [*takewhile(lambda item: _OPTION.match(item[1]), body)]
    content = body[len(options) :]
    if options and content and content[0][1].strip():
        raise _UnreadableError(content[0][0], "a blank line or an option is expected here")
    rows = [_row(item) for item in _items(content)]
    if not rows:
        raise _UnreadableError(at + 1, "it has no rows")
    said = (row for row in rows[1:] if any(cell.text for cell in row.cells))
    return Table(rows[0], tuple(said))


def _items(block: Iterable[tuple[int, str]]) -> Iterator[_Item]:
    """The items of a list of bullets. Raises `_UnreadableError` at a line that is in none."""
    item: _Item | None = None
    for number, line in block:
        bullet, indent = _BULLET.match(line), _indent(line) + 1
        if bullet and (item is None or indent == item.column):
            if item:
                yield item
            item = _Item(number, indent, [(number, " " * bullet.end() + line[bullet.end() :])])
        elif item and indent > item.column:
            item.lines.append((number, line))
        elif line.strip():
            raise _UnreadableError(number, "this line is in no row or cell")
    if item:
        yield item


def _row(item: _Item) -> Row:
    return Row(tuple(map(_cell, _items(item.lines))), item.line, item.column)


def _cell(item: _Item) -> Cell:
    source = " ".join(line.strip() for _, line in item.lines).strip()
    line = item.lines[0][1]
    column = _indent(line) if line.strip() else len(line)
    return Cell(*_inline(source), item.line, column + 1)


def _inline(source: str) -> tuple[str, str | None]:
    """The text that a reader sees without footnotes, and where its first link leads."""
    source = _FOOTNOTE.sub("", source)
    if name := _REFERENCE.fullmatch(source):
        return name[1], None
    link = _LINK.search(source)
    text = _LINK.sub(lambda match: match["text"] or match["target"] or match["bare"], source)
    marked = _MARKED.fullmatch(text)
    text = _ESCAPE.sub(r"\1", marked[2] if marked else text)
    target = "".join((link["target"] or link["bare"]).split()) if link else None
    return text.strip(), target
