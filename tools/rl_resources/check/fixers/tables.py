"""Fixers of tables: bytes, header, rows, order, quotes and the spelling of cells.

Every byte outside of the lines that they change stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rl_resources.check.dataset import form
from rl_resources.check.dataset.broken import BrokenCell, broken_cells
from rl_resources.check.dataset.files import crlf_scripts, fixed_row, marked_scripts
from rl_resources.check.dataset.header import comma_separated, rearranged
from rl_resources.check.dataset.spelling import certain
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.tabular import write

Lines = Mapping[int, str | None]
"""New text by line number, without the line's end; `None` takes the line away."""


def with_lines(text: str, lines: Lines) -> str:
    """The text with these lines in the place of its own, each with the line's own end."""
    return "".join(_replaced(text.split("\n"), lines)).removesuffix("\n")


def _replaced(old: list[str], lines: Lines) -> Iterator[str]:
    for number, line in enumerate(old, 1):
        if number not in lines:
            yield f"{line}\n"
        elif (new := lines[number]) is not None:
            yield f"{new}\r\n" if line.endswith("\r") else f"{new}\n"


def rewrite(table: Table, lines: Lines) -> Iterator[Rewrite]:
    """The table's file with these lines; nothing where its lines are not those of the file."""
    if lines and table.data is not None and table.characters is table.decoded:
        text = table.data.decode("utf-8")
        yield Rewrite(table.path, with_lines(text, _marked(text, lines)))


def _marked(text: str, lines: Lines) -> Lines:
    """The lines, with the byte order mark that the first of the text may have."""
    first = lines.get(1)
    return {**lines, 1: f"\ufeff{first}"} if first and text.startswith("\ufeff") else lines


def _with_cells(cells: Sequence[tuple[BrokenCell, str]]) -> Iterator[Rewrite]:
    """The files with other text in some of their cells, whose rows are written in canonical form.

    Rows that take more than one line are left alone.
    """
    for table in dict.fromkeys(cell.table for cell, _ in cells):
        rows: dict[int, list[str]] = {}
        for cell, text in cells:
            if cell.table is not table:
                continue
            row = rows.setdefault(cell.row, list(table.rows[cell.row].cells))
            row[table.names.index(cell.field.name)] = text
        yield from rewrite(
            table,
            {
                table.rows[index].line: write([row]).removesuffix("\n")
                for index, row in rows.items()
                if not any("\n" in cell for cell in table.rows[index].cells)
            },
        )


def _spelt(snapshot: Snapshot, *constraints: str) -> Iterator[Rewrite]:
    cells = (cell for cell in broken_cells(snapshot) if cell.constraint in constraints)
    meant = ((cell, certain(snapshot, cell)) for cell in cells)
    return _with_cells([(cell, text) for cell, text in meant if text is not None])


def cell_type(snapshot: Snapshot) -> Iterator[Rewrite]:
    """A number or date in its canonical form."""
    return _spelt(snapshot, "type")


def vocabulary(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The known word that a misspelt one means."""
    return _spelt(snapshot, "enum", "vocabulary")


def pattern(snapshot: Snapshot) -> Iterator[Rewrite]:
    """A text in the form of its column."""
    return _spelt(snapshot, "pattern")


def outer_space(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Spaces around a cell go."""
    return _spelt(snapshot, "space")


def invisible_character(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Invisible characters go, and letters of another form become plain."""
    return _spelt(snapshot, "hidden", "character")


def byte_order_mark(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The mark goes."""
    for table in snapshot.tables.values():
        if table.undecodable is None and table.data is not None:
            yield Rewrite(table.path, table.decoded)
    for script in marked_scripts(snapshot):
        yield Rewrite(script.path, (script.data or b"").decode("utf-8").removeprefix("\ufeff"))


def line_ending(snapshot: Snapshot) -> Iterator[Rewrite]:
    """LF ends every line."""
    for table in snapshot.tables.values():
        if table.undecodable is None and table.data:
            mark = "\ufeff" if table.data.startswith("\ufeff".encode()) else ""
            yield Rewrite(table.path, mark + _with_lf(table.characters))
    for script in crlf_scripts(snapshot):
        yield Rewrite(script.path, _with_lf((script.data or b"").decode("utf-8")))


def _with_lf(text: str) -> str:
    text = re.sub(r"\r$", "", text, flags=re.MULTILINE)
    return text if text.endswith("\n") or not text else f"{text}\n"


def header(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Cells separated by another sign, columns in another order or missing, a repeated header."""
    for table in snapshot.tables.values():
        wanted = table.schema.names
        if table.separator != ",":
            yield from rewrite(table, comma_separated(table))
        elif table.text.header and tuple(map(_plain, table.header)) == wanted:
            again = (row.line for row in table.text.rows if row.cells == wanted)
            lines: dict[int, str | None] = dict.fromkeys(again)
            yield from rewrite(table, lines | {table.text.header.line: ",".join(wanted)})
        else:
            yield from rewrite(table, rearranged(snapshot, table))


def _plain(name: str) -> str:
    return name.strip().lower()


def row_length(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Empty lines go; a row stays as it is where it is in doubt which cell is missing."""
    for table in snapshot.tables.values():
        lines: dict[int, str | None] = {
            row.line: None for row in table.text.rows if not any(cell.strip() for cell in row.cells)
        }
        meant = ((row.line, fixed_row(snapshot, table, row)) for row in table.text.rows)
        lines |= {line: text for line, text in meant if text is not None}
        yield from rewrite(table, lines)


def row_order(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Rows in order, where the whole file can be read, and only as many quotes as CSV needs."""
    found = {mistake.path for mistake in form.row_order.mistakes(snapshot)}
    for table in snapshot.tables.values():
        text = form.canonical(snapshot, table) if table.path in found else None
        if text is not None:
            yield Rewrite(table.path, text)
        elif table.path in found:
            rows = (row for row in (table.text.header, *table.text.rows) if row and row.starts)
            one_line = [row for row in rows if not any("\n" in cell for cell in row.cells)]
            texts = {row.line: write([row.cells]).rstrip("\n") for row in one_line}
            yield from rewrite(table, texts)
