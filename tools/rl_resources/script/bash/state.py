"""What is known of variables at one point of a script, and where two points meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from rl_resources.script.bash.script import Place, Value, lost

Content = Value | tuple[Value, ...] | None
"""A text, the elements of an array, or nothing. An array with keys of its own is unknown."""


class Variable(NamedTuple):
    """A variable that the script sets; without content it is unset or only declared."""

    content: Content
    place: Place


@dataclass(slots=True)
class State:
    """All that commands change. A name that is not in `variables` is left to the environment.

    `ended` says whether the statements so far leave the script.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    ended: bool = False

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return State(dict(self.variables))

    def set(self, name: str, content: Content, place: Place) -> None:
        """Give a variable new content."""
        self.variables[name] = Variable(content, place)

    def lose(self, name: str, place: Place) -> None:
        """From here on the value of a variable comes from outside of the script."""
        if name.isidentifier():
            self.set(name, lost(place, f"${{{name}}}"), place)

    def meet(self, branch: State) -> None:
        """Continue with what is known with and without the branch.

        One that leaves the script is a guard and says nothing of what follows.
        """
        if self.ended:
            self.variables, self.ended = branch.variables, branch.ended
        elif not branch.ended:
            both = self.variables | branch.variables
            self.variables = {
                name: _joined(name, self.variables.get(name), branch.variables.get(name))
                for name in both
            }


def _joined(name: str, left: Variable | None, right: Variable | None) -> Variable:
    """A variable that is one of the two, or unset where one is missing."""
    if left and right and left.content == right.content:
        return left
    place = max(item.place for item in (left, right) if item)
    missing = lost(place, f"${{{name}}}", unsure=True)
    content: Content = missing
    match left and left.content, right and right.content:
        case Value() as one, Value() as two:
            content = _joined_values(one, two, missing)
        case tuple() as one, tuple() as two:
            content = _joined_arrays(one, two, missing)
    return Variable(content, place)


def _joined_arrays(
    left: tuple[Value, ...], right: tuple[Value, ...], missing: Value
) -> tuple[Value, ...]:
    """Element by element where there are equally many, else the common beginning.

    An unknown element may be any number of them.
    """
    pairs = list(zip(left, right, strict=False))
    if len(left) == len(right):
        return tuple(_joined_values(one, two, missing) for one, two in pairs)
    common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return tuple(common if common and common[-1].text is None else [*common, missing])


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
