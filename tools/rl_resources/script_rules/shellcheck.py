"""What ShellCheck says of a script, as rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from subprocess import SubprocessError, run
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.script.bash.parser import WORKERS, installed, nests_too_deeply
from rl_resources.script.script_text import ScriptText

RULES = frozenset(
    {
        "shellcheck",
        "shellcheck-error",
        "syntax",
        "undefined-variable",
        "unquoted-arguments",
        "unused-variable",
    }
)
"""The rules that ask it."""
LONGEST_RUN_SECONDS = 30
SCRIPTS_PER_PROCESS = 16
_OPTIONS = (
    "--format=json1",
    "--severity=warning",
    "--shell=bash",
    "--norc",
    "--enable=check-unassigned-uppercase",
    "--extended-analysis=false",  # data flow: half again the time, for codes no known shape has
)
UNUSED = 2034
UNDEFINED = 2154
UNQUOTED = frozenset({2048, 2068})
_LEFT_OUT = frozenset(chain.from_iterable(table_beside(__file__).values()))
_UNCLOSED = 1078
_WINDOWS = 1017
_FIRST_OF_PARSED = 2000
"""Codes below are of scripts that ShellCheck cannot parse."""
_OWN_DEFAULT = re.compile(r"(?<![^\s;])([A-Za-z_])(\w*)(=\"?\$\{)\1\2(?=:?[-=+])")
"""A setting that names itself, which is no use of it: `NAME=${NAME:-VALUE}`."""
_OF_ANOTHER_NAME = r"\1\2\3_\2"
"""The same of a name of this length, so that all columns stay."""


class Comment(NamedTuple):
    """One place that ShellCheck warns of. `level` is `error` or `warning`."""

    code: int
    level: str
    line: int
    column: int
    message: str


Comments = Mapping[str, list[Comment]]
"""What ShellCheck says of each text."""
_asked: dict[str, Future[Comments]] = {}


def ask(texts: Iterable[str]) -> None:
    """Start ShellCheck in the background on texts that are new, some of them to a process."""
    new = [text for text in dict.fromkeys(texts) if text not in _asked]
    for start in range(0, len(new), SCRIPTS_PER_PROCESS):
        some = new[start : start + SCRIPTS_PER_PROCESS]
        _asked.update(dict.fromkeys(some, WORKERS.submit(_answers, some)))


def _answers(texts: Sequence[str]) -> Comments:
    """The comments on each text; none if ShellCheck is missing or fails."""
    found: dict[str, list[Comment]] = {text: [] for text in texts}
    checker = installed("shellcheck")
    readable = [text for text in texts if not nests_too_deeply(text)]
    if checker is None or not readable:
        return found
    try:
        found.update(_of_one_process(checker, readable))
    except (OSError, ValueError, SubprocessError):
        if len(texts) > 1:
            # One of them takes too long or stops ShellCheck: each is asked by itself.
            for text in texts:
                found.update(_answers([text]))
    return found


def _of_one_process(checker: str, texts: Sequence[str]) -> Comments:
    """The comments on each text. Raises where ShellCheck fails or takes too long."""
    with TemporaryDirectory() as folder:
        files: dict[str, str] = {}
        for number, text in enumerate(texts):
            path = Path(folder, str(number))
            used = _OWN_DEFAULT.sub(_OF_ANOTHER_NAME, text)
            path.write_bytes(used.encode("utf-8", "replace"))
            files[str(path)] = text
        command = [checker, *_OPTIONS, *files]
        done = run(command, capture_output=True, timeout=LONGEST_RUN_SECONDS)
    found: dict[str, list[Comment]] = {text: [] for text in texts}
    for raw in json.loads(done.stdout)["comments"]:
        comment = Comment(*(raw[name] for name in Comment._fields))
        found[files[raw["file"]]].append(comment)
    return found


def _all_comments(target: ScriptText) -> Sequence[Comment]:
    ask([target.text])
    return _asked[target.text].result()[target.text]


def unclosed_quote(target: ScriptText) -> Comment | None:
    """Where a quote was forgotten: bash pairs each with the next one, and gives up far below."""
    for comment in _all_comments(target):
        if comment.code == _UNCLOSED:
            return comment
    return None


def comments(target: ScriptText) -> list[Comment]:
    """ShellCheck's comments, each message once per line; of Windows line endings only the first."""
    own = [item for item in _all_comments(target) if not _is_consequence(target, item)]
    if "\r\n" in target.text:
        return [comment for comment in own if comment.code == _WINDOWS][:1]
    by_line: dict[tuple[int, str], Comment] = {}
    for comment in own:
        if comment.code != _WINDOWS:
            by_line.setdefault((comment.line, comment.message), comment)
    return list(by_line.values())


def _is_consequence(target: ScriptText, comment: Comment) -> bool:
    """Whether `syntax` or `broken-continuation` reports the cause of a comment."""
    if target.script.problems and comment.code < _FIRST_OF_PARSED:
        return True
    lines = [
        (item.cause_line, item.command.place.line)
        for item in target.broken_continuations
    ]
    return comment.line in chain.from_iterable(lines)


@rule()
def shellcheck_error(target: ScriptText) -> Iterator[Mistake]:
    """ShellCheck finds no errors in a script.

    ShellCheck knows the pitfalls of the shell; its errors change what the script does.

    Bad: `if [ 1 -eq 1]; then true; fi`
    Good: `if [ 1 -eq 1 ]; then true; fi`
    """
    return _shellcheck(target, "error")


@rule("warning", style=True)
def shellcheck(target: ScriptText) -> Iterator[Mistake]:
    """ShellCheck has no warnings about a script.

    ShellCheck knows the pitfalls of the shell; most of its warnings are future bugs.

    Bad: `for file in $(ls *.sh | grep run) "$@"; do echo '$file'; done 2>&1 >log`
    Good: `for file in *.sh; do echo "$file"; done >log 2>&1`
    """
    return _shellcheck(target, "warning")


def _shellcheck(target: ScriptText, level: str) -> Iterator[Mistake]:
    for comment in comments(target):
        if comment.level == level and comment.code not in _LEFT_OUT:
            yield Mistake(
                target.path,
                comment.line,
                comment.column,
                f"ShellCheck SC{comment.code}: {comment.message}",
                f"See SC{comment.code} in ShellCheck's wiki.",
            )
