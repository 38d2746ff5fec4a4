"""Names of variables that stand where their values were meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Part, Place
from rl_resources.script.framework import shipped
from rl_resources.script.override import Override
from rl_resources.words import shown

_NAME = r"[A-Za-z_]\w*"
_SIGN = re.compile(rf"(?P<lost>(?<![\w$\\{{])\{{(?P<braced>{_NAME})\}})")
_KEPT = re.compile(rf"\$(?:(?P<plain>{_NAME})|\{{(?P<braced>{_NAME})\}})")
_SUBSTITUTED = re.compile(rf"\$\(\s*(?P<name>{_NAME})\s*\)")
_ITEM = re.compile(r"(?<![^\s,\[\]'\"(])[^\s,\[\]'\"(){}]+")


class Undollared(NamedTuple):
    """A variable's name in a value, and what is wrong with it there."""

    name: str
    place: Place
    message: str
    fix: str


@lru_cache(maxsize=64)
def undollared(subject: ScriptText) -> tuple[Undollared, ...]:
    """Every variable of the script whose `$` is lost in an argument, once for each place."""
    if "${!" in subject.text or not subject.script.complete:
        return ()
    found: dict[int, Undollared] = {}
    for launch in subject.launches:
        for override in launch.overrides:
            for part in override.content.parts if override.content else ():
                for item in _in_part(subject, override, part):
                    found.setdefault(item.place.offset, item)
    return tuple(found[offset] for offset in sorted(found))


def is_undollared(subject: ScriptText, override: Override) -> bool:
    """Whether the value of an override has such a name, which explains what else is wrong."""
    parts = override.content.parts if override.content else ()
    return any(next(_in_part(subject, override, part), None) for part in parts)


def _in_part(subject: ScriptText, override: Override, part: Part) -> Iterator[Undollared]:
    if part.text is None:
        yield from _substituted(subject, part)
        return
    yield from _braced(subject, part)
    if not _may_be_meant(subject, override, part.text):
        yield from _bare(subject, override, part, part.text)


def _substituted(subject: ScriptText, part: Part) -> Iterator[Undollared]:
    match = _SUBSTITUTED.fullmatch(part.source)
    if match and match["name"] in _variables(subject):
        name = match["name"]
        message = f"`{shown(part.source)}` runs a command called `{name}`, which is a variable"
        yield Undollared(name, part.origin, message, f"Write `${{{name}}}`.")


def _variables(subject: ScriptText) -> frozenset[str]:
    functions = {function.name for function in subject.script.functions}
    return subject.script.names - functions


def _braced(subject: ScriptText, part: Part) -> Iterator[Undollared]:
    text = part.text or ""
    for match in _KEPT.finditer(text):
        name = match["plain"] or match["braced"]
        if name in _variables(subject) and not (match["braced"] and _is_section(subject, name)):
            message = f"`{match[0]}` is quoted from bash: the program gets it as it is written"
            place = subject.place_in(part, match.start())
            yield Undollared(name, place, message, "Write the value in double quotes.")
    for match in _SIGN.finditer(text):
        if match["braced"] in _variables(subject) and ":" not in match[0]:
            name = match["braced"]
            message = f"`{match[0]}` lacks its `$`: the program gets the name of the variable"
            yield Undollared(
                name, subject.place_in(part, match.start()), message, f"Write `${{{name}}}`."
            )


def _is_section(subject: ScriptText, name: str) -> bool:
    """Whether `${name}` may be Hydra's reference to a part of the configuration."""
    return shipped(subject.framework).choice_with(name) is not None


def _bare(subject: ScriptText, override: Override, part: Part, text: str) -> Iterator[Undollared]:
    for match in _ITEM.finditer(text):
        name, slash, _ = match[0].partition("/")
        alone = _is_alone(override, part, match)
        if name in _variables(subject) and alone and _is_telling(subject, override, name, slash):
            message = f"`{name}` lacks its `$`: `{override.key}` gets the name of the variable"
            yield Undollared(
                name, subject.place_in(part, match.start()), message, f"Write `${{{name}}}`."
            )


def _is_alone(override: Override, part: Part, match: re.Match[str]) -> bool:
    """Whether a word is not the rest of one that begins or ends in another part."""
    parts = override.content.parts if override.content else ()
    index = next((at for at, other in enumerate(parts) if other is part), 0)
    follows = match.start() == 0 and index > 0
    goes_on = match.end() == len(match.string) and index < len(parts) - 1 and "/" not in match[0]
    return not follows and not goes_on


def _is_telling(subject: ScriptText, override: Override, name: str, slash: str) -> bool:
    """Whether a word can hardly be meant as it is written."""
    if any(item.name == name and item.value.text == name for item in subject.script.assignments):
        return False
    if slash:
        return name.isupper() or ("_" in name and _holds_path(subject, name))
    default = default_of(subject, override.key)
    if isinstance(default, int | float):
        return True
    return "_" in name.strip("_") or (name.isupper() and len(name) > 1)


def _holds_path(subject: ScriptText, name: str) -> bool:
    return any(item.name == name and "/" in item.value.shown for item in subject.script.assignments)


def _may_be_meant(subject: ScriptText, override: Override, text: str) -> bool:
    """Whether the key takes names of columns, or has this text as its default anyhow."""
    return override.key.endswith("_key") or default_of(subject, override.key) == text


def default_of(subject: ScriptText, key: str) -> Any:
    """The framework's own value of a key; `UNKNOWN` where there is none."""
    return shipped(subject.framework).default(key)
