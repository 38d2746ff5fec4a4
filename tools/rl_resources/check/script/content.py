"""Rules about a script as a bash program: that it parses, starts a run, and fails when that fails.

Which of two speaks: ShellCheck about bash in general, a rule of this package where it knows more,
never both. `_LEFT_OUT` lists what ShellCheck is not asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.shellcheck import Comment, comments
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Command, Place, Reference, read
from rl_resources.script.launch import Launch, Lost, launches
from rl_resources.words import shown

_LEFT_OUT = frozenset(
    # reported by rules of this package: unused, undefined, unquoted arguments, shebang, `rm`
    {2034, 2154, 2153, 2068, 2048, 2148, 1128, 2114, 2115}
    # a matter of taste in a launch script, or wrong for Hydra's lists in words and arrays
    | {1010, 1083, 1090, 1091, 2026, 2027, 2043, 2046, 2054, 2086, 2140, 2155, 2164, 2206, 2207}
)
_NO_LAUNCHERS = frozenset(
    {"", ":", "[", "[[", "alias", "cat", "cd", "chmod", "cp", "date", "declare", "echo", "exit"}
    | {"export", "false", "hostname", "huggingface-cli", "let", "local", "ls", "mkdir", "mv"}
    | {"nvidia-smi", "pip", "pip3", "printf", "pwd", "readonly", "rm", "set", "shift", "shopt"}
    | {"sleep", "tee", "test", "touch", "trap", "true", "ulimit", "umask", "unset", "wait", "wandb"}
)
_BASH_ONLY = re.compile(
    r"^\s*[A-Za-z_]\w*\+?=\(|(?:^|[;&|(\s])\[\[\s|(?:^|[;&\s])set\s+-[a-z]*o\s+pipefail"
    r"|(?:^|[;&\s])set\s+-[a-z]*[eux]+o\s+pipefail|\$\{\w+\[|\$\{\w+//|<<<|&>|<\(|^\s*function\s"
    r"|^\s*\(\(|(?:^|[;&\s])(?:source|declare|shopt)\s",
    re.M,
)
_CAUSES = {
    "comment": ("a comment", "Move the comment above the command."),
    "blank-line": ("an empty line", "Delete the empty line."),
    "space-after-backslash": (
        "a space after the backslash",
        "Delete what follows the backslash at the end of the line.",
    ),
    "no-backslash": ("a line without a backslash", "End that line with ` \\`."),
}
_CONTINUED = frozenset({"no-backslash", "space-after-backslash"})
_IGNORED = re.compile(r"\s*\|\|\s*(true|:|echo|printf)(?![\w-])")


@rule()
def no_launcher(subject: ScriptText) -> Iterator[Mistake]:
    """A script starts a training program.

    A reader who runs a script without one gets nothing, and nothing of its row is true.

    Bad: `#!/bin/bash ⏎ set -e ⏎ echo start`
    Good: `#!/bin/bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    script = subject.script
    if subject.launches or subject.lost or script.problems or not script.complete:
        return
    if all(_starts_nothing(command) for command in script.commands):
        message = "the script starts no program"
        fix = "Add the command that trains, such as `python3 -m verl.trainer.main_ppo …`."
        yield Mistake(subject.path, 1, 1, message, fix)


def _starts_nothing(command: Command) -> bool:
    return not command.words or command.name in _NO_LAUNCHERS


@rule()
def syntax(subject: ScriptText) -> Iterator[Mistake]:
    """A script is one that bash accepts.

    bash stops at the place that it cannot read; what stands below never runs.

    Bad: `echo "start`
    Good: `echo "start"`
    """
    if "\r\n" in subject.text:
        return  # ShellCheck reports it
    for problem in subject.script.problems[:1]:  # the others follow from the first
        if quote := unclosed_quote(subject.text):
            message = "bash cannot read the script: this quote is never closed"
            fix = f"Write: {shown(quote.closed.strip(), 600)}"
            yield Mistake(subject.path, quote.line, quote.column, message, fix)
            continue
        message = f"bash cannot read the script: {problem.kind}"
        fix = "Fix it here, then see that `bash -n` is silent about the script."
        yield subject.mistake(problem.place, message, fix)


@rule()
def shellcheck_error(subject: ScriptText) -> Iterator[Mistake]:
    """ShellCheck finds no error in a script.

    ShellCheck knows the traps of the shell; its errors change what the script does.

    Bad: `if [ 1 -eq 1]; then true; fi`
    Good: `if [ 1 -eq 1 ]; then true; fi`
    """
    yield from _shellcheck(subject, "error")


@rule("warning")
def shellcheck(subject: ScriptText) -> Iterator[Mistake]:
    """ShellCheck warns of nothing in a script.

    ShellCheck knows the traps of the shell; most of its warnings are bugs to be.

    Bad: `for file in $(ls *.sh | grep run) "$@"; do echo '$file'; done 2>&1 >log`
    Good: `for file in *.sh; do echo "$file"; done >log 2>&1`
    """
    yield from _shellcheck(subject, "warning")


def _shellcheck(subject: ScriptText, level: str) -> Iterator[Mistake]:
    seen: set[int] = set()
    places: set[tuple[int, int]] = set()
    for comment in comments(subject.text):
        if comment.level != level or _is_reported_elsewhere(subject, comment, seen):
            continue
        seen.add(comment.code)
        if (comment.code, comment.line) in places:
            continue
        places.add((comment.code, comment.line))
        message = f"ShellCheck SC{comment.code}: {comment.message}"
        fix = f"See the page of SC{comment.code} in ShellCheck's wiki."
        yield Mistake(subject.path, comment.line, comment.column, message, fix)


def _is_reported_elsewhere(subject: ScriptText, comment: Comment, seen: set[int]) -> bool:
    if comment.code in _LEFT_OUT or 1017 in seen:
        return True
    if "\r\n" in subject.text:
        return comment.code != 1017
    if comment.code < 2000 and subject.script.problems:
        return True
    lines = {line for item in subject.lost for line in (item.cause_line, item.command.place.line)}
    return comment.line in lines or (
        comment.code < 2000 and comment.code not in (1018, 1100) and 1073 in seen
    )


@rule()
def lost_line(subject: ScriptText) -> Iterator[Mistake]:
    r"""Every argument of the training program reaches it.

    An argument behind a broken continuation runs as a command of its own: the run goes on with
    the framework's default in its place.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 ⏎ trainer.total_epochs=1`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 \ ⏎ trainer.total_epochs=1`
    """
    seen: set[int] = set()
    for item in subject.lost:
        if item.cause_line not in seen:
            seen.add(item.cause_line)
            yield _lost_mistake(subject, item)


def _lost_mistake(subject: ScriptText, item: Lost) -> Mistake:
    cause, fix = _CAUSES[item.cause]
    first = shown(item.command.words[0].raw, 80)
    count = max(len(item.overrides), 1)
    what = f"`{first}`" + (f" and {count - 1} more" if count > 1 else "")
    verb = "does not" if count == 1 else "do not"
    line = subject.script.lines[item.cause_line - 1]
    message = (
        f"{cause} ends the command: {what} in line {item.command.place.line} {verb} reach the "
        "program"
    )
    if item.cause in _CONTINUED:
        bare = line.rstrip().rstrip("\\").rstrip()
        fix = f"Write: {shown(f'{bare.strip()}', 600)} \\"
    column = len(line.rstrip()) + 1 if item.cause in _CONTINUED else 1
    return Mistake(subject.path, item.cause_line, column, message, fix)


@rule("warning")
def shebang(subject: ScriptText) -> Iterator[Mistake]:
    """A script's first line is `#!/usr/bin/env bash` or another that starts bash.

    Without it the system, or whoever starts the script, chooses the shell.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/usr/bin/env bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    first = subject.script.lines[0].removeprefix("\ufeff")
    fix = "Begin the file with the line `#!/usr/bin/env bash`."
    if not first.startswith("#!"):
        below = shebang_below(subject)
        message = (
            f"the shebang stands in line {below}, where it is a comment"
            if below
            else "the script has no shebang"
        )
        yield Mistake(subject.path, 1, 1, message, fix)
    elif re.fullmatch(r"#!\s*\S*?(?:/|env\s+)(?:da|a)?sh(?:\s.*)?", first.rstrip()):
        used = _BASH_ONLY.search(without_comments(subject))
        if used:
            line = subject.text.count("\n", 0, used.end()) + 1
            message = f"`{shown(first.strip())}` starts sh, but line {line} needs bash"
            yield Mistake(subject.path, 1, 1, message, "Write `#!/usr/bin/env bash`.")


