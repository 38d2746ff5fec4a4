"""A composed configuration as a value, and which overrides of a launch it does not accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final, Literal

from rl_resources.script.framework.syntax import MISSING, STAND_IN, UnclearError, resolved


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that is not known without running something."""

Kind = Literal[
    "syntax",
    "sweep",
    "group",
    "unknown-key",
    "existing-key",
    "type",
    "reference",
    "no-module",
    "no-configuration",
]


Overrides = Sequence[tuple[str, str | None]]
"""Prefix and key (`+data.seed`, `~data.seed`), and the value's text.

A value of `None` is not known statically; after `~` it means that there is none.
"""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One override that is not accepted.

    `index` is its place among the overrides, -1 for the launch itself; `reason` fits after the
    key and a colon.
    """

    index: int
    key: str
    kind: Kind
    reason: str


@dataclass(frozen=True, eq=False)
class Composition:
    """The configuration of one launch under one release, a tree with interpolations.

    `problem` says why nothing could be composed at all; there is no tree then, and neither
    acceptance nor rejection is known.
    """

    framework: str
    version: str
    config: dict[str, Any] | None = field(default=None, repr=False)
    rejected: tuple[Rejection, ...] = ()
    problem: str = ""

    @property
    def accepted(self) -> bool | None:
        """Whether the configuration accepts every override; `None` where that is not known.

        It says nothing about whether the run works.
        """
        return None if self.problem else not self.rejected

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Dotted keys to leaves as they are written; lists and empty mappings are leaves."""
        return {
            key: node for key, node in self._tree if key and not (isinstance(node, dict) and node)
        }

    @cached_property
    def nodes(self) -> Mapping[str, tuple[str, ...]]:
        """The names below every section; the root is the empty key."""
        sections = {key: node for key, node in self._tree if isinstance(node, dict)}
        return {key: tuple(map(str, node)) for key, node in sections.items() if node or not key}

    @cached_property
    def _tree(self) -> list[tuple[str, Any]]:
        return list(_walk(_known(self.config or {}), ""))

    def value(self, key: str) -> Any:
        """What the run uses for `key`: the script's value or else the framework's default.

        Interpolations are resolved; a section gives a dictionary. A mandatory key that nothing
        sets is `None`, what is not known is `UNKNOWN`. Raises `KeyError`, with the missing key,
        where the configuration has no such key, or refers from there to one that it has not.
        """
        try:
            value = resolved(self.config or {}, key)
        except (UnclearError, RecursionError):
            return UNKNOWN
        return None if value == MISSING else _known(value)


def _known(value: Any) -> Any:
    """`value` with `UNKNOWN` for what has the stand-in."""
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return UNKNOWN if isinstance(value, str) and STAND_IN in value else value


def _walk(node: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Every node below `node` with its dotted key, itself first."""
    yield key, node
    for name, item in node.items() if isinstance(node, dict) else ():
        yield from _walk(item, f"{key}.{name}" if key else str(name))
