"""A page in reStructuredText or Markdown as a value: its headings and tables, with their places.

Docutils finds the tables and may not read other files. Everything else is text, so nothing on a
page is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, directives
from docutils.parsers.rst.directives.tables import ListTable
from docutils.parsers.rst.states import Inliner
from docutils.utils import new_document
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rl_resources.errors import UnusableInput
from rl_resources.page import Cell, Heading, Page, PageRow, PageTable, width
from rl_resources.rule import Mistake
from rl_resources.text import shown

_TABLE_HELP = (
    "Write `.. list-table::`, its options in the lines below, an empty line, then each row as "
    "`* - ` with its other cells below, each as `- `."
)
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "syntax_highlight": "none",
    "report_level": 5,
    "halt_level": 5,
    "line_length_limit": 1 << 20,
}
_INFO = 1
"""The level of messages of docutils that are of no mistake."""
_BROKEN = re.compile(r'Malformed table|.*"(?:csv|list)-table"')
_COMMENT = re.compile(r"\s*\.\. (?:csv|list)-table:(?!:)")
"""A directive with one colon, which docutils drops without a word."""
_FAR = 50
"""Lines in which a cell of a CSV table is looked for."""
_BREAKS = re.compile(r"[\v\f\r\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line for docutils and not for an editor."""
_LINK = re.compile(
    r"(?<![\w`])`(?:(?P<text>[^`<]*?)\s+)?<(?P<target>[^`<>]*[^`<>\s])>`__?|(?P<bare>https?://[^\s`<>]+)"
)
_REFERENCE = re.compile(r"`?([^`<>]*[^`<>_])`?__?")
_MARKED = re.compile(r"\A(\*{1,2}|`{1,2})(.+)\1\Z")
_FOOTNOTE = re.compile(r"\s\[(?:\d+|[#*][\w-]*)\]_")
_ESCAPE = re.compile(r"\\(?:\s|(.)|$)")
_TITLE = re.compile(r"[\w`'\"(]")
"""How a title begins; a list item, a field or a directive does not."""
_UNDERLINE = re.compile(r"([^\w\s])\1+")


class _Source(NamedTuple):
    """A cell without its place: the line where it or its row begins, and its first words there."""

    line: int
    word: str
    text: str
    target: str | None


class _UnreadableError(Exception):
    """A table that cannot be read: the line and the reason."""


class _Lists(nodes.Element):
    """A list table, as nested lists."""


class _ListTable(ListTable):
    """The directive `list-table`; unlike in docutils, rows may have different lengths."""

    def run(self) -> list[nodes.Node]:
        lists = _Lists()
        lists.line = self.lineno
        self.state.nested_parse(self.content, self.content_offset, lists)
        return [lists]


class _AsText(Inliner):
    """Leaves the markup of a cell as it is: docutils resolves no link, role or reference.

    Its own parser takes time as the square of a text's length.
    """

    def init_customizations(self, _settings: object) -> None:
        pass

    def parse(
        self, text: str, _line: int, _memo: object, _parent: object
    ) -> tuple[list[nodes.Text], list[nodes.Node]]:
        return [nodes.Text(text)], []


def read_page(text: str, path: str) -> Page:
    """Read the headings and tables of the page `text`, which `path` names in findings.

    Raises `UnusableInput` if lists are nested too deeply.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.expandtabs().split("\n")
    if path.endswith(".md"):
        return _markdown_page(lines, path)
    tables = []
    mistakes = []
    try:
        document = _document(lines)
    except RecursionError as error:
        message = f"{shown(path, 500)}: is nested too deeply"
        raise UnusableInput(message, "Name a page with tables of runs.") from error
    for node in document.findall():
        try:
            if isinstance(node, nodes.table | _Lists):
                tables.append(_placed(map(_sources, _rows(node)), lines))
            if isinstance(node, nodes.system_message):
                _refuse_broken_table(node)
        except _UnreadableError as error:
            line, why = error.args
            message = f"a table cannot be read: {why}"
            mistakes.append(Mistake(path, line, 1, message, _TABLE_HELP))
    for number, written in enumerate(lines, 1):
        if _COMMENT.match(written):
            message = "a table cannot be read: with one colon it is a comment"
            mistakes.append(Mistake(path, number, 1, message, _TABLE_HELP))
    return Page(
        path, tuple(lines), tuple(_headings(lines)), tuple(tables), tuple(mistakes)
    )


def _document(lines: Iterable[str]) -> nodes.document:
    directives.register_directive("list-table", _ListTable)
    settings = get_default_settings(Parser)
    vars(settings).update(_SETTINGS)
    document = new_document("", settings)
    unbroken = [_BREAKS.sub(" ", line) for line in lines]
    try:
        Parser(inliner=_AsText()).parse("\n".join(unbroken), document)
    finally:
        directives.register_directive("list-table", ListTable)
    return document


def _refuse_broken_table(message: nodes.system_message) -> None:
    text = message.children[0].astext().replace("\n", " ")
    if message["level"] > _INFO and _BROKEN.match(text):
        why = text[0].lower() + text[1:].rstrip(".")
        raise _UnreadableError(message["line"], why)


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Titles with their underlines.

    Docutils takes a title for text if its underline is too short and has fewer than four
    characters. If it is a size, it was meant as a heading.
    """
    titles = [line.rstrip() for line in lines]
    threes = zip(["", *titles], titles, titles[1:], strict=False)
    for number, (above, title, underline) in enumerate(threes, 1):
        if _UNDERLINE.fullmatch(title) or not _TITLE.match(title):
            continue
        if above and not _UNDERLINE.fullmatch(above):
            continue
        if not _UNDERLINE.fullmatch(underline):
            continue
        made = len(underline) >= min(4, width(title))
        heading = Heading(title, number, underline, made)
        if made or heading.billions:
            yield heading


