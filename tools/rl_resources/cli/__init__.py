"""What commands are and share.

Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from rl_resources.dataset import Dataset, find_root, installed_root, read_dataset
from rl_resources.errors import (
    Finding,
    UnreadableDataset,
    UnusableInput,
    has_errors,
)
from rl_resources.files import table_beside
from rl_resources.package import SCRIPTS, Package, read_package
from rl_resources.site import findings as form
from rl_resources.text import shown

FOUND = 1
"""Exit status: findings of severity error, or nothing found."""
UNUSABLE = 2
"""Exit status: wrong usage or unreadable input."""

Arguments = Namespace
Run = Callable[[Arguments], int | str]
"""A command: its exit status, or what it prints where nothing is wrong."""

_ARGUMENTS = table_beside(str(Path(__file__).with_name("command.toml")))


PARSER = ArgumentParser(
    prog="rl-resources",
    description="Which hardware does an RL run of a language model need?",
)
PARSER.add_argument("--version", action="store_true", help="show the version and exit")
COMMANDS = PARSER.add_subparsers(metavar="COMMAND")
"""In the order in which `--help` lists them."""


def names(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return list(filter(None, map(str.strip, text.split(","))))


def count(text: str) -> int:
    """A whole number that is not negative."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"`{text}` is no whole number from 0")
    return int(text)


def number(text: str) -> float:
    """A number that is not negative."""
    found = float(text)
    if not 0 <= found < inf:
        raise ArgumentTypeError(f"`{text}` is no number from 0")
    return found


TYPES: Mapping[str, Callable[[str], object]] = {
    "count": count,
    "number": number,
    "upper": str.upper,
    "names": names,
}
"""What reads an argument, by its name in `command.toml`."""


def command(words: Mapping[str, str] | None = None) -> Callable[[Run], Run]:
    """Make the decorated function the command of its name; its docstring is the help.

    Its arguments are `words`, each an option with its help, and those of `command.toml`.
    """

    def add(run: Run) -> Run:
        name = run.__name__.replace("_", "-")
        parser = COMMANDS.add_parser(name, help=run.__doc__, description=run.__doc__)
        parser.add_argument(
            "--root", metavar="DIR", help="the directory that has datapackage.json"
        )
        for word, help_ in (words or {}).items():
            option = word.replace("_", "-")
            parser.add_argument(f"--{option}", default="", help=help_)
        for argument, how in _ARGUMENTS.get(name, {}).items():
            parser.add_argument(argument, **_with_type(how))
        parser.set_defaults(command=name, run=run)
        return run

    return add


def _with_type(how: Mapping[str, Any]) -> dict[str, Any]:
    if "type" not in how:
        return dict(how)
    kind = how["type"]
    return {**how, "type": TYPES.get(kind, kind.format)}


def root_of(arguments: Arguments) -> Path:
    """The directory of the dataset: `--root`, else the nearest one from the current one upwards.

    Raises `UnreadableDataset` where there is none.
    """
    if arguments.root:
        return Path(arguments.root)
    return find_root(Path.cwd())


def root_of_answers(arguments: Arguments) -> Path:
    """As `root_of`, and outside of any checkout the dataset that came with this package.

    Other data packages have a descriptor of that name too.
    """
    try:
        root = root_of(arguments)
    except UnreadableDataset:
        return installed_root()
    if arguments.root or (root / SCRIPTS).is_dir():
        return root
    return installed_root()


def dataset_of_answers(arguments: Arguments) -> Dataset:
    """The dataset in `root_of_answers`, read."""
    return read_dataset(read_package(root_of_answers(arguments)))


def among(package: Package, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path, relative to the root, is one of `paths` or lies below one; any for none.

    Raises `UnusableInput` for a path that no rule looks at.
    """
    top = package.root.resolve()
    wanted = [_place_of(package, path) for path in paths] or [top]
    return lambda path: any((top / path).is_relative_to(place) for place in wanted)


def _place_of(package: Package, path: str) -> Path:
    """The absolute path of a table, a script or a directory of the dataset."""
    top = package.root.resolve()
    place = Path(path).resolve()
    tables = [top / item.path for item in package.resources.values()]
    is_ours = place.is_dir() or place in tables or place.is_relative_to(top / SCRIPTS)
    if place.exists() and place.is_relative_to(top) and is_ours:
        return place
    help_ = (
        "To validate records in any other file, name the table that they are like: "
        "--resource TABLE."
    )
    if place.is_file() and place.suffix == ".sh":
        help_ = f"To check any other script: rl-resources draft {shown(path)}"
    message = (
        f"{path}: is no table, script or directory of the dataset at {package.root}"
    )
    raise UnusableInput(message, help_)


def show(findings: Iterable[Finding]) -> None:
    """Write findings to standard error, along with a result."""
    sys.stderr.writelines(form.as_text(findings, color=form.wants_color(sys.stderr)))


def report(findings: Sequence[Finding]) -> int:
    """Write findings and their number to standard error; returns the exit status."""
    show(findings)
    sys.stderr.write(f"{form.summary(findings)}\n")
    return FOUND if has_errors(findings) else 0


def write_findings(
    findings: Sequence[Finding],
    arguments: Arguments,
    package: Package | None,
    looked_at: Mapping[str, int] | None = None,
) -> int:
    """Write findings as the result, in the format asked for, and their number to standard error.

    Returns the exit status, with `--strict` that of any finding.
    """
    from rl_resources.check import all_rules

    kind = arguments.format
    if kind == "sarif":
        version = package.version if package else ""
        text = form.as_sarif(findings, all_rules().values(), version)
    elif kind == "text":
        text = form.as_text(findings, color=form.wants_color(sys.stdout))
    elif kind == "json":
        text = form.as_json(findings)
    else:
        text = form.as_github(findings)
    sys.stdout.writelines(text)
    print(form.summary(findings, looked_at), file=sys.stderr)
    is_strict = "strict" in arguments and arguments.strict
    if has_errors(findings) or (is_strict and findings):
        return FOUND
    return 0
