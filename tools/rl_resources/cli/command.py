"""What a command is, and what commands share: the dataset that is meant, files, findings."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rl_resources.dataset import Dataset, find_root, installed_root, read_dataset
from rl_resources.errors import Finding, UnreadableDataset, UnusableInput, has_errors
from rl_resources.package import SCRIPTS, Package, read_package
from rl_resources.site import findings as form
from rl_resources.text import printable

FOUND = 1
"""Exit status: findings of severity error, or nothing found."""
UNUSABLE = 2
"""Exit status: wrong usage or unreadable input."""
INTERRUPTED = 130
"""Exit status: stopped from the keyboard, as shells report it."""
FORMATS = ("text", "json", "github", "sarif")
"""Of findings."""

Arguments = Namespace


class Command(NamedTuple):
    """One command: `options` adds its arguments to a parser, `run` returns its exit status.

    Without its `extra` of the package it cannot do all that it offers.
    """

    name: str
    help: str
    options: Callable[[ArgumentParser], None]
    run: Callable[[Arguments], int]
    extra: str = ""


def command(
    options: Callable[[ArgumentParser], None], extra: str = ""
) -> Callable[[Callable[[Arguments], int]], Command]:
    """Make the decorated function the command of its name; its docstring is the help."""
    return lambda run: Command(
        run.__name__.replace("_", "-"), run.__doc__ or "", options, run, extra
    )


def root_of(arguments: Arguments) -> Path:
    """The directory of the dataset: `--root`, else the nearest one from the current one upwards.

    Raises `UnreadableDataset` where there is none.
    """
    return Path(arguments.root) if arguments.root else find_root(Path.cwd())


def root_of_answers(arguments: Arguments) -> Path:
    """As `root_of`, and outside of any checkout the dataset that came with this package.

    Other data packages have a descriptor of that name too.
    """
    try:
        root = root_of(arguments)
    except UnreadableDataset:
        return installed_root()
    return root if arguments.root or (root / SCRIPTS).is_dir() else installed_root()


def dataset_of_answers(arguments: Arguments) -> Dataset:
    """The dataset in `root_of_answers`, read."""
    return read_dataset(read_package(root_of_answers(arguments)))


def among(package: Package, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path, relative to the root, is one of `paths` or lies below one; any for none.

    Raises `UnusableInput` for a path that does not exist, lies outside the dataset, or is no file
    that rules look at.
    """
    wanted = [_relative(package, path) for path in paths]
    return lambda path: not wanted or any(f"{path}/".startswith(place) for place in wanted)


def _relative(package: Package, path: str) -> str:
    """A path with `/` at its end, relative to the root; the root itself is empty."""
    top, place = package.root.resolve(), Path(path).resolve()
    other = "To validate records in it, name the table that they are like: --resource TABLE."
    if place == top:
        return ""
    if not place.is_relative_to(top):
        raise UnusableInput(f"{path}: lies outside the dataset at {package.root}", other)
    relative = place.relative_to(top).as_posix()
    known = any(item.path == relative for item in package.resources.values())
    if not (known or place.exists()):
        raise UnusableInput(f"{path}: does not exist", "Name files or directories of the dataset.")
    if place.is_file() and not known and not relative.startswith(f"{SCRIPTS}/"):
        raise UnusableInput(f"{path}: is neither a table nor a script of the dataset", other)
    return f"{relative}/"


def write_table(text: str) -> None:
    """Write a table for other programs; a terminal shows control characters as escapes."""
    if sys.stdout.isatty():
        text = "\n".join(map(printable, text.split("\n")))
    sys.stdout.write(text)


def show(findings: Sequence[Finding]) -> None:
    """Write findings to standard error, along with a result."""
    sys.stderr.writelines(form.as_text(findings, color=form.wants_color(sys.stderr, os.environ)))


def report(findings: Sequence[Finding]) -> int:
    """Write findings and their number to standard error; returns the exit status."""
    show(findings)
    sys.stderr.write(f"{form.summary(findings)}\n")
    return FOUND if has_errors(findings) else 0


def write_findings(findings: Iterable[Finding], kind: str, version: str) -> None:
    """Write findings as the result, in one of `FORMATS`; `version` is the dataset's."""
    from rl_resources.check import all_rules

    if kind == "sarif":
        text = form.as_sarif(findings, all_rules().values(), version)
    elif kind == "text":
        text = form.as_text(findings, color=form.wants_color(sys.stdout, os.environ))
    else:
        text = {"json": form.as_json, "github": form.as_github}[kind](findings)
    sys.stdout.writelines(text)
