"""Rules about the tables of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule
from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading
    from rl_resources.page.value import Table


@rule()
def page_table(reading: Reading) -> Iterator[Mistake]:
    """Every table can be read.

    A table that cannot be read is not shown to a reader either.

    Bad: a `list-table` without a list
    Good: a `list-table` whose items are its rows
    """
    return reading.told("page-table")


@rule()
def page_table_columns(reading: Reading) -> Iterator[Mistake]:
    """A table has the columns without which its rows mean nothing.

    A row cannot be followed without its model, its resources or its script.

    Bad: a header that lacks Model
    Good: Tag, Model, Task, Resource, MaxBatch, Train, Infer, Link, Contributor
    """
    return reading.told("page-table-columns")


@rule("warning")
def page_table_headers(reading: Reading) -> Iterator[Mistake]:
    """The tables of a page have the same header.

    Whoever adds a row copies the table that is there, its faults too.

    Bad: `tag` and no Contributor in one table, `Tag` and Contributor in the others
    Good: one header for all tables
    """
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


@rule()
def page_row_length(reading: Reading) -> Iterator[Mistake]:
    r"""A row has one cell for each column.

    In a short row nobody knows which cell is missing.

    Bad: MIN, GRPO, 2*H800, `\`, fsdp, vllm0.8.2 under nine headers
    Good: nine cells, `\` where nothing is known
    """
    return reading.told("page-row-length")
