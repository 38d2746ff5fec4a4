"""Fixers of a file's bytes, header and row lengths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.dataset.files import crlf_scripts, marked_scripts, mended_row
from rl_resources.check.dataset.header import parted_by_commas, reordered
from rl_resources.check.fixers.lines import rewrite
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot


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
    """Cells parted by another sign, a second header, names that differ in case or blanks alone."""
    for table in snapshot.tables.values():
        wanted = table.schema.names
        if table.separator != ",":
            yield from rewrite(table, parted_by_commas(table))
        elif table.text.header and tuple(map(_plain, table.header)) == wanted:
            again = (row.line for row in table.text.rows if row.cells == wanted)
            lines: dict[int, str | None] = dict.fromkeys(again)
            yield from rewrite(table, lines | {table.text.header.line: ",".join(wanted)})
        else:
            yield from rewrite(table, reordered(snapshot, table))


def _plain(name: str) -> str:
    return name.strip().lower()


def row_length(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Blank lines go; a row stays as it is where it is in doubt which cell is missing."""
    for table in snapshot.tables.values():
        lines: dict[int, str | None] = {
            row.line: None for row in table.text.rows if not any(cell.strip() for cell in row.cells)
        }
        meant = ((row.line, mended_row(snapshot, table, row)) for row in table.text.rows)
        lines |= {line: text for line, text in meant if text is not None}
        yield from rewrite(table, lines)
