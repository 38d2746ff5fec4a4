"""Fixers of a script as a bash program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.fixers.dataset import with_lines
from rl_resources.check.rule import Rewrite
from rl_resources.check.script.content import shebang_below, unquoted
from rl_resources.check.target import ScriptText

SHEBANG = "#!/usr/bin/env bash"
STRICT = "set -euo pipefail"
_WITH_DEFAULT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_ALWAYS_SET = frozenset({*"@*#?$!0", "HOME", "PATH", "PWD"})
_CANNOT_FAIL = frozenset({"set", "export", "echo", "printf", "declare", "readonly", "ulimit", ":"})


def shebang(target: ScriptText) -> Iterator[Rewrite]:
    """bash as the first line says it; a shebang further down moves up."""
    lines = target.text.split("\n")
    below = shebang_below(target)
    if lines[0].startswith("#!"):
        lines[0] = SHEBANG
    else:
        if below and all(not line.strip() for line in lines[: below - 1]):
            lines = lines[below:]
        lines.insert(0, SHEBANG)
    yield Rewrite(target.path, "\n".join(lines))


def strict_mode(target: ScriptText) -> Iterator[Rewrite]:
    """Only where the options change nothing of a run that succeeds."""
    if not (_nothing_is_unset(target) and _nothing_fails_on_purpose(target)):
        return
    number = min((item.place.line for item in target.script.commands), default=0)
    first = min([number, *(item.place.line for item in target.script.assignments)])
    lines = target.text.split("\n")
    if first and not lines[first - 2 : first - 1][0].endswith("\\"):
        new = [STRICT] if lines[first - 1].startswith("set ") else [STRICT, ""]
        yield Rewrite(target.path, "\n".join([*lines[: first - 1], *new, *lines[first - 1 :]]))


def _nothing_is_unset(target: ScriptText) -> bool:
    """Whether `-u` has nothing to complain of, so far as it can be seen."""
    return target.script.complete and all(
        item.defined == "yes" or item.operator in _WITH_DEFAULT or item.name in _ALWAYS_SET
        for item in target.script.references
    )


def _nothing_fails_on_purpose(target: ScriptText) -> bool:
    """Whether every command before the last is one that `-e` and `pipefail` do not stop at."""
    launched = {launch.command.place.offset for launch in target.launches}
    simple = all(
        not command.words or command.name in _CANNOT_FAIL or command.place.offset in launched
        for command in target.script.commands
    )
    piped = any(command.pipeline[1] > 1 for command in target.script.commands)
    return simple and not piped and not target.script.problems and not target.lost


def unquoted_arguments(target: ScriptText) -> Iterator[Rewrite]:
    """Where the list is a whole word."""
    text = target.text
    for place, right in sorted(unquoted(target), reverse=True, key=lambda item: item[0].offset):
        raw = re.compile(r"(?<![^\s(])\$(?:[@*]|\{[^\s{}]*\})(?=[\s)]|$)").match(text, place.offset)
        if raw:
            text = text[: raw.start()] + right + text[raw.end() :]
    yield Rewrite(target.path, text)


def lost_line(target: ScriptText) -> Iterator[Rewrite]:
    """Remove the spaces after a backslash; add a backslash that is missing."""
    lines: dict[int, str | None] = {}
    for item in target.lost:
        line = target.script.lines[item.cause_line - 1]
        if item.cause == "space-after-backslash":
            lines[item.cause_line] = line.rstrip()
        elif item.cause == "no-backslash" and "#" not in line:
            lines[item.cause_line] = f"{line.rstrip()} \\"
    yield Rewrite(target.path, with_lines(target.text, lines))
