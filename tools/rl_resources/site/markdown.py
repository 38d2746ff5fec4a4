"""The nine-column table in Markdown (GitHub's pipe tables), for pasting into other projects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rl_resources.dataset import Dataset
from rl_resources.page.rows import HEADERS
from rl_resources.site.tuning_table import TuningRow, link_target, tuning_rows

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+!|~^$&:@=-])")


def escape(text: str) -> str:
    """Text that every Markdown renderer shows as it is. Shape: one line in, one line out."""
    return _ACTIVE.sub(_entity, text)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[1])};"


def size_table(dataset: Dataset, size: str, script_url: str | None) -> str:
    """A heading and one table; a sentence in place of the table where there is no record."""
    rows = tuning_rows(dataset, size)
    if not rows:
        return f"### {size}\n\nNo record exists yet.\n"
    lines = [table_line(HEADERS), table_line(["---"] * len(HEADERS))]
    lines += [table_line(_cells(row, size, script_url)) for row in rows]
    notes = [f"- {escape(row.script)}: {escape(row.notes)}" for row in rows if row.disputed]
    return "\n".join([f"### {size}", "", *lines, *([""] if notes else []), *notes, ""])


def device_tuning(dataset: Dataset, script_url: str | None) -> str:
    """The tables of all sizes."""
    sizes = [str(size["size"]) for size in dataset.records["sizes"]]
    return "\n".join(size_table(dataset, size, script_url) for size in sizes)


def _cells(row: TuningRow, size: str, script_url: str | None) -> list[str]:
    cells = [escape(cell) for cell in row.cells()]
    target = link_target(script_url, row, size)
    if target:
        cells[HEADERS.index("Link")] = f"[{escape(row.script)}](<{target}>)"
    return cells


def table_line(cells: Sequence[str]) -> str:
    """One line of a pipe table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