def shebang_below(subject: ScriptText) -> int | None:
    """The line of a shebang that does not stand first."""
    lines = enumerate(subject.script.lines[:10], 1)
    return next((number for number, line in lines if re.match(r"\s*#!\s*/", line)), None)


def without_comments(subject: ScriptText) -> str:
    """The text with spaces in place of every comment."""
    text = subject.text
    for comment in subject.script.comments:
        start = comment.place.offset
        end = start + len(comment.text)
        text = text[:start] + " " * (end - start) + text[end:]
    return text


@rule("warning")
def strict_mode(subject: ScriptText) -> Iterator[Mistake]:
    """A script stops at its first error: `set -e`, best as `set -euo pipefail`.

    Without it a failed preparation is followed by a run on what was there before.

    Bad: `#!/bin/bash ⏎ set -x ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/bin/bash ⏎ set -euo pipefail ⏎ python3 -m verl.trainer.main_ppo`
    """
    script = subject.script
    turned_on = any(option.name == "errexit" and option.on for option in script.options)
    if turned_on or re.match(r"#!.*\s-[a-z]*e", script.lines[0]):
        return
    others = [option for option in script.options if option.on]
    fix = "Write `set -euo pipefail` before the first command."
    if others:
        names = ", ".join(dict.fromkeys(f"`{option.name}`" for option in others))
        message = f"the script goes on after an error: of the options only {names} is set"
        yield Mistake(subject.path, others[0].place.line, 1, message, fix)
    else:
        message = "the script goes on after an error: it does not set `-e`"
        yield Mistake(subject.path, _first_line(subject), 1, message, fix)


