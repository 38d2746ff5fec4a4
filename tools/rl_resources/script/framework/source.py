"""The configurations of one release of a framework."""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_resources.script.framework.composition import Composition, Kind, Rejection
from rl_resources.script.framework.syntax import Override


class CannotComposeError(Exception):
    """A launch cannot be composed; the message says why.

    Where the release has no such module, configuration or choice, `rejection` says which; else
    nothing is known about the launch.
    """

    def __init__(self, reason: str, kind: Kind | None = None, name: str = "") -> None:
        super().__init__(reason)
        self.rejection = Rejection(-1, name, kind, reason) if kind else None


class Entry(NamedTuple):
    """Where a module's configuration lies: a folder inside the wheel, and a name in it."""

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
