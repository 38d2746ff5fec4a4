"""Files and folders are replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rl_resources.errors import UnusableInput

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Keep other processes of ours out of a folder; says whether it is locked.

    The lock ends with its process, however that ends. Where the system has none there is nothing to
    wait for.
    """
    with ExitStack() as closing:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            closing.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except (ImportError, OSError):
            yield False
        else:
            yield True


def write_file(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with LF line ends; a reader sees the old file or the whole new one.

    Where a link leads to is written, and no pipe or device is replaced by a file. Raises
    `UnusableInput` where the file cannot be written.
    """
    try:
        path = Path(os.path.realpath(path))
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.EINVAL, "Not an ordinary file")
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
def new_folder(target: Path, mend: str = "") -> Iterator[Path]:
    """Give an empty folder to fill; when the block ends well it takes the place of `target`.

    When the block raises, `target` stays as it was. Its parent is there for what nobody needs after
    the block, and goes with it. What a killed process left beside `target` is removed. Raises
    `UnusableInput`, with `mend` as its help, where nothing can be written beside `target`, or not
    all of it.
    """
    with ExitStack() as leftovers:
        try:
            with ExitStack() as held:
                target.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(target.parent))
                _remove_abandoned(target)
                prefix = f".{target.name}."
                place = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
                leftovers.callback(shutil.rmtree, place, ignore_errors=True)
                leftovers.enter_context(locked(place))
            staging = place / target.name
            staging.mkdir()
            staging.chmod(0o755)
            yield staging
            with locked(target.parent):
                _take_place(staging, target)
        except OSError as error:
            at = f" ({error.filename})" if error.filename else ""
            raise UnusableInput(
                f"{target}: cannot be written: {error.strerror}{at}",
                f"{mend} What is there stays as it was.".strip(),
            ) from error


def _remove_abandoned(target: Path) -> None:
    """Remove the folders of `new_folder` whose process was killed: nobody holds their lock."""
    for left in target.parent.glob(f".{target.name}.*"):
        with locked(left, wait=False) as abandoned:
            if abandoned:
                shutil.rmtree(left, ignore_errors=True)


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
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
