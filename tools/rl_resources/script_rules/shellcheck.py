"""What ShellCheck says of a script, as two rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from subprocess import SubprocessError, run
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.parser import WORKERS, nests_too_deeply, program
from rl_resources.script.script_text import ScriptText

RULES = frozenset({"shellcheck", "shellcheck-error"})
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
SCRIPTS_PER_PROCESS = 16
_OPTIONS = (
    *("--format=json1", "--severity=warning", "--shell=bash", "--norc"),
    "--extended-analysis=false",  # data flow: half again the time, for codes no known shape has
)
_LEFT_OUT = frozenset(
    # reported by our rules: unused, undefined, unquoted arguments, shebang, `rm`, U+00A0
    {2034, 2154, 2153, 2068, 2048, 2148, 1128, 2114, 2115, 1018}
    # a matter of taste in a launch script, or wrong for Hydra's lists in words and arrays
    | {1010, 1083, 1090, 1091, 2026, 2027, 2043, 2046, 2054, 2086, 2140, 2155, 2164, 2206, 2207}
)
_asked: dict[str, Future[Mapping[str, tuple[Comment, ...]]]] = {}


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


def ask(texts: Iterable[str]) -> None:
    """Start ShellCheck in the background on texts that are new, the first of them first."""
    new = [text for text in dict.fromkeys(texts) if text not in _asked]
    for at in range(0, len(new), SCRIPTS_PER_PROCESS):
        some = new[at : at + SCRIPTS_PER_PROCESS]
        _asked.update(dict.fromkeys(some, WORKERS.submit(_answers, some)))


def _answers(texts: Sequence[str]) -> Mapping[str, tuple[Comment, ...]]:
    """The comments on each text. If one of several takes too long, each is asked by itself."""
    checker, found = program("shellcheck"), {text: tuple[Comment, ...]() for text in texts}
    with TemporaryDirectory() as folder:
        paths = {f"{folder}/{place}": text for place, text in enumerate(texts)}
        paths = {path: text for path, text in paths.items() if not nests_too_deeply(text)}
        if checker is None or not paths:
            return found
        for path, text in paths.items():
            Path(path).write_bytes(text.encode("utf-8", "replace"))
        command, limit = [checker, *_OPTIONS, *paths], LONGEST_RUN_SECONDS + len(paths)
        try:
            done = run(command, capture_output=True, timeout=limit, check=False)
            answer = json.loads(done.stdout)
        except (OSError, ValueError, SubprocessError):
            each = [_answers([text]) for text in texts] if len(texts) > 1 else []
            return found | {text: comments for one in each for text, comments in one.items()}
    for raw in answer["comments"]:
        words = (raw[name] for name in ("code", "level", "line", "column", "message"))
        found[paths[raw["file"]]] += (Comment(*words),)
    return found


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
    ask([target.text])
    places: set[tuple[int, int]] = set()
    windows, parses = "\r\n" in target.text, not target.script.problems
    lost = {line for item in target.lost for line in (item.cause_line, item.command.place.line)}
    for comment in _asked[target.text].result()[target.text]:
        own = comment.code < 2000 and not parses  # `syntax` reports it
        if comment.level != level or own or comment.code in _LEFT_OUT or comment.line in lost:
            continue
        place = comment.code, 0 if windows else comment.line
        if place not in places and windows == (comment.code == 1017):
            places.add(place)
            fix = f"See the page of SC{comment.code} in ShellCheck's wiki."
            if windows:
                fix = "Save the file with LF at the end of every line."
            message = f"ShellCheck SC{comment.code}: {comment.message}"
            yield Mistake(target.path, comment.line, comment.column, message, fix)
