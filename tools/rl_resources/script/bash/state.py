"""What is known at one point of a script, where two points meet, and what is noted on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    AssignmentKind,
    Command,
    Defined,
    Option,
    Place,
    Reach,
    Reason,
    Reference,
    Source,
    Value,
    Word,
    lost,
)

MOST_STEPS = 10_000
SPECIAL = frozenset("?$!-0_")

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

    `ended` says whether the statements so far leave the script.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    functions: Mapping[str, Node] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    ended: bool = False

    def copy(self) -> State:
        """A state of its own, as a subshell has one."""
        return replace(self, variables=dict(self.variables))

    def running(self) -> State:
        """A copy in which nothing has ended yet."""
        return replace(self, variables=dict(self.variables), ended=False)

    def become(self, other: State) -> None:
        """Take over another state."""
        self.variables, self.functions = other.variables, other.functions
        self.options, self.ended = other.options, other.ended

    def set(self, name: str, content: Content, place: Place, exported: bool = False) -> None:
        """Give a variable new content; it stays exported."""
        old = self.variables.get(name) or Variable(None, place)
        exported = exported or old.exported or "allexport" in self.options
        self.variables[name] = Variable(content, place, exported)

    def lose(self, name: str, place: Place, reason: Reason = "special") -> None:
        """From here on the value of a variable comes from outside of the script."""
        if name.isidentifier():
            self.set(name, lost(place, f"${{{name}}}", reason), place)


def joined(first: State, second: State) -> State:
    """What is known where the script may come from either state."""
    variables = dict(first.variables)
    for name in first.variables.keys() | second.variables.keys():
        left, right = first.variables.get(name), second.variables.get(name)
        if left is not right and left != right:
            variables[name] = _joined_variable(name, left, right)
    return State(
        variables,
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
    return any_number(missing)


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


class Context(NamedTuple):
    """What encloses the command that is evaluated."""

    reach: Reach = "always"
    in_substitution: bool = False
    in_condition: bool = False
    pipeline: tuple[int, int] = (0, 1)
    after: str = ""


class Trace:
    """Assignments and references once for each place, commands each time that they run.

    Once the steps are used up nothing counts as known.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.here = Context()
        self.steps = MOST_STEPS
        self.noting = True
        self.commands: list[Command] = []
        self.assignments: dict[int, Assignment] = {}
        self.references: dict[int, Reference] = {}
        self.options: list[Option] = []

    @contextmanager
    def within(self, **changes: object) -> Iterator[None]:
        """For a while, be elsewhere in the script."""
        outer = self.here
        self.here = outer._replace(**changes)  # type: ignore[arg-type]
        yield
        self.here = outer

    @contextmanager
    def maybe(self) -> Iterator[None]:
        """For a while, nothing is certain to be reached."""
        with self.within(reach=weaker(self.here.reach)):
            yield

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """For a while, note nothing."""
        noted = self.commands, self.assignments, self.references, self.options, self.noting
        self.commands, self.assignments, self.references, self.options = [], {}, {}, []
        self.noting = False
        yield
        self.commands, self.assignments, self.references, self.options, self.noting = noted

    @property
    def exhausted(self) -> bool:
        """Whether the evaluation has given up."""
        return self.steps <= 0

    def spend(self, steps: int = 1) -> None:
        """Take steps of those that the evaluation has."""
        self.steps -= steps

    def give_up(self) -> None:
        """Follow the script no further: it does what no launch script does."""
        self.steps = 0

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        return self.source.place(node["Pos"])

    def raw(self, node: Node) -> str:
        """A node as it is written."""
        return self.source.text[node["Pos"] : node["End"]]

    def note_assignment(
        self,
        name: str,
        value: Value,
        node: Node,
        kind: AssignmentKind,
        elements: tuple[Word, ...] | None = None,
        exported: bool = False,
    ) -> Assignment:
        """Note what is assigned at a node; the last run counts, and any run before none."""
        place, raw, reach = self.place(node), self.raw(node), self.here.reach
        found = Assignment(name, value, elements, raw, place, kind, exported, reach)
        if place.offset not in self.assignments or reach != "never":
            self.assignments[place.offset] = found
        return found

    def note_reference(
        self, name: str, node: Node, state: State, *, quoted: bool = True, operator: str = ""
    ) -> None:
        """Note that a variable is read; the first run counts, and any run before none."""
        place, raw, reach = self.place(node), self.raw(node), self.here.reach
        old = self.references.get(place.offset)
        if old is None or old.reach == "never":
            found = Reference(name, place, raw, quoted, operator, defined(name, state), reach)
            self.references[place.offset] = found


def weaker(reach: Reach) -> Reach:
    """The reach of what may be left out."""
    return "maybe" if reach == "always" else reach


def defined(name: str, state: State) -> Defined:
    """Whether the script has set a variable."""
    if name.isdigit() or name in ("@", "*", "#") or name in SPECIAL:
        return "yes"
    variable = state.variables.get(name)
    if variable is None or variable.content is None:
        return "no"
    if isinstance(variable.content, tuple):
        return "yes"
    first = variable.content.unknown
    return "maybe" if first and first.reason == "conditional" else "yes"
