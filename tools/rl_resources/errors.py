"""Exceptions.

RlResourcesError
├── UnreadableDataset   the root, its descriptor or a schema cannot be used at all (exit 2)
├── InvalidDataset      the data can be read but breaks rules; carries the findings (exit 1)
├── UnusableInput       an argument or a file named by one cannot be used (exit 2)
└── InvalidOutput       what would have been published breaks its own schema (exit 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rl_resources.finding import Finding

_MOST_NOTES = 10


class RlResourcesError(Exception):
    """Base of all exceptions that this package raises on purpose.

    The message says what is wrong; `help`, which a traceback shows below it, how to fix it.
    """

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 (the word of a finding)
        super().__init__(message)
        self.help = help
        if help:
            self.add_note(f"help: {help}")


class UnreadableDataset(RlResourcesError):  # noqa: N818
    """The root, its descriptor or a schema cannot be used at all."""


class UnusableInput(RlResourcesError):  # noqa: N818
    """An argument, or a file named by one, cannot be used."""


class InvalidOutput(RlResourcesError):  # noqa: N818
    """What would have been published breaks its own schema."""


class InvalidDataset(RlResourcesError):  # noqa: N818
    """The data can be read but breaks rules."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(f"{len(findings)} findings of severity error in the dataset")
        self.findings = tuple(findings)
        for item in self.findings[:_MOST_NOTES]:
            self.add_note(f"{item.path}:{item.line}:{item.column}: {item.message}")

    def __reduce__(self) -> tuple[type[InvalidDataset], tuple[Sequence[Finding]]]:
        """Pickled, it is made of its findings again."""
        return type(self), (self.findings,)
