"""What is known of a script without running it, as a whole and at one point of it.

A value is text as far as it is known, and where it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

UNKNOWN_MARK = "\0"
"""No text of bash has this character."""
MOST_CHOICES = 8
"""Of a value that may be more texts than these nothing is known."""


class Place(NamedTuple):
    """A physical position. `line` and `column` count from 1, `offset` from 0, in characters."""

    offset: int
    line: int
    column: int


class SourceText:
    """A text that knows the place of each of its characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        """The place of the character at `offset`."""
        line = bisect_right(self._starts, offset)
        return Place(offset, line, offset - self._starts[line - 1] + 1)

    def place_in(self, part: Part, at: int) -> Place:
        """Where character `at` of a part is written.

        The beginning of the part if that is not written as it is.
        """
        offset = part.origin.offset
        before = (part.text or "")[: at + 1]
        if not self.text.startswith(before, offset):
            return part.origin
        return self.place(offset + at)


class Part(NamedTuple):
    """A stretch of a value.

    `text` is what bash makes of it, or `None` if that is unknown until the script runs, and may
    be any number of words; `source` is then the expression as written. `place` is its position
    among its neighbors, `origin` where its text is defined: they differ for `${N}`, written in one
    line and got its value in another, and then `name` is the variable. `default` says that the
    environment or an argument may replace it: in `${NAME:-…}`, or in a loop over the arguments.
    `choices` are what an unknown text is by each branch that sets it; an element of an array
    `may_lack` where a branch leaves it out.
    """

    text: str | None
    place: Place
    origin: Place
    source: str = ""
    name: str = ""
    default: bool = False
    choices: tuple[str, ...] = ()
    may_lack: bool = False

    @property
    def marked(self) -> str:
        """The text, or `UNKNOWN_MARK` if it is unknown."""
        if self.text is None:
            return UNKNOWN_MARK
        return self.text


@dataclass(frozen=True)
class Value:
    """A sequence of parts. The empty value has none."""

    parts: tuple[Part, ...] = ()

    @cached_property
    def marked(self) -> str:
        """The text with `UNKNOWN_MARK` for each unknown part."""
        return "".join(part.marked for part in self.parts)

    def locate(self, at: int) -> tuple[int, int]:
        """The index of the part that has character `at` of `marked`, and where it is there."""
        index = 0
        for part in self.parts[:-1]:
            length = len(part.marked)
            if at < length:
                break
            at -= length
            index += 1
        return index, at

    @property
    def text(self) -> str | None:
        """The whole text, or `None` if any part of it is unknown."""
        if UNKNOWN_MARK in self.marked:
            return None
        return self.marked

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts that it may be; none if more is open than which branch runs."""
        by_part = [
            part.choices if part.text is None else (part.text,) for part in self.parts
        ]
        if prod(map(len, by_part)) > MOST_CHOICES:
            return ()
        return tuple(map("".join, product(*by_part)))

    @cached_property
    def shown(self) -> str:
        """The text with each unknown part as it is written in the script."""
        text = ""
        for part in self.parts:
            text += part.source if part.text is None else part.text
        return text

    @property
    def default(self) -> bool:
        """Whether any of it is a default that the environment may replace."""
        return any(part.default for part in self.parts)

    @property
    def may_lack(self) -> bool:
        """Whether a branch leaves it out of an array."""
        return any(part.may_lack for part in self.parts)

    @property
    def place(self) -> Place | None:
        """Where it is written; `None` for the empty value."""
        if not self.parts:
            return None
        return self.parts[0].place

    @property
    def origin(self) -> Place | None:
        """Where its text is defined if it is one piece, otherwise where it is written."""
        if len(self.parts) == 1:
            return self.parts[0].origin
        return self.place


def joined(parts: Iterable[Part]) -> Value:
    """The parts as a value, those without text left out."""
    return Value(tuple(part for part in parts if part.text != "" or part.default))


def literal(text: str, place: Place) -> Part:
    """A part whose text is written in the script as it is."""
    return Part(text, place, place)


def unknown(place: Place, source: str, name: str = "") -> Part:
    """A part of which nothing is known."""
    return Part(None, place, place, source, name)


def unknown_value(place: Place, source: str, name: str = "") -> Value:
    """A value of which nothing is known."""
    return Value((unknown(place, source, name),))


def replaceable(value: Value) -> Value:
    """The same value as a default."""
    return Value(tuple(part._replace(default=True) for part in value.parts))


class Word(NamedTuple):
    """One word of a command after all expansions.

    `raw` is the text as written in the command at `site`. A word that came out of an array or of
    an unquoted variable is written elsewhere: `place` is there.
    """

    value: Value
    raw: str
    site: Place

    @property
    def text(self) -> str | None:
        """What bash hands to the program, or `None` if that is unknown."""
        return self.value.text

    @property
    def place(self) -> Place:
        """Where the word is written."""
        return self.value.place or self.site


class Assignment(NamedTuple):
    """An assignment as written at `place`.

    `elements` are those of an array in parentheses; a `prefix` is for one command alone.
    """

    name: str
    value: Value
    raw: str
    place: Place
    prefix: bool = False
    elements: tuple[Word, ...] | None = None
    exported: bool = False


class Command(NamedTuple):
    """A simple command. `piped` says that another one reads its output."""

    words: tuple[Word, ...]
    raw: str
    place: Place
    end: Place
    piped: bool = False

    @property
    def name(self) -> str | None:
        """The command's name, `None` if it cannot be known."""
        if not self.words:
            return None
        return self.words[0].text


