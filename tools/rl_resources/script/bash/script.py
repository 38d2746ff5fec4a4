"""What is known of a script without running it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from rl_resources.script.bash.value import Place, Value

Reach = Literal["always", "maybe", "never"]
Defined = Literal["yes", "maybe", "no"]
AssignmentKind = Literal["plain", "export", "declare", "local", "readonly", "prefix", "for", "read"]


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
        """What bash hands to the program, or `None` where that is unknown."""
        return self.value.text

    @property
    def place(self) -> Place:
        """Where the word is written."""
        return self.value.place or self.site

    @property
    def many(self) -> bool:
        """Whether it may be any number of words, as `"$@"` may."""
        return self.value.many


class Assignment(NamedTuple):
    """An assignment as written at `place`.

    `elements` are those of an array in parentheses. `default` says that the value is written as
    `${NAME:-…}` of the name itself or of another that the script does not set.
    """

    name: str
    value: Value
    elements: tuple[Word, ...] | None
    raw: str
    place: Place
    kind: AssignmentKind
    exported: bool
    reach: Reach

    @property
    def default(self) -> bool:
        """Whether the environment may replace the value or part of it."""
        return self.value.default


class Reference(NamedTuple):
    """A variable that is read at `place`.

    `defined` says whether the script has set it by then. `operator` is that of `${NAME…}`, such as
    `:-`.
    """

    name: str
    place: Place
    raw: str
    quoted: bool
    operator: str
    defined: Defined
    reach: Reach


class Command(NamedTuple):
    """A simple command each time that it is run, in the order of running.

    `pipeline` is its index and the number of commands in its pipeline. `after` is the `&&` or `||`
    behind that pipeline.
    """

    words: tuple[Word, ...]
    raw: str
    place: Place
    end: Place
    reach: Reach
    in_substitution: bool
    in_condition: bool
    pipeline: tuple[int, int]
    background: bool
    after: str

    @property
    def name(self) -> str | None:
        """The command's name, `None` where it cannot be known."""
        return self.words[0].text if self.words else None


class Option(NamedTuple):
    """An option that `set` turns on or off: `errexit`, `pipefail`, `nounset`, …"""

    name: str
    on: bool
    place: Place


class Function(NamedTuple):
    """A function that the script defines."""

    name: str
    place: Place


class Comment(NamedTuple):
    """A comment with its `#`."""

    text: str
    place: Place


class Problem(NamedTuple):
    """A place at which the text stops being a script that bash accepts."""

    kind: str
    place: Place


@dataclass(frozen=True)
class Script:
    """A script, evaluated as it is shipped: with no argument and none of its settings exported.

    `complete` is false where a limit was reached; from there on every value is unknown.
    """

    text: str
    commands: tuple[Command, ...]
    assignments: tuple[Assignment, ...]
    references: tuple[Reference, ...]
    functions: tuple[Function, ...]
    options: tuple[Option, ...]
    comments: tuple[Comment, ...]
    problems: tuple[Problem, ...]
    complete: bool

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that the script assigns."""
        return frozenset(assignment.name for assignment in self.assignments)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The physical lines."""
        return tuple(self.text.split("\n"))
