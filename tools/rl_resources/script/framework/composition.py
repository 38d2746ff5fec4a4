"""A composed configuration as a value, and what of a launch it does not accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from typing import Any, Final, Literal

from rl_resources.script.framework.interpolation import references, resolve

MISSING = "???"
"""The default of a key that a launch must set."""


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that cannot be told without running something."""

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

A value of `None` cannot be known statically; after `~` it means that there is none.
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


@dataclass(frozen=True)
class Composition:
    """The configuration of one launch under one release.

    `values` maps dotted keys to leaves as they are written: text may hold interpolations, lists
    and empty mappings are leaves. `problem` says why nothing could be composed at all; `values`
    is then empty and neither acceptance nor rejection is known.
    """

    framework: str
    version: str
    values: Mapping[str, Any] = field(repr=False)
    rejected: tuple[Rejection, ...] = ()
    problem: str = ""

    @property
    def accepted(self) -> bool | None:
        """Whether the configuration takes every override; `None` where that cannot be told.

        It says nothing about whether the run works.
        """
        return None if self.problem else not self.rejected

    @cached_property
    def nodes(self) -> Mapping[str, tuple[str, ...]]:
        """The children of every inner key; the root is the empty key."""
        return children(self.values)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Keys that must be set and are not."""
        return tuple(key for key, value in self.values.items() if value == MISSING)

    @cached_property
    def _known(self) -> dict[str, Any]:
        """Values found so far: a hostile chain of references is followed once, not 2ⁿ times."""
        return {}

    def value(self, key: str) -> Any:
        """What the run uses for `key`: the script's value or else the framework's default.

        Interpolations are resolved; an inner key gives a dictionary. A mandatory key that nothing
        sets is `None`, what cannot be told is `UNKNOWN`. Raises `KeyError` where the configuration
        has no such key, or refers from there to one that it has not.
        """
        found = self._resolved(key, ())
        return None if found == MISSING else found

    def _resolved(self, key: str, trail: tuple[str, ...]) -> Any:
        """The value of `key`; a key that is already on the `trail` of references is unknown."""
        if key in trail:
            return UNKNOWN
        if key not in self._known:
            self._known[key] = self._found(key, (*trail, key))
        return self._known[key]

    def _found(self, key: str, trail: tuple[str, ...]) -> Any:
        if key in self.values:
            return self._plain(self.values[key], key, trail)
        if key in self.nodes:
            return {name: self._resolved(f"{key}.{name}", trail) for name in self.nodes[key]}
        owner, last = _split(key)
        inner: Any = None if owner in self.nodes else self._resolved(owner, trail)
        if inner is UNKNOWN:
            return UNKNOWN
        try:
            return inner[int(last)] if isinstance(inner, list) else inner[last]
        except (TypeError, LookupError, ValueError):
            raise KeyError(key) from None

    def _plain(self, value: Any, key: str, trail: tuple[str, ...]) -> Any:
        """`value`, which stands at `key`, without interpolations."""
        if isinstance(value, str):
            lookup = partial(self._resolved, trail=trail)
            return resolve(value, key, lookup, UNKNOWN) if "${" in value else value
        if isinstance(value, list):
            return [self._plain(item, f"{key}.{at}", trail) for at, item in enumerate(value)]
        if isinstance(value, dict):
            return {name: self._plain(item, f"{key}.{name}", trail) for name, item in value.items()}
        return value

    def dangling(self, key: str) -> str | None:
        """The first interpolation at `key` that refers to no key."""
        value = self.values.get(key)
        for reference in references(value, key) if isinstance(value, str) else ():
            try:
                self.value(reference)
            except KeyError:
                return reference
        return None


def _split(key: str) -> tuple[str, str]:
    owner, _, last = key.rpartition(".")
    return owner, last


def children(values: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The names below every inner key of a mapping from dotted keys, in order."""
    found: dict[str, dict[str, None]] = {"": {}}
    for key in values:
        below = key
        while below:
            above, name = _split(below)
            known = found.setdefault(above, {})
            if name in known:
                break
            known[name] = None
            below = above
    return {key: tuple(names) for key, names in found.items()}


def leaves(tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and leaves of nested mappings; an empty mapping is a leaf."""
    for name, value in tree.items():
        key = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, key)
        else:
            yield key, value
