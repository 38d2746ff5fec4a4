"""What the name of a variable or a file says, and whether the value is that."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rl_resources.script.bash import Assignment

_SETS: Mapping[str, frozenset[str]] = {
    "gsm8k": frozenset({"math", "geo3k", "hellaswag", "aime"}),
    "math": frozenset({"gsm8k", "geo3k", "hellaswag"}),
    "geo3k": frozenset({"gsm8k", "math", "hellaswag"}),
    "hellaswag": frozenset({"gsm8k", "math", "geo3k"}),
}
_TRAIN = frozenset({"train", "training"})
_HELD_OUT = frozenset({"test", "val", "valid", "validation", "eval"})
_SIZE = re.compile(r"(?<![\d.])(?!910b)\d+(?:\.\d+)?b(?![a-z0-9])")
"""Sizes of models; 910B is a chip."""


def contradiction(item: Assignment) -> tuple[str, str] | None:
    """What a name says, and what the value is instead; `None` where they agree."""
    if item.elements is not None or item.kind in ("for", "read") or item.reach == "never":
        return None
    value = item.value.shown.lower()
    if "/" not in value and "." not in value:
        return None
    words = set(re.split(r"[^a-z0-9]+", item.name.lower()))
    return _other_set(words, value) or _other_split(words, value) or _other_size(item.name, value)


def _other_set(words: set[str], value: str) -> tuple[str, str] | None:
    held = set(re.split(r"[^a-z0-9]+", value))
    for name in sorted(words & set(_SETS)):
        others = sorted(held & _SETS[name])
        if others and not held & words & set(_SETS):
            return f"`{name}`", f"`{others[0]}`"
    return None


def _other_split(words: set[str], value: str) -> tuple[str, str] | None:
    if not words & {"path", "file", "files", "data", "parquet", "set", "dataset"}:
        return None
    if not re.search(r"\.(?:parquet|jsonl?|arrow)[\"'\]]*$", value):
        return None
    held = split_of(value)
    said = split_of_words(words)
    return (f"`{said}`", f"`{held}`") if said and held and said != held else None


def split_of(path: str) -> str:
    """`train` or `test`, where the name of a data file says one of them; else nothing."""
    return split_of_words(set(re.split(r"[^a-z0-9]+", path.lower().rpartition("/")[2])))


def split_of_words(words: set[str]) -> str:
    """`train` or `test`, where one of them is among the words, and the other is not."""
    is_train, is_held_out = bool(words & _TRAIN), bool(words & _HELD_OUT)
    return "" if is_train == is_held_out else "train" if is_train else "test"


def _other_size(name: str, value: str) -> tuple[str, str] | None:
    plain = name.lower().replace("_", " ")
    dotted = re.sub(r"(\d)[_p](?=\d)", r"\1.", name.lower()).replace("_", " ")
    said = {*_SIZE.findall(plain), *_SIZE.findall(dotted)}
    said |= {size.partition(".")[2] for size in said if "." in size}
    held = set(_SIZE.findall(value))
    if len(held) == 1 and said and not said & held:
        return f"`{min(_SIZE.findall(plain) or said)}`", f"`{held.pop()}`"
    return None
