"""One example through its commands, in this process, and what about the outcome is wrong."""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from fuzzing.targets import Example, write
from rl_resources.cli import main

LONGEST_CPU_SECONDS = 30
"""Of one command. The slowest sound example takes about two; a hang takes them all."""
MOST_MEMORY_BYTES = 1 << 30

FINDING = re.compile(r"^[^\n]*:\d+:\d+: (?:error|warning): [a-z0-9-]+: .", re.M)
COMPLAINT = re.compile(r"^rl-resources: error: .|^rl-resources [a-z-]+: error: .", re.M)
_EMPTY = re.compile(
    r"no record could be read|Nothing was written|would be rewritten|left alone|[Nn]othing ", re.M
)


class Hang(BaseException):
    """Not an `Exception`, so that no handler takes it for a bad file."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Raise `Hang` in what uses the processor for too long; waiting for others costs nothing."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wrong(root: Path, example: Example) -> list[str]:
    """What no reader of this example may do, for each command that did; the file is put back."""
    place = root / example.path
    held = place.read_bytes() if place.exists() else None
    write(root, example)
    try:
        with contextlib.chdir(root):
            told = [_problem(command) for command in example.commands]
    finally:
        if held is None:
            place.unlink()
        else:
            place.write_bytes(held)
    return [problem for problem in told if problem]


def _problem(command: tuple[str, ...]) -> str:
    out, err = io.StringIO(), io.StringIO()
    name = " ".join(command)
    try:
        with watched(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status: object = main([*command, "--root", os.curdir])
    except SystemExit as stop:
        status = stop.code
    except (Exception, Hang):
        return f"{name}\n{traceback.format_exc(limit=-12)}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    if peak > MOST_MEMORY_BYTES:
        return f"{name}: {peak >> 20} MiB"
    return _misfit(name, status, out.getvalue() + err.getvalue())


def _misfit(name: str, status: object, text: str) -> str:
    """How exit status and output disagree."""
    if "Traceback (most recent call last)" in text and "log" not in name:
        return f"{name}: shows a traceback\n{text[-2000:]}"
    if status == 2 and not COMPLAINT.search(text):
        return f"{name}: ends with 2 and no complaint\n{text[-2000:]}"
    if status == 1 and not (FINDING.search(text) or _EMPTY.search(text)):
        return f"{name}: ends with 1 and no finding\n{text[-2000:]}"
    if status not in (0, 1, 2):
        return f"{name}: ends with {status}"
    return ""
