"""What a composed configuration says against overrides that it did take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from rl_resources.script.framework.agreement import disagreement
from rl_resources.script.framework.composition import UNKNOWN, Composition, Kind, Rejection


def objections(
    base: Composition, result: Composition, applied: Iterable[tuple[int, str, Any]]
) -> Iterator[Rejection]:
    """Values that do not fit the type of the default, and references that lead nowhere.

    `base` is the configuration before, `result` after the overrides; `applied` holds the index,
    key and value of each override that set something.
    """
    for index, key, value in applied:
        if (lost := result.dangling(key)) is not None:
            reason = f"refers to `{lost}`, which does not exist"
            yield Rejection(index, key, "reference", reason)
        elif (wrong := _wrong_type(base, result, key, value)) is not None:
            yield Rejection(index, key, "type", wrong)


def _wrong_type(base: Composition, result: Composition, key: str, value: Any) -> str | None:
    try:
        default = base.value(key)
        if isinstance(value, str) and "${" in value:
            value = result.value(key)
    except KeyError:
        return None  # an added key has no default
    if default is UNKNOWN or value is UNKNOWN:
        return None
    return disagreement(key, default, value)


def refusal(kind: Kind, key: str, configuration: Composition) -> str:
    """Why an override of `key` was not taken, with the nearest key where there is one."""
    if kind == "existing-key":
        return "the configuration has this key already: leave out the `+`"
    if kind == "type":
        return "a list and a group of settings do not take each other's place"
    release = f"{configuration.framework} {configuration.version}"
    near = get_close_matches(key, [*configuration.values, *configuration.nodes], 1, 0.9)
    return f"{release} has no such key{f'; the nearest is `{near[0]}`' if near else ''}"


def is_hydras_own(key: str) -> bool:
    """Whether an override is about Hydra itself, such as `hydra.run.dir`: not the framework's."""
    return re.match(r"hydra(?:[./]|$)", key) is not None


def choice_unknown(group: str) -> str:
    """The problem of a launch whose choice of a config group is not in its text."""
    return f"the choice of `{group}` cannot be known without running the script"
