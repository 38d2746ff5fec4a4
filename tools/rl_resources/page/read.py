"""A reStructuredText page to a `Page`. The page is hostile input: it is parsed and never acted on.

Docutils finds the structure. Sphinx' roles and directives are unknown to it; what they hold stays
text and does not disturb the tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, directives, roles
from docutils.transforms import references
from docutils.utils import column_width, new_document

from rl_resources.check.rule import Mistake
from rl_resources.errors import UnusableInput
from rl_resources.page.list_table import UnevenListTable
from rl_resources.page.value import Cell, Heading, Page, Row, Table
from rl_resources.words import shown

LONGEST_LINE = 10_000
_LONGEST_TITLE = 60
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
# Docutils ends a line at more signs than an editor does.
_NOT_LINE_ENDS = dict.fromkeys(map(ord, "\0\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_BULLET = r"[-+*\u2022\u2023\u2043]\s+"
_TABLE_LOST = re.compile(
    r'Error in "(?:list-|csv-)?table"|Error parsing content block for the "list-table"'
    r'|Malformed table|File and URL access deactivated; ignoring "csv-table"'
)
_TABLE_INSIDE = re.compile(r"^\s+\.\. (?:list-|csv-)?table::", re.MULTILINE)


def read_page(text: str, path: str) -> Page:
    """Read all tables of the page `text`, which `path` names in findings.

    Raises `UnusableInput` where docutils cannot read the page at all.
    """
    source = text.removeprefix("\ufeff").replace("\r\n", "\n").translate(_NOT_LINE_ENDS)
    lines = source.split("\n")
    _refuse_long_lines(lines, path)
    messages: list[nodes.system_message] = []
    document = _parse(source, path, messages)
    tables = [node for node in document.findall(nodes.table) if not _inside_table(node)]
    return Page(
        path=path,
        lines=tuple(lines),
        headings=_headings(document, messages, lines),
        tables=tuple(table for node in tables if (table := _table(node, lines)) is not None),
        mistakes=tuple(_lost_tables(messages, path)),
    )


def _refuse_long_lines(lines: Sequence[str], path: str) -> None:
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs()) > LONGEST_LINE:
            raise UnusableInput(
                f"{path}:{number}: the line has more than {LONGEST_LINE} characters",
                "Break it, or take it out of the page.",
            )


def _parse(source: str, path: str, messages: list[nodes.system_message]) -> nodes.document:
    settings = get_default_settings(Parser)
    vars(settings).update(_SETTINGS)
    document = new_document(path, settings)
    document.reporter.attach_observer(messages.append)
    try:
        with _own_registries():
            directives.register_directive("list-table", UnevenListTable)
            Parser().parse(source, document)
            document.transformer.add_transforms(_TRANSFORMS)
            document.transformer.apply_transforms()
            _keep_substitutions(document)
    # Docutils promises no set of exceptions; pages are known that make it raise almost any.
    except Exception as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else shown(str(error))
        raise UnusableInput(
            f"{path}: is no reStructuredText that docutils can read: {reason}",
            "Build the page with Sphinx and mend what it reports.",
        ) from error
    return document


def _keep_substitutions(document: nodes.document) -> None:
    """Let `|word|` stand as it is: filling it in may take a page of a few lines for ever."""
    for reference in list(document.findall(nodes.substitution_reference)):
        reference.replace_self(nodes.Text(reference.rawsource))


@contextmanager
def _own_registries() -> Iterator[None]:
    """Undo on leaving what the page and we register; docutils' registries are global."""
    registries = [vars(directives)["_directives"], vars(roles)["_roles"]]
    before = [dict(registry) for registry in registries]
    try:
        yield
    finally:
        for registry, entries in zip(registries, before, strict=True):
            registry.clear()
            registry.update(entries)


def _lost_tables(
    messages: Sequence[nodes.system_message], path: str
) -> Iterator[tuple[str, Mistake]]:
    for message in messages:
        said = _said(message)
        unknown = said.startswith("Unknown directive type")
        if _TABLE_LOST.match(said) or (unknown and _TABLE_INSIDE.search(message.astext())):
            yield (
                "page-table",
                Mistake(
                    path,
                    int(message.get("line", 1)),
                    1,
                    f"a table cannot be read: {shown(' '.join(said.split()), 160)}",
                    "Write it as a `list-table` directive of its own.",
                ),
            )


def _said(message: nodes.system_message) -> str:
    return str(message.children[0].astext()) if message.children else ""


def _headings(
    document: nodes.document, messages: Sequence[nodes.system_message], lines: Sequence[str]
) -> tuple[Heading, ...]:
    made = [
        heading
        for section in document.findall(nodes.section)
        if (heading := _made_heading(section, lines)) is not None
    ]
    signs = {lines[heading.line].strip()[:1] for heading in made if heading.line < len(lines)}
    lost = [
        heading
        for message in messages
        if _said(message).startswith("Possible title underline")
        and (heading := _lost_heading(int(message.get("line", 0)), lines, signs)) is not None
    ]
    return tuple(sorted({*made, *lost}, key=lambda heading: heading.line))


