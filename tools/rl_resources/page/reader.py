"""A reStructuredText page as a value: its headings and tables, and where everything stands.

Docutils parses the tables, without reading files or acting on the page. Roles and directives of
Sphinx stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, directives
from docutils.parsers.rst.directives.tables import ListTable
from docutils.transforms import references
from docutils.utils import column_width, new_document

from rl_resources.check.rule import Mistake
from rl_resources.errors import UnusableInput
from rl_resources.text import shown

LONGEST_LINE = 1 << 20
"""Docutils reads nothing of a page with a longer line."""
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "syntax_highlight": "none",
    "line_length_limit": LONGEST_LINE,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": False,
}
_TRANSFORMS = [
    references.PropagateTargets,
    references.AnonymousHyperlinks,
    references.IndirectHyperlinks,
    references.ExternalTargets,
]
# Docutils ends a line at more characters than an editor does.
_NOT_LINE_ENDS = dict.fromkeys(map(ord, "\0\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_BULLET = r"[-+*\u2022\u2023\u2043]\s+"
_UNDERLINE = re.compile(r"([^\w\s])\1+")
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([BM])\b", re.IGNORECASE)
_OF_A_TABLE = re.compile(
    r'"(?:list|csv)-table"|^Malformed table|^Error in "table"|^\s+\.\. (?:list-|csv-)?table::',
    re.MULTILINE,
)
_WARNING = 2
"""Level of docutils' messages from which on something of the page is lost."""


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

    @property
    def empty(self) -> bool:
        """Whether no cell says anything."""
        return not any(cell.text.strip() for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and its underline. It is not `made` where docutils reads both as ordinary text."""

    title: str
    line: int
    underline: str
    made: bool

    @property
    def billions(self) -> float | None:
        """The model size that it names, in billions of parameters."""
        match = _SIZE.match(self.title)
        if match is None or not float(match[1]):
            return None
        return float(match[1]) / (1 if match[2] in "bB" else 1000)


@dataclass(frozen=True, slots=True)
class Table:
    """The last header row of a table, or its first row where none is marked, and the other rows."""

    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its lines, headings and tables in order; `mistakes` are tables that cannot be read.

    Each mistake comes with the name of its rule.
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


def read_page(text: str, path: str) -> Page:
    """Read the headings and tables of the page `text`, which `path` names in findings.

    Raises `UnusableInput` where docutils cannot read the page at all.
    """
    source = text.removeprefix("\ufeff").replace("\r\n", "\n").translate(_NOT_LINE_ENDS)
    lines = source.split("\n")
    messages: list[nodes.system_message] = []
    document = _parse(source, path, messages)
    outer = [node for node in document.findall(nodes.table) if not _inside_table(node)]
    return Page(
        path=path,
        lines=tuple(lines),
        headings=_headings(lines),
        tables=tuple(table for node in outer if (table := _table(node, lines)) is not None),
        mistakes=tuple(_lost_tables(messages, path)),
    )


def _parse(source: str, path: str, messages: list[nodes.system_message]) -> nodes.document:
    settings = get_default_settings(Parser)
    vars(settings).update(_SETTINGS)
    document = new_document(path, settings)
    document.reporter.attach_observer(messages.append)
    directives.register_directive("list-table", _UnevenListTable)
    try:
        Parser().parse(source, document)
        document.transformer.add_transforms(_TRANSFORMS)
        document.transformer.apply_transforms()
    # Docutils promises no set of exceptions; pages are known that make it raise almost any.
    except Exception as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else shown(str(error))
        raise UnusableInput(
            f"{path}: is not reStructuredText that docutils can read: {reason}",
            "Build the page with Sphinx and fix what it reports.",
        ) from error
    finally:
        directives.register_directive("list-table", ListTable)
    return document


class _UnevenListTable(ListTable):
    """A `list-table` whose rows may differ in length; docutils' own then loses all of them."""

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        """One table: rows are the items of the outer list, cells those of the inner ones."""
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        rows = [_list_row(item) for item in _items(content)]
        if not rows:
            said = f'Error parsing content block for the "{self.name}" directive: no list in it.'
            return [self.reporter.error(said, line=self.lineno)]
        headers = self.options.get("header-rows", 0)
        group = nodes.tgroup("", nodes.thead("", *rows[:headers]), nodes.tbody("", *rows[headers:]))
        table = nodes.table("", group)
        table.line = self.lineno
        return [table]


def _items(node: nodes.Element) -> Iterator[nodes.Element]:
    """The items of all lists in `node`; a change of bullet starts another list."""
    for child in node.children:
        if isinstance(child, nodes.bullet_list):
            yield from (item for item in child.children if isinstance(item, nodes.list_item))


def _list_row(item: nodes.Element) -> nodes.row:
    """The row of an outer item; what stands in it next to a list counts as a cell of its own."""
    not_cells = (nodes.bullet_list, nodes.system_message)
    others = [child for child in item.children if not isinstance(child, not_cells)]
    cells = [_entry(cell.children, cell.line) for cell in _items(item)]
    row = nodes.row("", *cells, *(_entry([child], child.line or item.line) for child in others))
    row.line = item.line
    return row


def _entry(content: Sequence[nodes.Node], line: int | None) -> nodes.entry:
    entry = nodes.entry("", *content)
    entry.line = line
    return entry


def _lost_tables(
    messages: Iterable[nodes.system_message], path: str
) -> Iterator[tuple[str, Mistake]]:
    for message in messages:
        if message["level"] >= _WARNING and _OF_A_TABLE.search(_said(message)):
            said = " ".join(message.children[0].astext().split())
            what = f"a table cannot be read: {shown(said, 160)}"
            fix = "Write it as a `list-table` directive of its own."
            yield "page-table", Mistake(path, int(message.get("line", 1)), 1, what, fix)


def _said(message: nodes.system_message) -> str:
    """The text of a message, with what it quotes of the page."""
    return "\n".join(str(child.astext()) for child in message.children)


def _headings(lines: Sequence[str]) -> tuple[Heading, ...]:
    """Titles with their underlines.

    Docutils takes a title for text where the underline is too short and has less than four
    characters. It was meant as a heading where it is a size.
    """
    found: list[Heading] = []
    before = ""
    for number, (title, underline) in enumerate(pairwise(map(str.rstrip, lines)), 1):
        heading = _heading(title, underline, number)
        if heading and (not before or _UNDERLINE.fullmatch(before)):
            found += [heading] if heading.made or heading.billions else []
        before = title
    return tuple(found)


def _heading(title: str, underline: str, line: int) -> Heading | None:
    drawn = _UNDERLINE.fullmatch(underline) and not _UNDERLINE.fullmatch(title)
    if not title or title[0].isspace() or not drawn:
        return None
    made = len(underline) >= min(4, column_width(title))
    return Heading(title, line, underline, made)


def _inside_table(node: nodes.Node) -> bool:
    parent = node.parent
    return parent is not None and (isinstance(parent, nodes.table) or _inside_table(parent))


def _table(node: nodes.table, lines: Sequence[str]) -> Table | None:
    headers, body = _row_nodes(node, nodes.thead), _row_nodes(node, nodes.tbody)
    rows = [_row(row, node.line or 1, lines) for row in (*headers, *body)]
    first = max(len(headers), 1)
    return Table(rows[first - 1], tuple(rows[first:])) if rows else None


def _row_nodes(table: nodes.table, part: type[nodes.Element]) -> list[nodes.row]:
    """The rows of the head or the body, without those of tables inside a cell."""
    groups = [child for child in table.children if isinstance(child, nodes.tgroup)]
    parts = [child for group in groups for child in group.children if isinstance(child, part)]
    return [row for item in parts for row in item.children if isinstance(row, nodes.row)]


def _row(node: nodes.row, table_line: int, lines: Sequence[str]) -> Row:
    entries = [child for child in node.children if isinstance(child, nodes.entry)]
    if node.line is None:  # drawn with rules, or CSV
        cells = [_cell(entry, *_drawn_place(entry, table_line, lines)) for entry in entries]
        return Row(tuple(cells), cells[0].line, cells[0].column)
    cells = []
    for entry in entries:
        line = entry.line or node.line
        cells.append(_cell(entry, line, _after_bullets(lines, line, 1 + (line == node.line))))
    return Row(tuple(cells), node.line, _after_bullets(lines, node.line, 0))


def _after_bullets(lines: Sequence[str], line: int, bullets: int) -> int:
    """The column of the text behind up to `bullets` bullets."""
    text = lines[line - 1] if line <= len(lines) else ""
    match = re.match(rf"\s*(?:{_BULLET}){{0,{bullets}}}", text + " ")
    return min(match.end() if match else 0, len(text)) + 1


def _drawn_place(entry: nodes.entry, line: int, lines: Sequence[str]) -> tuple[int, int]:
    """Line and column of the first text in a cell."""
    found = next((item for item in entry.findall(nodes.Element) if item.line), None)
    if found is None or found.line is None or found.line > len(lines):
        return line, 1
    return found.line, max(lines[found.line - 1].find(found.rawsource.partition("\n")[0]), 0) + 1


def _cell(node: nodes.Element, line: int, column: int) -> Cell:
    blocks = [child for child in node.children if not isinstance(child, nodes.system_message)]
    text = re.sub(r"\n+", " ", "\n".join(block.astext() for block in blocks))
    links = [link for block in blocks for link in block.findall(nodes.reference)]
    target = next((str(link["refuri"]) for link in links if link.get("refuri")), None)
    return Cell(text, target, line, column)
