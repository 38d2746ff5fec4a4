"""Overrides: the words of a command that set a key of the configuration.

Their form is that of Hydra's grammar, hydra/grammar/OverrideParser.g4 (1.3): a prefix `+`, `++` or
`~`, a key or config group, and the value after the first `=`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rl_resources.script.bash import Place, Script, Value, Word

_PART = r"(?:[A-Za-z_$][A-Za-z0-9_$-]*|[0-9]+)"
_KEY = re.compile(
    rf"(?P<prefix>\+\+|\+|~|)(?P<key>{_PART}(?:[./]{_PART})*(?:@[A-Za-z0-9_.$-]*)?)(?P<sign>=|$)"
)
_WORD = re.compile(r"(?:[^\s\\'\"()]|\\.|'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")+")


class Override(NamedTuple):
    """One `key=value` of the command line.

    `raw` is the word as the script has it where it is written, `place`; `content` is what stands
    after the `=`, or `None` where a `~key` has none.
    """

    prefix: str
    key: str
    content: Value | None
    raw: str
    place: Place
    value_place: Place

    @property
    def value(self) -> str | None:
        """The text that the program gets; `None` where it is unknown or there is none."""
        return None if self.content is None else self.content.text

    @property
    def line(self) -> int:
        """The line of the key."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column of the key, or of the prefix before it."""
        return self.place.column

    @property
    def origin(self) -> Place:
        """Where the value's text is defined: in another line for `key=${NAME}`."""
        return (self.content.origin if self.content else None) or self.value_place


def parse_override(script: Script, word: Word) -> Override | None:
    """The word as an override, or `None` where it is none or its key is not known."""
    head = ""
    for index, part in enumerate(word.value.parts):
        if part.text is None:
            return None
        start = len(head)
        head += part.text
        at = part.text.find("=")
        if at >= 0:
            match = _KEY.match(head)
            rest = _rest(script, word.value, index, at + 1)
            return _override(script, word, match, rest, start + at)
    match = _KEY.fullmatch(head) if head.startswith("~") else None
    return _override(script, word, match, None, len(head))


def _override(
    script: Script, word: Word, match: re.Match[str] | None, content: Value | None, at: int
) -> Override | None:
    if match is None or match.end("key") != at:
        return None
    place = _written(word)
    value_place = place if content is None else _after_sign(script, word, at)
    raw = _raw(script, word, place)
    return Override(match["prefix"], match["key"], content, raw, place, value_place)


def _after_sign(script: Script, word: Word, at: int) -> Place:
    """Where the value is written: after the `=`, which is character `at` of the word."""
    for part in word.value.parts:
        text = part.text or ""
        if at < len(text):
            verbatim = script.text.startswith(text[: at + 1], part.origin.offset)
            return _shifted(part.origin, at + 1) if verbatim else part.place
        at -= len(text)
    return word.place


def _written(word: Word) -> Place:
    """Where the key is written: in a variable's value where that holds all of the word."""
    first = word.value.parts[0]
    holds_key = first.text is not None and "=" in first.text
    return first.origin if holds_key and first.name else word.place


def _raw(script: Script, word: Word, place: Place) -> str:
    """The word as it is written at `place`, without what follows it on the line."""
    text = word.text
    if place == word.site or not word.raw.lstrip("\"'").startswith("$"):
        return word.raw
    if text is not None and script.text.startswith(text, place.offset):
        return text
    match = _WORD.match(script.text, place.offset)
    return match[0] if match else word.value.shown


def _rest(script: Script, value: Value, index: int, at: int) -> Value:
    """What stands after character `at` of part `index`."""
    part = value.parts[index]
    text = (part.text or "")[at:]
    offset = part.origin.offset + at
    tail = value.parts[index + 1 :]
    if not text and tail:
        return Value(tail)
    place = part.place
    origin = part.origin
    if script.text.startswith(text, offset) and script.text[offset - 1] == "=":
        place = origin = _shifted(origin, at)
    first = part._replace(text=text, place=place, origin=origin)
    return Value((first, *tail))


def _shifted(place: Place, by: int) -> Place:
    return Place(place.offset + by, place.line, place.column + by)
