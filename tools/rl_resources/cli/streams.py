"""Standard output and error, which a caller may have closed, or led to a full disk or a pipe."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path

NOT_TAKEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def open_all() -> None:
    """Have both, able to take any text; what goes to a closed one goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (for good)
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_of_output(error: OSError) -> bool:
    """Whether it may come from writing to a stream: errors of files name their file."""
    return error.filename is None and error.errno in NOT_TAKEN


def close_all() -> None:
    """Let go of what was written and not taken, which Python would try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream of a test has no descriptor
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
