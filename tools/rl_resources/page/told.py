"""What is told of a row already, so that no rule tells it once more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rl_resources.words import shown

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow


def is_unknown_model(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that there is no model as the row names it."""
    told = reading.told("page-unknown-model")
    return row.cells["Model"].line in {mistake.line for mistake in told}


def is_unlisted_model(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that the dataset does not have the model that the row names."""
    told = reading.told("page-unlisted-model")
    return row.cells["Model"].line in {mistake.line for mistake in told}


def is_dead_link(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that a link leads to no script."""
    return reading.context.scripts is not None and row.link.file is None


def trains_another_model(reading: Reading, row: ReadRow) -> bool:
    """Whether it is told that the script trains another model: it is the cell that is wrong."""
    said = f"is `{shown(row.text('Model'))}`, but "
    told = reading.contradicted.get(row.row.line, ())
    return any(said in message and message.endswith(": another model") for message in told)


def is_held_to_script(reading: Reading, row: ReadRow, part: str) -> bool:
    """Whether it is told already that the script does something else than the row says of it."""
    told = reading.contradicted.get(row.row.line, ())
    return any(message.startswith(f"{part} of ") for message in told)


def is_contradicted(reading: Reading, row: ReadRow, said: str, named: str) -> bool:
    """Whether it is told already that the script does as it is named, and not as the row says."""
    wanted = [re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)", re.I) for word in (said, named)]
    told = reading.contradicted.get(row.row.line, ())
    return any(all(word.search(message) for word in wanted) for message in told)
