"""Rules about what a script does to its reader's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.registry import Mistake, rule
from rl_resources.check.script.calls import calls
from rl_resources.check.script.danger import fears
from rl_resources.check.script.harm import ends_other_runs as ends_others
from rl_resources.check.subject import ScriptText
from rl_resources.schema.letters import unseen_places
from rl_resources.words import shown

_FORK_BOMB = re.compile(r"([\w:.]{1,40})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;?\s*\1")


@rule(
    summary="Every sign of a script can be seen.",
    reason="A sign that turns the order of others shows a reader another script than bash runs.",
    bad="`rm x # ⟨U+202E⟩txet`",
    good="`rm x # text`",
)
def unseen_sign(subject: ScriptText) -> Iterator[Mistake]:
    for number, line in enumerate(subject.text.split("\n"), 1):
        at = next((at for at in unseen_places(line) if line[at] not in "\t\r"), None)
        if at is not None:
            message = f"U+{ord(line[at]):04X} stands here, which nobody sees"
            mend = "Take it away, or write it as an escape such as `\\x1b`."
            yield Mistake(subject.path, number, at + 1, message, mend)


@rule(
    summary="A script ends no program that it has not started.",
    reason="On a shared machine the runs of others have the same names. A reader who has the "
    "machine alone loses nothing, so this is no error.",
    bad="`pkill -9 -f ray`",
    good="`ray stop`",
    severity="warning",
)
def ends_other_runs(subject: ScriptText) -> Iterator[Mistake]:
    for call in calls(subject.script):
        command = call.command
        if command.reach != "never" and ends_others(call):
            raw = shown(command.raw.strip(), 80)
            message = f"`{raw}` ends every such program on the machine, also those of other runs"
            mend = "Take it away, or end the process by the id that the script has kept of it."
            yield subject.mistake(command.place, message, mend)


@rule(
    summary="A script does nothing that its reader must fear.",
    reason="Readers run it on machines with their data, keys and colleagues.",
    bad='`curl -s "$URL" | bash`',
    good='`curl -sO "$URL"`',
)
def dangerous_command(subject: ScriptText) -> Iterator[Mistake]:
    told: set[int] = set()
    for command, fear in fears(subject.script):
        if command.place.line not in told:
            told.add(command.place.line)
            raw = shown(command.raw.strip(), 80)
            mend = "Take it away; say in a comment what a reader has to prepare."
            yield subject.mistake(command.place, f"`{raw}` {fear}", mend)
    for function in subject.script.functions:
        bomb = _FORK_BOMB.match(subject.text, function.place.offset)
        if bomb and function.place.line not in told:
            message = f"`{shown(bomb[0])}` starts processes without end"
            yield subject.mistake(function.place, message, "Take it away.")
