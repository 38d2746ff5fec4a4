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
    value = number(snapshot.tables["models"].cell(model, "parameters_b")) or nan
    start, end = "from_parameters_b", "below_parameters_b"
    sizes = records(snapshot, "sizes", "size", start, end)
    fitting = [it for it in sizes if it.number(start) <= value < (it.number(end) or inf)]
    return fitting[-1].text("size") if fitting else ""


def size_of(snapshot: Snapshot, slug: str) -> str:
    """The size of the model with this slug; empty where its row is in doubt."""
    model = _models_by_slug(snapshot).get(slug)
    size = model.text("size") if model else ""
    return size if model and fitting_size(snapshot, model.row) in {size, ""} else ""


@lru_cache(maxsize=1)
def _models_by_slug(snapshot: Snapshot) -> Mapping[str, Record]:
    """The models whose size is sound by the slug that they should have."""
    models = records(snapshot, "models", "model", "size")
    return {slug_of(item.text("model")): item for item in models}


def slug_of(model: str) -> str:
    """The model's part of a script name; a character that parts cannot have becomes `-`."""
    return _NO_PART.sub("-", model.rpartition("/")[2].lower())