def _placed(rows: Iterable[Iterable[_Source]], lines: Sequence[str]) -> PageTable:
    """The table of these rows.

    A cell is where its first words are found next: after the cell before it, and not above the line
    that is known of it or of its row.
    """
    placed = []
    here = (1, 0)
    for sources in filter(None, map(list, rows)):
        first = min((source.line for source in sources if source.line), default=0)
        cells = []
        for source in sources:
            here = max(here, (source.line or first, 0))
            line, column = _next_place(source.word, lines, here)
            cells.append(Cell(source.text, source.target, line, column + 1))
            here = (line, column + len(source.word))
        placed.append(_row(cells, lines))
    if not placed:
        raise _UnreadableError(1, "it has no cells")
    header, *others = placed
    return PageTable(header, tuple(filter(_says_anything, others)))


def _next_place(
    word: str, lines: Sequence[str], here: tuple[int, int]
) -> tuple[int, int]:
    """The line, and the column from 0, where words are found from a place on; else that place."""
    line, column = here
    for number, text in enumerate(lines[line - 1 : line + _FAR], line):
        found = text.find(word, column)
        if found >= 0:
            return number, found
        column = 0
    return here


def _row(cells: Sequence[Cell], lines: Sequence[str]) -> PageRow:
    """The row of these cells, from the first character of its line on."""
    line = cells[0].line
    written = lines[line - 1]
    indent = len(written) - len(written.lstrip())
    return PageRow(tuple(cells), line, indent + 1)


def _says_anything(row: PageRow) -> bool:
    return any(cell.text for cell in row.cells)


def _rows(node: nodes.Element) -> Iterator[list[nodes.Element]]:
    """The cells of each row."""
    if not isinstance(node, _Lists):
        for row in node.findall(nodes.row):
            yield row.children
        return
    for row in _items(node):
        yield _items(row)


def _items(node: nodes.Element) -> list[nodes.Element]:
    """The items of the list that is all of an element. Raises `_UnreadableError` otherwise."""
    if not node.children:
        raise _UnreadableError(_line(node), "it has no row or cell here")
    content, *others = node.children
    if isinstance(content, nodes.block_quote):
        content = content.children[0]
    if not isinstance(content, nodes.bullet_list):
        others = [content]
    if others:
        raise _UnreadableError(_line(others[0]), "this line is in no row or cell")
    return list(content.children)


def _sources(cells: Iterable[nodes.Element]) -> Iterator[_Source]:
    for cell in cells:
        source = cell.rawsource or "\n".join(
            child.astext()
            for child in cell
            if not isinstance(child, nodes.system_message)
        )
        parts = source.strip().split("\n")
        text, target = _inline(" ".join(map(str.strip, parts)))
        yield _Source(_line(cell), parts[0], text, target)


def _line(node: nodes.Element) -> int:
    """The line where an element begins."""
    for inner in node.findall(nodes.Element):
        line = inner.get("line") or inner.line
        if line:
            return int(line)
    return 0


def _markdown_page(lines: Sequence[str], path: str) -> Page:
    headings = []
    tables: list[list[list[_Source]]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    for token, inside in pairwise(tokens):
        number, _ = token.map or (0, 0)
        match token.type:
            case "heading_open":
                title = inside.content
                underline = "#" * width(title)
                headings.append(Heading(title, number + 1, underline, made=True))
            case "table_open":
                tables.append([])
            case "tr_open":
                tables[-1].append([])
            case "th_open" | "td_open":
                tables[-1][-1].append(_markdown_source(inside))
    return Page(
        path,
        tuple(lines),
        tuple(headings),
        tuple(_placed(rows, lines) for rows in tables),
        (),
    )


def _markdown_source(inside: Token) -> _Source:
    line, _ = inside.map or (0, 0)
    text = ""
    target = None
    for token in inside.children or []:
        text += token.content
        if token.type == "link_open" and target is None:
            target = str(token.attrs["href"])
    return _Source(line + 1, inside.content, text.strip(), target)


def _inline(source: str) -> tuple[str, str | None]:
    """The text that readers see, without footnotes, and the target of its first link."""
    source = _FOOTNOTE.sub("", source)
    name = _REFERENCE.fullmatch(source)
    if name:
        return name[1], None
    text = _LINK.sub(_label, source)
    text = _MARKED.sub(r"\2", text)
    text = _ESCAPE.sub(r"\1", text).strip()
    link = _LINK.search(source)
    if link is None:
        return text, None
    target = link["target"] or link["bare"]
    return text, "".join(target.split())


def _label(link: re.Match[str]) -> str:
    """What readers see of a link: its text or, without one, its URL."""
    return link["text"] or link["target"] or link["bare"]
