"""Commands that were meant to be arguments of the one before, which ended too early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rl_resources.script.bash import Command, Script
from rl_resources.script.launch.arguments import Arguments, takes_value
from rl_resources.script.launch.launch import Launch
from rl_resources.script.launch.override import Override, parse_override

Cause = Literal["comment", "blank-line", "space-after-backslash", "no-backslash"]


class Lost(NamedTuple):
    """A command that is the rest of an earlier one: it begins with an override or Hydra's option.

    `cause` says what ended the earlier command and `cause_line` where.
    """

    command: Command
    overrides: tuple[Override, ...]
    cause: Cause
    cause_line: int


def lost(script: Script) -> tuple[Lost, ...]:
    """The commands that were meant to be arguments of the command before."""
    return tuple(
        found
        for command in script.commands
        if command.words and (found := _lost(script, command)) is not None
    )


def _lost(script: Script, command: Command) -> Lost | None:
    first = parse_override(script, command.words[0])
    option = takes_value((command.words[0].text or "").partition("=")[0])
    if not option and (first is None or not ("." in first.key or first.prefix)):
        return None
    found = (parse_override(script, word) for word in command.words)
    overrides = tuple(override for override in found if override is not None)
    cause, line = _cause(script.lines, command.place.line)
    return Lost(command, overrides, cause, line)


def _cause(lines: Sequence[str], line: int) -> tuple[Cause, int]:
    """What ended the command before the one on `line`."""
    above = line - 1
    text = lines[above - 1] if above else ""
    if not text.strip():
        return "blank-line", max(above, 1)
    if text.lstrip().startswith("#"):
        return "comment", above
    if text.rstrip().endswith("\\"):
        return "space-after-backslash", above
    return "no-backslash", above


def joined(script: Script, found: Sequence[Launch], lost: Sequence[Lost]) -> tuple[Launch, ...]:
    """Each launch with the lost lines that follow it, no other command between them."""
    rests = _rests(script, found, lost)
    return tuple(_with_rest(script, launch, rests.get(id(launch.command), [])) for launch in found)


def _rests(
    script: Script, found: Sequence[Launch], lost: Sequence[Lost]
) -> dict[int, list[Command]]:
    """The lost commands by the identity of the command that they belong to."""
    starts = {id(launch.command) for launch in found}
    parts = {id(item.command) for item in lost}
    rests: dict[int, list[Command]] = {}
    for command in script.commands if lost else ():
        if id(command) in starts:
            current = rests.setdefault(id(command), [])
        elif id(command) in parts and rests:
            current.append(command)
        elif command.words and not command.in_substitution:
            current = []
    return rests


def _with_rest(script: Script, launch: Launch, rest: Sequence[Command]) -> Launch:
    for command in rest:
        launch = _extended(script, launch, command)
    return launch


def _extended(script: Script, launch: Launch, command: Command) -> Launch:
    """The launch with the words of `command` as more arguments.

    An escaped space that ended the launch's own line is then no argument.
    """
    more = Arguments(script, command.words)
    stray = (item for item in launch.stray if (item.value.text or "x").strip())
    return launch._replace(
        overrides=(*launch.overrides, *more.overrides),
        flags=(*launch.flags, *more.flags),
        stray=(*stray, *more.stray),
        unresolved=(*launch.unresolved, *more.unresolved),
        passes_arguments=launch.passes_arguments or more.passes_arguments,
        rest=(*launch.rest, command),
    )
