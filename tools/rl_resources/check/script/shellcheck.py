"""What ShellCheck says of a script."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from shutil import which
from subprocess import SubprocessError, run
from typing import NamedTuple

RULES = frozenset({"shellcheck", "shellcheck-error"})
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
_OPTIONS = ("--format=json1", "--severity=warning", "--shell=bash", "--norc", "-")
_WORKERS = ThreadPoolExecutor(os.cpu_count())


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


def comments(text: str) -> tuple[Comment, ...]:
    """The errors and warnings of ShellCheck; none where it is not installed."""
    return ask(text).result()


@cache
def ask(text: str) -> Future[tuple[Comment, ...]]:
    """Start ShellCheck on a text in the background, once."""
    return _WORKERS.submit(lambda: tuple(_answer(text)))


@cache
def _program() -> str | None:
    """The binary of the installed package, or else one on the path."""
    own = Path(sys.executable).with_name("shellcheck.exe" if os.name == "nt" else "shellcheck")
    return str(own) if own.is_file() else which("shellcheck")


def _answer(text: str) -> Iterator[Comment]:
    program = _program()
    if program is None:
        return
    command, data = [program, *_OPTIONS], text.encode("utf-8", "replace")
    try:
        done = run(
            command, input=data, capture_output=True, timeout=LONGEST_RUN_SECONDS, check=False
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, SubprocessError):
        return
    for raw in answer["comments"]:
        yield Comment(raw["code"], raw["level"], raw["line"], raw["column"], raw["message"])
