"""A fuse in the interpreter: it blows at the n-th change that Python asks the file system for.

Python tells its audit hooks of every change before it makes it, and an exception there is raised
in place of the change. So every moment between two changes can be met, each exactly.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NoReturn

CHANGES = {f"os.{name}" for name in ("chmod", "link", "mkdir", "remove", "rename", "rmdir")}
PUTS_IN_PLACE = {"os.rename", "os.link"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_fuse = SimpleNamespace(count=0, target="", blow=None, below="", hooked=False)


class Killed(BaseException):
    """The process is gone: nothing that it still tries changes anything."""


def _hook(event: str, given: tuple[object, ...]) -> None:
    if _fuse.blow is None:
        return
    flags = given[2] if event == "open" else 0
    swaps = event == "ctypes.dlsym" and given[1] == "renameat2"
    if not (swaps or event in CHANGES or (isinstance(flags, int) and flags & _WRITING)):
        return
    path = str(given[0])
    if not swaps and path.startswith(os.sep) and not path.startswith(_fuse.below):
        return
    _fuse.count += 1
    _fuse.target = str(given[1]) if swaps or event in PUTS_IN_PLACE else ""
    _fuse.blow(_fuse.count)


@contextmanager
def fuse(blow: Callable[[int], None], below: str = "") -> Iterator[SimpleNamespace]:
    """Call `blow` with the number of each change, from 1, before it is made.

    Changes of what lies elsewhere than in the folder `below` do not count.
    """
    if not _fuse.hooked:
        sys.addaudithook(_hook)
        _fuse.hooked = True
    _fuse.count, _fuse.blow, _fuse.below = 0, blow, below
    try:
        yield _fuse
    finally:
        _fuse.blow = None


def full_disk(at: int) -> Callable[[int], None]:
    """The change with this number finds no space; the next ones do."""

    def blow(count: int) -> None:
        if count == at:
            raise OSError(28, "No space left on device")

    return blow


def killed(at: int) -> Callable[[int], None]:
    """From the change with this number on, none is made: as if the process had been killed."""

    def blow(count: int) -> None:
        if count >= at:
            raise Killed

    return blow


def main() -> NoReturn:
    """`python fuse.py FILE COMMAND…`: a command that kills itself before it puts FILE in place."""
    from rl_resources.cli import main as command

    def blow(_: int) -> None:
        if _fuse.target == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGKILL)

    with fuse(blow):
        sys.exit(command(sys.argv[2:]))


if __name__ == "__main__":
    main()
