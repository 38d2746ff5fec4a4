"""All commands, in the order in which `--help` lists them."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentError, ArgumentParser
from typing import Any, NoReturn

from rl_resources.cli import (
    build,
    check,
    compat,
    coverage,
    diff,
    draft,
    export,
    find,
    fmt,
    import_page,
    new,
    rules,
)

COMMANDS = (
    check.COMMAND,
    fmt.COMMAND,
    draft.COMMAND,
    new.COMMAND,
    build.COMMAND,
    export.COMMAND,
    import_page.COMMAND,
    diff.COMMAND,
    compat.COMMAND,
    find.COMMAND,
    coverage.COMMAND,
    rules.COMMAND,
)

NAMED = "COMMAND"
"""What the help calls the name of a command."""


class _Parser(ArgumentParser):
    """Answers a word that is no choice with the nearest, and no word at all with the help."""

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from rl_resources.words import nearest

            mend = nearest(str(value), map(str, action.choices)).sentence()
            raise ArgumentError(action, f"`{value}` is not known. {mend}")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong on standard error and end with exit status 2."""
        if message.endswith(f"required: {NAMED}"):
            self.print_help(sys.stderr)
            self.exit(2)
        super().error(message)


class _Version(Action):
    """Prints the version of package and dataset, which is one, and ends."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from rl_resources.dataset import installed_root
        from rl_resources.package import read_package

        print(f"{parser.prog} {read_package(installed_root()).version}")
        parser.exit()


def parser() -> ArgumentParser:
    """The parser of a whole command line; what it reads has `run`, `command` and `extra` too."""
    found = _Parser(
        prog="rl-resources", description="Which hardware does an RL run of a language model need?"
    )
    found.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = found.add_subparsers(metavar=NAMED, required=True)
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        sub.add_argument("--root", metavar="DIR", help="the folder that holds datapackage.json")
        sub.set_defaults(run=command.run, command=command.name, extra=command.extra)
        command.options(sub)
    return found
