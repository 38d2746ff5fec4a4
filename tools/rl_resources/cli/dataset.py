"""The dataset that a command is about: under `--root`, else around the current folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.errors import UnreadableDataset
from rl_resources.package import SCRIPTS

if TYPE_CHECKING:
    from rl_resources.cli.command import Arguments
    from rl_resources.dataset import Dataset


def root_of(arguments: Arguments) -> Path:
    """The folder of the dataset. Raises `UnreadableDataset` where there is none."""
    from rl_resources.dataset import find_root

    return Path(arguments.root) if arguments.root else find_root(_here())


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UnreadableDataset(
            f"the current folder cannot be read: {error.strerror}",
            "Go into a checkout of the dataset, or name one with --root.",
        ) from error


def root_of_answers(arguments: Arguments) -> Path:
    """As `root_of`, and outside of any checkout the dataset that came with this package.

    Other data packages have a descriptor of that name too.
    """
    from rl_resources.dataset import installed_root

    try:
        root = root_of(arguments)
    except UnreadableDataset:
        return installed_root()
    return root if arguments.root or (root / SCRIPTS).is_dir() else installed_root()


def dataset_of_answers(arguments: Arguments) -> Dataset:
    """The dataset in `root_of_answers`, read."""
    from rl_resources.dataset import read_dataset
    from rl_resources.package import read_package

    return read_dataset(read_package(root_of_answers(arguments)))
