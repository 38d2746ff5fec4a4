"""The sizes of models as a page has them: by a heading, by a model, by a name."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from rl_resources.page.told import is_unknown_model

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow
    from rl_resources.page.value import Heading, Table


_NEAR, _FAR = 1.25, 1.6
SIZE = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])(?!-[0-9]+e)")


def sized(reading: Reading) -> list[Heading]:
    """The headings that name a size."""
    return [heading for heading in reading.page.headings if heading.billions is not None]


def section_size(reading: Reading, table: Table) -> float | None:
    """Billions of parameters that the heading above a table names, where it names a size."""
    heading = reading.page.heading_of(table)
    return heading.billions if heading else None


def right_heading(reading: Reading, row: ReadRow) -> Heading | None:
    """The heading that a row belongs under, where it plainly stands under another size's."""
    size, section = _model_size(reading, row), section_size(reading, row.table)
    if size is None or section is None or is_unknown_model(reading, row):
        return None
    if _ratio(size, section) <= _FAR:
        return None
    best = min(sized(reading), key=lambda other: _ratio(size, other.billions or 0))
    return best if _ratio(size, best.billions or 0) <= _NEAR else None


def _ratio(one: float, other: float) -> float:
    return math.exp(abs(math.log(one / other)))


def _model_size(reading: Reading, row: ReadRow) -> float | None:
    """Billions of parameters, of a known model in all, else by its name."""
    models = reading.context.vocabulary.dataset.by_key["models"]
    known = models.get(row.record["model"]) if row.record["model"] else None
    if known is not None:
        value = known["parameters_b"]
        return float(value) if isinstance(value, int | float) else None
    return named_size(row.text("Model"))


def named_size(name: str) -> float | None:
    """Billions of parameters that a model's name says, where it says them."""
    found = SIZE.search(name.lower())
    return float(found[1]) or None if found else None


def is_of_another_size(row: ReadRow) -> bool:
    """Whether a row's model is by its name of another size than the model of its script's name."""
    said, named = named_size(row.text("Model")), named_size(row.named.model if row.named else "")
    return said is not None and named is not None and _ratio(said, named) > _NEAR