def _made_heading(section: nodes.section, lines: Sequence[str]) -> Heading | None:
    title, at = section.children[0], section.line
    if not isinstance(title, nodes.title) or at is None or not 0 < at <= len(lines):
        return None
    wanted = title.rawsource.strip()
    near = (number for number in (at - 1, at, at - 2) if 0 < number <= len(lines))
    line = next((number for number in near if lines[number - 1].strip() == wanted), None)
    if line is None:
        return None
    underline = lines[line].strip() if line < len(lines) else ""
    short = len(underline) < column_width(wanted)
    return Heading(title.astext(), line, underline if short else "")


def _lost_heading(line: int, lines: Sequence[str], signs: Collection[str]) -> Heading | None:
    """The text above `line` if it was meant as a heading: a size, or underlined as others are."""
    if not 1 < line <= len(lines):
        return None
    title, underline = lines[line - 2].strip(), lines[line - 1].strip()
    heading = Heading(title, line - 1, underline, made=False)
    alike = len(underline) > 1 and underline[0] in signs and len(title) <= _LONGEST_TITLE
    return heading if heading.billions is not None or alike else None


def _inside_table(node: nodes.Node) -> bool:
    return any(isinstance(parent, nodes.table) for parent in _ancestors(node))


def _ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def _table(node: nodes.table, lines: Sequence[str]) -> Table | None:
    """The table with its last header row as header; the first row where none is marked."""
    headers, body = _row_nodes(node, nodes.thead), _row_nodes(node, nodes.tbody)
    places = _Places(lines, node.line or 1)
    rows = [_row(row, places) for row in (*headers, *body)]
    first = max(len(headers), 1)
    if not rows:
        return None
    return Table(_section_title(node), rows[first - 1], tuple(rows[first:]), _remarks(node, lines))


def _row_nodes(table: nodes.table, part: type[nodes.Element]) -> list[nodes.row]:
    """The rows of the head or the body, without those of tables inside a cell."""
    groups = [child for child in table.children if isinstance(child, nodes.tgroup)]
    parts = [child for group in groups for child in group.children if isinstance(child, part)]
    return [row for item in parts for row in item.children if isinstance(row, nodes.row)]


def _section_title(node: nodes.Node) -> str:
    section = next((item for item in _ancestors(node) if isinstance(item, nodes.section)), None)
    return section.children[0].astext() if section is not None else ""


def _remarks(node: nodes.table, lines: Sequence[str]) -> tuple[Cell, ...]:
    """The items of the lists between this table and the next one or the end of the section."""
    siblings = node.parent.children
    remarks: list[Cell] = []
    for sibling in siblings[siblings.index(node) + 1 :]:
        if isinstance(sibling, nodes.table | nodes.section):
            break
        if isinstance(sibling, nodes.bullet_list):
            places = _Places(lines, sibling.line or 1)
            remarks += [_cell(item, *places.of_item(item, 1)) for item in sibling.children]
    return tuple(remarks)


class _Places:
    """Finds where nodes begin in the page, going forward from `line`."""

    def __init__(self, lines: Sequence[str], line: int) -> None:
        self._lines = lines
        self._line = line
        self._column = 1

    def of_item(self, node: nodes.Node, bullets: int) -> tuple[int, int]:
        """Line and column of a list item behind `bullets` bullets on its own line."""
        line = node.line or self._line
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        match = re.match(rf"\s*(?:{_BULLET}){{0,{bullets}}}", text + " ")
        return line, min(match.end() if match else 0, len(text)) + 1

    def of_entry(self, node: nodes.Element) -> tuple[int, int]:
        """Line and column of a cell that is drawn with rules or separated by commas."""
        found = next((item for item in node.findall() if item.line), None)
        line = found.line if found is not None and found.line else self._line
        if line != self._line:
            self._line, self._column = line, 1
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        words = found.rawsource.partition("\n")[0] if isinstance(found, nodes.Element) else ""
        at = text.find(words, self._column - 1)
        place = (line, at + 1 if at >= 0 else self._column)
        self._column = place[1] + max(len(words), 1)
        return place


def _row(node: nodes.row, places: _Places) -> Row:
    entries = [child for child in node.children if isinstance(child, nodes.entry)]
    if node.line is None:
        cells = [_cell(entry, *places.of_entry(entry)) for entry in entries]
        line, column = (cells[0].line, cells[0].column) if cells else (1, 1)
    else:
        on_row = [2 if entry.line == node.line else 1 for entry in entries]
        found = [places.of_item(*pair) for pair in zip(entries, on_row, strict=True)]
        cells = [_cell(entry, *place) for entry, place in zip(entries, found, strict=True)]
        line, column = places.of_item(node, 0)
    return Row(tuple(cells), line, column)


def _cell(node: nodes.Node, line: int, column: int) -> Cell:
    blocks = [child for child in node.children if not isinstance(child, nodes.system_message)]
    text = re.sub(r"\n+", " ", "\n".join(block.astext() for block in blocks))
    links = [link for block in blocks for link in block.findall(nodes.reference)]
    target = next((str(link["refuri"]) for link in links if link.get("refuri")), None)
    return Cell(text, target, line, column)
