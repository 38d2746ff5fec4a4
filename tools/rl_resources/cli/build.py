"""`rl-resources build`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from rl_resources.cli.command import Arguments, Command, root_of, tell


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", help="write DIR/site (default: build)")


def _build(arguments: Arguments) -> int:
    from rl_resources.build import build

    root = root_of(arguments)
    out = Path(arguments.out) if arguments.out else root / "build"
    print(build(root, out, warn=tell))
    return 0


COMMAND = Command("build", "Build everything that is published.", _options, _build, "site")
