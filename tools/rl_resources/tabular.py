"""CSV text to rows that know where each cell begins, and back to canonical CSV text.

The grammar is RFC 4180 without line breaks in cells: one record is one line. No library reports
the column of a cell, which is why this reader exists. It never gives up: a line that it cannot read
becomes a defect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from mmap import mmap
from typing import Literal, NamedTuple

_IN_QUOTES = r'"(?:[^"]++|"")*+"'
_QUOTED = re.compile(_IN_QUOTES)
_CELL = rf'({_IN_QUOTES}|[^,"]*+)'
_CELLS = re.compile(rf"(?:\A|,){_CELL}")
_RECORD = re.compile(rf"{_CELL}(?:,{_CELL})*+")
_NEEDS_QUOTES = re.compile(r'[,"\n\r]')
LONGEST_LINE = 64 * 2**10
"""In characters; the cells of a record have room for a tenth of them."""
_MARKER = re.compile(r"(?:<<<<<<<|>>>>>>>)(?: .*)?\r?")


class Row(NamedTuple):
    """One record, and its line as it is written."""

    line: int
    cells: tuple[str, ...]
    text: str

    @property
    def empty(self) -> bool:
        """Whether the record is a line with nothing on it but spaces and commas."""
        return not "".join(self.cells).strip()

    @property
    def columns(self) -> list[int]:
        """Where each cell begins, from 1, and at last where the next would begin."""
        columns = [match.start(1) + 1 for match in _CELLS.finditer(self.text)]
        columns.append(len(self.text) + 2)
        return columns

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of cell `index`; past the end: where the next would begin."""
        return self.line, self.columns[index]


class Defect(NamedTuple):
    """A place at which the text stops being CSV.

    `cell` is the text as far as it can be determined, `text` its whole line, with those of its
    cell and `last` the last of its lines. A merge conflict is one defect.
    """

    kind: Literal["unclosed-quote", "stray-quote", "merge-conflict", "long-line"]
    line: int
    column: int = 1
    cell: str = ""
    text: str = ""
    last: int = 0

    @property
    def meant(self) -> Row | None:
        """The record if all that is wrong is a cell that goes on in the lines below."""
        item = _record(self.line, self.text)
        if isinstance(item, Row) and self.last:
            return item
        return None


class Text(NamedTuple):
    """A whole file: the header, the records that could be read, and what could not."""

    header: Row | None
    rows: tuple[Row, ...]
    defects: tuple[Defect, ...] = ()


class LineEnd(NamedTuple):
    """The line and column of a line's end that is CR LF, or (of the last line) missing."""

    line: int
    column: int
    found: str


def wrong_end(data: bytes | mmap) -> LineEnd | None:
    """The first line's end that is not LF alone, in a file in UTF-8."""
    crlf = data.find(b"\r\n")
    if crlf >= 0:
        return end_after(data[:crlf], "CR LF")
    if data[-1:] in {b"", b"\n"}:
        return None
    return end_after(data[:], "")


def end_after(before: bytes, found: str) -> LineEnd:
    """The place behind some text in UTF-8 with LF."""
    _, _, line = before.rpartition(b"\n")
    text = line.decode("utf-8").removeprefix("\ufeff")
    return LineEnd(before.count(b"\n") + 1, len(text) + 1, found)


@lru_cache(maxsize=32)
def read(text: str) -> Text:
    """Split `text` into positioned records, once for rules, pages and the next preview.

    The first record that is not empty is the header.
    There is no header where that record cannot be read.
    """
    lines = dict(enumerate(text.removesuffix("\n").split("\n"), 1)) if text else {}
    items: list[Row | Defect] = []
    for first, last in conflicts(text):
        items.append(Defect("merge-conflict", first))
        for number in range(first, last + 1):
            lines.pop(number, None)
    items.extend(records(lines.items()))
    items.sort(key=lambda item: item.line)
    header = _header(items)
    rows: list[Row] = []
    defects: list[Defect] = []
    for item in items:
        if isinstance(item, Defect):
            defects.append(item)
        elif item is not header:
            rows.append(item)
    return Text(header, tuple(rows), tuple(defects))


def _header(items: Sequence[Row | Defect]) -> Row | None:
    """The first record that is not empty, or the first line where all are empty."""
    first: Row | None = None
    for item in items:
        if isinstance(item, Defect):
            return None
        if not item.empty:
            return item
        first = first or item
    return first


