"""Models: slug and size of those of the dataset, and names as people write them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
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


# Names as people write them: which model one means, its size, its parameters

SIZE_IN_NAME = re.compile(
    r"(?<![0-9.x])(?<!-a)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])(?!-[0-9]+e)", re.IGNORECASE
)
"""Not what is active of a mixture of experts: `-a3b`, `8x7b`, `17b-16e`."""


def parameters_in_name(name: str) -> float:
    """The billions of parameters in a model's name, 0 if it has none."""
    found = SIZE_IN_NAME.search(name)
    return float(found[1]) if found else 0


_SIZE = re.compile(r"(?<![a-z0-9])\d+(?:[.-]\d+)?[bm](?![a-z0-9])")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_FOLDER = re.compile(
    r".*(?:model|ckpt|checkpoint|weight|pretrain).*|data|llms?|hf|huggingface|outputs?|workspace"
    r"|home|root|mnt|nas|share|shared|cache|local|verl"
)
_VARIANT = re.compile(r"-(?:instruct|base|chat|it|pt)$")


def model_in_path(path: str, known: Collection[str]) -> str | None:
    """The name of the model that a path means; `None` where it cannot be determined.

    A directory names it if it is called like one of the `known` names, or like a model of a size.
    """
    if is_id(path):
        return path
    parts = [part for part in path.split("/") if part]
    alike = {_plain(name) for name in known}
    for part in reversed(parts):
        if _plain(part) in alike:
            return part
    return parts[-1] if parts and _SIZE.search(parts[-1].lower()) else None


def is_id(path: str) -> bool:
    """Whether a path is an owner and a name on Hugging Face, as far as it can be seen."""
    owner = path.partition("/")[0].lower()
    return bool(_ID.fullmatch(path)) and not _FOLDER.fullmatch(owner)


def likeness(name: str, known: Collection[str]) -> str:
    """Whether a model is the `same` as the one with the `known` names, a `variant` of it or an
    `other`; empty where that is unknown.
    """
    plain, others = _plain(name), [_plain(other) for other in known]
    if not plain or not others or plain in others:
        return "same"
    families = {_VARIANT.sub("", other) for other in others}
    if _VARIANT.sub("", plain) in families:
        return "variant"
    derived = any(family in plain for family in families)
    return "" if derived and not is_id(name) else "other"


def _plain(name: str) -> str:
    """A model's name without its owner, case, and the signs between its words."""
    last = name.rstrip("/").rpartition("/")[2].lower()
    words = re.sub(r"[\W_]+", "-", last).strip("-")
    return words.removeprefix("meta-").removesuffix("-hf")
