"""What a script starts: the training program, and its arguments by what Hydra makes of them.

The form of an override is that of Hydra's grammar, hydra/grammar/OverrideParser.g4 (1.3): a prefix
`+`, `++` or `~`, a key or config group, and the value after the first `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_resources.script.bash.script import Command, Place, Script, Value, Word

_PART = r"(?:[A-Za-z_$][A-Za-z0-9_$-]*|[0-9]+)"
_KEY = re.compile(
    rf"(?P<prefix>\+\+|\+|~|)(?P<key>{_PART}(?:[./]{_PART})*(?:@[A-Za-z0-9_.$-]*)?)(?:=|$)"
)
_SHORT = {"-cp": "config-path", "-cn": "config-name", "-cd": "config-dir", "-m": "multirun"}
_WITH_VALUE = frozenset(
    {"config-path", "config-name", "config-dir", "package", "cfg", "experimental-rerun"}
)
_SWITCHES = frozenset({"multirun", "run", "help", "version", "resolve", "info"})


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
    def origin(self) -> Place:
        """Where the value's text is defined: in another line for `key=${NAME}`."""
        return (self.content.origin if self.content else None) or self.place


class Flag(NamedTuple):
    """An option of Hydra itself; `text` is `None` for a switch, and where it is not known."""

    text: str | None
    place: Place


def _option(word: str) -> str:
    """The long name of an option, without its dashes."""
    return word[2:] if word.startswith("--") else _SHORT.get(word, "")


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


# Programs

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_MODULE_FOLLOWS = re.compile(r"-[A-Za-z]*m|--module")
STARTS = re.compile(r"(?:.*/)?(?:python[0-9.]*|torchrun|accelerate|deepspeed)")
_STARTED_BY_MODULE = frozenset({"torch.distributed.run", "torch.distributed.launch", "debugpy"})
_SAYS = frozenset({"echo", "printf"})
_PACKAGES = ("verl", "recipe")
_NOTHING = re.compile(r"(?:[\s\\]|#.*+)*+")
"""Between the parts of a command that a line broke: spaces, backslashes and comments."""
TRAINER = re.compile(r"(?:verl|recipe)\.(?:.*\.)?(?:main|main_\w+|\w+_main|\w+_trainer|trainer)")


@dataclass(eq=False)
class Launch:
    """One start of a program that takes overrides, in `command`.

    `module` is dotted also where the script names a file; `unresolved` are words of which not
    even a key is known, save the script's own arguments: `passes_arguments` says
    whether they are passed on. `stray` are words that are no overrides:
    cut off by a space, or left by a lost quote.
    """

    module: str
    command: Command
    overrides: list[Override] = field(default_factory=list)
    flags: dict[str, Flag] = field(default_factory=dict)
    stray: list[Word] = field(default_factory=list)
    unresolved: list[Word] = field(default_factory=list)
    passes_arguments: bool = False

    def text_of(self, flag: str) -> str | None:
        """The text of an option such as `config-name`, where it is given and known."""
        return self.flags[flag].text if flag in self.flags else None

    def add(self, script: Script, words: Sequence[Word]) -> None:
        """Sort more words into these arguments."""
        rest = iter(words)
        for word in rest:
            override = parse_override(script, word)
            if override is not None:
                self.overrides.append(override)
            elif word.text is not None:
                self._add_known(word, rest)
            elif {"@", "*"}.isdisjoint(part.name for part in word.value.parts):
                self.unresolved.append(word)
            else:
                self.passes_arguments = True

    def _add_known(self, word: Word, rest: Iterator[Word]) -> None:
        option, equals, text = (word.text or "").partition("=")
        name = _option(option)
        if name in _WITH_VALUE:
            following = None if equals else next(rest, None)
            self.flags[name] = Flag(following.text if following else text, word.place)
        elif name in _SWITCHES and not equals:
            self.flags[name] = Flag(None, word.place)
        else:
            self.stray.append(word)


def launches(script: Script) -> tuple[Launch, ...]:
    """The programs with overrides that the script starts, or may start; with what they lost."""
    found: list[Launch] = []
    for command in script.commands:
        first = command.words[0] if command.words else None
        if found and first and _is_lost(script, first):
            found[-1].add(script, command.words)
        found += _launches(script, command)
    return tuple(found)


def _launches(script: Script, command: Command) -> Iterator[Launch]:
    """What a command starts."""
    words = command.words
    if found := program(words):
        launch = Launch(found.module, command)
        launch.add(script, words[found.at + 1 :])
        dotted = sum("." in item.key for item in launch.overrides)
        if TRAINER.fullmatch(found.module) or dotted > 1:
            yield launch


class Program(NamedTuple):
    """A dotted module that a command starts, named by its word `at`."""

    module: str
    at: int


def program(words: Sequence[Word]) -> Program | None:
    """What the words of a command start in the end; `None` where it is no program of Python.

    A first word that is not known may be one.
    """
    texts = [word.text or "" for word in words]
    unnamed = bool(words) and words[0].text is None
    if not (unnamed or any(map(STARTS.fullmatch, texts))) or texts[0] in _SAYS:
        return None
    for at, text in enumerate(texts[1:], 1):
        if _MODULE_FOLLOWS.fullmatch(texts[at - 1]) and _MODULE.fullmatch(text):
            if text not in _STARTED_BY_MODULE:
                return Program(text, at)
        elif text.endswith(".py") and "=" not in text:
            return Program(_module_of(text), at)
    return None


def _module_of(path: str) -> str:
    """The dotted name of a module whose file is named."""
    parts = re.findall(r"[^/.][^/]*", path.removesuffix(".py"))
    known = [index for index, part in enumerate(parts) if part in _PACKAGES]
    return ".".join(parts[known[-1] if known else -1 :])


class Lost(NamedTuple):
    """The rest of an earlier command: it begins with an override or an option of Hydra.

    `cause_line` ended the earlier command: that above.
    """

    command: Command
    cause_line: int


def lost(script: Script) -> tuple[Lost, ...]:
    """The commands that were meant to be arguments of the command before."""
    return tuple(
        Lost(command, max(command.place.line - 1, 1))
        for command in script.commands
        if command.words and _is_lost(script, command.words[0])
    )


def _is_lost(script: Script, word: Word) -> bool:
    if word.raw.strip('"') == "$@":
        above = [item for item in script.commands if item.end.offset <= word.site.offset]
        between = script.text[above[-1].end.offset : word.site.offset] if above else "none"
        return _NOTHING.fullmatch(between) is not None and any(_launches(script, above[-1]))
    override = parse_override(script, word)
    option = _option((word.text or "").partition("=")[0]) in _WITH_VALUE
    return option or (override is not None and bool("." in override.key or override.prefix))
