"""What a script starts: the training program, and its arguments by what Hydra makes of them.

The form of an override is that of Hydra's grammar, hydra/grammar/OverrideParser.g4 (1.3): a prefix
`+`, `++` or `~`, a key or config group, and the value after the first `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_resources.files import table_beside
from rl_resources.script.bash.script import Command, Place, Script, Value, Word

_TABLE = table_beside(__file__)
_PART = r"(?:[A-Za-z_$][A-Za-z0-9_$-]*|[0-9]+)"
_KEY = re.compile(
    rf"(?P<prefix>\+\+|\+|~|)(?P<key>{_PART}(?:[./]{_PART})*(?:@[A-Za-z0-9_.$-]*)?)(?P<equals>=|\Z)"
)
_SHORT: Mapping[str, str] = _TABLE["short"]
_WITH_VALUE: Sequence[str] = _TABLE["with_value"]
_SWITCHES: Sequence[str] = _TABLE["switches"]
_NO_WORD = Word(Value(), "", Place(0, 1, 1))


class Override(NamedTuple):
    """One `key=value` of the command line, written at `place`.

    `content` is what follows the `=`, or `None` if a `~key` has none.
    """

    prefix: str
    key: str
    content: Value | None
    place: Place

    @property
    def value(self) -> str | None:
        """The text that the program gets; `None` if it is unknown or there is none."""
        if self.content is None:
            return None
        return self.content.text

    @property
    def origin(self) -> Place:
        """Where the value's text is defined: in another line for `key=${NAME}`."""
        if self.content is None:
            return self.place
        return self.content.origin or self.place


class Flag(NamedTuple):
    """An option of Hydra itself; `text` is `None` for a switch, and if it is not known."""

    text: str | None
    place: Place


def _option(word: str) -> str:
    """The long name of an option, without its dashes."""
    if word.startswith("--"):
        return word.removeprefix("--")
    return _SHORT.get(word, "")


def parse_override(script: Script, word: Word) -> Override | None:
    """The word as an override, or `None` if it is none or its key is not known."""
    match = _KEY.match(word.value.marked)
    if match is None:
        return None
    content = None
    if match["equals"]:
        content = _rest(script, word.value, match.end())
    elif match["prefix"] != "~":
        return None
    return Override(match["prefix"], match["key"], content, _place_of_key(word))


def _place_of_key(word: Word) -> Place:
    """Where the key is written: in a variable's value if that is all of the word."""
    first = word.value.parts[0]
    if first.name and "=" in (first.text or ""):
        return first.origin
    return word.place


def _rest(script: Script, value: Value, at: int) -> Value:
    """What follows the first `at` characters; the last of them is a `=`."""
    index, at = value.locate(at)
    first, *others = value.parts[index:]
    if at > 0:
        place = script.source.place_in(first, at)
        first = first._replace(text=first.marked[at:], place=place, origin=place)
    return Value((first, *others))


# Programs

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_MODULE_FOLLOWS = re.compile(r"-[A-Za-z]*m|--module")
STARTS = re.compile(r"(?:.*/)?(?:python[0-9.]*|torchrun|accelerate|deepspeed|uv)")
_STARTED_BY_MODULE: Sequence[str] = _TABLE["started_by_module"]
_SAYS = ("echo", "printf")
_FILE = re.compile(r"(?s)(?:.*/)?((?:verl|recipe)/.+)\.py|(?:.*/)?([^/]*)\.py")
_BETWEEN_PARTS = re.compile(r"(?:[\s\\]|#.*+)*+")
"""Between the parts of a command that a line broke: spaces, backslashes and comments."""
TRAINER = re.compile(
    r"(?:verl|recipe)\.(?:.*\.)?(?:main|main_\w+|\w+_main|\w+_trainer|trainer)"
)


@dataclass(eq=False)
class Launch:
    """One start of a program that takes overrides, in `command`.

    `module` is dotted also if the script names a file; `unresolved` are words of which not
    even a key is known, save the script's own arguments: `passes_arguments`, which the page of a
    record reads, says whether they are passed on. `stray` are words that are no overrides: cut off
    by a space, or left by a lost quote.
    """

    module: str
    command: Command
    overrides: list[Override] = field(default_factory=list)
    flags: dict[str, Flag] = field(default_factory=dict)
    stray: list[Word] = field(default_factory=list)
    unresolved: list[Word] = field(default_factory=list)
    passes_arguments: bool = False

    def text_of(self, flag: str) -> str | None:
        """The text of an option such as `config-name` if it is given and known."""
        if flag not in self.flags:
            return None
        return self.flags[flag].text

    def add(self, script: Script, words: Sequence[Word]) -> None:
        """Sort more words into these arguments."""
        rest = iter(words)
        for word in rest:
            override = parse_override(script, word)
            if override is not None:
                self.overrides.append(override)
            elif word.text is None and _has_arguments(word):
                self.passes_arguments = True
            else:
                self._add_option(word, rest)

    def _add_option(self, word: Word, rest: Iterator[Word]) -> None:
        """Take an option of Hydra, with its value from the `rest` unless it follows a `=`."""
        option, equals, written = word.value.marked.partition("=")
        name = _option(option)
        value: str | None = None
        if name in _WITH_VALUE:
            value = word.text and written
            if not equals:
                value = next(rest, _NO_WORD).text
        elif word.text is None:
            self.unresolved.append(word)
            return
        elif name not in _SWITCHES:
            self.stray.append(word)
            return
        self.flags[name] = Flag(value, word.place)


