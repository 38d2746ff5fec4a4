"""A file's text with other lines; every byte that is not in them stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rl_resources.check.dataset.broken import BrokenCell
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Table
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


def with_cells(cells: Sequence[tuple[BrokenCell, str]]) -> Iterator[Rewrite]:
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
