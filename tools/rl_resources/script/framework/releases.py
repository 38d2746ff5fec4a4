"""Releases of a framework: which there are, and the configuration files of one, from a cache.

pip does the fetching, so that a person's index, proxy and certificates are honoured, and only ever
fetches wheels: to look at a source archive pip would run its build script.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from rl_resources.errors import UnusableInput
from rl_resources.order import in_order
from rl_resources.output import new_folder
from rl_resources.regular import read_regular
from rl_resources.script.framework.archive import SUFFIXES, read_archive
from rl_resources.script.framework.compose import Configuration
from rl_resources.script.framework.entry import Entry, entries

DISTRIBUTIONS: Mapping[str, str] = {"verl": "verl"}
"""Frameworks whose configuration is known to be Hydra's, and the name of their package."""

_INDEX = "entries.json"
_LAYOUT = 1
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]*")
_ENDINGS = (".yaml", ".yml")
_MEND = "Name a folder that may be written to and has room as RL_RESOURCES_CACHE."
_LISTED = re.compile(r"^Available versions: (?P<versions>.+)$", re.M)


def _folder() -> Path:
    """Where fetched releases are cached; `RL_RESOURCES_CACHE` names another place."""
    if own := os.environ.get("RL_RESOURCES_CACHE"):
        return Path(own, "frameworks")
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rl-resources" / "frameworks"


def releases(framework: str) -> list[str]:
    """Every release that the registry offers as a wheel, oldest first, without pre-releases.

    Raises `UnusableInput` for a framework that is not known, and without network.
    """
    name = _distribution(framework)
    text = _pip("index", "versions", name, "--only-binary=:all:", "--ignore-requires-python")
    listed = _LISTED.search(text)
    if listed is None:
        raise UnusableInput(
            f"pip did not list the releases of {name}",
            "Name them with --framework-version, or update pip.",
        )
    return in_order(listed["versions"].split(", "))


def cached_releases(framework: str) -> list[str]:
    """The releases that need no network, oldest first."""
    folder = _folder() / framework
    found = [path.name for path in folder.glob("*") if _VERSION.fullmatch(path.name)]
    return in_order([version for version in found if _cached(framework, version)])


def configuration(framework: str, version: str) -> Configuration:
    """The configuration files of one release, from the cache or, the first time, from the registry.

    Raises `UnusableInput` where neither has it.
    """
    distribution = _distribution(framework)
    if not _VERSION.fullmatch(version):
        raise UnusableInput(f"{version!r} is not a version", "Write it as in 0.9.1.")
    known = _cached(framework, version)
    if known is None:
        _fetch(framework, distribution, version)
        known = _cached(framework, version)
    if known is None:
        raise UnusableInput(f"{framework} {version}: the cache at {_folder()} was changed")
    return known


def _distribution(framework: str) -> str:
    if framework not in DISTRIBUTIONS:
        raise UnusableInput(
            f"the configuration of {framework!r} cannot be composed",
            f"Known are: {', '.join(sorted(DISTRIBUTIONS))}.",
        )
    return DISTRIBUTIONS[framework]


def _cached(framework: str, version: str) -> Configuration | None:
    folder = _folder() / framework / version
    try:
        index = json.loads(read_regular(folder / _INDEX))
        if index["layout"] != _LAYOUT:
            return None
        modules = {name: Entry(**entry) for name, entry in index["modules"].items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return Configuration(framework, version, folder, modules)


def _fetch(framework: str, distribution: str, version: str) -> None:
    if (archive := _given_archive(distribution, version)) is not None:
        return unpack(archive, framework, version)
    with tempfile.TemporaryDirectory(prefix="rl-resources-") as folder:
        wanted = f"{distribution}=={version}"
        options = ("--no-deps", "--only-binary=:all:", "--ignore-requires-python")
        _pip("download", "--quiet", *options, "--dest", folder, wanted)
        wheels = sorted(Path(folder).glob("*.whl"))
        if not wheels:
            raise UnusableInput(f"pip fetched no wheel of {wanted}")
        return unpack(wheels[0], framework, version)


def _given_archive(distribution: str, version: str) -> Path | None:
    """An archive that a person has put into the cache, of which a source archive is one too."""
    found = sorted(_folder().glob(f"{distribution}-{version}*"))
    named = re.compile(re.escape(f"{distribution}-{version}") + r"(?:-.+\.whl|\.tar\.gz)")
    return next((path for path in found if named.fullmatch(path.name)), None)


def unpack(archive: Path, framework: str, version: str) -> None:
    """Put the configuration files of an archive, and no others, into the cache.

    Raises `UnusableInput` for an archive that is unsafe or holds no configuration.
    """
    files = read_archive(archive, _may_matter)
    sources = {_importable(path): data for path, data in files.items() if path.endswith(".py")}
    modules = entries(sources)
    folders = {PurePosixPath(entry.folder) for entry in modules.values()}
    with new_folder(_folder() / framework / version, _MEND) as target:
        kept = 0
        for path, data in files.items():
            inside = PurePosixPath(_importable(path))
            if inside.suffix in _ENDINGS and folders & set(inside.parents):
                (target / inside).parent.mkdir(parents=True, exist_ok=True)
                (target / inside).write_bytes(data)
                kept += 1
        if not kept:
            raise UnusableInput(f"{archive.name}: holds no configuration that Hydra would read")
        index = {"layout": _LAYOUT, "modules": {name: modules[name]._asdict() for name in modules}}
        (target / _INDEX).write_text(json.dumps(index, indent=1), encoding="utf-8")


def _may_matter(path: PurePosixPath) -> bool:
    return path.suffix in (".py", *_ENDINGS)


def _importable(path: str) -> str:
    return path.removeprefix("src/")


def _pip(*arguments: str) -> str:
    """Standard output of pip; raises `UnusableInput` with pip's last error."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    told = [line for line in done.stderr.splitlines() if "ERROR" in line or "No module" in line]
    reason = told[-1].removeprefix("ERROR: ") if told else f"pip ended with {done.returncode}"
    raise UnusableInput(
        f"the package registry does not answer: {reason}",
        "Check the network and pip's settings; name releases that are cached with "
        f"--framework-version ({_cached_words()}); or put a release's archive, "
        f"{' or '.join(SUFFIXES)}, into {_folder()}.",
    )


def _cached_words() -> str:
    found = [f"{name} {version}" for name in DISTRIBUTIONS for version in cached_releases(name)]
    return ", ".join(found) or "none is"
