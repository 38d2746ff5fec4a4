"""The arguments of a program, sorted by what Hydra makes of them.

The form of an override is that of Hydra's grammar, hydra/grammar/OverrideParser.g4 (1.3): a prefix
`+`, `++` or `~`, a key or config group, and the value after the first `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_resources.script.bash import Place, Script, Value, Word

_PART = r"(?:[A-Za-z_$][A-Za-z0-9_$-]*|[0-9]+)"
_KEY = re.compile(
    rf"(?P<prefix>\+\+|\+|~|)(?P<key>{_PART}(?:[./]{_PART})*(?:@[A-Za-z0-9_.$-]*)?)(?:=|$)"
)
_SHORT: Mapping[str, str] = {
    **{"-cp": "config-path", "-cn": "config-name", "-cd": "config-dir", "-p": "package"},
    **{"-c": "cfg", "-m": "multirun", "-r": "run", "-h": "help", "-i": "info"},
}
_WITH_VALUE = frozenset(
    {"config-path", "config-name", "config-dir", "package", "cfg", "experimental-rerun"}
)
_SWITCHES = frozenset({"multirun", "run", "help", "hydra-help", "version", "resolve", "info"})


class Override(NamedTuple):
    """One `key=value` of the command line, written at `place`.

    `content` is what follows the `=`, or `None` where a `~key` has none.
    """

    prefix: str
    key: str
    content: Value | None
    place: Place

    @property
    def value(self) -> str | None:
        """The text that the program gets; `None` where it is unknown or there is none."""
        return None if self.content is None else self.content.text

    @property
    def line(self) -> int:
        """The line of the key."""
        return self.place.line

    @property
    def origin(self) -> Place:
        """Where the value's text is defined: in another line for `key=${NAME}`."""
        return (self.content.origin if self.content else None) or self.place


class Flag(NamedTuple):
    """An option of Hydra itself; `value` is `None` for a switch."""

    name: str
    value: Value | None
    place: Place


class Stray(NamedTuple):
    """An argument that is not an override: a word cut off by a space, or left by a lost quote."""

    value: Value
    raw: str
    place: Place


@dataclass(eq=False)
class Arguments:
    """The arguments of a program; `hydra` are overrides of Hydra's own configuration.

    `unresolved` are words of which not even a key is known, save the script's own arguments:
    `passes_arguments` says whether they are passed on.
    """

    overrides: list[Override] = field(default_factory=list)
    hydra: list[Override] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    stray: list[Stray] = field(default_factory=list)
    unresolved: list[Word] = field(default_factory=list)
    passes_arguments: bool = False

    def add(self, script: Script, words: Sequence[Word]) -> None:
        """Sort more words into these arguments."""
        rest = iter(words)
        for word in rest:
            override = parse_override(script, word)
            if override is not None:
                own = override.key.startswith("hydra.")
                (self.hydra if own else self.overrides).append(override)
            elif word.value.unknown is None:
                self._add_known(word, rest)
            elif any(
                part.reason == "argument" and part.name in ("@", "*") for part in word.value.parts
            ):
                self.passes_arguments = True
            else:
                self.unresolved.append(word)

    def _add_known(self, word: Word, rest: Iterator[Word]) -> None:
        option, equals, _ = (word.text or "").partition("=")
        name = _option(option)
        if name in _WITH_VALUE:
            following = None if equals else next(rest, None)
            value = following.value if following else _after(word.value, len(option) + 1)
            self.flags.append(Flag(name, value, word.place))
        elif name in _SWITCHES and not equals:
            self.flags.append(Flag(name, None, word.place))
        else:
            self.stray.append(Stray(word.value, word.raw, word.place))


def takes_value(option: str) -> bool:
    """Whether a value follows an option of Hydra."""
    return _option(option) in _WITH_VALUE


def _option(word: str) -> str:
    """The long name of an option, without its dashes."""
    return word[2:] if word.startswith("--") else _SHORT.get(word, "")


def _after(value: Value, count: int) -> Value:
    """The value without its first characters, which are known."""
    parts = []
    for part in value.parts:
        text = part.text or ""
        if part.text is None or text[count:]:
            parts.append(part._replace(text=part.text and text[count:]))
        count = max(count - len(text), 0)
    return Value(tuple(parts))


def parse_override(script: Script, word: Word) -> Override | None:
    """The word as an override, or `None` where it is none or its key is not known."""
    head = ""
    for index, part in enumerate(word.value.parts):
        if part.text is None:
            return None
        before, head = head, head + part.text
        if "=" in part.text:
            match = _KEY.match(head)
            at = head.index("=")
            if match is None or match.end("key") != at:
                return None
            content = _rest(script, word.value, index, at + 1 - len(before))
            return Override(match["prefix"], match["key"], content, _written(word))
    match = _KEY.fullmatch(head) if head.startswith("~") else None
    return match and Override(match["prefix"], match["key"], None, _written(word))


def _written(word: Word) -> Place:
    """Where the key is written: in a variable's value where that is all of the word."""
    first = word.value.parts[0]
    holds_key = first.text is not None and "=" in first.text
    return first.origin if holds_key and first.name else word.place


def _rest(script: Script, value: Value, index: int, at: int) -> Value:
    """What follows character `at` of part `index`."""
    part, tail = value.parts[index], value.parts[index + 1 :]
    text = (part.text or "")[at:]
    if not text and tail:
        return Value(tail)
    origin, offset = part.origin, part.origin.offset + at
    if script.text.startswith(text, offset) and script.text[offset - 1] == "=":
        origin = Place(offset, origin.line, origin.column + at)
        part = part._replace(place=origin)
    return Value((part._replace(text=text, origin=origin), *tail))
