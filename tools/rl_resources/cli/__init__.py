"""`rl-resources COMMAND`: arguments in, exit status out.

Exit status: 0 nothing wrong, 1 findings of severity error or nothing found, 2 wrong usage or
unreadable input. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import io
import os
import sys
from argparse import Action, ArgumentError, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rl_resources.cli import answers, contribution, publishing, validation
from rl_resources.cli.command import (
    FOUND,
    INTERRUPTED,
    UNUSABLE,
    Arguments,
    report,
    root_of,
)
from rl_resources.dataset import installed_root
from rl_resources.errors import (
    InvalidDataset,
    InvalidOutput,
    RlResourcesError,
    UnusableInput,
    refuse_errors,
)
from rl_resources.package import read_package
from rl_resources.text import nearest

COMMANDS = (
    answers.find,
    answers.estimate,
    answers.coverage,
    contribution.draft,
    contribution.new,
    validation.check,
    validation.fmt,
    validation.import_page,
    validation.rules,
    answers.diff,
    publishing.export,
    publishing.build,
    publishing.compat,
)
"""In the order in which `--help` lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except InvalidDataset as error:
        report(error.findings)
        return FOUND
    except RlResourcesError as error:
        _complain(error)
        return FOUND if isinstance(error, InvalidOutput) else UNUSABLE
    except KeyboardInterrupt:
        print("rl-resources: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        return 0
    except OSError as error:
        _complain(UnusableInput(str(error)))
        return UNUSABLE
    return status


def _run(arguments: Sequence[str] | None) -> int:
    parsed, others = _parser().parse_known_args(arguments)
    if others and parsed.command:
        help_ = nearest(others[0], parsed.known).sentence()
        lists = f"`rl-resources {parsed.command} --help` lists its options."
        raise UnusableInput(f"{parsed.command} takes no `{others[0]}`", f"{help_} {lists}".strip())
    if parsed.version:
        print(f"rl-resources {read_package(installed_root()).version}")
        return 0
    if parsed.command is None or others:
        _parser().print_help(sys.stderr)
        return UNUSABLE
    try:
        status: int = parsed.run(parsed)
    except (RlResourcesError, OSError):
        raise
    except ModuleNotFoundError as error:
        extra = f"[{parsed.extra}]" if parsed.extra else ""
        raise UnusableInput(
            f"{parsed.command} needs {error.name}, which is not installed: "
            f"pip install 'rl-resources{extra}'"
        ) from error
    except Exception:
        _refuse_broken(parsed)
        raise
    return status


def _refuse_broken(arguments: Arguments) -> None:
    """Report findings where a command stumbled over a dataset that breaks rules.

    Answers assume that the dataset keeps its rules.
    """
    from rl_resources.check import check_root

    refuse_errors(check_root(root_of(arguments)))


def _complain(error: RlResourcesError) -> None:
    print(f"rl-resources: error: {error}", file=sys.stderr)
    if error.help:
        print(f"  help: {error.help}", file=sys.stderr)


class _Parser(ArgumentParser):
    """Answers an unknown word with the nearest that it knows."""

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            close = nearest(str(value), map(str, action.choices)).sentence()
            raise ArgumentError(action, f"`{value}` is not known. {close}")


def _parser() -> ArgumentParser:
    """The parser of a whole command line; with a command, its result has `run`."""
    found = _Parser(
        prog="rl-resources", description="Which hardware does an RL run of a language model need?"
    )
    found.add_argument("--version", action="store_true", help="show the version and exit")
    commands = found.add_subparsers(metavar="COMMAND", dest="command")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        sub.add_argument("--root", metavar="DIR", help="the directory that has datapackage.json")
        sub.set_defaults(run=command.run, extra=command.extra)
        command.options(sub)
        sub.set_defaults(known=[word for item in sub._actions for word in item.option_strings])
    return found
