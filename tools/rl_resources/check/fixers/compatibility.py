"""The fixer of line numbers in the generated table of releases."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset.compatibility import stale_rows
from rl_resources.check.fixers.tables import rewrite
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot
from rl_resources.tabular import write


def stale_lines(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The lines of keys that stand in one other line today."""
    stale = [item for found in stale_rows(snapshot).values() for item in found]
    lines: dict[int, str | None] = {}
    for table, row, _, today in stale:
        if None not in today:
            cells = list(table.rows[row].cells)
            cells[table.names.index("rejected")] = "; ".join(map(str, today))
            lines[table.rows[row].line] = write([cells]).removesuffix("\n")
    if lines:
        yield from rewrite(stale[0].table, lines)
