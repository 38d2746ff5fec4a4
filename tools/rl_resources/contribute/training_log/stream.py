"""A log file of any size as lines, in constant memory.

No line that is handed on is longer than `LONGEST_LINE` and a block together, whatever the file
holds; `\\r` ends a line as `\\n` does, because progress bars write over themselves with it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rl_resources.errors import UnusableInput
from rl_resources.regular import open_named
from rl_resources.words import shown

BLOCK = 1 << 18
LONGEST_LINE = 1 << 20

Progress = Callable[[int, int], None]
"""Told how many bytes of the file are read, and how many it has (0 where nobody knows)."""

_GZIP = b"\x1f\x8b"
_FOREIGN: Mapping[bytes, str] = {
    b"\x28\xb5\x2f\xfd": "is packed with Zstandard; unpack it with `zstd -d`",
    b"\xfd7zXZ\x00": "is packed with xz; unpack it with `unxz`",
    b"BZh": "is packed with bzip2; unpack it with `bunzip2`",
    b"PK\x03\x04": "is a ZIP archive; unpack it and name the log itself",
    b"\xff\xfe": "is UTF-16; save it as UTF-8",
    b"\xfe\xff": "is UTF-16; save it as UTF-8",
}


@dataclass(slots=True)
class Damage:
    """What could not be read of a file that is read all the same."""

    cut_lines: int = 0
    broken_at: str = ""


def blocks(path: Path, progress: Progress, damage: Damage) -> Iterator[bytes]:
    """The content of a file, unpacked, in pieces of at most `BLOCK` bytes.

    A packed file that breaks off is read as far as it goes; `damage` then says so. Raises
    `UnusableInput` where the file cannot be opened or is of a kind that cannot be read.
    """
    name = shown(str(path), 500)
    with ExitStack() as closing:
        try:
            raw = closing.enter_context(open_named(path))
            beginning = raw.peek(8)[:8]
            size = path.stat().st_size
        except OSError as error:
            raise UnusableInput(f"{name}: cannot be read: {error.strerror}") from error
        for magic, problem in _FOREIGN.items():
            if beginning.startswith(magic):
                raise UnusableInput(f"{name}: {problem}")
        packed = beginning.startswith(_GZIP)
        file = closing.enter_context(gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            while block := file.read(BLOCK):
                progress(raw.tell() if size else 0, size)
                yield block
        except (EOFError, OSError, zlib.error) as error:
            damage.broken_at = str(error) or type(error).__name__


def pieces(source: Iterator[bytes], damage: Damage) -> Iterator[bytes]:
    """The same bytes in pieces that end where a line ends, as far as lines are short enough.

    Of a line longer than `LONGEST_LINE` the beginning is a line, and the rest is dropped.
    """
    rest = b""
    dropping = False
    for block in source:
        text = rest + block.replace(b"\r", b"\n")
        if dropping:
            end = text.find(b"\n")
            text, dropping = (b"", True) if end < 0 else (text[end + 1 :], False)
        end = text.rfind(b"\n") + 1
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > LONGEST_LINE:
            yield rest[:LONGEST_LINE] + b"\n"
            damage.cut_lines += 1
            rest, dropping = b"", True
    if rest:
        yield rest + b"\n"


def lines_with(piece: bytes, marks: Sequence[bytes]) -> Iterator[bytes]:
    """The lines of a piece that hold one of `marks`, in order, each once."""
    places = sorted({place for mark in marks for place in _places(piece, mark)})
    after = 0
    for place in places:
        if place < after:
            continue
        start, end = piece.rfind(b"\n", 0, place) + 1, piece.find(b"\n", place)
        yield piece[start:end]
        after = end


def _places(piece: bytes, mark: bytes) -> Iterator[int]:
    """Where `mark` stands in a piece, at most once for each line."""
    place = piece.find(mark)
    while place >= 0:
        yield place
        place = piece.find(mark, piece.find(b"\n", place))
