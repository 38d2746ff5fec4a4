"""The canonical form of the CSV files."""

from __future__ import annotations

from rl_resources.check.form import order_keys
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.tabular import write


def format_tables(snapshot: Snapshot) -> dict[str, str]:
    """The canonical text of every file that is not in canonical form, by path.

    A file that cannot be read whole as CSV is left alone: what is not understood is not rewritten.
    """
    return {
        table.path: text
        for table in snapshot.tables.values()
        if (text := canonical(snapshot, table)) is not None and text.encode("utf-8") != table.data
    }


def unformattable(snapshot: Snapshot) -> list[str]:
    """The files that `format_tables` leaves alone."""
    return [table.path for table in snapshot.tables.values() if canonical(snapshot, table) is None]


def canonical(snapshot: Snapshot, table: Table) -> str | None:
    """UTF-8 without a mark, LF, minimal quotes, canonical row order; `None` where unreadable."""
    if table.data is None or table.undecodable is not None or table.text.defects:
        return None
    if table.text.header is None or len(table.rows) != len(table.text.rows):
        return None
    if table.text.header.cells != table.schema.names:
        return None
    keys = order_keys(snapshot, table)
    rows = [row for _, row in sorted(zip(keys, table.rows, strict=True), key=lambda pair: pair[0])]
    return write([table.text.header.cells, *(row.cells for row in rows)])
