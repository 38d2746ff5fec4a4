"""The wheel, and environments that hold it with what it asks for and nothing else."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def build(target: str, source: Path, folder: Path) -> Path:
    """Build the `sdist` or the `wheel` of the checkout at `source` into `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (found,) = folder.glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[target])
    return found


def install(wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel and what it requires, extras left out; gives its Python.

    pip installs the wheel. What it requires is linked from the environment of the tests, one
    distribution at a time, so that nothing else can be imported.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    _pip(python, "install", "--no-index", "--no-deps", "--no-compile", str(wheel))
    (library,) = (folder / "lib").glob("python*/site-packages")
    (own,) = Distribution.discover(name="rl-resources", path=[str(library)])
    for needed in _required(own, set()):
        _link(needed, library)
    _pip(python, "check")
    return python


def _pip(python: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "--quiet"]
    command += ["--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def _required(of: Distribution, seen: set[str]) -> Iterator[Distribution]:
    for requirement in map(Requirement, of.requires or ()):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in seen:
            seen.add(requirement.name)
            yield (found := distribution(requirement.name))
            yield from _required(found, seen)


def _link(installed: Distribution, library: Path) -> None:
    for name in {path.parts[0] for path in installed.files or ()} - {"..", "__pycache__"}:
        if not (library / name).exists():
            (library / name).symlink_to(str(installed.locate_file(name)))
