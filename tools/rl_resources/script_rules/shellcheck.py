"""What ShellCheck says of a script, as rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from subprocess import SubprocessError, run
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.parser import WORKERS, nests_too_deeply, program
from rl_resources.script.script_text import ScriptText

RULES = frozenset(
    {"shellcheck", "shellcheck-error", "undefined-variable", "unused-variable"}
    | {"unquoted-arguments"}
)
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
_OPTIONS = (
    *("--format=json1", "--severity=warning", "--shell=bash", "--norc"),
    "--enable=check-unassigned-uppercase",
    "--extended-analysis=false",  # data flow: half again the time, for codes no known shape has
)
UNUSED, UNDEFINED, UNQUOTED = 2034, 2154, (2068, 2048)
"""Codes that have a rule of their own."""
_LEFT_OUT = frozenset(
    {UNUSED, UNDEFINED, *UNQUOTED}
    # reported by our rules: shebang, `rm`
    | {2148, 1128, 2114, 2115}
    # a matter of taste in a launch script, or wrong for Hydra's lists in words and arrays
    | {1010, 1083, 1090, 1091, 2026, 2027, 2043, 2046, 2054, 2086, 2140, 2155, 2164, 2206, 2207}
)
_WINDOWS = 1017
_OWN_DEFAULT = re.compile(r"(?<![^\s;])([A-Za-z_]\w*)=\"?\$\{(?=\1:?[-=+])")
"""A setting that names itself, which is no use of it: `NAME=${NAME:-VALUE}`."""


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


@lru_cache(maxsize=1024)
def ask(text: str) -> Future[Sequence[Comment]]:
    """Start ShellCheck on a text in the background, once."""
    return WORKERS.submit(_answer, text)


def _answer(text: str) -> Sequence[Comment]:
    checker = program("shellcheck")
    if checker is None or nests_too_deeply(text):
        return ()
    for found in _OWN_DEFAULT.finditer(text):
        text = text[: found.end()] + "_" * len(found[1]) + text[found.end() + len(found[1]) :]
    command, data = [checker, *_OPTIONS, "-"], text.encode("utf-8", "replace")
    try:
        done = run(command, input=data, capture_output=True, timeout=LONGEST_RUN_SECONDS)
        answer = json.loads(done.stdout)
    except (OSError, ValueError, SubprocessError):
        return ()
    return [Comment(*(raw[name] for name in Comment._fields)) for raw in answer["comments"]]


def comments(target: ScriptText) -> Iterator[Comment]:
    """What ShellCheck says, each message once in a line; of the ends of lines of Windows, once."""
    windows, parses = "\r\n" in target.text, not target.script.problems
    lost = {line for item in target.lost for line in (item.cause_line, item.command.place.line)}
    seen: set[object] = set()
    for comment in ask(target.text).result():
        key = _WINDOWS if windows else (comment.line, comment.message)
        own = comment.code < 2000 and not parses  # `syntax` reports it
        speaks = (comment.code == _WINDOWS) == windows and not own and comment.line not in lost
        if speaks and key not in seen:
            seen.add(key)
            yield comment


@rule()
def shellcheck_error(target: ScriptText) -> Iterator[Mistake]:
    """ShellCheck finds no error in a script.

    ShellCheck knows the traps of the shell; its errors change what the script does.

    Bad: `if [ 1 -eq 1]; then true; fi`
    Good: `if [ 1 -eq 1 ]; then true; fi`
    """
    yield from _shellcheck(target, "error")


@rule("warning")
def shellcheck(target: ScriptText) -> Iterator[Mistake]:
    """ShellCheck warns of nothing in a script.

    ShellCheck knows the traps of the shell; most of its warnings are bugs to be.

    Bad: `for file in $(ls *.sh | grep run) "$@"; do echo '$file'; done 2>&1 >log`
    Good: `for file in *.sh; do echo "$file"; done >log 2>&1`
    """
    yield from _shellcheck(target, "warning")


def _shellcheck(target: ScriptText, level: str) -> Iterator[Mistake]:
    for comment in comments(target):
        if comment.level == level and comment.code not in _LEFT_OUT:
            message = f"ShellCheck SC{comment.code}: {comment.message}"
            fix = f"See the page of SC{comment.code} in ShellCheck's wiki."
            yield Mistake(target.path, comment.line, comment.column, message, fix)