def _first_line(subject: ScriptText) -> int:
    """The line of the first command: there the option is missing."""
    return min((command.place.line for command in subject.script.commands), default=1)


@rule("warning")
def unquoted_arguments(subject: ScriptText) -> Iterator[Mistake]:
    """Arguments and arrays are handed on in quotes: `"$@"`.

    Without quotes bash splits each argument at spaces and matches its `*`, `?` and `[…]`
    against file names; overrides hold all of these.

    Bad: `python3 -m verl.trainer.main_ppo $@`
    Good: `python3 -m verl.trainer.main_ppo "$@"`
    """
    for place, right in unquoted(subject):
        raw = shown(right.strip('"'))
        message = f"`{raw}` without quotes splits and globs every argument"
        yield subject.mistake(place, message, f"Write `{shown(right)}`.")


def unquoted(subject: ScriptText) -> Iterator[tuple[Place, str]]:
    """Where lists of arguments stand without quotes, and what to write there."""
    if subject.script.problems:
        return  # what is quoted there is not what its author sees
    for reference in subject.script.references:
        if reference.reach != "never" and not reference.quoted and _is_list(reference):
            whole = '"$@"' if reference.name in "@*" else f'"{reference.raw}"'
            yield reference.place, whole.replace("[*]", "[@]")


def _is_list(reference: Reference) -> bool:
    if reference.bare or reference.operator.startswith("#") or reference.raw.startswith("${#"):
        return False
    if reference.operator in ("+", ":+"):
        return False
    return reference.name in ("@", "*") or re.search(r"\[[@*]\]", reference.raw) is not None


@rule("warning")
def masked_exit_status(subject: ScriptText) -> Iterator[Mistake]:
    """A run that fails makes its script fail.

    A scheduler, a chain of scripts or a reader takes a masked failure for success.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo | tee log`
    Good: `set -eo pipefail ⏎ python3 -m verl.trainer.main_ppo | tee log`
    """
    seen: set[int] = set()
    for launch in subject.launches:
        found = _masked(subject, launch)
        if found is not None and launch.command.place.offset not in seen:
            seen.add(launch.command.place.offset)
            yield subject.mistake(*found)


