"""Rules about the tables of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rl_resources.check.registry import Mistake, rule
from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading
    from rl_resources.page.value import Table


@rule(
    summary="Every table can be read.",
    reason="A table that cannot be read is not shown to a reader either.",
    bad="a `list-table` without a list",
    good="a `list-table` whose items are its rows",
)
def page_table(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-table")


@rule(
    summary="A table has the columns without which its rows mean nothing.",
    reason="A row cannot be followed without its model, its resources or its script.",
    bad="a header that lacks Model",
    good="Tag, Model, Task, Resource, MaxBatch, Train, Infer, Link, Contributor",
)
def page_table_columns(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-table-columns")


@rule(
    summary="The tables of a page have the same header.",
    reason="Whoever adds a row copies the table that is there, its faults too.",
    bad="`tag` and no Contributor in one table, `Tag` and Contributor in the others",
    good="one header for all tables",
    severity="warning",
)
def page_table_headers(reading: Reading) -> Iterator[Mistake]:
    told = {mistake.line for mistake in reading.told("page-table-columns")}
    tables = [table for table in reading.tables if table.header.line not in told]
    if not tables:
        return
    filled = [table for table in tables if not all(row.blank for row in table.rows)]
    usual = Counter(map(_header, filled or tables)).most_common(1)[0][0]
    for table in filled:  # an empty one is a placeholder
        if (header := _header(table)) != usual:
            message = f"the table has {_difference(header, usual)} than the others of the page"
            mend = f"Write the header as there: {', '.join(map(shown, usual))}."
            yield reading.mistake(table.header, message, mend)


def _header(table: Table) -> tuple[str, ...]:
    return tuple(cell.text.strip() for cell in table.header.cells)


def _difference(header: Sequence[str], usual: Sequence[str]) -> str:
    if len(header) != len(usual):
        return f"{len(header)} columns and not {len(usual)}, so a header other"
    odd = [word for word in header if word not in usual]
    words = ", ".join(f"`{shown(word)}`" for word in odd)
    return f"headers ({words}) other" if odd else "another order of columns"


@rule(
    summary="A row has one cell for each column.",
    reason="In a short row nobody knows which cell is missing.",
    bad="MIN, GRPO, 2*H800, `\\`, fsdp, vllm0.8.2 under nine headers",
    good="nine cells, `\\` where nothing is known",
)
def page_row_length(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-row-length")
