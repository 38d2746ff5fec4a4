"""Hand-kept page.

What `rl-resources import-page` checks on a page that is kept by hand.

Some rules report what `records.py` could not read, the others look at the page as a whole; rules on
links and scripts are in `link_rules.py`. `page_audit` compares each row with its script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.files import UTF_8
from rl_resources.page import Heading, PageRow, width
from rl_resources.page.records import HEADERS, Reading, missing_columns
from rl_resources.rule import Mistake, rule
from rl_resources.script_rules.paths_and_secrets import mail_addresses
from rl_resources.text import shown

_RECOMMENDED = re.compile(r"\bRECOMMENDED\b|\([Rr]ecommended\)")


@rule()
def page_table(reading: Reading) -> Iterator[Mistake]:
    """Every table can be read, and at least one has rows of runs.

    Readers do not see a table that cannot be read.

    Bad: a `list-table` without a list
    Good: a `list-table` with a list whose items are its rows
    """
    broken = reading.page.mistakes
    yield from broken
    if broken or any(table.rows for table in reading.tables):
        return
    place = PageRow((), 1, 1)
    tables = reading.tables or reading.page.tables
    if tables:
        place = min(tables, key=lambda table: len(missing_columns(table))).header
    message = "the page has no table of runs"
    if tables and not reading.tables:
        names = ", ".join(shown(cell.text, 40) for cell in place.cells)
        message += f"; this one has the columns {names}"
    every = ", ".join(HEADERS)
    yield reading.mistake(
        place,
        message,
        f"Its header is {every}; each row is a run and links its script.",
    )


@rule()
def page_encoding(reading: Reading) -> Iterator[Mistake]:
    """A page is text in UTF-8.

    Sphinx stops at any other encoding, and GitHub shows wrong characters.

    Bad: a page that an editor has saved in GBK or UTF-16
    Good: the same page, saved as UTF-8
    """
    page = reading.page
    if page.encoding == UTF_8:
        return
    for number, line in enumerate(page.lines, 1):
        if not line.isascii():
            yield Mistake(
                page.path,
                number,
                1,
                f"the page is not in UTF-8; it is read as {page.encoding.upper()}",
                "Save it as UTF-8.",
            )
            return


@rule()
def page_table_columns(reading: Reading) -> Iterator[Mistake]:
    """A table has all nine columns.

    Nobody can follow a row without its model, its resources or its script, or compare it without
    the others. Other spellings of a header and another order are fine.

    Bad: a header that lacks Model
    Good: Tag, Model, Task, Resource, MaxBatch, Train, Infer, Link, Contributor
    """
    for table in reading.tables:
        missing = missing_columns(table)
        if not table.rows or not missing:
            continue
        names = ", ".join(missing)
        message = f"the table has no column {names}; its rows are read without it"
        if "Link" in missing:
            message = f"the table has no column {names}, so none of its rows is read"
        yield reading.mistake(
            table.header, message, f"Give it the columns {', '.join(HEADERS)}."
        )


@rule()
def page_row_length(reading: Reading) -> Iterator[Mistake]:
    r"""A row has one cell for each column.

    In a short row, nobody knows which cell is missing.

    Bad: MIN, GRPO, 2 × H800 80 GB, `\`, fsdp, vllm0.8.2 under nine headers
    Good: nine cells, `\` where nothing is known
    """
    for table in reading.tables:
        if "Link" in missing_columns(table):
            continue
        wanted = len(table.header.cells)
        names = ", ".join(shown(cell.text) for cell in table.header.cells)
        for row in table.rows:
            count = len(row.cells)
            if count != wanted:
                yield reading.mistake(
                    row,
                    f"the row has {count} cells and the header {wanted}; it is not read",
                    f"Give it one cell for each of {names}; write `\\` where nothing is known.",
                )


@rule()
def page_lost_heading(reading: Reading) -> Iterator[Mistake]:
    """Every heading is recognized as one.

    A title is ordinary text if its underline is too short and has fewer than four characters: the
    table below then belongs to the previous section, and no link leads to it.

    Bad: `0.5B` over `~~~`
    Good: `0.5B` over `~~~~`
    """
    path = reading.page.path
    for heading in reading.page.headings:
        if not heading.made:
            yield Mistake(
                path,
                heading.line,
                1,
                f"`{shown(heading.title)}` is not a heading: its underline is too short",
                _longer(heading),
            )


def _longer(heading: Heading) -> str:
    """How to fix an underline that is too short."""
    underline = heading.underline[0] * width(heading.title)
    return f"Write `{shown(underline, 400)}` below it."


@rule("warning")
def page_short_underline(reading: Reading) -> Iterator[Mistake]:
    """The underline of a title is at least as long as the title.

    Sphinx warns about a shorter one, and a build with `-W` stops there.

    Bad: `Tuning guide` over `========`
    Good: `Tuning guide` over `============`
    """
    path = reading.page.path
    for heading in reading.page.headings:
        if heading.made and len(heading.underline) < width(heading.title):
            yield Mistake(
                path,
                heading.line + 1,
                1,
                f"the underline of `{shown(heading.title)}` is too short",
                _longer(heading),
            )


@rule("warning")
def page_unknown_word(reading: Reading) -> Iterator[Mistake]:
    """Tag, task, device, training backend and rollout engine are words of the dataset.

    Two names for one thing split every search, and devices that share a name may differ in memory,
    which is what decides.

    Bad: GRPOO on 8 × H801
    Good: GRPO on 8 × H800 80 GB
    """
    return reading.doubts("tag", "task", "device", "train", "infer")


@rule()
def page_unknown_model(reading: Reading) -> Iterator[Mistake]:
    """A row's model exists.

    Readers cannot download it, and the row's figures belong to another model.

    Bad: Qwen2-70B
    Good: Qwen2-72B
    """
    return reading.doubts("model")


@rule()
def page_unreadable_cell(reading: Reading) -> Iterator[Mistake]:
    """Resource is a number of GPUs and a device, MaxBatch a number, and Infer ends with a release.

    Readers need them to follow a row and to compare it with others.

    Bad: H800, about 16, vllm0.8.x
    Good: 2 × H800 80 GB, 16, vllm0.8.3
    """
    return reading.doubts("gpus", "max_batch", "infer_version")


@rule("warning")
def page_contributor(reading: Reading) -> Iterator[Mistake]:
    """A contributor is a public handle.

    It says whom to ask, and nothing else about a person.

    Bad: the name Simon Huang
    Good: SimonHuang
    """
    return reading.doubts("contributor")


@rule("warning")
def page_email_address(reading: Reading) -> Iterator[Mistake]:
    """A page publishes no e-mail address.

    A published address is collected, and its owner cannot take it back.

    Bad: a handle that links to an address
    Good: a handle alone, or one that links to its public profile
    """
    page = reading.page
    for line, column, address in mail_addresses(page.lines):
        first_letter = address[0]
        yield Mistake(
            page.path,
            line,
            column,
            f"the page publishes the e-mail address `{first_letter}…@…`",
            "Write the public handle alone, or link its public profile.",
        )


@rule("warning")
def page_tag_without_row(reading: Reading) -> Iterator[Mistake]:
    """Every tag that a page defines occurs in it.

    Readers look for the rows that the page promises.

    Bad: a definition of RECOMMENDED, but only rows of MIN
    Good: at least one row of RECOMMENDED
    """
    starts = [table.header.line for table in reading.tables if table.rows]
    if not starts:
        return
    first = min(starts)
    lines = reading.page.lines
    if any("RECOMMENDED" in line.upper() for line in lines[first:]):
        return
    for number, line in enumerate(lines[: first - 1], 1):
        match = _RECOMMENDED.search(line)
        if match:
            yield Mistake(
                reading.page.path,
                number,
                match.start() + 1,
                "the page defines RECOMMENDED, and no row has that tag",
                "Add a row that has it, or say that there is none yet.",
            )
            return
