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


class Found(NamedTuple):
    """What a name stands for: a value, nothing (`value` is `None`), or unknown for a `reason`.

    `absent` means that the script leaves it to its environment or arguments.
    """

    value: Value | None
    reason: Reason | None = None
    absent: bool = False


Content = Value | tuple[Value, ...] | None
"""A text, the elements of an array, or nothing. An array with keys of its own is unknown."""


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
        if isinstance(old.content, tuple) and isinstance(content, Value):
            content = any_number(content)  # it is the new first element
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


def any_number(value: Value) -> tuple[Value, ...]:
    """The elements of an array of which nothing is known."""
    return (lost(value.place or Place(0, 1, 1), value.shown, "conditional", many=True),)


def _joined_content(left: Content, right: Content, missing: Value) -> Content:
    if left == right:
        return left
    if isinstance(left, Value) and isinstance(right, Value):
        return _joined_values(left, right, missing)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _joined_arrays(left, right, missing)
    many = isinstance(left, tuple) or isinstance(right, tuple)
    return any_number(missing) if many else missing


def _joined_arrays(
    left: tuple[Value, ...], right: tuple[Value, ...], missing: Value
) -> tuple[Value, ...]:
    """Element by element where there are equally many, else the common beginning."""
    if len(left) == len(right) and not any(value.many for value in (*left, *right)):
        pairs = zip(left, right, strict=True)
        return tuple(_joined_values(one, two, missing) for one, two in pairs)
    return (*left[: _common(left, right)], *any_number(missing))


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
