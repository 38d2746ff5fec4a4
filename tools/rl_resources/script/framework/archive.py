"""A wheel or a source archive as data: chosen files out, nothing written, nothing run."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from rl_resources.errors import UnusableInput

SUFFIXES = (".whl", ".tar.gz")

_MOST_MEMBERS = 20_000
_LARGEST_MEMBER_BYTES = 4 * 2**20
_LARGEST_SUM_BYTES = 64 * 2**20


def read_archive(path: Path, wanted: Callable[[PurePosixPath], bool]) -> dict[str, bytes]:
    """The wanted regular files by their path inside the archive, in the archive's order.

    The folder that a source archive puts around everything is taken off. Raises `UnusableInput`
    for an archive that is broken, too large, or has a member that leads out of it.
    """
    found: dict[str, bytes] = {}
    try:
        members = _wheel(path) if path.suffix == ".whl" else _source(path)
        for count, (name, size, read) in enumerate(members):
            inside = _inside(path, name)
            if count > _MOST_MEMBERS:
                raise UnusableInput(f"{path.name}: holds more than {_MOST_MEMBERS} members")
            if wanted(inside):
                found[str(inside)] = _whole(path, name, size, read)
                if sum(map(len, found.values())) > _LARGEST_SUM_BYTES:
                    raise UnusableInput(f"{path.name}: unpacks to too much")
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, ValueError) as error:
        raise UnusableInput(
            f"{path.name}: cannot be read as an archive: {error}", "Fetch it again."
        ) from error
    return found


_Member = tuple[str, int, Callable[[int], bytes]]


def _wheel(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, info.file_size, partial(_read, archive, info)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(info) as file:
        return file.read(most)


def _source(path: Path) -> Iterator[_Member]:
    with tarfile.open(path, "r:gz") as archive:
        for info in archive:
            file = archive.extractfile(info) if info.isreg() else None
            if file is not None:
                yield info.name.partition("/")[2] or info.name, info.size, file.read


def _inside(path: Path, name: str) -> PurePosixPath:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or ":" in name or "\0" in name:
        raise UnusableInput(
            f"{path.name}: member {name!r} leads out of the archive",
            "No release is packed like this; delete the archive.",
        )
    return pure


def _whole(path: Path, name: str, size: int, read: Callable[[int], bytes]) -> bytes:
    """The member's bytes; its header may lie about the size."""
    data = read(_LARGEST_MEMBER_BYTES + 1) if size <= _LARGEST_MEMBER_BYTES else b""
    if not size <= _LARGEST_MEMBER_BYTES >= len(data):
        raise UnusableInput(f"{path.name}: member {name!r} is too large for a configuration")
    return data
