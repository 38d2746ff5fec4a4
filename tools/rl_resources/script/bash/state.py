"""What is known at one point of a script, and after branches of which one runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rl_resources.script.bash.script import Place, Value, joined, lost

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
        self.variables[name] = lost(place, f"${{{name}}}")

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
    missing = lost(_first_place(one, two), f"${{{name}}}")
    if isinstance(one, tuple) and isinstance(two, tuple):
        return _common_elements(one, two, missing)
    return missing


def _first_place(one: Content, two: Content) -> Place:
    """Where the first value of either is written; the script's beginning if neither has one."""
    values = [*elements_of(one), *elements_of(two)]
    if not values:
        return _BEGINNING
    return values[0].place or _BEGINNING


def _common_elements(
    one: tuple[Value, ...], two: tuple[Value, ...], missing: Value
) -> tuple[Value, ...]:
    """The common beginning of two arrays, then the keys of what is `key=value` in either."""
    same = 0
    for left, right in zip(one, two, strict=False):
        if not _same(left, right):
            break
        same += 1
    common = one[:same]
    keys: dict[str, Value] = {}
    for value in (*one[same:], *two[same:]):
        key = _key(value)
        if not key:
            return (*common, missing)
        start = value.parts[0]._replace(text=key)
        keys[key] = joined([start, *missing.parts])
    return (*common, *keys.values())


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
