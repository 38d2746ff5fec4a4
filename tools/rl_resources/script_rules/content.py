"""Script content.

bash accepts the script, ShellCheck finds nothing, every argument arrives, and a failure ends it.

Which of two speaks: ShellCheck about bash in general, a rule of this module where it knows more,
never both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rl_resources.rule import Mistake, Rewrite, rule, with_lines
from rl_resources.script.bash.parser import parse
from rl_resources.script.bash.script import Command, Option, Place, Reference, Source
from rl_resources.script.launch import Lost
from rl_resources.script.script_text import ScriptText, settings_of
from rl_resources.script_rules.safety import COMMANDS
from rl_resources.script_rules.variables import WITH_DEFAULT, without_comments
from rl_resources.text import shown

_PREPARING = COMMANDS | {"cat", "cd", "chmod", "cp", "declare", "export", "ls", "mv", "pip", "rm"}
SHEBANG = "#!/usr/bin/env bash"
_BASH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?bash(?:\s|$)")
_SH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:da|a)?sh\s*")
_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\\s*$")
"""A backslash at the end of a line but for spaces, also wide ones; two are a character."""
_ENDS = re.compile(r"[;|&]\s*\\?\s*$|\|\s*\w")
"""Where a command ends, so that more arguments would be those of another one."""
_WORD_OF_BACKSLASHES = re.compile(r"(?<=\s)\\+(?:\s+#.*|\s*)$")
STRICT = "set -euo pipefail"
_ALWAYS_SET = frozenset({*"@*#?$!0", "HOME", "PATH", "PWD"})
_CANNOT_FAIL = frozenset({"set", "export", "echo", "printf", "declare", "readonly", "ulimit", ":"})
_MAY_FAIL = re.compile(r"[|`]|\$\((?!\()|(?<!\$)\(\(|\[\[|(?<!\S)!\s")
"""What ends with a status of its own, besides commands."""
_STARTED_INSIDE = re.compile(r"(?:\$\(|`)\s*(?:python|torchrun)")
"""A command in another one, which is not followed."""
_BACKGROUND = re.compile(r"(?:[ \t]*[\d&]*[<>]+&?[ \t]*[^\s;&|#<>]+)*[ \t]*&(?![&>])")
"""Redirections behind a command, and `&`."""
_ASKS_STATUS = re.compile(r"\$\{?(?:\?|PIPESTATUS)")
_IGNORED = re.compile(r"\s*\|\|\s*(true|:|echo|printf)(?![\w-])")


@rule()
def no_launcher(target: ScriptText) -> Iterator[Mistake]:
    """A script starts a training program.

    A reader who runs a script without one gets nothing, and nothing of its row is true.

    Bad: `#!/bin/bash ⏎ set -e ⏎ echo start`
    Good: `#!/bin/bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    script = target.script
    if target.launches or target.lost or script.problems or not script.complete:
        return
    if _STARTED_INSIDE.search(without_comments(target)):
        return
    if all(not command.words or command.name in _PREPARING for command in script.commands):
        message = "the script starts no program"
        fix = "Add the command that trains, such as `python3 -m verl.trainer.main_ppo …`."
        yield Mistake(target.path, 1, 1, message, fix)


@rule()
def one_launch(target: ScriptText) -> Iterator[Mistake]:
    """A script of a record starts one training.

    Of two that differ nobody knows which one the row is about, and nothing compares them with it.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 ⏎ python3 -m verl.trainer.main_ppo
        trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=1`
    """
    for launch in target.trainings[1:] if target.ours else ():
        first = target.trainings[0]
        if settings_of(launch) != settings_of(first):
            message = f"this starts another training than line {first.command.place.line}"
            fix = "Keep the one that the row is about, with a variable for what may differ."
            yield target.mistake(launch.command.place, message, fix)


@rule()
def syntax(target: ScriptText) -> Iterator[Mistake]:
    """A script is one that bash accepts.

    bash stops at the place that it cannot read; the lines below never run.

    Bad: `echo "start`
    Good: `echo "start"`
    """
    if "\r\n" in target.text:
        return  # ShellCheck reports it
    for problem in target.script.problems[:1]:  # the others follow from the first
        message = f"bash cannot read the script: {problem.text}"
        fix = "Fix it here, then see that `bash -n` is silent about the script."
        if problem.text.startswith("array element values"):
            message = "an item of the list is `key = value` with spaces around `=`"
            fix = "Write it as `key=value`."
        yield _unclosed_quote(target) or target.mistake(problem.place, message, fix)


_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?<!\S)#.*""")
_MOST_LINES_TRIED = 20


