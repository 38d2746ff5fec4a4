"""All commands, in the order in which `--help` lists them."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser
from typing import Any

from rl_resources.cli import (
    build,
    compat,
    contribution,
    coverage,
    diff,
    export,
    find,
    validation,
)

COMMANDS = (
    find.COMMAND,
    coverage.COMMAND,
    *contribution.COMMANDS,
    *validation.COMMANDS,
    diff.COMMAND,
    export.COMMAND,
    build.COMMAND,
    compat.COMMAND,
)


class _Parser(ArgumentParser):
    """Answers an unknown word with the nearest that it knows."""

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from rl_resources.words import nearest

            close = nearest(str(value), map(str, action.choices)).sentence()
            raise ArgumentError(action, f"`{value}` is not known. {close}")


def parser() -> ArgumentParser:
    """The parser of a whole command line; with a command, its result has `run`."""
    found = _Parser(
        prog="rl-resources", description="Which hardware does an RL run of a language model need?"
    )
    found.add_argument("--version", action="store_true", help="show the version and exit")
    commands = found.add_subparsers(metavar="COMMAND", dest="command")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        sub.add_argument("--root", metavar="DIR", help="the folder that holds datapackage.json")
        sub.set_defaults(run=command.run, extra=command.extra)
        command.options(sub)
    return found
