"""The fixer of line numbers in the generated table of releases."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.dataset.compatibility import rows_of_scripts
from rl_resources.check.fixers.lines import rewrite
from rl_resources.check.rule import Rewrite
from rl_resources.check.snapshot import Snapshot
from rl_resources.tabular import write


def stale_lines(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The lines of keys that stand in one other line by now."""
    lines: dict[int, str | None] = {}
    for rows in rows_of_scripts(snapshot).values():
        table, at = rows.table, rows.table.names.index("rejected")
        for row, _, meant in rows.stale():
            if None not in meant:
                cells = list(table.rows[row].cells)
                cells[at] = "; ".join(map(str, meant))
                lines[table.rows[row].line] = write([cells]).removesuffix("\n")
    if lines:
        yield from rewrite(table, lines)
