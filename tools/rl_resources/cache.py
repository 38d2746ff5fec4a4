"""Where answers that cost time are kept between runs. Whatever is kept may be deleted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from rl_resources.regular import read_regular

MOST_DAYS = 30
MOST_ANSWERS = 20_000
"""How long an answer is kept, and how many of one kind there are once a day."""

_DAY_SECONDS = 86_400
_IS_OURS = re.compile(r"[0-9a-f]{40,}(?:\.\w+)?")
"""The names of answers, digests: whatever else lies in a folder that somebody named is theirs."""

Value = TypeVar("Value")
_DIGEST = hashlib.sha256().digest_size


def cache_folder(name: str) -> Path:
    """The folder of one kind of answers; `RL_RESOURCES_CACHE` moves all of them."""
    if own := os.environ.get("RL_RESOURCES_CACHE"):
        return Path(own) / name
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rl-resources" / name


@lru_cache(maxsize=1)
def own_code() -> str:
    """A digest of this package, of which any line may decide what an answer is."""
    sha = hashlib.sha256()
    for folder, folders, files in os.walk(Path(__file__).parent):
        folders[:] = sorted({*folders} - {"__pycache__"})
        for name in sorted(files):
            text = Path(folder, name).read_bytes()
            sha.update(f"{name}\0{len(text)}\0".encode())
            sha.update(text)
    return sha.hexdigest()


@lru_cache(maxsize=8)
def release_of(package: str) -> str:
    """Which release of a package is installed, under the name of its distribution; blank for none.

    Its folder is called so. `importlib.metadata` reads the same from within, and to import it takes
    longer than to judge a record.
    """
    folders = [
        entry for folder in sys.path for entry in Path(folder).glob(f"{package}-*.dist-info")
    ]
    if folders:
        return " ".join(sorted(folder.name for folder in folders))
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def keep(path: Path, text: str) -> None:
    """Write a file of the cache whole or not at all; one that cannot be written costs time only."""
    _write(path, text.encode("utf-8"))


def keep_bytes(path: Path, data: bytes) -> None:
    """What `keep` does, for `kept_bytes` to read: with a digest, so that a broken file is none."""
    _write(path, hashlib.sha256(data).digest() + data)


def kept_bytes(path: Path) -> bytes | None:
    """What `keep_bytes` wrote, where it is there and whole."""
    try:
        found = read_regular(path)
    except OSError:
        return None
    digest, data = found[:_DIGEST], found[_DIGEST:]
    return data if hashlib.sha256(data).digest() == digest else None


def kept_json(path: Path) -> Any:
    """A value that was kept as JSON; `None` where it is not there or cannot be read."""
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def recalled(name: str, of: Sequence[str], make: Callable[[], Value]) -> Value:
    """A value that follows from texts and from this package alone, made where it is not known.

    It is pickled, which is as safe as Python's own compiled files: we alone write the folder, and a
    file is read back only whole and only by the code that wrote it.
    """
    import pickle

    key = hashlib.sha256(repr((own_code(), *of)).encode("utf-8", "backslashreplace"))
    path = cache_folder(name) / key.hexdigest()
    data = kept_bytes(path)
    if data is not None:
        return cast(Value, pickle.loads(data))  # noqa: S301
    value = make()
    keep_bytes(path, pickle.dumps(value))
    return value


def _write(path: Path, data: bytes) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}")
        own.write_bytes(data)
        own.replace(path)
        in_folder = _IS_OURS.fullmatch(path.parent.name)
        _tidy(path.parent.parent if in_folder else path.parent)


@lru_cache(maxsize=16)
def _tidy(folder: Path) -> None:
    """Once a day, delete the answers of one kind that were written long ago, or are too many.

    An answer that is still wanted is made once more. Two processes may do this at once.
    """
    day, now = folder / "tidied", time.time()
    if day.exists() and now - day.stat().st_mtime < _DAY_SECONDS:
        return
    day.touch()
    ours = [path for path in folder.iterdir() if _IS_OURS.fullmatch(path.name)]
    written = {path: path.lstat().st_mtime for path in ours}
    newest = sorted(written, key=lambda path: -written[path])
    for rank, path in enumerate(newest):
        if rank >= MOST_ANSWERS or now - written[path] > MOST_DAYS * _DAY_SECONDS:
            _delete(path)


def _delete(path: Path) -> None:
    with suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        for file in path.iterdir():
            if _IS_OURS.fullmatch(file.name):
                file.unlink()
        path.rmdir()


def remembered(
    name: str, engine: Iterable[str], wanted: Mapping[str, str], make: Callable[[str], str]
) -> dict[str, str]:
    """What follows from each of the texts `wanted`, by their names; made where it is not known.

    `make` gets the name. `engine` is what the answers depend on beside the texts. Known are the
    answers of the last call, so that the cache grows no larger than what was wanted then.
    """
    path = cache_folder(name) / "last.json"
    begin = hashlib.sha256("\0".join(engine).encode())
    keys = {}
    for item, text in wanted.items():
        sha = begin.copy()
        sha.update(text.encode())
        keys[item] = sha.hexdigest()
    known = _read(path)
    found = {item: known[key] if key in known else make(item) for item, key in keys.items()}
    now = {key: found[item] for item, key in keys.items()}
    if now != known:
        keep(path, json.dumps(now, ensure_ascii=False))
    return found


def _read(path: Path) -> Mapping[str, str]:
    known = kept_json(path)
    texts = isinstance(known, dict) and all(isinstance(text, str) for text in known.values())
    return known if texts else {}