def _masked(subject: ScriptText, launch: Launch) -> tuple[Place, str, str] | None:
    """Where a failure is lost, what loses it, and the fix."""
    command = launch.rest[-1] if launch.rest else launch.command
    place = _operator_after(subject, command)
    index, count = command.pipeline
    ignored = _IGNORED.match(subject.text, command.end.offset)
    if index < count - 1 and not _has_pipefail(subject, command):
        message = "the run's exit status is lost in a pipe: that of the last command counts"
        return place, message, "Write `set -o pipefail` before it."
    if ignored and command.after == "||" and not command.in_condition:
        message = f"the run's failure is hidden by `|| {ignored[1]}`"
        return place, message, f"Delete `|| {ignored[1]}` and what belongs to it."
    if command.background and not _is_waited_for(subject, command):
        message = "the run is started in the background and nothing waits for it"
        fix = "Delete the `&`, or end the script with `wait` for its process."
        return place, message, fix
    return None


def _operator_after(subject: ScriptText, command: Command) -> Place:
    """Where the `|`, `||` or `&` after a command stands; where it begins, if there is none."""
    match = re.compile(r"(?:\s|\\\n)*(?=[|&])").match(subject.text, command.end.offset)
    return _place_of(subject, match.end()) if match else command.place


def _place_of(subject: ScriptText, offset: int) -> Place:
    begin = subject.text.rfind("\n", 0, offset) + 1
    return Place(offset, subject.text.count("\n", 0, offset) + 1, offset - begin + 1)


def _has_pipefail(subject: ScriptText, command: Command) -> bool:
    if "PIPESTATUS" in subject.text or re.match(r"#!.*pipefail", subject.text):
        return True
    set_before = [
        option.on
        for option in subject.script.options
        if option.name == "pipefail" and option.place.offset < command.place.offset
    ]
    return bool(set_before) and set_before[-1]


def _is_waited_for(subject: ScriptText, command: Command) -> bool:
    return any(
        later.name in ("wait", "fg", "tail") and later.place.offset > command.place.offset
        for later in subject.script.commands
    )


# The quote that was forgotten. bash pairs each quote with the next one and gives up far below. Few
# go over a line, so a line is looked for that leaves a quote open and that, closed, lets the script
# parse.

MOST_LINES_TRIED = 20
_TAIL = re.compile(r"\s*\\?\s*\Z")


class UnclosedQuote(NamedTuple):
    """Where a quote opens that its line does not close, and the line with it closed."""

    line: int
    column: int
    closed: str


def unclosed_quote(text: str) -> UnclosedQuote | None:
    """The quote with which closed the script reads and hands on the most; `None` for none."""
    lines = text.split("\n")
    best: UnclosedQuote | None = None
    most = -1
    for found in _candidates(lines):
        closed = read("\n".join([*lines[: found.line - 1], found.closed, *lines[found.line :]]))
        overrides = sum(len(launch.overrides) for launch in launches(closed))
        if not closed.problems and overrides > most:
            best, most = found, overrides
    return best


def _candidates(lines: list[str]) -> Iterator[UnclosedQuote]:
    """The first lines that leave a quote open, each as if none before it did."""
    tried = 0
    for number, line in enumerate(lines, 1):
        opened = _opened(line)
        if opened is None:
            continue
        tried += 1
        if tried > MOST_LINES_TRIED:
            return
        tail = _TAIL.search(line)
        end = tail.start() if tail else len(line)
        yield UnclosedQuote(number, opened + 1, f"{line[:end]}{line[opened]}{line[end:]}")


def _opened(line: str) -> int | None:
    """Where the quote stands that a line by itself opens and does not close."""
    at, opened = 0, None
    while at < len(line):
        sign = line[at]
        if opened is None and sign == "#" and (at == 0 or line[at - 1].isspace()):
            return None
        if sign == "\\" and (opened is None or line[opened] == '"'):
            at += 1
        elif opened is None and sign in "\"'":
            opened = at
        elif opened is not None and sign == line[opened]:
            opened = None
        at += 1
    return opened
