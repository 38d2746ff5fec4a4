"""Script content.

bash accepts the script, ShellCheck finds nothing, every argument reaches the program, and a failure
stops the script.

Which of two speaks: ShellCheck about bash in general, a rule of this module where it knows more,
never both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.rule import Edit, Mistake, rewritten, rule, with_lines
from rl_resources.script.bash.script import Command, Option, Script
from rl_resources.script.script_text import ScriptText, settings_of
from rl_resources.script_rules.shellcheck import (
    UNQUOTED,
    Comment,
    comments,
    unclosed_quote,
)
from rl_resources.text import shown

SHEBANG = "#!/usr/bin/env bash"
_BASH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?bash(?:\s|$)")
_SH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:da|a)?sh\s*")
_BACKSLASHES = re.compile(r"(?<=\s)\\+\s*$")
"""At the end of a line, perhaps with spaces behind, also wide ones."""
_DOUBTFUL = re.compile(r"^\s*$|(?:^|\s)#|[;|&]\s*\\?\s*$|\|\s*\w")
"""An empty line, a comment, or the end of a command, so that more arguments are another one's."""
_LIST = re.compile(r"(?<![^\s(])\$(?:[@*]|\{[^\s{}]*\})(?=[\s)]|$)")
_STRICT = re.compile(r"#!.*\s-[a-z]*e")
_HIDDEN = re.compile(
    r"(?:[^\n;|&#]|[<>]&)*(?:\\\n\s*)?(\|\|\s*(?:true|:|echo|printf)(?![\w-])|&(?![&>]))"
)
"""What makes a failure no failure, behind a command and its redirections."""
_ASKS_STATUS = re.compile(r"\$\{?(?:\?|PIPESTATUS)|^\s*wait\b", re.M)


@rule(follows=["syntax", "broken-continuation", "unexpected-command"])
def no_launcher(target: ScriptText) -> Iterator[Mistake]:
    """A script starts a training program.

    Without one, the script does nothing, and nothing in its row is true.

    Bad: `#!/bin/bash ⏎ set -e ⏎ echo start`
    Good: `#!/bin/bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    if target.ours and not target.launches:
        yield Mistake(
            target.path,
            1,
            1,
            "the script starts no program",
            "Add the command that trains, such as `python3 -m verl.trainer.main_ppo …`.",
            ((target.path, 0, 0),),  # any other mistake in the script may be the cause
        )


@rule()
def one_launch(target: ScriptText) -> Iterator[Mistake]:
    """The script of a record starts exactly one training run.

    With two different runs, nobody knows which one the row describes.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 ⏎ python3 -m verl.trainer.main_ppo
        trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=1`
    """
    if not target.ours:
        return
    for launch in target.trainings[1:]:
        first = target.trainings[0]
        if settings_of(launch) != settings_of(first):
            yield target.mistake(
                launch.command.place,
                f"this starts a different training run than line {first.command.place.line}",
                "Keep the one that the row describes, with variables for what may differ.",
            )


@rule()
def syntax(target: ScriptText) -> Iterator[Mistake]:
    """bash can parse the script.

    bash stops where it cannot parse the script; the lines below never run.

    Bad: `echo "start`
    Good: `echo "start"`
    """
    # The other problems follow from the first.
    for place, problem in target.script.problems[:1]:
        quote = unclosed_quote(target)
        if quote:
            yield Mistake(
                target.path,
                quote.line,
                quote.column,
                "bash cannot read the script: this quote is never closed",
                f"Close it in line {quote.line}, then check the script with `bash -n`.",
            )
            continue
        yield target.mistake(
            place,
            f"bash cannot read the script: {problem}",
            "Fix it, then check the script with `bash -n`.",
        )


@rule()
def broken_continuation(target: ScriptText) -> Iterator[Mistake]:
    r"""Every argument of the training program reaches it.

    Arguments after a broken continuation run as a separate command, and the run uses the
    framework's defaults instead.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 ⏎ trainer.total_epochs=1`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 \ ⏎ trainer.total_epochs=1`
    """
    for item in target.broken_continuations:
        first = shown(item.command.words[0].raw, 80)
        line = target.script.lines[item.cause_line - 1]
        fix = "End each line but the last with ` \\`, with no comment, empty line or pipe between."
        if not _DOUBTFUL.search(line):
            fix = f"Write: {shown(_continued(line).strip(), 600)}"
        yield Mistake(
            target.path,
            item.cause_line,
            len(line.rstrip()) + 1,
            f"the command ends here: `{first}` below does not reach the program",
            fix,
        )


def fix_broken_continuation(target: ScriptText) -> Iterator[Edit]:
    """Remove the spaces after a backslash; add a backslash that is missing."""
    if target.script.problems:
        return
    lines: dict[int, str | None] = {}
    for item in target.broken_continuations:
        line = target.script.lines[item.cause_line - 1]
        if not _DOUBTFUL.search(line):
            lines[item.cause_line] = _continued(line)
    yield rewritten(target.path, with_lines(target.text, lines))


def _continued(line: str) -> str:
    """A line that continues on the next one."""
    return _BACKSLASHES.sub("", line).rstrip() + " \\"


@rule("warning", style=True)
def shebang(target: ScriptText) -> Iterator[Mistake]:
    """The first line of a script is `#!/usr/bin/env bash` or another shebang for bash.

    Without it, the system or the user who starts the script chooses the shell.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/usr/bin/env bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    first = target.script.lines[0].removeprefix("\ufeff")
    if _BASH.match(first):
        return
    message = f"`{shown(first.strip())}` does not start bash"
    fix = f"Write `{SHEBANG}`."
    if not first.startswith("#!"):
        message = "the first line is not a shebang"
        fix = f"Begin the file with the line `{SHEBANG}`."
    yield Mistake(target.path, 1, 1, message, fix)


