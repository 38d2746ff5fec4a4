"""All commands, in the order in which `--help` lists them."""

from __future__ import annotations

from argparse import ArgumentParser

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


def parser() -> ArgumentParser:
    """The parser of a whole command line; what it reads has `run`, `command` and `extra` too."""
    found = ArgumentParser(
        prog="rl-resources", description="Which hardware does an RL run of a language model need?"
    )
    commands = found.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        sub.add_argument("--root", metavar="DIR", help="the folder that holds datapackage.json")
        sub.set_defaults(run=command.run, command=command.name, extra=command.extra)
        command.options(sub)
    return found
