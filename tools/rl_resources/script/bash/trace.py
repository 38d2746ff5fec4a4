"""What an evaluation notes of a script, and where in it the evaluation is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rl_resources.script.bash.parser import Node
from rl_resources.script.bash.script import (
    Assignment,
    AssignmentKind,
    Command,
    Defined,
    Option,
    Reach,
    Reference,
    Word,
)
from rl_resources.script.bash.state import State
from rl_resources.script.bash.value import Place, Source, Value

MOST_STEPS = 10_000
SPECIAL = frozenset("?$!-0_")
_DEFINED: tuple[Defined, ...] = ("no", "maybe", "yes")
_REACH: tuple[Reach, ...] = ("never", "maybe", "always")


class Context(NamedTuple):
    """What encloses the command that is evaluated."""

    reach: Reach = "always"
    in_function: bool = False
    in_loop: bool = False
    in_substitution: bool = False
    in_condition: bool = False
    background: bool = False
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
        """Note that a variable is read; over several runs the least certain definition counts."""
        place, raw, reach = self.place(node), self.raw(node), self.here.reach
        found = Reference(name, place, raw, quoted, operator, defined(name, state), reach)
        old = self.references.get(place.offset)
        if old is not None and found.reach != "never" != old.reach:
            found = found._replace(
                defined=min(old.defined, found.defined, key=_DEFINED.index),
                reach=max(old.reach, found.reach, key=_REACH.index),
            )
        if old is None or found.reach != "never":
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
