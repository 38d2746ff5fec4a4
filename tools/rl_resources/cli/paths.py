"""Files of the dataset that a person names on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.errors import UnusableInput

if TYPE_CHECKING:
    from rl_resources.package import Package


def among(package: Package, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path, relative to the root, is one of `paths` or lies below one; any for none.

    Raises `UnusableInput` for a path that is not there or lies outside the dataset.
    """
    wanted = [_relative(package, path) for path in paths] or ["."]
    return lambda path: any(_below(path, folder) for folder in wanted)


def _relative(package: Package, path: str) -> str:
    """A path that a person named, relative to the root as findings name it."""
    root = package.root
    name = "Name files or folders of the dataset."
    # The last part is not followed, so that a link is told of as itself.
    place = Path(os.path.normpath(Path(path).absolute()))
    place = place.parent.resolve() / place.name
    top = root.resolve()
    if place.resolve() == top:
        return "."
    if not place.is_relative_to(top):
        raise UnusableInput(f"{path}: lies outside the dataset at {root}", name)
    relative = place.relative_to(top).as_posix()
    known = any(item.path == relative for item in package.resources.values())
    if not (known or place.exists() or place.is_symlink()):
        raise UnusableInput(f"{path}: does not exist", name)
    return relative


def _below(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")
