"""The arguments of a program, sorted by what Hydra makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rl_resources.script.bash import Place, Script, Value, Word
from rl_resources.script.launch.override import Override, parse_override

_SHORT: Mapping[str, str] = {
    **{"-cp": "config-path", "-cn": "config-name", "-cd": "config-dir", "-p": "package"},
    **{"-c": "cfg", "-m": "multirun", "-r": "run", "-h": "help", "-i": "info"},
}
_WITH_VALUE = frozenset(
    {"config-path", "config-name", "config-dir", "package", "cfg", "experimental-rerun"}
)
_SWITCHES = frozenset({"multirun", "run", "help", "hydra-help", "version", "resolve", "info"})


class Flag(NamedTuple):
    """An option of Hydra itself; `value` is `None` for a switch."""

    name: str
    value: Value | None
    place: Place


class Stray(NamedTuple):
    """An argument that is no override: a word cut off by a space, or left by a lost quote."""

    value: Value
    raw: str
    place: Place


class Arguments:
    """The arguments of a program; `hydra` are overrides of Hydra's own configuration.

    `unresolved` are words of which not even a key is known, save the script's own arguments.
    """

    def __init__(self, script: Script, words: Sequence[Word]) -> None:
        self._script = script
        self.overrides: list[Override] = []
        self.hydra: list[Override] = []
        self.flags: list[Flag] = []
        self.stray: list[Stray] = []
        self.unresolved: list[Word] = []
        self.passes_arguments = False
        rest = iter(words)
        for word in rest:
            self._sort(word, rest)

    def _sort(self, word: Word, rest: Iterator[Word]) -> None:
        override = parse_override(self._script, word)
        if override is not None:
            own = override.key.startswith("hydra.")
            (self.hydra if own else self.overrides).append(override)
        elif _is_of_script(word.value):
            self.passes_arguments = True
        elif word.value.unknown is not None:
            self.unresolved.append(word)
        elif (word.text or "").startswith("-"):
            self._option(word, word.text or "", rest)
        else:
            self._astray(word)

    def _option(self, word: Word, text: str, rest: Iterator[Word]) -> None:
        option, equals, _ = text.partition("=")
        name = _name(option)
        if name in _SWITCHES and not equals:
            self.flags.append(Flag(name, None, word.place))
        elif name in _WITH_VALUE:
            value = _after(word.value, len(option) + 1) if equals else _next_value(rest)
            self.flags.append(Flag(name, value, word.place))
        else:
            self._astray(word)

    def _astray(self, word: Word) -> None:
        self.stray.append(Stray(word.value, word.raw, word.place))


def takes_value(option: str) -> bool:
    """Whether a value follows an option of Hydra."""
    return _name(option) in _WITH_VALUE


def _name(option: str) -> str:
    """The long name of an option, without its dashes."""
    return option[2:] if option.startswith("--") else _SHORT.get(option, "")


def _is_of_script(value: Value) -> bool:
    """Whether a word passes on the arguments of the script."""
    return any(part.reason == "argument" and part.name in ("@", "*") for part in value.parts)


def _next_value(rest: Iterator[Word]) -> Value:
    word = next(rest, None)
    return Value() if word is None else word.value


def _after(value: Value, count: int) -> Value:
    """The value without its first characters, which are known."""
    parts = list(value.parts)
    while parts and count:
        text = parts[0].text or ""
        if len(text) > count:
            parts[0] = parts[0]._replace(text=text[count:])
            break
        count -= len(text)
        parts.pop(0)
    return Value(tuple(parts))
