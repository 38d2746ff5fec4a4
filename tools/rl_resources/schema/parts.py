"""CSV files of any size, as polars splits them like `tabular`.

That each line is a record is told by cheap counts of bytes: `marks`. Where they do not, each line
is asked, some at a time, and `tabular` reads those that are no record by themselves, with the lines
that they swallow: `parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np
import polars as pl

from rl_resources import tabular

PART_BYTES = 1 << 24
BLOCK_BYTES = 1 << 18
MOST_ODD_LINES = 500_000
"""Of a part: they are read one by one."""
LONGEST_LINE_BYTES = 1 << 24
_PROBE_BYTES = 1 << 12
_STRIDE_BYTES = 1 << 20
MOST_LINES = max(tabular.MOST_LINES_OF_A_CELL, tabular.MOST_LINES_OF_A_CONFLICT)

_MARK = "\ufeff".encode()
_CELL = r'(?:[^",\r]*|"(?:[^"\r]|"")*")'
_QUOTE, _COMMA, _NEWLINE = b'",\n'
_CONFLICTS = tuple(mark.encode() for mark in tabular.CONFLICT_MARKS)
Item = TypeVar("Item")


class IrregularError(ValueError):
    """A file that must be read whole: its header is not the schema's, or it is no text."""


class TooManyError(ValueError):
    """More mistakes than are kept, or than are looked for at once."""


class Part(NamedTuple):
    """Some lines of a CSV file.

    `text` has a record on each of its lines, each ended by LF, save that a quoted cell may hold
    line ends. `lines` are the lines of the file at which the records begin, from 0 after the
    header. `odd` are the lines that are no record by themselves, each with the number of lines
    that it takes.
    """

    text: bytes
    lines: pl.Series
    odd: Mapping[int, int]


def has_mark(path: Path) -> bool:
    """Whether a file begins with a byte order mark."""
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def may_be_regular(path: Path, width: int) -> bool:
    """Whether a file begins without a mark, and with a line that ends with LF alone.

    Not where it has, at one of the places looked at, more lines than records have room for.
    """
    with path.open("rb") as file:
        line = file.readline()
        size = file.seek(0, SEEK_END)
        for start in range(0, size, _STRIDE_BYTES):
            file.seek(start)
            if file.read(_PROBE_BYTES).count(b"\n") > _PROBE_BYTES // width + 1:
                return False
    return not line.startswith(_MARK) and not line.endswith(b"\r\n")


def has_endless_line(path: Path) -> bool:
    """Whether a line has more than `LONGEST_LINE_BYTES`, surely where it has twice as many.

    Such a line has no end between two of the places that are looked at, which are so far apart.
    """
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        for start in range(0, size - LONGEST_LINE_BYTES + 1, LONGEST_LINE_BYTES):
            file.seek(start)
            if b"\n" in file.read(_PROBE_BYTES):
                continue
            if b"\n" not in file.read(LONGEST_LINE_BYTES - _PROBE_BYTES):
                return True
    return False


def header_of(path: Path) -> tabular.Row | None:
    """The record on the first line; none where that is not text, or has no end."""
    with path.open("rb") as file:
        line = file.readline().removeprefix(_MARK)
    try:
        return tabular.read(line.decode("utf-8")).header if line.endswith(b"\n") else None
    except UnicodeDecodeError:
        return None


class Marks(NamedTuple):
    """The bytes of CSV lines, and those of them that part and quote cells."""

    size: int
    newlines: int
    quotes: int

    def cell_bytes(self, width: int) -> int:
        """How many bytes the cells have where each line is a record of so many cells.

        They have less where a cell is missing.
        """
        return self.size - self.newlines * width - self.quotes


