"""`python -m fuzzing.struck N COMMAND…`: a command that says when it is about to make a change.

It writes a line to standard output before its N-th change of the working folder, so that whoever
started it can strike. At its end it writes the number of all its changes, and then the numbers of
those that put something in place.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fuse import fuse
from rl_resources.cli import main as command

STDOUT = 1


def main() -> None:
    """Exit status that of the command."""
    at = int(sys.argv[1])
    said = os.dup(STDOUT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)

    placed: list[int] = []

    def blow(count: int) -> None:
        if whole.target:
            placed.append(count)
        if count == at:
            os.write(said, b"now\n")

    with fuse(blow, str(Path.cwd())) as whole:
        status = command(sys.argv[2:])
    os.write(said, " ".join(map(str, [whole.count, *placed])).encode() + b"\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
