"""Bounded reads of untrusted files; files replaced as a whole."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from rl_resources.errors import UnusableInput
from rl_resources.text import shown

LARGEST_TABLE_BYTES = 32 * 2**20
"""Of a table that is read whole."""


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a file. Raises `OSError` if it is not an ordinary file or too large."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
    if path.stat().st_size > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise OSError(errno.EFBIG, f"More than {size}", str(path))
    return path.read_bytes()


def read_text(path: Path, most: int, help_: str) -> str:
    """The text of a file that somebody names. Raises `UnusableInput`, with `help_`."""
    label = shown(str(path), 500)
    try:
        data = read_file(path, most)
    except OSError as error:
        raise UnusableInput(f"{label}: cannot be read: {error.strerror}", help_) from error
    if (at := undecodable(data)) is not None:
        raise UnusableInput(f"{label}: is not text in UTF-8 (byte {at})", help_)
    return data.decode()


def undecodable(data: bytes) -> int | None:
    """Offset of the first byte that is not UTF-8 text; a NUL byte is not."""
    nul = data.find(b"\x00")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start if nul < 0 else min(nul, error.start)
    return nul if nul >= 0 else None


def write_file(path: Path, text: str | bytes) -> None:
    """Write `text`, as UTF-8, or bytes; a reader sees the old file or the whole new one.

    A link is followed. A device or pipe is written to and not replaced. Raises `UnusableInput`
    where the file cannot be written.
    """
    data = text.encode() if isinstance(text, str) else text
    try:
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as place:
            new = Path(place, path.name)
            new.write_bytes(data)
            if path.exists():
                shutil.copymode(path, new)
            new.replace(path)
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be written: {error.strerror}") from error
