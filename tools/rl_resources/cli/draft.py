"""`rl-resources draft`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import FOUND, Arguments, Command, write_table
from rl_resources.cli.dataset import root_of
from rl_resources.cli.findings import show


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="read, and never run")
    parser.add_argument("--log", metavar="FILE", help="the run's log: console, JSON lines or CSV")
    parser.add_argument("--issue", metavar="FILE", help="the body of an issue form")
    parser.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help="state a cell yourself"
    )
    for column in ("device", "tag", "contributor"):
        parser.add_argument(
            f"--{column}",
            action="append",
            dest="set",
            metavar="VALUE",
            type=f"{column}={{}}".format,
            help=f"short for --set {column}=VALUE",
        )
    parser.add_argument(
        "--write",
        action="store_true",
        help="add the row, and copy or move the script to its place; overwrites nothing",
    )
    parser.add_argument("--format", choices=["csv", "json"], default="csv")


def _draft(arguments: Arguments) -> int:
    from rl_resources.contribute.draft_files import draft_files
    from rl_resources.words import printable

    drafted = draft_files(
        root_of(arguments),
        arguments.script or "",
        log=arguments.log or "",
        issue=arguments.issue or "",
        stated=arguments.set,
        write=arguments.write,
    )
    for line in drafted.messages():
        print(f"draft: {printable(line)}", file=sys.stderr)
    show(drafted.findings)
    print(f"draft: {drafted.verdict(write=arguments.write)}", file=sys.stderr)
    if arguments.format == "json":
        sys.stdout.write(drafted.as_json())
    else:
        write_table(drafted.as_csv())
    return FOUND if arguments.write and drafted.refused else 0


COMMAND = Command("draft", "Propose the row of a script that ran.", _options, _draft, "draft")
