"""CSV text to rows that know where each cell begins, and back to canonical CSV text.

The grammar is RFC 4180 with `\\n` or `\\r\\n` between records. No library reports the physical line
and column of a cell, which is why this reader exists. It never gives up: a record that it cannot
read becomes a defect and reading goes on at the next physical line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from mmap import mmap
from typing import Literal, NamedTuple

_CELL = r'(?:"((?:[^"]++|"")*+)"|([^,"\n]*+))'
_RECORD = re.compile(r'(?:"(?:[^"]++|"")*+"|[^,"\n]*+)(?:,(?:"(?:[^"]++|"")*+"|[^,"\n]*+))*+')
_CELLS = re.compile(rf"(?:\A|,){_CELL}")
CONFLICT_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""With what the lines begin that git puts around a merge conflict."""
CONFLICT = rf"(?:{'|'.join(map(re.escape, CONFLICT_MARKS))})"

_NEEDS_QUOTES = re.compile(r'[,"\n\r]')
_MARKER = re.compile(rf"{CONFLICT}(?: .*)?")

_PART = 1 << 18
"""Bytes of a large file that are copied to be searched: a part that the processor keeps."""
MOST_LINES_OF_A_CELL = 50
MOST_LINES_OF_A_CONFLICT = 10_000


class Row(NamedTuple):
    """One record.

    `line` is the physical line of its first cell. `text` is the whole record where it has quotes;
    it is empty for most rows.
    """

    line: int
    cells: tuple[str, ...]
    text: str = ""

    @property
    def empty(self) -> bool:
        """Whether the record is a line with nothing on it but spaces."""
        return len(self.cells) == 1 and not self.cells[0].strip()

    def place(self, index: int) -> tuple[int, int]:
        """Physical line and column, from 1, of cell `index`; past the end: where it would begin."""
        if self.text:
            return starts(self)[min(index, len(self.cells) - 1)]
        lengths = [len(cell) + 1 for cell in self.cells[:index]]
        return self.line, 1 + sum(lengths)


class Defect(NamedTuple):
    """A place at which the text stops being CSV; `cell` is the text as far as it can be determined.

    `text` is its whole line, `lines` is how many physical lines are lost with it.
    """

    kind: Literal["unclosed-quote", "stray-quote", "merge-conflict"]
    line: int
    column: int
    cell: str
    text: str
    lines: int = 1


class Text(NamedTuple):
    """A whole file: the header, the records that could be read, and what could not."""

    header: Row | None
    rows: tuple[Row, ...]
    defects: tuple[Defect, ...] = ()


class LineEnd(NamedTuple):
    """The line and column of a line's end that is CR LF, CR, or (of the last line) missing."""

    line: int
    column: int
    found: str


def wrong_end(data: bytes | mmap) -> LineEnd | None:
    """The first line's end that is not LF alone, in a file in UTF-8.

    CR alone is one where no line ends with LF.
    """
    # A search for two bytes in a `mmap` takes four times as long as for one in copies of its parts.
    parts = (data[at : at + _PART] for at in range(0, len(data), _PART))
    end = rb"\r(?:\n|\Z)" if data.find(b"\n") >= 0 else rb"\r"
    found = re.search(end, data) if any(b"\r" in part for part in parts) else None
    if found is None and data[-1:] in {b"", b"\n"}:
        return None
    at = found.start() if found else len(data)
    before = data[:at]
    column = len(before.rpartition(b"\n")[2].decode("utf-8").removeprefix("\ufeff")) + 1
    name = {b"\r\n": "CR LF", b"\r": "CR", b"": ""}[found[0] if found else b""]
    return LineEnd(before.count(b"\n") + 1, column, name)


@lru_cache(maxsize=32)
def read(text: str) -> Text:
    """Split `text` into positioned records, once for rules, pages and the next preview.

    The first record that is not empty is the header.
    There is no header where that record cannot be read.
    """
    items = list(_records(text))
    rows = [item for item in items if isinstance(item, Row)]
    defects = tuple(item for item in items if isinstance(item, Defect))
    first = next((item for item in items if isinstance(item, Defect) or not item.empty), None)
    header = first if isinstance(first, Row) else rows[0] if rows and first is None else None
    return Text(header, tuple(row for row in rows if row is not header), defects)


def _records(text: str) -> Iterator[Row | Defect]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    width = 0
    number = 0
    while number < len(lines):
        item, taken = record(lines, number, width)
        yield item
        if isinstance(item, Row) and not item.empty:
            width = width or len(item.cells)
        number += taken


