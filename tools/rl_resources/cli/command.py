"""What a command is."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import NamedTuple

FOUND = 1
"""Exit status: findings of severity error, or nothing found."""
UNUSABLE = 2
"""Exit status: wrong usage or unreadable input."""

Arguments = Namespace


def write_table(text: str) -> None:
    """Write a table for other programs; a terminal shows what it would obey as escapes."""
    if sys.stdout.isatty():
        from rl_resources.words import printable

        text = "\n".join(map(printable, text.split("\n")))
    sys.stdout.write(text)


class Command(NamedTuple):
    """One command: `options` adds its arguments to a parser, `run` returns its exit status.

    Without its `extra` of the package it cannot do all that it offers.
    """

    name: str
    help: str
    options: Callable[[ArgumentParser], None]
    run: Callable[[Arguments], int]
    extra: str = ""
