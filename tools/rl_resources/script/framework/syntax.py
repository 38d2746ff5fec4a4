"""Hydra's syntax of an override, and OmegaConf's of a reference such as `${data.seed}`."""

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

_WORD = r"(?!(?:true|false|null|nan|inf)\b)[a-z_/][\w./+-]*"
_INT = r"-?(?:0|[1-9]\d*)"
_FLOAT = r"-?(?:0|[1-9]\d*)(?:\.\d+|(?:\.\d+)?e-?\d+)"
_ITEM = rf"(?:{_INT}|{_FLOAT}|{_WORD}|'{_WORD}'|\"{_WORD}\")"
_PLAIN = re.compile(
    r"(?P<prefix>\+{0,2})(?P<key>[a-z_]\w*(?:\.[a-z_]\w*)*)="
    rf"(?:(?P<scalar>{_INT}|{_FLOAT}|true|false|null|{_WORD})"
    rf"|\"(?P<quoted>[\w.*|/ -]+)\"|(?P<list>\[(?:{_ITEM}(?:, ?{_ITEM})*)?\]))",
    re.ASCII | re.IGNORECASE,
)
_CONSTANTS = {"true": True, "false": False, "null": None}


class Override(NamedTuple):
    """One override as Hydra reads it: `prefix` is `+`, `++`, `~` or empty.

    `key` has the package of a config group, `group@package`.
    """

    prefix: str
    key: str
    value: Any


def plain_override(text: str) -> Override | None:
    """As `parse` for a number, a truth value, a word, a quoted text and a list; else `None`."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    value: Any = match["quoted"] or _item(match["scalar"] or "")
    if match["list"]:
        value = [_item(item) for item in re.findall(r"[\w./+-]+", match["list"])]
    return Override(match["prefix"], match["key"], value)


def _item(text: str) -> int | float | str | None:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if re.fullmatch(_INT, text):
        return int(text)
    return float(text) if re.fullmatch(_FLOAT, text, re.IGNORECASE) else text


@cache
def _grammar() -> OverridesParser:
    from hydra.core.override_parser.overrides_parser import OverridesParser  # takes 0.4 s

    return OverridesParser.create()


@lru_cache(maxsize=20_000)
def parse(text: str) -> Override:
    """One override as Hydra reads it; raises `ValueError` where it does not."""
    if plain := plain_override(text):
        return plain
    from hydra.errors import HydraException

    try:
        parsed = _grammar().parse_override(text)
    except (HydraException, RecursionError) as error:
        raise ValueError(_reason(text, str(error))) from None
    prefix = {"DEL": "~", "ADD": "+", "FORCE_ADD": "++"}.get(parsed.type.name, "")
    key = parsed.key_or_group + (f"@{parsed.package}" if parsed.package else "")
    if parsed.is_sweep_override():
        raise ValueError("holds several values, separated by commas outside brackets")
    return Override(prefix, key, parsed.value())


def _reason(text: str, error: str) -> str:
    """Why Hydra does not read an override, from the words of its parser."""
    if found := re.search("token recognition error at: '(.)", error):
        return f"has `{found[1]}`, which must be in quotes, or is a wrong character"
    if re.search(r",\s*\Z", text):
        return "ends with a comma"
    return f"is not Hydra's syntax: {error.partition(' expecting')[0].partition(chr(10))[0]}"


# References: `${a.b}`, `${.b}` from the section that it is in, `${oc.select:a.b,default}`.

_REFERENCE = re.compile(
    r"(?<!\\)\$\{(?P<select>oc\.select:)?(?P<dots>\.*)(?P<name>[^\\{}()\[\]:,\s'\"$]+)"
    r"(?:, ?(?P<default>[^${}]*|\{\}|\$\{[^{}]*\}))?\}"
)
_Path = tuple[str, ...]


class UnclearError(ValueError):
    """A reference of a form that is not read here, or one to a value that a run has to give."""


def resolved(tree: dict[str, Any], key: str) -> Any:
    """A copy of the node at a dotted key without references.

    Raises `KeyError` with the key that is missing, `UnclearError`, and `RecursionError` for a
    circle.
    """
    return _whole(tree, *_found(tree, (), key))


def _found(tree: dict[str, Any], above: _Path, key: str) -> tuple[Any, _Path]:
    """The node at a key of the section `above`, and where it stands."""
    node: Any = tree
    at: _Path = ()
    for name in (*above, *(key.split(".") if key else ())):
        try:
            child = node[int(name)] if isinstance(node, list) else dict.__getitem__(node, name)
        except (LookupError, TypeError, ValueError):
            raise KeyError(key) from None
        node, at = _followed(tree, child, (*at, name))
    return node, at


def _followed(tree: dict[str, Any], node: Any, at: _Path) -> tuple[Any, _Path]:
    """What a node refers to, and where that stands; else the node itself."""
    if not isinstance(node, str) or "${" not in node:
        return node, at
    if match := _REFERENCE.fullmatch(node):
        return _referenced(tree, match, at)
    text = _REFERENCE.sub(lambda match: str(_referenced(tree, match, at)[0]), node)
    if "${" in text:
        raise UnclearError(node)
    return text, at


def _referenced(tree: dict[str, Any], match: re.Match[str], at: _Path) -> tuple[Any, _Path]:
    """What one reference in the node at `at` stands for."""
    above = at[: -len(match["dots"])] if match["dots"] else ()
    try:
        node, where = _found(tree, above, match["name"])
    except KeyError as error:
        if not match["select"] or error.args != (match["name"],):
            raise
        node = MISSING
    if node != MISSING:
        return node, where
    if not match["select"]:
        raise UnclearError(match[0])
    default = match["default"]
    if default is None or "${" in default:
        return _followed(tree, default, at)
    return parse(f"x={default}").value, at


def _whole(tree: dict[str, Any], node: Any, at: _Path) -> Any:
    node, at = _followed(tree, node, at)
    if isinstance(node, dict):
        return {name: _whole(tree, item, (*at, str(name))) for name, item in node.items()}
    if isinstance(node, list):
        return [_whole(tree, item, (*at, str(index))) for index, item in enumerate(node)]
    return node
