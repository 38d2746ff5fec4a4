"""The whole site, built by MkDocs beside the old one and put in its place at the end."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException

from rl_resources.check import check_root
from rl_resources.check.script import shellcheck
from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnreadableDataset,
    UnusableInput,
)
from rl_resources.finding import Finding
from rl_resources.git import read_repository
from rl_resources.output import new_folder
from rl_resources.package import DESCRIPTOR
from rl_resources.urls import site_url

CONFIGURATION = "mkdocs.yml"
MARK = ".built-by-rl-resources"
FINDINGS = "findings"
PUBLISHED = ("site", "records", "schema", "examples")
SOURCES = (*PUBLISHED, "tools", "tests", ".git")
KEPT = "The old output is kept."
UNKNOWN_DAY = "1970-01-01"
"""What MkDocs is told of a page whose commit nobody knows."""


def build(root: Path, out: Path, warn: Callable[[Sequence[Finding]], object] = len) -> Path:
    """Build `out/site` from the checkout at `root` and return it.

    `warn` gets what the rules say of a dataset without errors, if they do. The same commit gives
    the same bytes: every time of day is that of the commit. Raises `UnreadableDataset` where `root`
    is no checkout with pages, `UnusableInput` where `out` may not be written to or `SITE_URL` is no
    address, `InvalidDataset` where the data break rules, `InvalidOutput` where MkDocs fails or a
    file changes meanwhile; the old output is then kept.
    """
    configuration = root / CONFIGURATION
    if not configuration.is_file():
        raise UnreadableDataset(
            f"{configuration}: does not exist", "Building needs a checkout with its pages."
        )
    target = out / "site"
    _refuse_anything_else(root, target)
    _refuse_no_address()
    elsewhere = "Name a folder with --out DIR that may be written to and has room."
    began = _state(root)
    with (
        new_folder(target, elsewhere) as staging,
        _commit_time(root),
        _rare_collection(),
    ):
        with _mistakes_told():
            config = load_config(config_file=str(configuration), site_dir=str(staging))
        _mkdocs(config)
        _hold_to_state(root, began)
    if findings := config.extra[FINDINGS]:
        warn(findings)
    return target


def judge(root: Path) -> list[Finding]:
    """What all rules but ShellCheck's say of a dataset that pages are made of.

    ShellCheck takes longer for the scripts than all pages take, and looks at nothing that they
    show; `check` asks it. Raises `InvalidDataset` where a finding is an error.
    """
    findings = check_root(root, ignore=shellcheck.RULES)
    if any(item.severity == "error" for item in findings):
        raise InvalidDataset(findings)
    return findings


def _is_ours(target: Path) -> bool:
    return target.is_dir() and ((target / MARK).exists() or not any(target.iterdir()))


def _refuse_anything_else(root: Path, target: Path) -> None:
    """Raise `UnusableInput` where the output would take the place of anything but an older one."""
    if target.exists() and not _is_ours(target):
        raise UnusableInput(
            f"{target}: is there already and was not built by this program",
            "Name another folder, or remove it yourself.",
        )
    place = target.resolve()
    for name in SOURCES:
        source = (root / name).resolve()
        if place == source or place in source.parents or source in place.parents:
            raise UnusableInput(
                f"{target}: holds the sources of the site, and a build replaces the whole folder",
                "Name another folder with --out, or leave it out for `build`.",
            )


def _refuse_no_address() -> None:
    address = os.environ.get("SITE_URL")
    if address and site_url() is None:
        raise UnusableInput(
            f"SITE_URL is {address!r}, which is no address of a site",
            f"Set it to one such as https://example.org/, or not at all. {KEPT}",
        )


def _state(root: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of every file that pages are made of; not of those that programs hide there."""
    files = [root / DESCRIPTOR, root / CONFIGURATION]
    for name in PUBLISHED:
        for folder, folders, names in os.walk(root / name):
            folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
            files += [Path(folder, name) for name in names if not name.startswith(".")]
    state = {}
    for file in files:
        with suppress(OSError):
            found = file.lstat()
            state[file] = (found.st_size, found.st_mtime_ns)
    return state


def _hold_to_state(root: Path, began: Mapping[Path, tuple[int, int]]) -> None:
    """Raise `InvalidOutput` where pages may show one state of a file and the rest another."""
    changed = sorted({path for path, _ in began.items() ^ _state(root).items()})
    if changed:
        raise InvalidOutput(
            f"{changed[0].relative_to(root)}: has changed while the site was built",
            f"Build again. {KEPT}",
        )


def _mkdocs(config: MkDocsConfig) -> None:
    with _mistakes_told():
        config.plugins.on_startup(command="build", dirty=False)
        try:
            mkdocs_build(config)
        finally:
            config.plugins.on_shutdown()


@contextmanager
def _mistakes_told() -> Iterator[None]:
    """What MkDocs stops at as an error of ours, with all that it warned of before."""
    with _warnings("mkdocs") as told:
        try:
            yield
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


class _Listener(logging.Handler):
    """Appends each message to a list."""

    def __init__(self, told: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        self._told.append(record.getMessage())


@contextmanager
def _warnings(name: str) -> Iterator[list[str]]:
    """What a logger warns of, kept instead of printed."""
    told: list[str] = []
    handler = _Listener(told)
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
def _rare_collection() -> Iterator[None]:
    """Look for rubbish rarely: nearly all that a build makes lives to its end."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


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
