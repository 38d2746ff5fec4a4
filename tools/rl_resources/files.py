"""Tables and templates of the code; bounded reads of untrusted files, replaced as a whole."""

from __future__ import annotations

import codecs
import errno
import glob
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_resources.errors import UnusableInput
from rl_resources.text import shown

if TYPE_CHECKING:
    from jinja2 import Environment

UTF_8 = "utf-8-sig"
LARGEST_TABLE_BYTES = 32 * 2**20
"""Of a table that is read whole."""


def table_beside(module: str) -> dict[str, Any]:
    """The TOML file of a module's name next to it: what is data of its code."""
    text = Path(module).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache  # a changed template is still seen: Jinja2 compares its time
def environment(*folders: Path, autoescape: bool = False) -> Environment:
    """The templates of some directories. A value that is missing is an error."""
    # Here, because an answer in JSON needs no template.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(folders),
        autoescape=autoescape,  # noqa: S701 (pages are escaped; code and plain text are not)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        optimized=False,  # a command renders once: folding constants takes longer than it saves
    )
    found.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return found


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a file. Raises `OSError` if it is not an ordinary file or too large."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"More than {_size(most)}", str(path))
    return path.read_bytes()


def _size(bytes_: int) -> str:
    mebibytes = bytes_ >> 20
    if mebibytes:
        return f"{mebibytes} MiB"
    return f"{bytes_ >> 10} KiB"


def read_text(path: Path, most: int, help_: str) -> str:
    """The text of a file that somebody names. Raises `UnusableInput`, with `help_`."""
    data = _named_file(path, most, help_)
    offset = undecodable(data)
    if offset is not None:
        raise _no_text(path, data, offset, help_)
    return data.decode()


def read_foreign_text(path: Path, most: int, help_: str) -> tuple[str, str]:
    """As `read_text`, but in any encoding that `encoding_of` knows, which comes second."""
    data = _named_file(path, most, help_)
    encoding = encoding_of(data)
    text = data.decode(encoding or UTF_8, "replace")
    if not encoding or "\x00" in text:
        raise _no_text(path, data, undecodable(data) or 0, help_)
    return text, encoding


def _named_file(path: Path, most: int, help_: str) -> bytes:
    try:
        return read_file(path, most)
    except OSError as error:
        label = shown(str(path), 500)
        raise UnusableInput(
            f"{label}: cannot be read: {error.strerror}", help_
        ) from error


def _no_text(path: Path, data: bytes, offset: int, help_: str) -> UnusableInput:
    line = data.count(b"\n", 0, offset) + 1
    label = shown(str(path), 500)
    return UnusableInput(
        f"{label}: is not text in UTF-8 (byte {offset}), line {line}", help_
    )


def undecodable(data: bytes) -> int | None:
    """Offset of the first byte that is not UTF-8 text; a NUL byte is not."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        valid = error.start
    else:
        valid = len(data)
    nul = data.find(b"\x00", 0, valid)
    if nul >= 0:
        return nul
    if valid < len(data):
        return valid
    return None


_BEGINNINGS = {
    rb"\xff\xfe|\xfe\xff": "UTF-16",
    rb".\0": "UTF-16LE",
    rb"\0": "UTF-16BE",
}
"""How a text in one of these encodings begins."""


def encoding_of(data: bytes) -> str:
    """The encoding of a text, of which the end may be cut off; empty if that is in doubt."""
    for begin, encoding in _BEGINNINGS.items():
        if re.match(begin, data, re.S):
            return _if_text(data, encoding)
    found = _if_text(data, UTF_8)
    if not found and _is_chinese(data):
        return _if_text(data, "GB18030")
    return found


def _if_text(data: bytes, encoding: str) -> str:
    """The encoding, if the bytes are text in it without a NUL character, otherwise nothing."""
    try:
        text = _decoded(data, encoding)
    except UnicodeDecodeError:
        return ""
    if "\x00" in text or (data and not text):
        return ""
    return encoding


def _decoded(data: bytes, encoding: str) -> str:
    """The characters of a text up to the last whole one."""
    return codecs.getincrementaldecoder(encoding)().decode(data)


def _is_chinese(data: bytes) -> bool:
    """Whether all text beyond ASCII is that of GB 2312, and some characters cannot be Korean.

    Its first two rows of characters are in the order of their sounds. A text in EUC-KR has none of
    the later half of them, one in another encoding has pairs that are no characters.
    """
    try:
        text = _decoded(data, "gb2312")
    except UnicodeDecodeError:
        return False
    wide = [character for character in text if not character.isascii()]
    if any("\u3041" <= character <= "\u30ff" for character in wide):  # kana: EUC-JP
        return False
    is_late = [b"\xc9" <= character.encode("gb2312") < b"\xd8" for character in wide]
    return len(wide) > 1 and any(is_late)


def as_read(data: bytes, at: int) -> str:
    """The encoding of a text, or what its cell at this byte is in those that are usual."""
    encoding = encoding_of(data)
    if encoding:
        return f": the file is {encoding}"
    if data[at] == 0:
        return ""
    cell = next(found[0] for found in _CELL.finditer(data) if found.end() > at)
    readings: list[str] = []
    for name, codec in _LEGACY.items():
        text = cell.decode(codec, "replace")
        readings.append(f"`{shown(text, 120)}` in {name}")
    return f"; the cell is {' or '.join(readings)}"


_CELL = re.compile(rb"[^,;\t\r\n]+")
_LEGACY = {"Windows-1252": "cp1252", "Mac Roman": "mac_roman"}
"""The encodings of Western spreadsheets, with Python's names."""


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
        else:
            _replace(path, data)
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be written: {error.strerror}") from error


def _replace(path: Path, data: bytes) -> None:
    with directory_beside(path) as place:
        new = Path(place, path.name)
        new.write_bytes(data)
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)


@contextmanager
def directory_beside(path: Path) -> Iterator[Path]:
    """A new directory next to `path`, for what replaces it; it is removed at the end.

    Those that a killed process left are removed first: nobody else has one while this lasts.
    """
    prefix = f".{path.name}."
    with locked(path.parent) as is_alone:
        if is_alone:
            sweep(path.parent, glob.escape(prefix))
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=prefix) as place:
            yield Path(place)


def sweep(directory: Path, begin: str = "**/.*.*.") -> None:
    """Remove what a killed process left of `directory_beside`."""
    for left in [*directory.glob(f"{begin}????????")]:
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Wait until no other process of ours holds this file or directory, then hold it.

    False where the system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield False
        return
    held = os.open(path, os.O_RDONLY)
    is_locked = False
    try:
        with suppress(OSError):  # some network file systems have none
            fcntl.flock(held, fcntl.LOCK_EX)
            is_locked = True
        yield is_locked
    finally:
        os.close(held)
