"""Rules about the headings of a page, and what stands under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule
from rl_resources.page.sizes import right_heading, section_size
from rl_resources.page.told import trains_another_model
from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading
    from rl_resources.page.value import Heading


@rule()
def page_lost_heading(reading: Reading) -> Iterator[Mistake]:
    """What is meant as a heading is one.

    A title whose underline has fewer than four signs and is too short is ordinary text: the
    table below belongs to the section before, and no link leads to it.

    Bad: `0.5B` over `~~~`
    Good: `0.5B` over `~~~~`
    """
    for heading in reading.page.headings:
        if not heading.made:
            message = f"`{shown(heading.title)}` is no heading: its underline is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


@rule("warning")
def page_short_underline(reading: Reading) -> Iterator[Mistake]:
    """An underline is as long as its heading.

    The page builds with a warning, and with none where warnings are errors.

    Bad: `Hardware` over `=====`
    Good: `Hardware` over `========`
    """
    for heading in reading.page.headings:
        if heading.made and heading.underline:
            message = f"the underline of `{shown(heading.title)}` is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


def _longer(heading: Heading) -> str:
    return f"Write `{shown(heading.underline[0] * len(heading.title))}` below it."


def _at_heading(reading: Reading, heading: Heading, message: str, mend: str) -> Mistake:
    return Mistake(reading.page.path, heading.line, 1, message, mend)


@rule("warning")
def page_table_section(reading: Reading) -> Iterator[Mistake]:
    """Every table of runs stands under the heading of a size.

    Readers look under the size of their model.

    Bad: a table under `Seven`, others under `3B` and `14B`
    Good: the table under `7B`
    """
    sizes = [section_size(reading, table) for table in reading.tables]
    if sum(size is not None for size in sizes) * 2 < len(sizes):
        return
    for table, size in zip(reading.tables, sizes, strict=True):
        if size is None:
            heading = reading.page.heading_of(table)
            under = f"under `{shown(heading.title)}`, which is no size" if heading else "under none"
            message = f"the table stands {under}; the others stand under the size of their models"
            yield reading.mistake(table.header, message, "Put the heading of a size above it.")


@rule()
def page_model_section(reading: Reading) -> Iterator[Mistake]:
    """A row stands under the size of its model.

    Readers look under the size of their model, and take what stands there for it.

    Bad: Qwen2.5-7B-Instruct under `14B`
    Good: Qwen2.5-7B-Instruct under `7B`
    """
    for row in reading.rows:
        right = right_heading(reading, row)
        if right is not None and not trains_another_model(reading, row):
            heading = reading.page.heading_of(row.table)
            message = (
                f"{shown(row.text('Model'))} stands under the size "
                f"{shown(heading.title) if heading else ''}"
            )
            mend = f"Move the row under {shown(right.title)}, or mend its model."
            yield reading.mistake(row.cells["Model"], message, mend)
