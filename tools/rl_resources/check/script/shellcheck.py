"""What ShellCheck says of a script."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from subprocess import Popen

RULES = frozenset({"shellcheck", "shellcheck-error"})
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
_OPTIONS = ("--format=json1", "--severity=warning", "--shell=bash", "--norc", "-")

_begun: dict[str, Popen[bytes]] = {}
"""Where it is at work, by text."""


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


_answers: dict[str, tuple[Comment, ...]] = {}


def comments(text: str) -> tuple[Comment, ...]:
    """The errors and warnings of ShellCheck, asked once; none where it is not installed."""
    program = _program()
    if program is None:
        return ()
    if text not in _answers:
        _answers[text] = tuple(_answer(program, text))
    return _answers[text]


@lru_cache(maxsize=1)
def _program() -> str | None:
    """The binary of the installed package, or else one on the path."""
    beside = Path(sys.executable).with_name("shellcheck.exe" if os.name == "nt" else "shellcheck")
    if beside.is_file():
        return str(beside)
    from shutil import which

    return which("shellcheck")


def start(text: str) -> None:
    """Let it begin on a text about which `comments` is going to be asked."""
    program = _program()
    if program and text not in _begun and text not in _answers:
        with suppress(OSError):
            _begun[text] = _process(program, text)


def _process(program: str, text: str) -> Popen[bytes]:
    import subprocess
    from subprocess import DEVNULL, PIPE
    from tempfile import TemporaryFile

    with TemporaryFile() as script:  # a pipe would have to be written to while it reads
        script.write(text.encode("utf-8", "replace"))
        script.seek(0)
        command = [program, *_OPTIONS]
        return subprocess.Popen(command, stdin=script, stdout=PIPE, stderr=DEVNULL)


def _answer(program: str, text: str) -> Iterator[Comment]:
    from subprocess import TimeoutExpired

    try:
        with _begun.pop(text, None) or _process(program, text) as process:
            try:
                answer = json.loads(process.communicate(timeout=LONGEST_RUN_SECONDS)[0])
            finally:
                process.kill()
    except (OSError, ValueError, TimeoutExpired):
        return
    for raw in answer["comments"]:
        yield Comment(raw["code"], raw["level"], raw["line"], raw["column"], raw["message"])
