"""What is known of a script's variables at one point of it, and where two points meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.value import (
    Part,
    Place,
    Reason,
    Source,
    Value,
    bounded,
    lost,
)

ALWAYS_SET = frozenset(
    {"BASH", "BASHOPTS", "BASHPID", "BASH_REMATCH", "BASH_SOURCE", "BASH_VERSION", "BASH_VERSINFO"}
    | {"COLUMNS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS"}
    | {"HOME", "HOSTNAME", "HOSTTYPE", "IFS", "LANG", "LINENO", "LINES", "LOGNAME", "MACHTYPE"}
    | {"MAPFILE", "OLDPWD", "OPTERR", "OPTIND", "OSTYPE", "PATH", "PIPESTATUS", "PPID", "PS4"}
    | {"PWD", "RANDOM", "REPLY", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TERM"}
    | {"UID", "USER", "_"}
)
"""Set by bash itself, by login or by every usual environment: their defaults are never taken."""

Key = int | str


class Found(NamedTuple):
    """What a name stands for: a value, nothing (`value` is `None`), or unknown for a `reason`.

    `absent` means that the script leaves it to its environment or arguments.
    """

    value: Value | None
    reason: Reason | None = None
    absent: bool = False


class Array(NamedTuple):
    """The elements of an array in the order of `[@]`. An unknown place has the key `None`."""

    entries: tuple[tuple[Key | None, Value], ...] = ()
    associative: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """The elements without their keys."""
        return tuple(value for _, value in self.entries)

    @property
    def countable(self) -> bool:
        """Whether the number of elements is known."""
        return not any(value.many for value in self.values)

    @property
    def following(self) -> int | None:
        """The index at which `+=` continues, `None` where it is unknown."""
        last = self.entries[-1][0] if self.entries else -1
        return last + 1 if isinstance(last, int) else None

    def find(self, key: Key | None) -> Found:
        """The element at a key."""
        for other, value in self.entries:
            if other is None or key is None:
                return Found(None, "conditional")
            if other == key:
                return Found(value)
        negative = isinstance(key, int) and key < 0
        return Found(None, "conditional" if negative or key is None else None)

    def with_entry(self, key: Key | None, value: Value) -> Array:
        """The array after one assignment."""
        if key is None or any(other is None for other, _ in self.entries):
            return self._replace(entries=((None, _any_number(value)),))
        items: dict[Key | None, Value] = dict(self.entries) | {key: value}
        if not self.associative and key != self.following:
            items = {number: items[number] for number in sorted(items, key=_index)}
        return self._replace(entries=tuple(items.items()))

    def appended(self, at: int | None, value: Value) -> Array:
        """The array with a further element at an index, or behind the last where it is unknown."""
        if at is not None and not value.many:
            return self.with_entry(at, value)
        return self._replace(entries=(*self.entries, (None, value)))


def _index(key: Key | None) -> int:
    return key if isinstance(key, int) else 0


def _any_number(value: Value) -> Value:
    return lost(value.place or Place(0, 1, 1), value.shown, "conditional", many=True)


Content = Value | Array | None


class Variable(NamedTuple):
    """A variable that the script sets; without content it is unset or only declared.

    What is assigned to a `volatile` one is unknown: `declare` gave it a meaning of its own.
    """

    content: Content
    place: Place
    exported: bool = False
    volatile: bool = False


@dataclass(slots=True)
class State:
    """All that commands change. A name that is not in `variables` is left to the environment.

    `positional` is `None` while the arguments are those of whoever starts the script. `flow` says
    what ended the statements so far: `exit`, `return`, `break`, `continue`, or `gone` for several.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    positional: tuple[Value, ...] | None = None
    functions: Mapping[str, tuple[Node, Source]] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    flow: str = ""

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return replace(self, variables=dict(self.variables))

    def running(self) -> State:
        """A copy in which nothing has ended yet."""
        return replace(self, variables=dict(self.variables), flow="")

    def become(self, other: State) -> None:
        """Take over another state."""
        self.variables, self.positional = other.variables, other.positional
        self.functions, self.options, self.flow = other.functions, other.options, other.flow

    def set(self, name: str, content: Content, place: Place, exported: bool = False) -> None:
        """Give a variable new content; it stays exported."""
        old = self.variables.get(name) or Variable(None, place)
        if isinstance(old.content, Array) and isinstance(content, Value):
            content = old.content.with_entry("0" if old.content.associative else 0, content)
        if old.volatile:
            content = lost(place, f"${{{name}}}", "form")
        exported = exported or old.exported or "allexport" in self.options
        self.variables[name] = Variable(content, place, exported, old.volatile)

    def lose(self, name: str, place: Place, reason: Reason = "special") -> None:
        """From here on the value of a variable comes from outside of the script."""
        if name.isidentifier():
            exported = name in self.variables and self.variables[name].exported
            self.variables[name] = Variable(lost(place, f"${{{name}}}", reason), place, exported)

    def exports(self) -> dict[str, Value]:
        """What the script adds to the environment of a command."""
        return {
            name: variable.content
            for name, variable in self.variables.items()
            if variable.exported and isinstance(variable.content, Value)
        }


