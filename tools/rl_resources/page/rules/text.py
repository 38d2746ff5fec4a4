"""Rules about what a page says outside of its cells, or anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule

if TYPE_CHECKING:
    from rl_resources.page.records import Reading


_ADDRESS = re.compile(
    r"(?<![\w.%+/:-])(?:mailto:)?(?P<name>[\w.%+-]+)@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?![\w.:/-]*[:/])"
)
_RECOMMENDED = re.compile(r"\bRECOMMENDED\b|\([Rr]ecommended\)")


@rule("warning")
def page_email_address(reading: Reading) -> Iterator[Mistake]:
    """A page publishes no e-mail address.

    An address once published is collected, and its owner cannot take it back.

    Bad: a handle that links to an address
    Good: a handle alone, or one that links to its public profile
    """
    for number, line in enumerate(reading.page.lines, 1):
        for match in _ADDRESS.finditer(line) if "@" in line else ():
            if match["name"] == "git":
                continue  # the account of a server, not of a person
            yield Mistake(
                reading.page.path,
                number,
                match.start() + 1,
                f"the page publishes the e-mail address `{match['name'][0]}…@…`",
                "Write the public handle alone, or link its public profile.",
            )


@rule("warning")
def page_tag_without_row(reading: Reading) -> Iterator[Mistake]:
    """A tag that a page defines occurs in it.

    A reader looks for the rows that the page promises.

    Bad: a definition of RECOMMENDED, and rows of MIN alone
    Good: one row of RECOMMENDED at least
    """
    first = min((table.header.line for table in reading.tables), default=0)
    tags = {row.text("Tag").upper() for row in reading.rows} | _first_cells(reading)
    if not tags or "RECOMMENDED" in tags:
        return
    for number, line in enumerate(reading.page.lines[: first - 1], 1):
        if match := _RECOMMENDED.search(line):
            message = "the page defines RECOMMENDED, and no row has that tag"
            mend = "Add a row that has it, or say that there is none yet."
            yield Mistake(reading.page.path, number, match.start() + 1, message, mend)
            return


def _first_cells(reading: Reading) -> set[str]:
    """The words that rows begin with, also of rows that are too short to be read."""
    rows = (row for table in reading.tables for row in table.rows if not row.blank)
    return {row.cells[0].text.strip().upper() for row in rows if row.cells}