def record(lines: Sequence[str], number: int, width: int) -> tuple[Row | Defect, int]:
    """Read the record at line index `number`; also say how many lines it took.

    `width` is the number of cells in the header.
    """
    line = lines[number].removesuffix("\r")
    if line[:7] in CONFLICT_MARKS and _MARKER.fullmatch(line):
        conflict = _conflict(lines, number)
        return conflict, conflict.lines
    if '"' in line:
        return _quoted_record(lines, number, width)
    return Row(number + 1, tuple(line.split(","))), 1


def _conflict(lines: Sequence[str], number: int) -> Defect:
    """The merge conflict that begins at line index `number`, or the one marker left of it."""
    last = number
    if lines[number].startswith("<"):
        below = range(number + 1, min(len(lines), number + MOST_LINES_OF_A_CONFLICT))
        outer = (at for at in below if lines[at].startswith(("<<<<<<<", ">>>>>>>")))
        at = next(outer, number)
        last = at if lines[at].startswith(">") else number
    marker = lines[number].removesuffix("\r")
    return Defect("merge-conflict", number + 1, 1, marker, marker, last - number + 1)


def _quoted_record(lines: Sequence[str], number: int, width: int) -> tuple[Row | Defect, int]:
    """Read a record with quotes.

    Line breaks have no business in a cell. One is believed only if the record then has as many
    cells as the header, else it is an unclosed quote, and nothing after its line is swallowed.
    """
    first = _cells(lines[number].removesuffix("\r"), number + 1)
    if not (isinstance(first, Defect) and first.kind == "unclosed-quote"):
        return first, 1
    last = _closing_line(lines, number)
    if last is not None:
        whole = _cells("\n".join(lines[number : last + 1]).removesuffix("\r"), number + 1)
        if isinstance(whole, Row) and len(whole.cells) == width:
            return whole, last - number + 1
    return first, 1


def _closing_line(lines: Sequence[str], number: int) -> int | None:
    """The line index at which as many quotes are closed as were opened from `number` on."""
    quotes = lines[number].count('"')
    for last in range(number + 1, min(len(lines), number + MOST_LINES_OF_A_CELL)):
        quotes += lines[last].count('"')
        if quotes % 2 == 0:
            return last
    return None


def _cells(text: str, line: int) -> Row | Defect:
    match = _RECORD.match(text)
    end = match.end() if match else 0
    if end == len(text):
        cells = (quoted.replace('""', '"') or bare for quoted, bare in _CELLS.findall(text))
        return Row(line, tuple(cells), text)
    before = text[:end]
    place = line + before.count("\n"), end - before.rfind("\n")
    if text[end] == '"' and before[-1:] in {"", ","}:
        return Defect("unclosed-quote", *place, text[end:], text)
    *_, last = _CELLS.finditer(before)
    return Defect("stray-quote", *place, text[end - len(last[0].removeprefix(",")) :], text)


@lru_cache(maxsize=256)
def starts(row: Row) -> tuple[tuple[int, int], ...]:
    """Physical line and column of each cell of a record with quotes."""
    found: list[tuple[int, int]] = []
    line, begin = row.line, 0
    for match in _CELLS.finditer(row.text):
        at = match.start() + bool(found)
        found.append((line, at - begin + 1))
        if breaks := match[0].count("\n"):
            line += breaks
            begin = match.start() + match[0].rindex("\n") + 1
    return tuple(found)


def conflicts(text: str) -> list[tuple[int, int]]:
    """First and last line of every merge conflict; of a marker that is left, its line twice."""
    found: list[tuple[int, int]] = []
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        mark = line[:7]
        if mark in ("<<<<<<<", ">>>>>>>") and _MARKER.fullmatch(line.removesuffix("\r")):
            if mark == ">>>>>>>":
                found.append((begin or number, number))
            begin = 0 if mark == ">>>>>>>" else number
    return [*found, (begin, begin)] if begin else found


def quote(cell: str) -> str:
    """The cell in canonical form: in quotes only where it must be."""
    if cell and (_NEEDS_QUOTES.search(cell) or cell.startswith(CONFLICT_MARKS)):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def line_of(cells: Iterable[str]) -> str:
    """The cells as one line of canonical CSV, without its end."""
    return ",".join(map(quote, cells))


def write(records: Iterable[Iterable[str]]) -> str:
    """Canonical CSV text of the header and records, each line ended by `\\n`."""
    return "".join(f"{line_of(cells)}\n" for cells in records)