def _has_arguments(word: Word) -> bool:
    """Whether the script's own arguments, `$@` or `$*`, are a part of the word."""
    return any(part.name in ("@", "*") for part in word.value.parts)


def launches(script: Script) -> Sequence[Launch]:
    """The programs with overrides that the script starts, or may start.

    Each has the arguments that a broken continuation cut off from it, too.
    """
    found: list[Launch] = []
    for command in script.commands:
        if found and _continues_a_command(script, command):
            found[-1].add(script, command.words)
        launch = _launch_of(script, command)
        if launch:
            found.append(launch)
    return found


def _launch_of(script: Script, command: Command) -> Launch | None:
    """What a command starts; `None` if that is no program of Python, or one without overrides."""
    for words in (command.words, *_by_branch(script, command.words)):
        found = program(words)
        if found:
            return _launch(script, command, words, found)
    return None


def _launch(
    script: Script, command: Command, words: Sequence[Word], found: Program
) -> Launch | None:
    launch = Launch(found.module, command)
    launch.add(script, words[found.at + 1 :])
    dotted = sum("." in override.key for override in launch.overrides)
    if dotted < 2 and not TRAINER.fullmatch(found.module):
        return None
    return launch


class Program(NamedTuple):
    """A dotted module that a command starts, named by its word `at`."""

    module: str
    at: int


def program(words: Sequence[Word]) -> Program | None:
    """What the words of a command start in the end; `None` if it is no program of Python.

    A first word that is not known may be one.
    """
    if not _may_start_python(words):
        return None
    before = words[0].text or ""
    for at, word in enumerate(words[1:], start=1):
        text = word.text or ""
        if _MODULE_FOLLOWS.fullmatch(before) and _MODULE.fullmatch(text):
            if text not in _STARTED_BY_MODULE:
                return Program(text, at)
        elif text.endswith(".py") and "=" not in text:
            return Program(_FILE.sub(r"\1\2", text).replace("/", "."), at)
        before = text
    return None


def _may_start_python(words: Sequence[Word]) -> bool:
    if not words:
        return False
    first = words[0].text
    if first is None:
        return True
    if first in _SAYS:
        return False
    return any(STARTS.fullmatch(word.text or "") for word in words)


_PLAIN_START = re.compile(_TABLE["plain_start"])
"""A module of the framework with nothing before it that may be a program of its own."""
_ARRAY = re.compile(r'"\$\{(\w+)\[@\]\}"')


def starts_plainly(script: Script, words: Sequence[Word]) -> bool:
    """Whether usual launchers start a module of the framework, by each branch, and nothing else."""
    starts = [_PLAIN_START.match(_line(some)) for some in _by_branch(script, words)]
    return bool(starts) and all(starts)


def _by_branch(script: Script, words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The words of a command, once for each branch that sets the array which it begins with.

    Of `"${RUN[@]}" trainer.nnodes=1` these are the words of `RUN=(python3 -m …)` and of
    `RUN=(torchrun …)`, with the rest of the command behind them.
    """
    if not words:
        return
    array = _ARRAY.fullmatch(words[0].raw)
    if array is None:
        yield words
        return
    rest = [word for word in words if word.raw != array[0]]
    for assignment in script.assignments:
        if assignment.name == array[1]:
            yield [*(assignment.elements or ()), *rest]


def _line(words: Sequence[Word]) -> str:
    """Words in one line, each without spaces of its own."""
    return " ".join(re.sub(r"\s", "_", word.text or word.raw) for word in words)


class BrokenContinuation(NamedTuple):
    """The rest of an earlier command: it begins with an override or an option of Hydra.

    `cause_line` ended the earlier command: that above.
    """

    command: Command
    cause_line: int


def broken_continuations(script: Script) -> Sequence[BrokenContinuation]:
    """The commands that were meant to be arguments of the command before."""
    return [
        BrokenContinuation(command, max(command.place.line - 1, 1))
        for command in script.commands
        if _continues_a_command(script, command)
    ]


def _continues_a_command(script: Script, command: Command) -> bool:
    """Whether the first word of a command was meant to be an argument of the command before."""
    if not command.words:
        return False
    word = command.words[0]
    if word.raw.strip('"') == "$@":
        return _follows_a_launch(script, word.site.offset)
    option, _, _ = (word.text or "").partition("=")
    if _option(option) in _WITH_VALUE:
        return True
    override = parse_override(script, word)
    if override is None:
        return False
    return override.prefix != "" or "." in override.key


def _follows_a_launch(script: Script, offset: int) -> bool:
    """Whether nothing but a broken line is between a place and the launch above it."""
    above = [command for command in script.commands if command.end.offset <= offset]
    if not above:
        return False
    last = above[-1]
    between = script.text[last.end.offset : offset]
    return bool(_BETWEEN_PARTS.fullmatch(between) and _launch_of(script, last))
