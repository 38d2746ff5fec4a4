"""The whole site, built by MkDocs in a new directory that replaces the old one at the end."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

from rl_resources.errors import InvalidOutput, UnreadableDataset, UnusableInput
from rl_resources.files import directory_beside
from rl_resources.git import read_repository

MARK = ".built-by-rl-resources"


def build(root: Path, out: Path) -> Path:
    """Build `out/site` from the checkout at `root` and return it.

    The same commit gives the same bytes: every time of day is that of the commit. Raises
    `UnreadableDataset` where `root` is no checkout with pages, `UnusableInput` where `out` may not
    be written to, `InvalidDataset` where the data break rules, `InvalidOutput` where MkDocs fails;
    the old output is then kept.
    """
    configuration = root / "mkdocs.yml"
    if not configuration.is_file():
        raise UnreadableDataset(
            f"{configuration}: does not exist",
            "Building needs a checkout with its pages.",
        )
    target = out / "site"
    if target.exists() and not (target / MARK).exists():
        raise UnusableInput(
            f"{target}: exists and was not built by this program",
            "Name another directory with --out, or remove it yourself.",
        )
    logging.basicConfig(format="%(message)s")  # what MkDocs warns of, and stops at
    # What MkDocs uses as the time of the build.
    os.environ.setdefault(
        "SOURCE_DATE_EPOCH", str(read_repository(root).commit_time or 0)
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        with directory_beside(target) as place:
            new = Path(place, "site")
            _build_site(configuration, new)
            if target.exists():
                target.replace(Path(place, "old"))
            new.replace(target)
    except OSError as error:
        raise UnusableInput(
            f"{target}: cannot be written: {error.strerror} ({error.filename})",
            "Name a directory with --out DIR that may be written to and has room. What is there "
            "stays as it was.",
        ) from error
    return target


def _build_site(configuration: Path, target: Path) -> None:
    config = load_config(config_file=str(configuration), site_dir=str(target))
    config.plugins.on_startup(command="build", dirty=False)
    try:
        mkdocs_build(config)
    except MkDocsException as error:
        raise InvalidOutput(f"MkDocs: {error}") from error
    (target / MARK).touch()
