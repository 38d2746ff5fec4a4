"""How much memory a process holds together with what it has started, sampled while they run.

`getrusage` tells of the largest process alone, and of one that has just begun what its parent held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

EVERY_SECONDS = 0.1
_MOST = re.compile(r"^VmHWM:\s+(\d+) kB", re.M)


@contextmanager
def most_held(process: int) -> Iterator[list[float]]:
    """One number that grows while the block lasts: the most MB at once, 0 where `/proc` is not."""
    most = [0.0]
    ended = Event()

    def sample() -> None:
        while not ended.wait(EVERY_SECONDS):
            most[0] = max(most[0], sum(map(_held, _family(process))))

    sampling = Thread(target=sample)
    sampling.start()
    try:
        yield most
    finally:
        ended.set()
        sampling.join()


def _family(process: int) -> Iterator[int]:
    yield process
    for child in _text(f"/proc/{process}/task/{process}/children").split():
        yield from _family(int(child))


def _held(process: int) -> float:
    """The most that a process has held up to now: a sample may come too late for the moment."""
    match = _MOST.search(_text(f"/proc/{process}/status"))
    return int(match[1]) * 1024 / 1e6 if match else 0.0


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
