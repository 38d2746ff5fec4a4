"""Whether two names mean one model: Hugging Face ids, names alone, and folders on disk."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

Likeness = Literal["same", "variant", "other"]

_SIZE = re.compile(r"(?<![a-z0-9])\d+(?:[.-]\d+)?[bm](?![a-z0-9])")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_CACHED = re.compile(r"models--[\w.-]+?--([\w.-]+)")
_FOLDER = re.compile(
    r".*(?:model|ckpt|checkpoint|weight|pretrain).*|data|llms?|hf|huggingface|outputs?|workspace"
    r"|home|root|mnt|nas|share|shared|cache|local|verl"
)
_VARIANT = re.compile(r"-(?:instruct|base|chat|it|pt)$")
_PLAIN_IS_BASE = re.compile(r"(?:codeqwen|qwen[12](?:-5)?|llama|gemma|mistral|phi)-")


def model_in_path(path: str, known: Collection[str]) -> str | None:
    """The name of the model that a path means; `None` where it cannot be determined.

    A folder tells it when it is called like one of the `known` names, or like some model of a size.
    """
    cached = _CACHED.search(path)
    if cached:
        return cached[1]
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


def likeness(name: str, known: Collection[str]) -> Likeness | None:
    """How a model is like the one with the `known` names; `None` where that is unknown."""
    plain, others = _plain(name), [_plain(other) for other in known]
    if not plain or not others or plain in others:
        return "same"
    for other in others:
        if _VARIANT.sub("", plain) == _VARIANT.sub("", other):
            return _variant(plain, other)
    derived = any(_VARIANT.sub("", other) in plain for other in others)
    return None if derived and not is_id(name) else "other"


def _variant(one: str, other: str) -> Likeness:
    """Two names of one size and family: `X` and `X-Base` are one where `X` itself is the base."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    both_base = longer == f"{shorter}-base" and _PLAIN_IS_BASE.match(longer)
    return "same" if both_base else "variant"


def _plain(name: str) -> str:
    """A model's name without its owner, case, and the signs between its words."""
    last = name.rstrip("/").rpartition("/")[2].lower()
    words = re.sub(r"[\W_]+", "-", last).strip("-")
    return words.removeprefix("meta-").removesuffix("-hf")
