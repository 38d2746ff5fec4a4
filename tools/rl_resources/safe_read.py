"""Bounded reads of files that anybody may have put there."""

from __future__ import annotations

import errno
from pathlib import Path

LARGEST_BYTES = 512 * 2**20
LARGEST_TABLE_BYTES = 32 * 2**20
MOST_TABLE_LINES = 500_000
MOST_TABLE_COLUMNS = 10_000


def read_file(path: Path, most: int = LARGEST_BYTES) -> bytes:
    """The bytes of a file. Raises `OSError` for what is no ordinary file, or larger than `most`."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
    if path.stat().st_size > most:
        shown = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise OSError(errno.EFBIG, f"More than {shown}", str(path))
    return path.read_bytes()


def read_table(path: Path) -> bytes:
    """The bytes of a table that is read whole: each of its lines and columns takes memory.

    Raises `OSError` for what is no ordinary file, or has too many bytes, lines or columns.
    """
    data = read_file(path, LARGEST_TABLE_BYTES)
    if max(data.count(b"\n"), data.count(b"\r")) > MOST_TABLE_LINES:
        raise OSError(errno.EFBIG, f"More than {MOST_TABLE_LINES:,} lines", str(path))
    if data.partition(b"\n")[0].count(b",") > MOST_TABLE_COLUMNS:
        raise OSError(errno.EFBIG, f"More than {MOST_TABLE_COLUMNS:,} columns", str(path))
    return data