def marks(lines: BinaryIO) -> Marks | None:
    """`None` where quotes stand elsewhere than in pairs around whole cells, where lines hold bytes
    that records do not have, or where one may be left of a merge conflict.
    """
    size, newlines, quotes = 0, 0, 0
    while block := lines.read(BLOCK_BYTES) + lines.readline():
        signs = np.frombuffer(block, np.uint8)
        places = np.flatnonzero(signs == _QUOTE)
        opening, closing = places[::2], places[1::2]
        if b"\r" in block or b"\0" in block or len(opening) != len(closing):
            return None
        outside = np.concatenate([signs[opening - 1], signs.take(closing + 1, mode="wrap")])
        if not ((outside == _COMMA) | (outside == _NEWLINE)).all():
            return None
        if any(_begins_a_line(mark, block) for mark in _CONFLICTS):
            return None
        size += len(block)
        newlines += int(np.count_nonzero(signs == _NEWLINE))
        quotes += len(places)
    return Marks(size, newlines, quotes)


def _begins_a_line(mark: bytes, lines: bytes) -> bool:
    """Whether one of the lines begins with the mark, of which most lines hold no sign."""
    return mark[:1] in lines and (lines.startswith(mark) or b"\n" + mark in lines)


def parts(path: Path, width: int) -> Iterator[Part]:
    """All lines after the header, of records that have `width` cells.

    Raises `IrregularError` for bytes that are no text, `TooManyError` for lines that are none.
    """
    with path.open("rb") as file:
        file.readline()
        line, left, last = 0, b"", False
        while not last:
            block = file.read(PART_BYTES)
            last = len(block) < PART_BYTES
            text = left + _with_lf(block + file.readline())
            part, left = _apart(text, line, width, last)
            yield part
            line += text.count(b"\n") - left.count(b"\n")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same, of which the next is made while one is looked at."""
    with ThreadPoolExecutor(1) as beside:
        following = beside.submit(next, items, None)
        while (item := following.result()) is not None:
            following = beside.submit(next, items, None)
            yield item


def _apart(text: bytes, line: int, width: int, last: bool) -> tuple[Part, bytes]:
    """The records of these lines, and the lines that are left to be read with what follows."""
    _hold_to_records(text.count(b"\n") - len(text) // width)  # no record has fewer bytes than cells
    texts, regular = _asked(text, width)
    numbers = pl.int_range(line, line + texts.len(), dtype=pl.UInt32, eager=True)
    if regular.all():
        return Part(text, numbers, {}), b""
    _hold_to_records(int((~regular).sum()))
    lines, begins = texts.to_list(), regular.to_numpy().copy()
    odd: dict[int, int] = {}
    end = after = 0
    for end in (~regular).arg_true():
        if end < after:
            continue
        item, taken = tabular.record(lines, end, width)
        if not last and end + MOST_LINES > len(lines) and _may_go_on(item):
            break
        after = end + taken
        begins[end:after] = False
        if isinstance(item, tabular.Row) and len(item.cells) == width:
            begins[end] = True
            lines[end] = tabular.write([item.cells]).rstrip("\n")
        odd[line + end] = taken
    else:
        end = len(lines)
    kept = np.flatnonzero(begins[:end])
    records, left = (lines[at] for at in kept), lines[end:]
    return Part(_text(records), numbers.gather(kept), odd), _text(left)


def _hold_to_records(odd_lines: int) -> None:
    if odd_lines > MOST_ODD_LINES:
        raise TooManyError(f"more than {MOST_ODD_LINES:,} of its lines are no records")


def _text(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def _may_go_on(item: tabular.Row | tabular.Defect) -> bool:
    """Whether something else may be read if more lines are known."""
    return isinstance(item, tabular.Defect) and item.kind != "stray-quote" and item.lines == 1


def _asked(text: bytes, width: int) -> tuple[pl.Series, pl.Series]:
    """The lines, and whether each is a record by itself."""
    if b"\0" in text:
        raise IrregularError("NUL is no text")
    try:
        lines = pl.Series([text.decode("utf-8")]).str.split("\n").explode().head(-1)
    except UnicodeDecodeError as error:
        raise IrregularError(str(error)) from error
    record = lines.str.contains(f"^{_CELL}(?:,{_CELL}){{{width - 1}}}$")
    return lines, record & ~lines.str.contains(f"^(?:{tabular.CONFLICT}|\ufeff)")


def _with_lf(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    return text + b"\n" if text and not text.endswith(b"\n") else text
