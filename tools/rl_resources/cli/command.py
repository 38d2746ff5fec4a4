"""What a command is, and what commands share: the dataset that is meant, files, findings."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple

from rl_resources.dataset import Dataset, find_root, installed_root, read_dataset
from rl_resources.errors import Finding, UnreadableDataset, UnusableInput, has_errors
from rl_resources.package import SCRIPTS, Package, read_package
from rl_resources.site import findings as form

FOUND = 1
"""Exit status: findings of severity error, or nothing found."""
UNUSABLE = 2
"""Exit status: wrong usage or unreadable input."""
INTERRUPTED = 130
"""Exit status: stopped from the keyboard, as shells report it."""
FORMATS = ("text", "json", "github", "sarif")
"""Of findings."""

Arguments = Namespace
Run = Callable[[Arguments], int]
Option = Callable[[ArgumentParser], object]
"""What adds an argument to a parser, or several."""


class Command(NamedTuple):
    """One command: its options, and what runs it and returns its exit status."""

    run: Run
    options: Sequence[Option]


COMMANDS: dict[str, Command] = {}
"""By name, in the order in which `--help` lists them."""


def option(*names: str, **how: object) -> Option:
    """An argument, as `add_argument` takes it."""
    return methodcaller("add_argument", *names, **how)


def formats(*names: str, **how: object) -> Option:
    """The option for the form of the output, the first unless asked."""
    return option("--format", choices=names, default=names[0], **how)


def command(*options: Option) -> Callable[[Run], Run]:
    """Make the decorated function the command of its name; its docstring is the help."""

    def add(run: Run) -> Run:
        COMMANDS[run.__name__.replace("_", "-")] = Command(run, options)
        return run

    return add


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

    Raises `UnusableInput` for a path that no rule looks at.
    """
    top = package.root.resolve()
    wanted = [_known(package, path) for path in paths] or [top]
    return lambda path: any((top / path).is_relative_to(place) for place in wanted)


def _known(package: Package, path: str) -> Path:
    """A table, a script or a directory of the dataset."""
    top, place = package.root.resolve(), Path(path).resolve()
    tables = [top / item.path for item in package.resources.values()]
    is_ours = place.is_dir() or place in tables or place.is_relative_to(top / SCRIPTS)
    if not (place.exists() and place.is_relative_to(top) and is_ours):
        raise UnusableInput(
            f"{path}: is no table, script or directory of the dataset at {package.root}",
            "To validate records in any other file, name the table that they are like: "
            "--resource TABLE.",
        )
    return place


def show(findings: Iterable[Finding]) -> None:
    """Write findings to standard error, along with a result."""
    sys.stderr.writelines(form.as_text(findings, color=form.wants_color(sys.stderr)))


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
        text = form.as_text(findings, color=form.wants_color(sys.stdout))
    else:
        text = {"json": form.as_json, "github": form.as_github}[kind](findings)
    sys.stdout.writelines(text)
