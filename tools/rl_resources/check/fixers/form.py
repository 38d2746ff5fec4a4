"""Fixers of canonical form."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset import form
from rl_resources.check.fixers.lines import rewrite
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot
from rl_resources.tabular import write


def row_order(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Only whole files are sorted: a row that cannot be read would lose its place."""
    told = {mistake.path for mistake in form.row_order.mistakes(snapshot)}
    for table in snapshot.tables.values():
        text = form.canonical(snapshot, table) if table.path in told else None
        if text is not None:
            yield Rewrite(table.path, text)


def canonical_quoting(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Only as many quotes as CSV needs; rows over several lines stay as they are."""
    for table in snapshot.tables.values():
        rows = (row for row in (table.text.header, *table.text.rows) if row and row.starts)
        quoted = [row for row in rows if not any("\n" in cell for cell in row.cells)]
        yield from rewrite(table, {row.line: write([row.cells]).rstrip("\n") for row in quoted})
