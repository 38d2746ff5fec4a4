"""`rl-resources compat`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from rl_resources.cli.command import FOUND, Arguments, Command, root_of


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--framework-version", nargs="+", metavar="V", help="only these releases, keep the rest"
    )


def _compat(arguments: Arguments) -> int:
    from rl_resources.compat import compat
    from rl_resources.output import write_file

    root = root_of(arguments)
    found = compat(root, arguments.framework_version, lambda text: print(text, file=sys.stderr))
    for path, text in found.files.items():
        write_file(root / path, text)
    for line in found.summary:
        print(line)
    for line in found.problems:
        print(f"rl-resources: {line}", file=sys.stderr)
    return FOUND if found.problems else 0


COMMAND = Command(
    "compat",
    "Compose every script's configuration with every release.",
    _options,
    _compat,
    "check",
)
