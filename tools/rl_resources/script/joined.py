"""A launch that lost lines, as it was meant: with the arguments of the lines it lost."""

from __future__ import annotations

from collections.abc import Sequence

from rl_resources.script.launch import Launch, Lost, extended
from rl_resources.script.shell import Command, Script


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
        launch = extended(script, launch, command)
    return launch
