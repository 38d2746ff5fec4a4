"""Rules about the links from rows to scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule
from rl_resources.page.script_link import folder_above, link_as_text
from rl_resources.page.told import is_dead_link
from rl_resources.words import is_slip, shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow


_FEWEST_ALIKE = 2


@rule()
def page_no_script(reading: Reading) -> Iterator[Mistake]:
    """Every row links its script.

    A row without its script cannot be tried by anybody.

    Bad: see above
    Good: a link to the script
    """
    return reading.told("page-no-script")


@rule()
def page_broken_link(reading: Reading) -> Iterator[Mistake]:
    """A link is one that reStructuredText makes.

    With wrong markup a reader sees the address as text, and the script is not linked.

    Bad: `` `a.sh <https://host/a.sh> `` without `_` at its end, or with a blank before the `>`
    Good: `` `a.sh <https://host/a.sh>`_ ``
    """
    for row in reading.rows:
        cell = row.cells["Link"]
        source = reading.page.lines[cell.line - 1][cell.column - 1 :].strip()
        if link_as_text(cell):
            message = "the link is no link in reStructuredText: its markup is shown as text"
        elif cell.target is None and re.search(r"\.sh(?:`_|_)_?$", source):
            message = "the link has no address: nothing on the page says where it leads"
        else:
            continue
        name = shown(row.link.script, 120)
        yield reading.mistake(cell, message, f"Write `` `{name} <https://…/{name}>`_ ``.")


@rule()
def page_missing_script(reading: Reading) -> Iterator[Mistake]:
    """A link leads to a script that there is.

    A row whose link is dead cannot be tried by anybody.

    Bad: a link to `…_grpo_4_h800_fsdp_vllm.sh`, which was renamed
    Good: a link to the script as it is called
    """
    yield from reading.told("page-missing-script")
    folders = {id(row): folder_above(row.cells["Link"]) for row in reading.rows}
    usual, most = next(iter(Counter(filter(None, folders.values())).most_common(1)), ("", 0))
    for row in reading.rows:
        folder = folders[id(row)] or usual
        if folder.partition("_")[0].lower() in reading.context.vocabulary.tasks:
            continue  # `gspo_trainer/` beside `grpo_trainer/` is no slip
        if most >= _FEWEST_ALIKE and not is_dead_link(reading, row) and is_slip(folder, usual):
            message = f"the link leads into {shown(folder)}/, the others into {shown(usual)}/"
            yield reading.mistake(row.cells["Link"], message, f"Write `{shown(usual)}`.")


@rule()
def page_link_label(reading: Reading) -> Iterator[Mistake]:
    """A link is called as the script that it leads to.

    A reader believes the label, and gets another script.

    Bad: a link called `a.sh` that leads to `b.sh`
    Good: a link called `b.sh` that leads to `b.sh`
    """
    return reading.told("page-link-label")


@rule("warning")
def page_same_script(reading: Reading) -> Iterator[Mistake]:
    """Two rows do not share a script.

    One script does one thing, so one of the rows is about something else.

    Bad: a row of 1*H100 and one of 2*H100, both with one script
    Good: a script for each
    """
    first: dict[str, ReadRow] = {}
    for row in reading.rows:
        if row.link.label not in (None, row.link.target or row.link.label):
            continue  # told as a label
        before = first.setdefault(row.link.read or row.link.script, row)
        if before is not row:
            name, line = shown(row.link.script, 120), before.cells["Link"].line
            message = f"the row links {name}, as the row of line {line} does"
            yield reading.mistake(row.cells["Link"], message, "Link a script of its own.")