def mappings(text: str) -> list[dict[str, str]]:
    """The records from column to cell, where the schema is not that of today.

    Cells that a record lacks are empty. Raises `ValueError` for a file that is no CSV.
    """
    whole = read(text.removeprefix("\ufeff"))
    if whole.defects:
        defect = whole.defects[0]
        raise ValueError(f"line {defect.line} has {defect.kind.replace('-', ' ')}")
    if whole.header is None:
        return []
    names = whole.header.cells
    empty = dict.fromkeys(names, "")
    return [empty | dict(zip(names, row.cells, strict=False)) for row in whole.rows]


def records(lines: Iterable[tuple[int, str]], width: int = 0) -> Iterator[Row | Defect]:
    """Each line, by its number, as a record or a defect.

    `width` is the number of cells in the header; without it that of the first record. A cell whose
    quote is not closed goes on in the lines below: it ends with the next quote, or before a line
    that has the commas of a record.
    """
    unclosed: Defect | None = None
    next_line = 0  # of the unclosed cell; 0 once its quote is closed
    for number, line in lines:
        if unclosed and number == next_line and line.count(",") < width - 1:
            text = f"{unclosed.text} {line.strip()}"
            unclosed = unclosed._replace(text=text, last=number)
            next_line = number + 1
            if '"' in line:
                next_line = 0
            continue
        if unclosed:
            yield unclosed
            unclosed = None
        item = _record(number, line.removesuffix("\r"))
        if isinstance(item, Row):
            yield item
            if width == 0 and not item.empty:
                width = len(item.cells)
        elif item.kind == "unclosed-quote":  # the lines below say where it ends
            unclosed = item
            next_line = number + 1
        else:
            yield item
    if unclosed:
        yield unclosed


def _record(number: int, line: str) -> Row | Defect:
    if len(line) > LONGEST_LINE:
        return Defect("long-line", number, LONGEST_LINE + 1)
    if '"' not in line:
        return Row(number, tuple(line.split(",")), line)
    cells = _cells_with_quotes(line)
    if cells:
        return Row(number, tuple(cells), line)
    before = _readable(line)
    column = len(before) + 1
    if before == "" or before.endswith(","):
        cell = line.removeprefix(before)
        return Defect("unclosed-quote", number, column, cell, line)
    *_, last = _CELLS.finditer(before)
    cell = line[last.start(1) :]
    return Defect("stray-quote", number, column, cell, line)


def _cells_with_quotes(line: str) -> list[str]:
    """The cells of a line with quotes; none where a quote is out of place."""
    parts = line.split('"')
    # A line has no line break: one stands for each comma between quotes.
    parts[1::2] = [part.replace(",", "\n") for part in parts[1::2]]
    cells = '"'.join(parts).split(",")
    for index, cell in enumerate(cells):
        if '"' not in cell:
            continue
        if not _QUOTED.fullmatch(cell):
            return []
        cells[index] = cell[1:-1].replace('""', '"').replace("\n", ",")
    return cells


def _readable(line: str) -> str:
    """A line up to the quote with which it stops being CSV."""
    match = _RECORD.match(line)
    if match is None:
        return ""
    return match[0]


def conflicts(text: str) -> list[tuple[int, int]]:
    """First and last line of every merge conflict; of a marker that is left, its line twice."""
    found: list[tuple[int, int]] = []
    if "<<<<<<<" not in text and ">>>>>>>" not in text:  # saves a look at each line
        return found
    begin = 0  # the line of the marker that is open
    for number, line in enumerate(text.split("\n"), 1):
        if not _MARKER.fullmatch(line):
            continue
        if line.startswith("<"):
            begin = number
            continue
        found.append((begin or number, number))
        begin = 0
    if begin:
        found.append((begin, begin))
    return found


def quote(cell: str) -> str:
    """The cell in canonical form: in quotes only where it must be."""
    if not _NEEDS_QUOTES.search(cell):
        return cell
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


def line_of(cells: Iterable[str]) -> str:
    """The cells as one line of canonical CSV, without its end."""
    return ",".join(map(quote, cells))


def write(records: Iterable[Iterable[str]]) -> str:
    """Canonical CSV text of the header and records, each line ended by `\\n`."""
    return "".join(f"{line_of(cells)}\n" for cells in records)
