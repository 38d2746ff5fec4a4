"""What is known of a script's variables at one point of it, and where two points meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.value import Place, Reason, Source, Value, lost

Content = Value | tuple[Value, ...] | None
"""A text, the elements of an array, or nothing. An array with keys of its own is unknown."""


class Variable(NamedTuple):
    """A variable that the script sets; without content it is unset or only declared."""

    content: Content
    place: Place
    exported: bool = False


@dataclass(slots=True)
class State:
    """All that commands change. A name that is not in `variables` is left to the environment.

    `positional` is `None` while the arguments are those of the script itself. `flow` says what
    ended the statements so far: `exit`, `return`, `break` or `continue`.
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
        exported = exported or old.exported or "allexport" in self.options
        self.variables[name] = Variable(content, place, exported)

    def lose(self, name: str, place: Place, reason: Reason = "special") -> None:
        """From here on the value of a variable comes from outside of the script."""
        if name.isidentifier():
            self.set(name, lost(place, f"${{{name}}}", reason), place)

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
    return State(
        variables,
        first.positional if first.positional == second.positional else None,
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
    return Variable(content, place, any(item.exported for item in present))


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
    both = zip(left, right, strict=False)
    common = tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], both))
    return common if common and common[-1].many else (*common, *any_number(missing))


def _joined_values(left: Value, right: Value, missing: Value) -> Value:
    """The text where both have it, else unknown; of `key=1` and `key=2` the key is known."""
    if left == right or (left.text is not None and left.text == right.text):
        return left
    if _key(left) and _key(left) == _key(right):
        return Value((left.parts[0]._replace(text=_key(left)), *missing.parts))
    return missing


def _key(value: Value) -> str:
    """The `key=` that a value begins with."""
    text = (value.parts[0].text or "") if value.parts else ""
    return text[: text.find("=") + 1]
