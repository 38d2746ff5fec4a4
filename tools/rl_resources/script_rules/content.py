"""Script content.

bash accepts the script, ShellCheck finds nothing, every argument arrives, and a failure ends it.

Which of two speaks: ShellCheck about bash in general, a rule of this module where it knows more,
never both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rl_resources.rule import Edit, Mistake, rewritten, rule, with_lines
from rl_resources.script.bash.parser import parse
from rl_resources.script.bash.script import Source
from rl_resources.script.script_text import ScriptText, settings_of
from rl_resources.script_rules.safety import COMMANDS
from rl_resources.script_rules.shellcheck import UNQUOTED, comments
from rl_resources.text import shown

_PREPARING = COMMANDS | {"cat", "cd", "chmod", "cp", "declare", "export", "ls", "mv", "pip", "rm"}
SHEBANG = "#!/usr/bin/env bash"
_BASH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?bash(?:\s|$)")
_SH = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:da|a)?sh\s*")
_WITHOUT_M = re.compile(
    r"^[^#\n]*\b(?:python3?|torchrun)(?:\s+-[^m\s]\S*)*\s+"
    r"((?:verl|recipe)\.\w[\w.]*)(?<!\.py)\s",
    re.M,
)
"""A module of the framework started as a file. In our scripts it is an unexpected command."""
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


@rule()
def no_launcher(target: ScriptText) -> Iterator[Mistake]:
    """A script starts a training program.

    A reader who runs a script without one gets nothing, and nothing of its row is true.

    Bad: `#!/bin/bash ⏎ set -e ⏎ echo start`
    Good: `#!/bin/bash ⏎ set -e ⏎ python3 -m verl.trainer.main_ppo`
    """
    script = target.script
    if not target.ours and (found := _WITHOUT_M.search(target.text)):
        message = f"`{found[1]}` is a module, which Python does not start without `-m`"
        place = Source(target.text).place(found.start(1))
        yield target.mistake(place, message, f"Write `-m {found[1]}`.")
    if target.launches or target.lost or script.problems or not script.complete:
        return
    if re.search(r"(?:\$\(|`)\s*(?:python|torchrun)", target.text):
        return  # one within another command is not followed
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
        return  # the line ends are the mistake
    for place, problem in target.script.problems[:1]:  # the others follow from the first
        message = f"bash cannot read the script: {problem}"
        fix = "Fix it here, then see that `bash -n` is silent about the script."
        yield _unclosed_quote(target) or target.mistake(place, message, fix)


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
        first, line = item.command.words[0].raw, target.script.lines[item.cause_line - 1]
        message = f"the command ends here: `{shown(first, 80)}` below does not reach the program"
        fix = "End each line but the last with ` \\`, with no comment, empty line or pipe between."
        if not _DOUBTFUL.search(line):
            fix = f"Write: {shown(_continued(line).strip(), 600)}"
        yield Mistake(target.path, item.cause_line, len(line.rstrip()) + 1, message, fix)


def fix_broken_continuation(target: ScriptText) -> Iterator[Edit]:
    """Remove the spaces behind a backslash; add a backslash that is missing."""
    lines: dict[int, str | None] = {}
    for item in target.lost if not target.script.problems else ():
        line = target.script.lines[item.cause_line - 1]
        if not _DOUBTFUL.search(line):
            lines[item.cause_line] = _continued(line)
    yield rewritten(target.path, with_lines(target.text, lines))


def _continued(line: str) -> str:
    """A line that goes on in the next one."""
    return f"{_BACKSLASHES.sub('', line).rstrip()} \\"


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


def fix_shebang(target: ScriptText) -> Iterator[Edit]:
    """bash as the first line says it; a shebang below blank lines moves up."""
    first, _, below = target.text.lstrip("\n").partition("\n")
    if _BASH.match(first) or _SH.fullmatch(first):
        shebang = first if _BASH.match(first) else SHEBANG
        yield rewritten(target.path, f"{shebang}\n{below}")
    elif not first.startswith(("#!", "```", "import ", "from ")):
        yield rewritten(target.path, f"{SHEBANG}\n{target.text}")


@rule("warning")
def strict_mode(target: ScriptText) -> Iterator[Mistake]:
    """A script stops at its first error: `set -e`, best as `set -euo pipefail`.

    Without it a failed preparation is followed by a run on what was there before.

    Bad: `#!/bin/bash ⏎ set -x ⏎ python3 -m verl.trainer.main_ppo`
    Good: `#!/bin/bash ⏎ set -euo pipefail ⏎ python3 -m verl.trainer.main_ppo`
    """
    script, options = target.script, target.script.options
    last = [item.on for item in options if item.name == "errexit"][-1:]
    asked = last and _ASKS_STATUS.search(target.text)
    if last == [True] or asked or _STRICT.match(script.lines[0]):
        return
    # where `-e` is turned off or other options are set, or else the first command is
    lines = [item.place.line for item in options if item.on == (not last)]
    lines = lines or [item.place.line for item in script.commands]
    message = "the script goes on after an error from here on: it does not set `-e`"
    fix = "Write `set -euo pipefail` before the first command, and no `set +e`."
    yield Mistake(target.path, min(lines, default=1), 1, message, fix)


@rule("warning")
def unquoted_arguments(target: ScriptText) -> Iterator[Mistake]:
    """Arguments and arrays are passed on in quotes: `"$@"`.

    Without quotes bash splits each argument at spaces and matches its `*`, `?` and `[…]`
    against file names; overrides have all of these.

    Bad: `python3 -m verl.trainer.main_ppo $@`
    Good: `python3 -m verl.trainer.main_ppo "$@"`
    """
    for comment in comments(target):
        if comment.code in UNQUOTED:
            message = "a list of arguments without quotes is split and globbed"
            fix = 'Write it in double quotes, such as `"$@"`.'
            yield Mistake(target.path, comment.line, comment.column, message, fix)


def fix_unquoted_arguments(target: ScriptText) -> Iterator[Edit]:
    """Where the list is a whole word."""
    lines = target.text.split("\n")
    for comment in reversed([*comments(target)]):
        line, at = lines[comment.line - 1], comment.column - 1
        if comment.code in UNQUOTED and (found := _LIST.match(line, at)):
            each = re.sub(r"\A(\$\{?\w*\[?)\*", r"\1@", found[0])
            lines[comment.line - 1] = f'{line[:at]}"{each}"{line[found.end() :]}'
    yield rewritten(target.path, "\n".join(lines))


@rule("warning")
def masked_exit_status(target: ScriptText) -> Iterator[Mistake]:
    """A run that fails makes its script fail.

    A scheduler, a chain of scripts or a reader takes a masked failure for success.

    Bad: `set -e ⏎ python3 -m verl.trainer.main_ppo | tee log`
    Good: `set -eo pipefail ⏎ python3 -m verl.trainer.main_ppo | tee log`
    """
    asked = _ASKS_STATUS.search(target.text)
    pipefail = [item for item in target.script.options if item.name == "pipefail"]
    for launch in target.trainings:
        command = launch.command
        before = (item for item in pipefail if item.place < command.place)
        kept = [item.on for item in before][-1:] == [True]
        if command.piped and not (asked or kept):
            message = "the run's exit status is lost in a pipe: that of the last command counts"
            yield target.mistake(command.end, message, "Write `set -o pipefail` before it.")
        elif not asked and (hidden := _HIDDEN.match(target.text, command.end.offset)):
            message = f"the run's failure is hidden by `{hidden[1]}`"
            yield target.mistake(command.end, message, "Delete it and what belongs to it.")
