"""The whole site, built by MkDocs in a new folder that replaces the old one at the end."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

from rl_resources.check import check_root
from rl_resources.check.script import shellcheck
from rl_resources.errors import (
    Finding,
    InvalidOutput,
    RlResourcesError,
    UnreadableDataset,
    UnusableInput,
    refuse_errors,
)
from rl_resources.files import new_folder
from rl_resources.git import read_repository

CONFIGURATION = "mkdocs.yml"
MARK = ".built-by-rl-resources"
FINDINGS = "findings"
SOURCES = ("site", "records", "schema", "examples", "tools", "tests", ".git")
UNKNOWN_DAY = "1970-01-01"
"""What MkDocs gets as the day of a page whose commit is unknown."""


def build(root: Path, out: Path, warn: Callable[[Sequence[Finding]], object] = len) -> Path:
    """Build `out/site` from the checkout at `root` and return it.

    `warn` gets the findings of a dataset without errors, if there are any. The same commit gives
    the same bytes: every time of day is that of the commit. Raises `UnreadableDataset` where `root`
    is no checkout with pages, `UnusableInput` where `out` may not be written to, `InvalidDataset`
    where the data break rules, `InvalidOutput` where MkDocs fails; the old output is then kept.
    """
    configuration = root / CONFIGURATION
    if not configuration.is_file():
        raise UnreadableDataset(
            f"{configuration}: does not exist", "Building needs a checkout with its pages."
        )
    target = out / "site"
    _refuse_to_replace(root, target)
    elsewhere = "Name a folder with --out DIR that may be written to and has room."
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    with new_folder(target, elsewhere) as staging, _commit_time(root), _mkdocs_errors():
        config = load_config(config_file=str(configuration), site_dir=str(staging))
        config.plugins.on_startup(command="build", dirty=False)
        mkdocs_build(config)
        config.plugins.on_shutdown()
    if findings := config.extra[FINDINGS]:
        warn(findings)
    return target


def valid_or_raise(root: Path) -> list[Finding]:
    """The findings of all rules but ShellCheck's, which takes longer than all pages.

    Raises `InvalidDataset` where a finding is an error.
    """
    findings = check_root(root, ignore=shellcheck.RULES)
    refuse_errors(findings)
    return findings


def _refuse_to_replace(root: Path, target: Path) -> None:
    """Raise `UnusableInput` where the output would replace anything but an older one."""
    place = target.resolve()
    sources = [(root / name).resolve() for name in SOURCES]
    if any(place.is_relative_to(source) or source.is_relative_to(place) for source in sources):
        raise UnusableInput(
            f"{target}: contains the sources of the site, and a build replaces the whole folder",
            "Name another folder with --out, or leave it out for `build`.",
        )
    ours = target.is_dir() and ((target / MARK).exists() or not any(target.iterdir()))
    if target.exists() and not ours:
        raise UnusableInput(
            f"{target}: exists and was not built by this program",
            "Name another folder, or remove it yourself.",
        )


@contextmanager
def _mkdocs_errors() -> Iterator[None]:
    """Raise what MkDocs stops at as an error of ours, with its warnings."""
    log = io.StringIO()
    handler, logger = logging.StreamHandler(log), logging.getLogger("mkdocs")
    handler.setLevel(logging.WARNING)
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    except (MkDocsException, SystemExit) as error:
        raise _own_error(error) or InvalidOutput(
            f"MkDocs: {error}\n{log.getvalue()}", "The old output is kept."
        ) from error
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _own_error(error: BaseException | None) -> RlResourcesError | None:
    """The error of ours that made MkDocs stop, where it was one."""
    while error is not None and not isinstance(error, RlResourcesError):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _commit_time(root: Path) -> Iterator[None]:
    """Set what MkDocs uses as the time of the build, unless the caller has set it."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        yield
        return
    os.environ["SOURCE_DATE_EPOCH"] = str(read_repository(root).commit_time or 0)
    try:
        yield
    finally:
        del os.environ["SOURCE_DATE_EPOCH"]
