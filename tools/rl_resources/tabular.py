"""CSV text to rows that know where each cell begins, and back to canonical CSV text.

The grammar is RFC 4180 without line breaks in cells: one record is one line. No library reports
the column of a cell, which is why this reader exists. It never gives up: a line that it cannot read
becomes a defect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from mmap import mmap
from typing import Literal, NamedTuple

_CELL = r'("(?:[^"]|"")*+"|[^,"]*+)'
_CELLS = re.compile(rf"(?:\A|,){_CELL}")
_RECORD = re.compile(rf"{_CELL}(?:,{_CELL})*+")
_NEEDS_QUOTES = re.compile(r'[,"\n\r]')
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

    def place(self, index: int) -> tuple[int, int]:
        """Line and column, from 1, of cell `index`; past the end: where the next would begin."""
        begins = [match.start(1) + 1 for match in _CELLS.finditer(self.text)]
        return self.line, [*begins, len(self.text) + 2][index]


class Defect(NamedTuple):
    """A place at which the text stops being CSV.

    `cell` is the text as far as it can be determined, `text` its whole line, with those of its
    cell. A merge conflict is one defect.
    """

    kind: Literal["unclosed-quote", "stray-quote", "merge-conflict"]
    line: int
    column: int = 1
    cell: str = ""
    text: str = ""


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
    found = re.search(rb"\r\n", data) if data.find(b"\r") >= 0 else None
    if found is None and data[-1:] in {b"", b"\n"}:
        return None
    before = data[: found.start()] if found else data[:]
    column = len(before.rpartition(b"\n")[2].decode("utf-8").removeprefix("\ufeff")) + 1
    return LineEnd(before.count(b"\n") + 1, column, "CR LF" if found else "")


@lru_cache(maxsize=32)
def read(text: str) -> Text:
    """Split `text` into positioned records, once for rules, pages and the next preview.

    The first record that is not empty is the header.
    There is no header where that record cannot be read.
    """
    spans = conflicts(text)
    lost = {line for first, last in spans for line in range(first, last + 1)}
    lines = enumerate(text.removesuffix("\n").split("\n") if text else [], 1)
    items: list[Row | Defect] = [Defect("merge-conflict", first) for first, _ in spans]
    items += records((number, line) for number, line in lines if number not in lost)
    items.sort(key=lambda item: item.line)
    rows = [item for item in items if isinstance(item, Row)]
    defects = tuple(item for item in items if isinstance(item, Defect))
    first = next((item for item in items if isinstance(item, Defect) or not item.empty), None)
    header = first if isinstance(first, Row) else rows[0] if rows and first is None else None
    return Text(header, tuple(row for row in rows if row is not header), defects)


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
    found = []
    for row in whole.rows:
        missing = [""] * (len(names) - len(row.cells))
        found.append(dict(zip(names, (*row.cells, *missing), strict=False)))
    return found


def records(lines: Iterable[tuple[int, str]], width: int = 0) -> Iterator[Row | Defect]:
    """Each line, by its number, as a record or a defect.

    `width` is the number of cells in the header; without it that of the first record. The lines
    below an unclosed quote, to one with a quote, are of the same cell, which has line breaks; one
    with the commas of a record is not.
    """
    broken: Defect | None = None
    following = 0
    for number, line in lines:
        if broken and number == following and line.count(",") < width - 1:
            broken = broken._replace(text=f"{broken.text} {line.strip()}")
            following = 0 if '"' in line else number + 1
            continue
        if broken:
            yield broken
        item = _record(number, line.removesuffix("\r"))
        broken = item if isinstance(item, Defect) and item.kind == "unclosed-quote" else None
        following = number + 1
        if not broken:
            yield item
        if isinstance(item, Row):
            width = width or (0 if item.empty else len(item.cells))
    if broken:
        yield broken


def _record(number: int, line: str) -> Row | Defect:
    if '"' not in line:
        return Row(number, tuple(line.split(",")), line)
    match = _RECORD.match(line)
    end = match.end() if match else 0
    before = line[:end]
    if end == len(line):
        return Row(number, tuple(map(_unquoted, _CELLS.findall(line))), line)
    if before[-1:] in {"", ","}:
        return Defect("unclosed-quote", number, end + 1, line[end:], line)
    *_, last = _CELLS.finditer(before)
    return Defect("stray-quote", number, end + 1, line[last.start(1) :], line)


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def conflicts(text: str) -> list[tuple[int, int]]:
    """First and last line of every merge conflict; of a marker that is left, its line twice."""
    found: list[tuple[int, int]] = []
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        if _MARKER.fullmatch(line):
            if line.startswith(">"):
                found.append((begin or number, number))
            begin = 0 if line.startswith(">") else number
    return [*found, (begin, begin)] if begin else found


def quote(cell: str) -> str:
    """The cell in canonical form: in quotes only where it must be."""
    if _NEEDS_QUOTES.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def line_of(cells: Iterable[str]) -> str:
    """The cells as one line of canonical CSV, without its end."""
    return ",".join(map(quote, cells))


def write(records: Iterable[Iterable[str]]) -> str:
    """Canonical CSV text of the header and records, each line ended by `\\n`."""
    return "".join(f"{line_of(cells)}\n" for cells in records)
