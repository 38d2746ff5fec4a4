"""The configurations of one release of a framework, and what a command makes of them."""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rl_resources.script.framework.composition import (
    Composition,
    Kind,
    Override,
    Overrides,
    Rejection,
)

if TYPE_CHECKING:
    from rl_resources.script.launch import Launch


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
    def groups(self, entry: Entry) -> Mapping[str, Sequence[str]]:
        """The config groups of a configuration, each with the files that its value chooses from."""

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


def compose_module(
    source: Source,
    module: str,
    config_name: str | None,
    config_path: str | None,
    overrides: Overrides,
) -> Composition:
    """The configuration of `python3 -m MODULE --config-path … --config-name … OVERRIDES`."""
    from rl_resources.script.framework.overrides import composed  # imports Hydra, 0.3 s

    try:
        entry = source.entry(module_name(module), config_name, config_path)
        return composed(source, entry, tuple(overrides))
    except CannotComposeError as error:
        rejected = (error.rejection,) if error.rejection else ()
        problem = "" if rejected else str(error)
        return Composition(source.framework, source.version, None, rejected, problem)


def module_name(path: str) -> str:
    """The dotted name of a module or its file, as `python3 -m` wants it."""
    name = path.removesuffix(".py").removeprefix("./").replace("/", ".")
    return name.removesuffix(".__main__").removesuffix(".__init__")


def compose_launch(source: Source, launch: Launch) -> Composition:
    """The configuration of one launch; the index of a rejection is that of `launch.overrides`.

    The result has a `problem` where an argument that matters is not known statically.
    """
    overrides = [(f"{item.prefix}{item.key}", item.value) for item in launch.overrides]
    composed = compose_module(
        source, launch.module, launch.config_name, launch.config_path, overrides
    )
    if launch.multirun:
        kept = tuple(item for item in composed.rejected if item.kind != "sweep")
        composed = replace(composed, rejected=kept)
    problem = _hidden(launch)
    return replace(composed, config=None, problem=problem) if problem else composed


def _hidden(launch: Launch) -> str:
    """Why it is not known from what configuration the launch starts; empty where it is."""
    for flag in launch.flags:
        if flag.name == "config-dir":
            return "`--config-dir` adds configurations from outside the framework's package"
        if flag.name.startswith("config-") and (flag.value is None or flag.value.text is None):
            return f"the value of `--{flag.name}` is not known without running the script"
    if any(item.key == "hydra.searchpath" for item in launch.hydra):
        return "`hydra.searchpath` adds configurations from outside the framework's package"
    return ""
