"""Files that anybody may have put there: read to an end that is sure to come, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Set
from io import BufferedReader
from pathlib import Path

LARGEST_BYTES = 512 * 2**20
LARGEST_TABLE_BYTES = 32 * 2**20
MOST_TABLE_LINES = 500_000
MOST_TABLE_COLUMNS = 10_000


def read_regular(path: Path, most: int = LARGEST_BYTES) -> bytes:
    """The bytes of a file; of a pipe or device nobody would see the end.

    Raises `OSError` for what is no ordinary file, or larger than `most` bytes.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            shown = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
            raise OSError(errno.EFBIG, f"More than {shown}", str(path))
        return file.read(size) or b""  # asked for `most`, it takes memory for as much


def read_table(path: Path) -> bytes:
    """The bytes of a table that is read whole: each of its lines and columns takes memory.

    Raises `OSError` for what is no ordinary file, or larger than a table is let be.
    """
    data = read_regular(path, LARGEST_TABLE_BYTES)
    for excess in _excesses(data):
        raise OSError(errno.EFBIG, excess, str(path))
    return data


def _excesses(data: bytes) -> Iterator[str]:
    header = data.partition(b"\n")[0]
    if data.count(b"\n") > MOST_TABLE_LINES or data.count(b"\r") > MOST_TABLE_LINES:
        yield f"More than {MOST_TABLE_LINES:,} lines"
    if header.count(b",") > MOST_TABLE_COLUMNS:
        yield f"More than {MOST_TABLE_COLUMNS:,} columns"


def open_regular(path: Path) -> BufferedReader:
    """Open an ordinary file to read it. Raises `OSError` for anything else."""
    return _open(path, {stat.S_IFREG}, "Not an ordinary file")


def open_named(path: Path) -> BufferedReader:
    """Open a file or a pipe, which is what a shell makes of `<(…)`, to read it once.

    Raises `OSError` for anything else. A pipe that nobody writes to is at its end.
    """
    return _open(path, {stat.S_IFREG, stat.S_IFIFO}, "Neither an ordinary file nor a pipe")


def _open(path: Path, kinds: Set[int], otherwise: str) -> BufferedReader:
    # Opening a pipe waits for its writer unless it is told not to.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind not in kinds:
        os.close(handle)
        if kind == stat.S_IFDIR:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, otherwise, str(path))
    if kind == stat.S_IFIFO:
        os.set_blocking(handle, True)
    return os.fdopen(handle, "rb")
