"""Releases of a framework: which there are, and the configuration files of one, from a cache.

A checkout of the framework, or of a fork of it, is read in its place, as it is at its own commit.

pip fetches and unpacks, so that a person's index, proxy and certificates are honored, and only ever
wheels: to look at a source archive pip would run its build script.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from packaging.version import Version
from yaml import YAMLError

from rl_resources.errors import UnusableInput
from rl_resources.files import read_file
from rl_resources.script.framework.composition import (
    CannotComposeError,
    Composition,
    Entry,
    Source,
)
from rl_resources.script.framework.shipped import GROUP, MODULE, NAMES
from rl_resources.script.framework.syntax import ParsedOverride

_MAIN = re.compile(r"@hydra\.main\((?P<given>[^)]*)\)")
_GIVEN = re.compile(r"(config_path|config_name)=[\"']([^\"']+)")
_PACKAGE = re.compile(r"^ *- *pkg://([\w.]+) *$", re.M)
_TRAINED = "actor_rollout_ref.model.path"
"""What a configuration has from which a run of RL starts."""
_LARGEST_BYTES = 2**20
_LISTED = re.compile(r"^Available versions: (?P<versions>.+)$", re.M)
_WHEELS = ("--only-binary=:all:", "--ignore-requires-python")
"""A wheel is only unpacked, where a source archive would have to be built."""


@dataclass(frozen=True, eq=False)
class Release(Source):
    """The configuration files of one release, below `folder`."""

    folder: Path

    def groups(self, entry: Entry) -> Sequence[str]:
        """The directories next to the configuration."""
        beside = (self.folder / entry.folder).iterdir()
        return [path.name for path in beside if path.is_dir()]

    @cached_property
    def engines(self) -> Mapping[str, Composition]:
        """The choices of the group for the engine, and the other configurations next to it."""
        entry = self.modules.get(MODULE)
        if entry is None:  # a fork's own programs
            return {}
        folder = self.folder / entry.folder
        found = {"": self.start(entry, ())}
        for path in sorted(folder.glob(f"{GROUP}/*.yaml")):
            found[f"{GROUP}={path.stem}"] = self.start(
                entry, [ParsedOverride("", GROUP, path.stem)]
            )
        for path in sorted(folder.glob("*.yaml"), key=_usual_first):
            with suppress(CannotComposeError):
                other = self.start(entry._replace(config_name=path.stem), ())
                if _TRAINED in other.values:
                    found[f"--config-name={path.stem}"] = other
        return found

    def start(self, entry: Entry, choices: Sequence[ParsedOverride]) -> Composition:
        """The configuration as Hydra composes it from files; raises as `Source.start` says."""
        if not (self.folder / entry.file).is_file():
            raise CannotComposeError(
                f"{self.framework} {self.version} has nothing of this name",
                "no-configuration",
                entry.config_name,
            )
        words = tuple(f"{item.prefix}{item.key}={item.value}" for item in choices)
        config = _composed(self.folder, entry, words)
        return Composition(self.framework, self.version, config)


def _usual_first(path: Path) -> tuple[bool, int, str]:
    return path.stem not in NAMES, len(path.stem), path.stem


@cache
def _composed(root: Path, entry: Entry, words: tuple[str, ...]) -> Any:
    """The tree that Hydra composes with these choices."""
    text = (root / entry.file).read_text("utf-8")
    search_in = str((root / entry.folder).resolve())
    try:
        # A configuration names others relative to the directory that a run starts in.
        with (
            chdir(root),
            catch_warnings(),
            initialize_config_dir(search_in, version_base=None),
        ):
            simplefilter("ignore")
            return OmegaConf.to_container(
                compose(entry.config_name, [*words, *_search_path(text)])
            )
    except (
        HydraException,
        OmegaConfBaseException,
        YAMLError,
        OSError,
        ValueError,
    ) as error:
        reason, _, _ = str(error).strip().partition("\n")
        if words:
            raise CannotComposeError(reason, "group", words[-1]) from None
        raise CannotComposeError(f"`{entry.config_name}` fails: {reason}") from None


def _search_path(text: str) -> list[str]:
    """The packages that a configuration searches, as directories.

    Hydra would import the framework to find the directory of one.
    """
    paths = [name.replace(".", "/") for name in _PACKAGE.findall(text)]
    if not paths:
        return []
    listed = ",".join(f"file://{path}" for path in paths)
    return [f"hydra.searchpath=[{listed}]"]


def releases(framework: str) -> list[str]:
    """Every release that the registry offers as a wheel, oldest first, without pre-releases.

    Raises `UnusableInput` without network.
    """
    listed = _LISTED.search(_pip("index", "versions", framework, *_WHEELS))
    if listed is None:
        raise UnusableInput(
            f"pip did not list the releases of {framework}",
            "Name them with --framework-version, or update pip.",
        )
    return sorted(listed["versions"].split(", "), key=Version)


def configuration(framework: str, version: str) -> Release:
    """One release, from the cache or, the first time, from the registry.

    `RL_RESOURCES_CACHE` names another place for the cache. Raises `UnusableInput` if neither
    has it, and if it has no configuration.
    """
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+!_-]*", version):
        raise UnusableInput(f"{version!r} is not a version", "Write it like 0.9.1.")
    folder = _cache() / "releases" / framework / version
    if not folder.is_dir():
        into = ("--no-compile", "--target", str(folder))
        _pip(
            "install",
            "--quiet",
            "--no-deps",
            *_WHEELS,
            *into,
            f"{framework}=={version}",
        )
    modules = _modules(folder)
    if not modules:
        raise UnusableInput(
            f"{framework} {version} has no configuration that Hydra can read",
            f"If it was not fetched as a whole, delete {folder}.",
        )
    return Release(framework, version, modules, folder)


def _cache() -> Path:
    usual = Path.home() / ".cache" / "rl-resources"
    return Path(os.environ.get("RL_RESOURCES_CACHE") or usual)


def _modules(root: Path) -> dict[str, Entry]:
    """The modules that start from a configuration, of the packages in a directory."""
    modules: dict[str, Entry] = {}
    for path in sorted(root.glob("[!.]*/**/*.py")):
        name = path.relative_to(root).as_posix()
        entry = entry_of(name, _text(path))
        if entry:
            modules[name.removesuffix(".py").replace("/", ".")] = entry
    return modules


def entry_of(path: str, text: str) -> Entry | None:
    """Where the configuration of a module lies, as its `@hydra.main(…)` says."""
    main = _MAIN.search(text)
    if main is None:
        return None
    given = dict(_GIVEN.findall(main["given"]))
    if given.keys() != {"config_path", "config_name"}:
        return None
    return Entry(
        posixpath.normpath(
            posixpath.join(posixpath.dirname(path), given["config_path"])
        ),
        given["config_name"].removesuffix(".yaml"),
    )


def checkout(framework: str, place: Path) -> Release | None:
    """The configuration files of the checkout that a file or directory lies in, if it has any.

    Its packages are those next to the framework's own. Nothing of it is run or imported.
    """
    package = _package(framework, place.resolve())
    if package is None:
        return None
    root = package.parent
    return Release(framework, _version_of(package), _modules(root), root)


def _package(framework: str, inside: Path) -> Path | None:
    """The framework's package beside or above a place.

    In a repository it may be two levels down, as in `train/verl/verl`. Of several the one that
    shares most of its path with the place counts.
    """
    for folder in (inside, *inside.parents):
        depths = ["", "[!.]*/", "[!.]*/[!.]*/"]
        if not (folder / ".git").exists():
            depths = [""]
        found: list[Path] = []
        for depth in depths:
            found += sorted(folder.glob(f"{depth}{framework}/trainer"))
        if found:
            common = [os.path.commonpath((path, inside)) for path in found]
            return found[common.index(max(common, key=len))].parent
    return None


def _version_of(package: Path) -> str:
    """The version that a checkout of the framework gives itself; empty if it gives none."""
    try:
        return str(Version(_text(package / "version" / "version").strip()))
    except ValueError:
        return ""


def _text(path: Path) -> str:
    """A file's text; empty if it cannot be read, or is larger than any module of a framework."""
    with suppress(OSError):
        return read_file(path, _LARGEST_BYTES).decode("utf-8", "replace")
    return ""


def _pip(*arguments: str) -> str:
    """Standard output of pip; raises `UnusableInput` with pip's last word."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode == 0:
        return done.stdout
    _, _, last_line = done.stderr.strip().rpartition("\n")
    raise UnusableInput(
        f"pip cannot get it: {last_line.removeprefix('ERROR: ')}",
        "Check the network and pip's settings, or name fetched releases with --framework-version.",
    )
