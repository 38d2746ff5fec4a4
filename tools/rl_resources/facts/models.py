"""The models of the dataset: slug and size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import inf, nan

from rl_resources.facts.broken import Record, records
from rl_resources.package import number
from rl_resources.snapshot import Snapshot

_NO_PART = re.compile(r"[^\w.-]|_")


def fitting_size(snapshot: Snapshot, model: int) -> str:
    """The last size that the parameters of a row of models belong to; empty where that is in doubt.

    A size without an end goes up to the next one.
    """
    cell = snapshot.tables["models"].cell(model, "parameters_b")
    # Without a number nothing fits: no comparison with `nan` is true.
    value = number(cell) or nan
    found = ""
    for size in records(snapshot, "sizes", "size", "from_parameters_b", "below_parameters_b"):
        start = size.number("from_parameters_b")
        end = size.number("below_parameters_b") or inf
        if start <= value < end:
            found = size.text("size")
    return found


def size_of(snapshot: Snapshot, slug: str) -> str:
    """The size of the model with this slug; empty where its row is in doubt."""
    model = _models_by_slug(snapshot).get(slug)
    if model is None:
        return ""
    size = model.text("size")
    if fitting_size(snapshot, model.row) not in {size, ""}:
        return ""
    return size


@lru_cache(maxsize=1)
def _models_by_slug(snapshot: Snapshot) -> Mapping[str, Record]:
    """The models whose size is sound by the slug that they should have."""
    models = records(snapshot, "models", "model", "size")
    return {slug_of(item.text("model")): item for item in models}


def slug_of(model: str) -> str:
    """The model's part of a script name; a character that parts cannot have becomes `-`."""
    _, _, name = model.rpartition("/")
    return _NO_PART.sub("-", name.lower())
