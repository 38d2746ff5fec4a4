"""What a release starts from, and a composed configuration with the overrides that it rejects."""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Final, Literal, NamedTuple

from rl_resources.script.framework.syntax import MISSING, STAND_IN, Override, UnclearError, resolved


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that is not known without running something."""

Kind = Literal[
    "syntax", "group", "unknown-key", "existing-key", "type", "no-module", "no-configuration"
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
        return dict(_leaves(_known(self.config or {}), ""))

    @cached_property
    def sections(self) -> frozenset[str]:
        """The dotted keys of all sections that have settings."""
        every = chain.from_iterable(map(with_sections, self.values))
        return frozenset(every).difference(self.values)

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


def _leaves(node: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Every leaf below a section with its dotted key."""
    for name, item in node.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{above}{name}.")
        else:
            yield f"{above}{name}", item


def with_sections(key: str) -> Iterator[str]:
    """A dotted key and those of all sections that it is in, the outermost first."""
    return accumulate(key.split("."), "{}.{}".format)


class CannotComposeError(Exception):
    """A launch cannot be composed; the message says why.

    Where the release has no such module, configuration or choice, `rejection` says which; else
    nothing is known about the launch.
    """

    def __init__(self, reason: str, kind: Kind | None = None, name: str = "") -> None:
        super().__init__(reason)
        self.rejection = Rejection(-1, name, kind, reason) if kind else None


class Entry(NamedTuple):
    """Where a module's configuration lies: a directory inside the wheel, and a name in it."""

    folder: str
    config_name: str


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """The configurations of one release, and the one that each of its modules starts from."""

    framework: str
    version: str
    modules: Mapping[str, Entry] = field(repr=False)

    @abstractmethod
    def groups(self, entry: Entry) -> Sequence[str]:
        """The config groups of a configuration."""

    @abstractmethod
    def start(self, entry: Entry, choices: Sequence[Override]) -> Composition:
        """The configuration with these choices of config groups, before any other override.

        Raises `CannotComposeError`.
        """

    def entry(self, module: str, name: str | None, path: str | None) -> Entry:
        """What `module` starts from, with these names on its command line or its own.

        Raises `CannotComposeError`.
        """
        entry = self.modules.get(module)
        if entry is None:
            packages = {found.folder.partition("/")[0] for found in self.modules.values()}
            if module.partition(".")[0] in packages:
                reason = f"{self.framework} {self.version} has no such module to start"
                raise CannotComposeError(reason, "no-module", module)
            raise CannotComposeError(f"the framework's package has no `{module}`")
        above = posixpath.dirname(module.replace(".", "/"))
        folder = posixpath.normpath(posixpath.join(above, path)) if path else entry.folder
        outside = any(place.startswith(("/", "..")) for place in (folder, name or ""))
        if outside or "://" in (path or ""):
            raise CannotComposeError(f"`{path or name}` lies outside the framework's package")
        return Entry(folder, re.sub(r"\.ya?ml$", "", name or entry.config_name))


def module_name(path: str) -> str:
    """The dotted name of a module or its file, as `python3 -m` wants it."""
    name = path.removesuffix(".py").removeprefix("./").replace("/", ".")
    return name.removesuffix(".__main__").removesuffix(".__init__")