def _unclosed_quote(target: ScriptText) -> Mistake | None:
    """The quote that was forgotten: few go over a line, and with it closed the script parses.

    bash pairs each quote with the next one and gives up far below.
    """
    lines = target.text.split("\n")
    outside = (_QUOTED.sub(lambda found: "." * len(found[0]), line) for line in lines)
    opened = ((at, found) for at, line in enumerate(outside) if (found := re.search("['\"]", line)))
    for at, quote in islice(opened, _MOST_LINES_TRIED):
        end = len(lines[at].rstrip("\\ "))
        closed = lines[at][:end] + quote[0] + lines[at][end:]
        if not parse("\n".join([*lines[:at], closed, *lines[at + 1 :]])).problems:
            message = "bash cannot read the script: this quote is never closed"
            fix = f"Write: {shown(closed.strip(), 600)}"
            return Mistake(target.path, at + 1, quote.start() + 1, message, fix)
    return None


@rule()
def broken_continuation(target: ScriptText) -> Iterator[Mistake]:
    r"""Every argument of the training program reaches it.

    An argument behind a broken continuation runs as a command of its own: the run goes on with
    the framework's default in its place.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 ⏎ trainer.total_epochs=1`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 \ ⏎ trainer.total_epochs=1`
    """
    for item in target.lost:
        yield _lost_mistake(target, item)


def _lost_mistake(target: ScriptText, item: Lost) -> Mistake:
    first, line = item.command.words[0].raw, target.script.lines[item.cause_line - 1]
    message = f"the command ends here: `{shown(first, 80)}` below does not reach the program"
    if _is_bare(line):
        fix = "Delete the line, or move the comment above the command."
        above = [one for one in target.script.lines[: item.cause_line] if not _is_bare(one)]
        if above and not _BACKSLASH.search(above[-1]):
            fix += f" Write above it: {shown(_continued(above[-1]).strip(), 600)}"
        return Mistake(target.path, item.cause_line, 1, message, fix)
    fix = f"Write: {shown(_continued(line).strip(), 600)}"
    if _BACKSLASH.search(line):
        fix += ", with nothing behind the backslash"
    if _ENDS.search(line) or ("#" in line and not _WORD_OF_BACKSLASHES.search(line)):
        fix = "Put all arguments above the end of the command, each line but the last with ` \\`."
    return Mistake(target.path, item.cause_line, len(line.rstrip()) + 1, message, fix)


def _is_bare(line: str) -> bool:
    """Whether a line is empty or a comment."""
    return not line.strip() or line.lstrip().startswith("#")


def fix_broken_continuation(target: ScriptText) -> Iterator[Rewrite]:
    """Remove the spaces behind a backslash; add a backslash that is missing."""
    lines: dict[int, str | None] = {}
    for item in target.lost if not target.script.problems else ():
        line = target.script.lines[item.cause_line - 1]
        if line.strip() and ("#" not in line or _BACKSLASH.search(line)) and not _ENDS.search(line):
            lines[item.cause_line] = _continued(line)
    yield Rewrite(target.path, with_lines(target.text, lines))


def _continued(line: str) -> str:
    """A line that goes on in the next one; a comment behind its backslash is gone."""
    bare = _WORD_OF_BACKSLASHES.sub("", line).rstrip()
    return bare if _BACKSLASH.search(bare) else f"{bare} \\"


