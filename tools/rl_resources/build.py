"""The whole site, built by MkDocs beside the old one and put in its place at the end."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rl_resources.errors import InvalidOutput, RlResourcesError, UnreadableDataset
from rl_resources.output import new_folder
from rl_resources.repository import read_repository

CONFIGURATION = "mkdocs.yml"
KEPT = "The old output is kept."


def build(root: Path, out: Path) -> Path:
    """Build `out/site` from the checkout at `root` and return it.

    The same commit gives the same bytes: every time of day is that of the commit. Raises
    `UnreadableDataset` where `root` is no checkout with pages, `InvalidOutput` where MkDocs fails;
    the old output is then kept.
    """
    configuration = root / CONFIGURATION
    if not configuration.is_file():
        raise UnreadableDataset(
            f"{configuration}: does not exist", "Building needs a checkout with its pages."
        )
    target = out / "site"
    with new_folder(target) as staging, _commit_time(root):
        _mkdocs(configuration, staging)
    return target


def _mkdocs(configuration: Path, folder: Path) -> None:
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    with _warnings("mkdocs") as told:
        try:
            config = load_config(config_file=str(configuration), site_dir=str(folder))
            config.plugins.on_startup(command="build", dirty=False)
            mkdocs_build(config)
            config.plugins.on_shutdown()
        except (MkDocsException, SystemExit) as error:
            own = _own_error(error)
            if own is not None:
                raise own from error
            raise InvalidOutput(f"MkDocs: {error}\n" + "\n".join(told), KEPT) from error


def _own_error(error: BaseException | None) -> RlResourcesError | None:
    """The error of ours that made MkDocs stop, where it was one."""
    while error is not None and not isinstance(error, RlResourcesError):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _warnings(name: str) -> Iterator[list[str]]:
    """What a logger warns of, kept instead of printed."""
    told: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    before = (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield told
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@contextmanager
def _commit_time(root: Path) -> Iterator[None]:
    """Set what MkDocs takes for the time of the build, unless the caller has set it."""
    before = {name: os.environ.get(name) for name in ("SOURCE_DATE_EPOCH", "NO_MKDOCS_2_WARNING")}
    time = read_repository(root).commit_time or 0
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(time))
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
