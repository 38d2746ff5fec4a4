"""Values of overrides: Hydra's syntax, OmegaConf's references such as `${data.seed}`, and types."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hydra.core.override_parser.overrides_parser import OverridesParser

STAND_IN = "a-value-that-only-a-run-knows"
"""The text in a configuration's tree for a value that is not known."""
MISSING = "???"
"""The text for a value that a run has to give."""


class ParsedOverride(NamedTuple):
    """One override: `prefix` is `+`, `++`, `~` or empty.

    `key` has the package of a config group, `group@package`. `at` is its place among the
    overrides; `unknown` says that its value is not known statically.
    """

    prefix: str
    key: str
    value: Any
    at: int = 0
    unknown: bool = False


@cache
def _grammar() -> OverridesParser:
    # Not in every installation.
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


@lru_cache(maxsize=20_000)
def parse(text: str) -> Any:
    """The value of an override as Hydra reads it; raises `ValueError` if it does not."""
    from hydra.errors import HydraException

    try:
        parsed = _grammar().parse_override(f"x={text}")
    except (HydraException, RecursionError) as error:
        raise ValueError(_reason(text, str(error))) from None
    if parsed.is_sweep_override():
        raise ValueError("has several values, separated by commas outside brackets")
    return parsed.value()


def _reason(text: str, error: str) -> str:
    """Why Hydra does not read an override, from the words of its parser."""
    placeholder = re.search("<[^<>]+>", text)
    if placeholder:
        return f"has the placeholder `{placeholder[0]}`, which Hydra refuses"
    character = re.search("token recognition error at: '(.)", error)
    if character:
        return f"has `{character[1]}`, which must be in quotes, or is a wrong character"
    if re.search(r",\s*\Z", text):
        return "ends with a comma"
    said, _, _ = error.partition(" expecting")
    first_line, _, _ = said.partition("\n")
    return f"is not Hydra's syntax: {first_line}"


# References: `${a.b}`, `${.b}` from the section that it is in, `${oc.select:a.b,default}`.

_REFERENCE = re.compile(
    r"(?<!\\)\$\{(?P<select>oc\.select:)?(?P<dots>\.*)(?P<name>[^\\{}()\[\]:,\s'\"$]+)"
    r"(?:, ?(?P<default>[^${}]*|\{\}|\$\{[^{}]*\}))?\}"
)


class UnclearError(ValueError):
    """A reference of a form that is not read here, or one to a value that a run has to give."""


def resolved(tree: dict[str, Any], key: str) -> Any:
    """A copy of the node at a dotted key without references.

    Raises `KeyError` with the key that is missing, `UnclearError`, and `RecursionError` for a
    circle.
    """
    node: Any = tree
    for name in filter(None, key.split(".")):
        if isinstance(node, list | str):
            raise UnclearError(key)
        if not isinstance(node, dict) or name not in node:
            raise KeyError(key)
        node = node[name]
    return _whole(tree, node, key)


def _whole(tree: dict[str, Any], node: Any, key: str) -> Any:
    """The node at a key with what its references stand for."""
    if isinstance(node, dict):
        return {
            name: _whole(tree, item, f"{key}.{name}") for name, item in node.items()
        }
    if isinstance(node, list):
        return [_whole(tree, item, f"{key}.{index}") for index, item in enumerate(node)]
    if not isinstance(node, str) or "${" not in node:
        return node
    match = _REFERENCE.fullmatch(node)
    if match:
        return _referenced(tree, match, key)
    text = _REFERENCE.sub(lambda match: str(_referenced(tree, match, key)), node)
    if "${" in text:
        raise UnclearError(node)
    return text


def _referenced(tree: dict[str, Any], match: re.Match[str], key: str) -> Any:
    """What one reference in the node at a key stands for.

    `oc.select` has a default for a key that is missing, or that a run has to give.
    """
    wanted = _wanted(match, key)
    value: Any = MISSING
    try:
        value = resolved(tree, wanted)
    except KeyError as error:
        # Another key may be missing: one that the value of this one names.
        if not match["select"] or error.args != (wanted,):
            raise
    if value != MISSING:
        return value
    if not match["select"]:
        raise UnclearError(match[0])
    default = match["default"]
    if default is None or "${" in default:
        return _whole(tree, default, key)
    return parse(default)


def _wanted(match: re.Match[str], key: str) -> str:
    """The key that a reference in the node at `key` names; each dot before it is a level up."""
    levels = len(match["dots"])
    if levels == 0:
        return match["name"]
    return ".".join([*key.split(".")[:-levels], match["name"]])


# Whether a value has the type of the default that it replaces. The default is all that a
# configuration file says about a type, so only what cannot be meant is rejected. `null` says
# "unset" throughout, and is accepted everywhere.

_ALSO: dict[str, type] = {
    "resume_from_path": str,
    "reshard_after_forward": int,
    "rollout_is_threshold": str,
    "save_freq": str,
    "test_freq": str,
}
"""Keys that take a second type: `False` or a path, a truth value or a group size, `0.5_4.0`, of the
SFT trainer `after_each_epoch`.
"""


def disagreement(key: str, default: Any, value: Any) -> str | None:
    """Why `value` cannot replace `default`, in words that fit after the key and a colon.

    `default` and `value` have no interpolations. `None` if they agree or nothing can be said.
    """
    _, _, name = key.rpartition(".")
    if default is None or value is None or default == MISSING:
        return None
    if isinstance(value, _ALSO.get(name, ())):
        return None
    wanted = _wanted_type(default, value)
    if not wanted:
        return None
    return (
        f"{_quoted(value)} where the default is {_quoted(default)}: {wanted} is wanted"
    )


def is_count(default: Any) -> bool:
    """Whether a default is a number that no truth value stands for."""
    return type(default) in (int, float) and default not in (0, 1)


def _wanted_type(default: Any, value: Any) -> str:
    """What is wanted in place of `value`; empty if it will do.

    A whole number as default may stand for any number. Of a truth value for a number
    `switch_for_number` warns.
    """
    wanted = ""
    match default:
        case bool() if value not in (0, 1):
            wanted = "true or false"
        case int() | float() if not isinstance(value, int | float):
            wanted = "a number"
        case dict() if not isinstance(value, dict):
            wanted = "a group of settings"
        case list() if not (isinstance(value, list) or _is_one_word(value, default)):
            wanted = "a list"
        case str() if isinstance(value, dict) or _is_switch(value, default):
            wanted = "text"
    return wanted


def _is_one_word(value: Any, default: list[Any]) -> bool:
    """Whether a value stands for a list of one word."""
    if not isinstance(value, str):
        return False
    return all(isinstance(item, str) for item in default)


def _is_switch(value: Any, default: str) -> bool:
    """Whether a value is a truth value, and the default none."""
    return isinstance(value, bool) and default.lower() not in ("true", "false")


def _quoted(value: Any) -> str:
    text = str(value)
    if isinstance(value, bool):
        text = text.lower()
    return f"`{text}`"