@rule("warning")
def shebang(target: ScriptText) -> Iterator[Mistake]:
    """A script's first line is `#!/usr/bin/env bash` or another that starts bash.

    Without it the system, or the user who starts the script, chooses the shell.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/usr/bin/env bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    first = target.script.lines[0].removeprefix("\ufeff")
    if not first.startswith("#!"):
        fix = f"Begin the file with the line `{SHEBANG}`."
        yield Mistake(target.path, 1, 1, "the first line is not a shebang", fix)
    elif not _BASH.match(first):
        message = f"`{shown(first.strip())}` starts another program than bash"
        yield Mistake(target.path, 1, 1, message, f"Write `{SHEBANG}`.")


def fix_shebang(target: ScriptText) -> Iterator[Rewrite]:
    """bash as the first line says it; a shebang below blank lines moves up."""
    lines = target.text.split("\n")
    at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    first, below = lines[at], lines[at + 1 :]
    if _BASH.match(first):
        yield Rewrite(target.path, "\n".join([first, *below]))
    elif _SH.fullmatch(first):
        yield Rewrite(target.path, "\n".join([SHEBANG, *below]))
    elif target.path.endswith(".sh") and not first.startswith(("#!", "```", "import ", "from ")):
        yield Rewrite(target.path, f"{SHEBANG}\n{target.text}")


@rule("warning")
def strict_mode(target: ScriptText) -> Iterator[Mistake]:
    """A script stops at its first error: `set -e`, best as `set -euo pipefail`.

    Without it a failed preparation is followed by a run on what was there before.

    Bad: `#!/bin/bash ⏎ set -x ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/bin/bash ⏎ set -euo pipefail ⏎ python3 -m verl.trainer.main_ppo`
    """
    script = target.script
    switches = _error_switches(target)
    if switches and not switches[-1].on:
        place = switches[-1].place
        if not _ASKS_STATUS.search(target.text, place.offset):
            message = "the script goes on after an error from here on"
            fix = "Delete it; where a command may fail, write `if COMMAND; then …`."
            yield target.mistake(place, message, fix)
        return
    if switches or re.match(r"#!.*\s-[a-z]*e", script.lines[0]):
        return
    # where other options are set, or else the first command is
    places = [option.place for option in script.options if option.on]
    lines = [place.line for place in places] or [item.place.line for item in script.commands]
    message = "the script goes on after an error: it does not set `-e`"
    fix = "Write `set -euo pipefail` before the first command."
    yield Mistake(target.path, min(lines, default=1), 1, message, fix)


def _error_switches(target: ScriptText) -> list[Option]:
    return [option for option in target.script.options if option.name == "errexit"]


def fix_strict_mode(target: ScriptText) -> Iterator[Rewrite]:
    """Only where the options change nothing of a run that succeeds."""
    is_safe = _nothing_is_unset(target) and _nothing_fails_on_purpose(target)
    if _error_switches(target) or not is_safe:
        return
    number = min((item.place.line for item in target.script.commands), default=0)
    first = min([number, *(item.place.line for item in target.script.assignments)])
    lines = target.text.split("\n")
    if first > 1 and not lines[first - 2].endswith("\\"):
        new = [STRICT] if lines[first - 1].startswith("set ") else [STRICT, ""]
        yield Rewrite(target.path, "\n".join([*lines[: first - 1], *new, *lines[first - 1 :]]))


def _nothing_is_unset(target: ScriptText) -> bool:
    """Whether `-u` has nothing to complain of, so far as it can be seen."""
    certain = all(item.reach == "always" for item in target.script.assignments)
    return (target.script.complete and certain) and all(
        item.defined or item.operator in WITH_DEFAULT or item.name in _ALWAYS_SET
        for item in target.script.references
    )


def _nothing_fails_on_purpose(target: ScriptText) -> bool:
    """Whether every command before the last is one that `-e` and `pipefail` do not stop at."""
    launched = {launch.command.place.offset for launch in target.launches}
    simple = all(
        not command.words or command.name in _CANNOT_FAIL or command.place.offset in launched
        for command in target.script.commands
    )
    unfollowed = _MAY_FAIL.search(without_comments(target))
    return simple and not unfollowed and not target.script.problems and not target.lost


@rule("warning")
def unquoted_arguments(target: ScriptText) -> Iterator[Mistake]:
    """Arguments and arrays are passed on in quotes: `"$@"`.

    Without quotes bash splits each argument at spaces and matches its `*`, `?` and `[…]`
    against file names; overrides have all of these.

    Bad: `python3 -m verl.trainer.main_ppo $@`
    Good: `python3 -m verl.trainer.main_ppo "$@"`
    """
    for place, right in unquoted(target):
        message = f"`{shown(right[1:-1])}` without quotes splits and globs every argument"
        yield target.mistake(place, message, f"Write `{shown(right)}`.")


def unquoted(target: ScriptText) -> Iterator[tuple[Place, str]]:
    """Where lists of arguments have no quotes, and what to write there."""
    if target.script.problems:
        return  # what is quoted there is not what its author sees
    texts = {item.name for item in target.script.assignments if item.elements is None}
    for reference in target.script.references:
        if not reference.quoted and _is_list(reference) and reference.name not in texts:
            whole = '"$@"' if reference.name in "@*" else f'"{reference.raw}"'
            yield reference.place, whole.replace("[*]", "[@]")


def _is_list(reference: Reference) -> bool:
    if "#" in reference.raw[:3] or reference.operator in ("+", ":+"):
        return False
    return reference.name in ("@", "*") or re.search(r"\[[@*]\]", reference.raw) is not None


def fix_unquoted_arguments(target: ScriptText) -> Iterator[Rewrite]:
    """Where the list is a whole word."""
    text = target.text
    for place, right in sorted(unquoted(target), reverse=True, key=lambda item: item[0].offset):
        raw = re.compile(r"(?<![^\s(])\$(?:[@*]|\{[^\s{}]*\})(?=[\s)]|$)").match(text, place.offset)
        if raw:
            text = text[: raw.start()] + right + text[raw.end() :]
    yield Rewrite(target.path, text)


@rule("warning")
def masked_exit_status(target: ScriptText) -> Iterator[Mistake]:
    """A run that fails makes its script fail.

    A scheduler, a chain of scripts or a reader takes a masked failure for success.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo | tee log`
    Good: `set -eo pipefail ⏎ python3 -m verl.trainer.main_ppo | tee log`
    """
    waits = any(command.name in ("wait", "fg") for command in target.script.commands)
    for launch in target.launches:
        command, place = launch.command, _operator_after(target, launch.command)
        ends = launch in target.trainings and not waits
        if ends and _BACKGROUND.match(target.text, command.end.offset):
            message = "the run goes on in the background, and its exit status is lost"
            yield target.mistake(command.place, message, "Delete the `&` behind it.")
        ignored = _IGNORED.match(target.text, command.end.offset)
        kept = "PIPESTATUS" in target.text or target.sets("pipefail", command.place)
        if command.piped and not kept:
            message = "the run's exit status is lost in a pipe: that of the last command counts"
            yield target.mistake(place, message, "Write `set -o pipefail` before it.")
        elif ignored and not command.in_condition:
            message = f"the run's failure is hidden by `|| {ignored[1]}`"
            fix = f"Delete `|| {ignored[1]}` and what belongs to it."
            yield target.mistake(place, message, fix)


def _operator_after(target: ScriptText, command: Command) -> Place:
    """The place of the `|` or `||` after a command; of its beginning, if there is none."""
    match = re.compile(r"(?:\s|\\\n)*(?=\|)").match(target.text, command.end.offset)
    return Source(target.text).place(match.end()) if match else command.place