def joined(first: State, second: State) -> State:
    """What is known where the script may come from either state."""
    variables = dict(first.variables)
    for name in first.variables.keys() | second.variables.keys():
        left, right = first.variables.get(name), second.variables.get(name)
        if left is not right and left != right:
            variables[name] = _joined_variable(name, left, right)
    same = first.positional == second.positional
    return State(
        variables,
        first.positional if same else None,
        {**first.functions, **second.functions},
        first.options & second.options,
    )


def _joined_variable(name: str, left: Variable | None, right: Variable | None) -> Variable:
    present = [item for item in (left, right) if item]
    place = max(item.place for item in present)
    missing = lost(place, f"${{{name}}}", "conditional")
    content: Content = missing
    if left and right:
        content = _joined_content(left.content, right.content, missing)
    exported = any(item.exported for item in present)
    return Variable(content, place, exported, any(item.volatile for item in present))


def _joined_content(left: Content, right: Content, missing: Value) -> Content:
    if left == right:
        return left
    if isinstance(left, Value) and isinstance(right, Value):
        return _joined_values(left, right, missing)
    if isinstance(left, Array) and isinstance(right, Array):
        return _joined_arrays(left, right, missing)
    many = isinstance(left, Array) or isinstance(right, Array)
    return Array(((None, _any_number(missing)),)) if many else missing


def _joined_arrays(left: Array, right: Array, missing: Value) -> Array:
    """Element by element where the keys are equal, else the common beginning."""
    keys = [key for key, _ in left.entries]
    if left.countable and keys == [key for key, _ in right.entries] and None not in keys:
        pairs = zip(left.entries, right.values, strict=True)
        merged = ((key, _joined_values(one, two, missing)) for (key, one), two in pairs)
        return left._replace(entries=tuple(merged))
    common = _common(left.entries, right.entries) if not left.associative else 0
    return left._replace(entries=(*left.entries[:common], (None, _any_number(missing))))


def _common(left: Sequence[object], right: Sequence[object]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (one, two) in pairs if one != two), min(len(left), len(right)))


def _joined_values(left: Value, right: Value, missing: Value) -> Value:
    """The common beginning, then what is unknown; of `key=1` and `key=2` the key is known."""
    if left == right or (left.text is not None and left.text == right.text):
        return left
    common = _common([part.text for part in left.parts], [part.text for part in right.parts])
    unknowns = [at for at, part in enumerate(left.parts[:common]) if part.text is None]
    kept: Sequence[Part] = left.parts[: min([common, *unknowns])]
    if not unknowns and common < min(len(left.parts), len(right.parts)):
        one, two = left.parts[common], right.parts[common]
        key = (one.text or "").partition("=")
        if key[1] and (two.text or "").startswith(f"{key[0]}="):
            kept = (*kept, one._replace(text=f"{key[0]}="))
    return bounded([*kept, *missing.parts])
