"""Files and folders are replaced as a whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rl_resources.errors import UnusableInput

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_file(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with LF line ends; a reader sees the old file or the whole new one.

    Raises `UnusableInput` where the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)  # noqa: PTH101
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill; when the block ends well it takes the place of `target`.

    When the block raises, `target` stays as it was. Raises `UnusableInput` where nothing can be
    written beside `target`.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise UnusableInput(f"{target}: cannot be written: {error.strerror}") from error
    try:
        staging.chmod(0o755)
        yield staging
        _take_place(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _take_place(staging: Path, target: Path) -> None:
    if not target.exists():
        staging.replace(target)
        return
    if not _exchange(staging, target):
        old = staging.with_name(staging.name + ".old")
        target.replace(old)
        staging.replace(target)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, where the system can; say whether it did."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
