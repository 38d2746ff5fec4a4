"""What was meant by a row of the wrong length, and by rows under another header or separator."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import Error as CsvError
from csv import reader
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rl_resources.facts import vocabulary_of
from rl_resources.files import table_beside
from rl_resources.package import TableSchema
from rl_resources.snapshot import Snapshot, Table, rows_at
from rl_resources.tabular import Row, line_of
from rl_resources.text import shown

if TYPE_CHECKING:
    from rl_resources.schema.validation import Failure

MOST_ROWS_TO_CHOOSE = 3
_SEPARATORS: Sequence[str] = table_beside(__file__)["separators"]
_DECIMAL_COMMA = re.compile(r"\A(-?\d+),(?=\d+\Z)")

Cells = tuple[str, ...]


class RowRepair(NamedTuple):
    """The rows of a table that do not fit its header, and what was meant by them."""

    snapshot: Snapshot
    table: Table

    @property
    def width(self) -> int:
        """The cells of a row that fits."""
        return len(self.table.schema.names)

    # A row of another length

    def certain_row(self, row: Row) -> Cells:
        """The row that is certainly meant by one of the wrong length; empty if that is in doubt.

        Either it has another separator, or too few or too many empty cells at its end.
        """
        separated = self._separated(row.text or ",".join(row.cells))
        if separated:
            return separated
        missing = self.width - len(row.cells)
        cells = row.cells[: self.width] + _empty(missing)
        # An empty required cell is broken too: the missing cell may be before it, not at the end.
        if any(row.cells[self.width :]) or self._broken([cells]):
            return ()
        return cells

    def likely_rows(self, row: Row) -> list[Cells]:
        """The rows that may be meant by one of the wrong length, without broken cells.

        They differ from it in one place: by empty cells, or by commas within one cell.
        """
        certain = self.certain_row(row)
        if certain:
            return [certain]
        return self._sound(self._of_right_length(row.cells))

    def requoted(self, line: str) -> list[Cells]:
        """The rows that may be meant by a line with a missing or an extra quote.

        One with another separator has its quotes in other places.
        """
        separated = self._separated(line)
        if separated:
            return [separated]
        rows = self._of_right_length(tuple(line.split(",")))
        return self._sound(map(_without_quotes, rows))

    def _of_right_length(self, cells: Cells) -> Iterator[Cells]:
        """The rows that these cells make with empty ones, or with some joined, in one place."""
        missing = self.width - len(cells)
        for place in range(min(len(cells) + 1, self.width)):
            before = cells[:place]
            if missing > 0:
                yield before + _empty(missing) + cells[place:]
                continue
            end = place + 1 - missing
            for joined in _as_one_cell(cells[place:end]):
                yield (*before, joined, *cells[end:])

    def _sound(self, candidates: Iterable[Cells]) -> list[Cells]:
        """The rows whose cells fit their columns, each once.

        A required cell may be empty, unless it is of the key.
        """
        rows = list(dict.fromkeys(candidates))
        key = self.table.schema.primary_key
        broken = {
            failure.row
            for failure in self._broken(rows)
            if failure.field in key or failure.constraint != "required"
        }
        return [row for number, row in enumerate(rows) if number not in broken]

    def _broken(self, rows: Iterable[Cells]) -> Sequence[Failure]:
        """The cells of some rows that do not fit their columns."""
        from rl_resources.schema.validation import failures  # imports pandera

        schema = self.table.schema
        columns = dict(zip(schema.names, zip(*rows, strict=True), strict=False))
        return failures(schema, columns, vocabulary_of(self.snapshot, self.table))

    # Another separator

    def _separated(self, line: str) -> Cells:
        """The cells of a line with a separator other than the comma; none for most lines."""
        for mark in _SEPARATORS:
            cells = _cells_between(mark, line)
            # A comma in the first cell: commas separate, and a text has semicolons.
            if len(cells) == self.width and "," not in cells[0]:
                return cells
        return ()

    def separator(self, header: str) -> str:
        """What separates the names of columns in a header; empty if it is a comma."""
        most = max(1, self._count_of_columns(header, ","))
        for mark in _SEPARATORS:
            if self._count_of_columns(header, mark) > most:
                return mark
        return ""

    def _count_of_columns(self, header: str, mark: str) -> int:
        """How many columns a header names if `mark` separates the names."""
        names = _cells_between(mark, header)
        return sum(column_named(self.table.schema, name) != "" for name in names)

    def with_commas(self, mark: str) -> Mapping[int, str]:
        """All lines of a table whose cells are separated by `mark`, with commas.

        Where semicolons separate cells, a comma is the decimal point.
        """
        lines = {}
        text = self.table.decoded.replace("\r\n", "\n")
        for number, line in enumerate(text.split("\n"), 1):
            cells = _cells_between(mark, line)
            if mark == ";":
                cells = tuple(_DECIMAL_COMMA.sub(r"\1.", cell) for cell in cells)
            if len(cells) > 1:
                lines[number] = line_of(cells)
        return lines

    # Another header

    def in_columns(self, header: Row) -> Mapping[int, str]:
        """The lines of a table with their cells in the columns of the schema.

        Empty if a cell would be lost, or might end up in another column.
        """
        schema = self.table.schema
        every = self.table.text.rows
        rows = [row for row in every if not row.empty and row.cells != header.cells]
        by_place = [row.cells for row in rows]
        columns = self._columns_by_name(header, by_place)
        missing = [field for field in schema.fields if field.name not in columns]
        dropped = self._columns_of_last_commit()
        for field in missing:
            if field.required or field.name in dropped:
                return {}
            columns[field.name] = _empty(len(by_place))
        by_name = list(zip(*[columns[name] for name in schema.names], strict=True))
        if not missing and self._fits_by_place(by_place, by_name):
            return {}
        lines = {header.line: line_of(schema.names)}
        for row, cells in zip(rows, by_name, strict=True):
            lines[row.line] = line_of(cells)
        return lines

    def _columns_of_last_commit(self) -> set[str]:
        """The columns that had cells then: one that is missing now was dropped with them."""
        rows = rows_at(self.snapshot.package, "HEAD", self.table.path)
        return set(chain.from_iterable(rows))

    def _columns_by_name(
        self, header: Row, rows: Sequence[Cells]
    ) -> dict[str, Sequence[str]]:
        """The cells of each column that the header names; none if a cell would be lost.

        A column that the schema lacks has no content if it only numbers the rows.
        """
        columns: dict[str, Sequence[str]] = {}
        lengths = {len(header.cells), *map(len, rows)}
        if self.table.text.defects or len(lengths) > 1:
            return {}
        for title, *cells in zip(header.cells, *rows, strict=True):
            name = column_named(self.table.schema, title)
            has_content = any(cells) and not _counts_rows(cells)
            if name in columns or (has_content and not name):
                return {}
            if name:
                columns[name] = cells
        return columns

    def _fits_by_place(
        self, by_place: Sequence[Cells], by_name: Sequence[Cells]
    ) -> bool:
        """Whether the cells fit the schema as well by place as by name.

        If so, perhaps only the names are swapped.
        """
        if by_place == by_name:
            return False
        return len(self._broken(by_place)) <= len(self._broken(by_name))


def column_named(schema: TableSchema, text: str) -> str:
    """The column with this name or title, in any case; empty if there is none."""
    known = {_plain_name(field.title): field.name for field in schema.fields}
    known |= {_plain_name(name): name for name in schema.names}
    return known.get(_plain_name(text), "")


def _plain_name(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text)
    return re.sub(r"[\s_-]+", " ", plain).strip().lower()


def _cells_between(mark: str, line: str) -> Cells:
    """The cells of a line; none if its quotes are broken."""
    try:
        return tuple(chain.from_iterable(reader([line], delimiter=mark)))
    except CsvError:
        return ()


def _empty(count: int) -> Cells:
    return ("",) * count


def _without_quotes(cells: Cells) -> Cells:
    """The texts that these cells enclose in quotes."""
    return tuple(cell.strip('"').replace('""', '"') for cell in cells)


def _as_one_cell(cells: Cells) -> Sequence[str]:
    """Some cells joined into one: a text, or a number whose comma separates thousands or is the
    decimal point.
    """
    if all(map(str.isdecimal, cells)):
        return [".".join(cells), "".join(cells)]
    return [",".join(filter(None, cells))]


def _counts_rows(cells: Sequence[str]) -> bool:
    """Whether the cells number the rows, from 0 or from 1."""
    count = len(cells)
    numbers = list(map(str, range(count + 1)))
    return list(cells) in (numbers[:count], numbers[1:])


def as_help(rows: Sequence[Cells]) -> str:
    """What to write if one of these rows is meant; empty if there are none or too many."""
    if not rows or len(rows) > MOST_ROWS_TO_CHOOSE:
        return ""
    listed = " or: ".join(shown(line_of(cells), 2000) for cells in rows)
    return f"Write: {listed}"
