"""What ShellCheck says of a script, as rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from subprocess import SubprocessError, run
from tempfile import TemporaryDirectory
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
SCRIPTS_PER_PROCESS = 16
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
_OWN_DEFAULT = re.compile(r"(?<![^\s;])([A-Za-z_]\w*)(=\"?\$\{)\1(?=:?[-=+])")
"""A setting that names itself, which is no use of it: `NAME=${NAME:-VALUE}`."""
_asked: dict[str, Future[Mapping[str, list[Comment]]]] = {}


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


def ask(texts: Iterable[str]) -> None:
    """Start ShellCheck in the background on texts that are new, some of them to a process."""
    new = [text for text in dict.fromkeys(texts) if text not in _asked]
    for at in range(0, len(new), SCRIPTS_PER_PROCESS):
        some = new[at : at + SCRIPTS_PER_PROCESS]
        _asked.update(dict.fromkeys(some, WORKERS.submit(_answers, some)))


def _answers(texts: Sequence[str]) -> Mapping[str, list[Comment]]:
    """The comments on each text. If one of several takes too long, each is asked by itself."""
    checker, found = program("shellcheck"), {text: list[Comment]() for text in texts}
    with TemporaryDirectory() as folder:
        paths = {f"{folder}/{at}": text for at, text in enumerate(texts)}
        paths = {path: text for path, text in paths.items() if not nests_too_deeply(text)}
        if checker is None or not paths:
            return found
        for path, text in paths.items():
            Path(path).write_bytes(_without_own_uses(text).encode("utf-8", "replace"))
        command = [checker, *_OPTIONS, *paths]
        try:
            done = run(command, capture_output=True, timeout=LONGEST_RUN_SECONDS)
            answer = json.loads(done.stdout)
        except (OSError, ValueError, SubprocessError):
            each = (_answers([text]) for text in texts if len(texts) > 1)
            return {text: some for one in each for text, some in one.items()} or found
    for raw in answer["comments"]:
        found[paths[raw["file"]]].append(Comment(*(raw[name] for name in Comment._fields)))
    return found


def _without_own_uses(text: str) -> str:
    """The text with `_` for the names that settings read of themselves."""
    return _OWN_DEFAULT.sub(lambda own: own[1] + own[2] + "_" * len(own[1]), text)


def comments(target: ScriptText) -> Iterator[Comment]:
    """What ShellCheck says, each message once in a line; of the ends of lines of Windows, once."""
    windows, parses = "\r\n" in target.text, not target.script.problems
    lost = {line for item in target.lost for line in (item.cause_line, item.command.place.line)}
    seen: set[object] = set()
    ask([target.text])
    for comment in _asked[target.text].result()[target.text]:
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