class Option(NamedTuple):
    """An option that `set` turns on or off: `errexit`, `pipefail`, `nounset`, …"""

    name: str
    on: bool
    place: Place


@dataclass(frozen=True)
class Script:
    """A script, evaluated as it is shipped: with no argument and none of its settings exported.

    `functions` are the names of those that it defines, `problems` the places at which the text
    stops being a script that bash accepts, and why. `complete` is false if a limit was reached;
    from there on every value is unknown.
    """

    text: str
    commands: Sequence[Command]
    assignments: Sequence[Assignment]
    functions: frozenset[str]
    options: Sequence[Option]
    problems: Sequence[tuple[Place, str]]
    complete: bool

    @cached_property
    def source(self) -> SourceText:
        """The text with the places of its characters."""
        return SourceText(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that the script assigns."""
        return frozenset(assignment.name for assignment in self.assignments)

    @cached_property
    def lines(self) -> Sequence[str]:
        """The physical lines."""
        return self.text.split("\n")


# One point of a script, and after branches of which one runs

Content = Value | tuple[Value, ...] | None
"""A text, the elements of an array, or nothing. An array with keys of its own is unknown."""

_BEGINNING = Place(0, 1, 1)


@dataclass(slots=True)
class State:
    """What is known at one point of a script.

    A name that is not in `variables` is left to the environment; without content it is only
    declared. `ended` says whether the statements so far leave the script.
    """

    variables: dict[str, Content] = field(default_factory=dict)
    ended: bool = False

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return State(dict(self.variables))

    def lose(self, name: str, place: Place) -> None:
        """From here on the value of a variable is not known."""
        self.variables[name] = unknown_value(place, f"${{{name}}}")

    def leave_open(self, name: str, place: Place) -> None:
        """From here on the value of a variable is a default if it has one."""
        content = self.variables.get(name)
        if isinstance(content, Value) and content.text:
            self.variables[name] = replaceable(content)
        elif not isinstance(content, tuple):
            self.lose(name, place)

    def meet(self, branch: State) -> None:
        """Continue with what is known with and without the branch.

        One that leaves the script is a guard and says nothing of what follows.
        """
        if self.ended:
            self.variables = branch.variables
            self.ended = branch.ended
        elif not branch.ended:
            for name in {*self.variables, *branch.variables}:
                one = self.variables.get(name)
                two = branch.variables.get(name)
                self.variables[name] = _known_in_both(name, one, two)


def _known_in_both(name: str, one: Content, two: Content) -> Content:
    """What is known of a variable that has one content or the other."""
    if _same(one, two):
        return one
    missing = unknown(_first_place(one, two), f"${{{name}}}")
    if isinstance(one, tuple) and isinstance(two, tuple):
        return _common_elements(one, two, missing)
    if isinstance(one, tuple) or isinstance(two, tuple):
        return Value((missing,))
    values = [value for value in (one, two) if value]
    return Value((_any_of(missing, values),))


def _any_of(missing: Part, values: Sequence[Value], key: str = "") -> Part:
    """What is one of several values, without the key that all begin with."""
    texts: dict[str, None] = {}
    may_lack = False
    for value in values:
        if not value.choices:
            return missing
        texts |= dict.fromkeys(text.removeprefix(key) for text in value.choices)
        may_lack = may_lack or value.may_lack
    return missing._replace(choices=tuple(texts), may_lack=may_lack)


def _first_place(one: Content, two: Content) -> Place:
    """Where the first value of either is written; the script's beginning if neither has one."""
    values = [*elements_of(one), *elements_of(two)]
    return next((value.place for value in values if value.place), _BEGINNING)


def _common_elements(
    one: tuple[Value, ...], two: tuple[Value, ...], missing: Part
) -> tuple[Value, ...]:
    """The common beginning of two arrays, then the keys of what is `key=value` in either."""
    same = 0
    for left, right in zip(one, two, strict=False):
        if not _same(left, right):
            break
        same += 1
    common = one[:same]
    by_key: dict[str, list[Value]] = {}
    for value in (*one[same:], *two[same:]):
        key = _key(value)
        if not key:
            return (*common, Value((missing,)))
        by_key.setdefault(key, []).append(value)
    found: list[Value] = []
    for key, values in by_key.items():
        start = values[0].parts[0]._replace(text=key)
        rest = _any_of(missing, values, key)
        if len(values) == 1:
            rest = rest._replace(may_lack=True)
        found.append(joined([start, rest]))
    return (*common, *found)


def _key(value: Value) -> str:
    """The beginning of a `key=value`; empty if it is none."""
    if not value.parts:
        return ""
    found = re.match(r"[\w.+@][\w.+@/-]*=", value.parts[0].text or "")
    if found is None:
        return ""
    return found[0]


def _same(one: Content, two: Content) -> bool:
    """Whether both are the same, or texts that are known and the same."""
    if one == two:
        return True
    if isinstance(one, Value) and isinstance(two, Value):
        return one.text is not None and one.text == two.text
    return False


def elements_of(content: Content) -> Sequence[Value]:
    """The elements of an array; a text is one, nothing has none."""
    if isinstance(content, Value):
        return (content,)
    return content or ()