def fix_shebang(target: ScriptText) -> Iterator[Edit]:
    """Make the first line a shebang for bash; one below empty lines moves up."""
    first, _, below = target.text.lstrip("\n").partition("\n")
    if _BASH.match(first):
        yield rewritten(target.path, f"{first}\n{below}")
    elif _SH.fullmatch(first):
        yield rewritten(target.path, f"{SHEBANG}\n{below}")
    elif not first.startswith(("#!", "```", "import ", "from ")):
        yield rewritten(target.path, f"{SHEBANG}\n{target.text}")


@rule("warning", style=True)
def strict_mode(target: ScriptText) -> Iterator[Mistake]:
    """A script stops at its first error: `set -e`, or better `set -euo pipefail`.

    Otherwise the run continues after a failed preparation, with whatever was there before.

    Bad: `#!/bin/bash ⏎ set -x ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/bin/bash ⏎ set -euo pipefail ⏎ python3 -m verl.trainer.main_ppo`
    """
    if _STRICT.match(target.script.lines[0]):
        return
    options = _options(target.script, "errexit")
    if options and options[-1].on:
        return
    if options and _ASKS_STATUS.search(target.text):
        return
    yield Mistake(
        target.path,
        _line_without_errexit(target.script),
        1,
        "from here on, the script continues after errors: `-e` is not set",
        "Write `set -euo pipefail` before the first command, and no `set +e`.",
    )


def _line_without_errexit(script: Script) -> int:
    """Where `-e` is turned off, or should be set: at the first option, otherwise command."""
    options = _options(script, "errexit")[-1:] or script.options or script.commands
    return min((item.place.line for item in options), default=1)


def _options(script: Script, name: str) -> list[Option]:
    """Each place that turns an option of bash on or off."""
    return [option for option in script.options if option.name == name]


@rule("warning", style=True)
def unquoted_arguments(target: ScriptText) -> Iterator[Mistake]:
    """Argument lists and arrays are quoted: `"$@"`.

    Without quotes, bash splits arguments at spaces and expands `*`, `?` and `[…]` as file names.
    Overrides contain all of these.

    Bad: `python3 -m verl.trainer.main_ppo $@`
    Good: `python3 -m verl.trainer.main_ppo "$@"`
    """
    for comment in _unquoted(target):
        yield Mistake(
            target.path,
            comment.line,
            comment.column,
            "a list of arguments without quotes is split and globbed",
            'Write it in double quotes, such as `"$@"`.',
        )


def _unquoted(target: ScriptText) -> list[Comment]:
    return [comment for comment in comments(target) if comment.code in UNQUOTED]


def fix_unquoted_arguments(target: ScriptText) -> Iterator[Edit]:
    """Quote lists of arguments that are whole words."""
    lines = target.text.split("\n")
    # From the last on, so that the columns of those before stay.
    for comment in reversed(_unquoted(target)):
        line = lines[comment.line - 1]
        found = _LIST.match(line, comment.column - 1)
        if found:
            every = re.sub(r"\A(\$\{?\w*\[?)\*", r"\1@", found[0])
            before = line[: found.start()]
            after = line[found.end() :]
            lines[comment.line - 1] = f'{before}"{every}"{after}'
    yield rewritten(target.path, "\n".join(lines))


@rule("warning", style=True)
def masked_exit_status(target: ScriptText) -> Iterator[Mistake]:
    """If the run fails, the script fails.

    Schedulers, other scripts and readers take a masked failure for a success.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo | tee log`
    Good: `set -eo pipefail ⏎ python3 -m verl.trainer.main_ppo | tee log`
    """
    for launch in target.trainings:
        command = launch.command
        hidden = _HIDDEN.match(target.text, command.end.offset)
        message = ""
        if _loses_status_in_pipe(target.script, command):
            message = "the run's exit status is lost in a pipe: that of the last command counts"
            fix = "Write `set -o pipefail` before it."
        elif hidden:
            message = f"the run's failure is hidden by `{hidden[1]}`"
            fix = "Remove it."
            if hidden[1] == "&":
                fix += " To run in the background, start the script itself with `bash SCRIPT &`."
        if message and not _ASKS_STATUS.search(target.text):
            yield target.mistake(command.end, message, fix)


def _loses_status_in_pipe(script: Script, command: Command) -> bool:
    """Whether a command is piped and `pipefail` is off where it starts."""
    pipefail = False
    for option in _options(script, "pipefail"):
        if option.place < command.place:
            pipefail = option.on
    return command.piped and not pipefail
