"""Rules about the headings of a page, and what stands under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.registry import Mistake, rule
from rl_resources.page.sizes import right_heading, section_size, sized
from rl_resources.page.told import trains_another_model
from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading
    from rl_resources.page.value import Heading


@rule(
    summary="What is meant as a heading is one.",
    reason="A title whose underline has fewer than four signs and is too short is ordinary text: "
    "the table below belongs to the section before, and no link leads to it.",
    bad="`0.5B` over `~~~`",
    good="`0.5B` over `~~~~`",
)
def page_lost_heading(reading: Reading) -> Iterator[Mistake]:
    for heading in reading.page.headings:
        if not heading.made:
            message = f"`{shown(heading.title)}` is no heading: its underline is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


@rule(
    summary="An underline is as long as its heading.",
    reason="The page builds with a warning, and with none where warnings are errors.",
    bad="`Hardware` over `=====`",
    good="`Hardware` over `========`",
    severity="warning",
)
def page_short_underline(reading: Reading) -> Iterator[Mistake]:
    for heading in reading.page.headings:
        if heading.made and heading.underline:
            message = f"the underline of `{shown(heading.title)}` is too short"
            yield _at_heading(reading, heading, message, _longer(heading))


def _longer(heading: Heading) -> str:
    return f"Write `{shown(heading.underline[0] * len(heading.title))}` below it."


def _at_heading(reading: Reading, heading: Heading, message: str, mend: str) -> Mistake:
    return Mistake(reading.page.path, heading.line, 1, message, mend)


@rule(
    summary="A size has one heading.",
    reason="A reader who has found the first does not look for the second.",
    bad="two headings `7B`",
    good="one heading `7B` over all its rows",
    severity="warning",
)
def page_heading_twice(reading: Reading) -> Iterator[Mistake]:
    first: dict[float, Heading] = {}
    for heading in sized(reading):
        before = first.setdefault(heading.billions or 0, heading)
        if before is not heading:
            message = f"the size {shown(heading.title)} has a heading in line {before.line} already"
            yield _at_heading(reading, heading, message, "Put both tables under one heading.")


@rule(
    summary="Under a size stands its table.",
    reason="A heading without a table promises what is not there.",
    bad="`7B`, and then the next heading",
    good="`7B` over a table, or over one with a row of `\\`",
    severity="warning",
)
def page_empty_size(reading: Reading) -> Iterator[Mistake]:
    filled = {reading.page.heading_of(table) for table in reading.page.tables}
    lost = bool(list(reading.told("page-table")))
    for heading in sized(reading):
        if heading not in filled and filled and not lost:
            message = f"under the size {shown(heading.title)} there is no table"
            yield _at_heading(reading, heading, message, "Add its table, or take the heading out.")


@rule(
    summary="Every table of runs stands under the heading of a size.",
    reason="Readers look under the size of their model.",
    bad="a table under `Seven`, others under `3B` and `14B`",
    good="the table under `7B`",
    severity="warning",
)
def page_table_section(reading: Reading) -> Iterator[Mistake]:
    sizes = [section_size(reading, table) for table in reading.tables]
    if sum(size is not None for size in sizes) * 2 < len(sizes):
        return
    for table, size in zip(reading.tables, sizes, strict=True):
        if size is None:
            heading = reading.page.heading_of(table)
            under = f"under `{shown(heading.title)}`, which is no size" if heading else "under none"
            message = f"the table stands {under}; the others stand under the size of their models"
            yield reading.mistake(table.header, message, "Put the heading of a size above it.")


@rule(
    summary="A row stands under the size of its model.",
    reason="Readers look under the size of their model, and take what stands there for it.",
    bad="Qwen2.5-7B-Instruct under `14B`",
    good="Qwen2.5-7B-Instruct under `7B`",
)
def page_model_section(reading: Reading) -> Iterator[Mistake]:
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
