"""What an evaluation notes on its way, and how much work it may do."""

from __future__ import annotations

from dataclasses import dataclass, field

from rl_resources.script.bash.script import (
    Assignment,
    Command,
    Defined,
    Option,
    Reach,
    Reference,
)

MOST_STEPS = 10_000
_DEFINED: tuple[Defined, ...] = ("no", "maybe", "yes")
_REACH: tuple[Reach, ...] = ("never", "maybe", "always")


class Budget:
    """Steps that may still be taken. Once they are used up nothing counts as known."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self._left = steps

    @property
    def exhausted(self) -> bool:
        """Whether the evaluation has given up."""
        return self._left <= 0

    def spend(self, steps: int = 1) -> bool:
        """Take steps; whether the evaluation may go on."""
        self._left -= steps
        return self._left > 0

    def exhaust(self) -> None:
        """Give up."""
        self._left = 0


@dataclass
class Log:
    """Assignments and references once for each place, commands each time that they are run."""

    commands: list[Command] = field(default_factory=list)
    assignments: dict[int, Assignment] = field(default_factory=dict)
    references: dict[int, Reference] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    called: set[str] = field(default_factory=set)

    def assignment(self, found: Assignment) -> None:
        """Note an assignment; the last run counts, and any run before none."""
        old = self.assignments.get(found.place.offset)
        if old is None or found.reach != "never":
            self.assignments[found.place.offset] = found

    def reference(self, found: Reference) -> None:
        """Note a reference; over several runs the least certain definition counts."""
        old = self.references.get(found.place.offset)
        if old is None or old.reach == "never" != found.reach:
            self.references[found.place.offset] = found
        elif found.reach != "never":
            self.references[found.place.offset] = found._replace(
                defined=min(old.defined, found.defined, key=_DEFINED.index),
                reach=max(old.reach, found.reach, key=_REACH.index),
            )

    def told(self) -> tuple[Command, ...]:
        """The commands: those never run only where no other run of the same place is told."""
        run = {command.place.offset for command in self.commands if command.reach != "never"}
        return tuple(
            command
            for command in self.commands
            if command.reach != "never" or command.place.offset not in run
        )
