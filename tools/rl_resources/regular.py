"""Files of a dataset that anybody may contribute to: ordinary ones of some size, and no others."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST_BYTES = 512 * 2**20


def read_regular(path: Path, most: int = LARGEST_BYTES) -> bytes:
    """The bytes of a file; of a pipe or device nobody would see the end.

    Raises `OSError` for what is no ordinary file, or larger than `most` bytes.
    """
    # Opening a pipe waits for its writer unless it is told not to.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"More than {most >> 20} MiB", str(path))
        return file.read(found.st_size) or b""  # asked for `most`, it takes memory for as much
