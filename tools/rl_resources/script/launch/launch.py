"""The starts of programs that take overrides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rl_resources.script.bash import Command, Script, Word, reread
from rl_resources.script.launch.arguments import Arguments, Flag, Stray
from rl_resources.script.launch.override import Override
from rl_resources.script.launch.program import PACKAGES, started

DEEPEST = 3
_TRAINER = re.compile(r"main|main_\w+|\w+_main|\w+_trainer|trainer")


class Launch(NamedTuple):
    """One start of a program that takes overrides.

    `module` is dotted also where the script names a file, then `program` is its path. `unresolved`
    are arguments of which not even the key is known; where they are the script's own, it
    `passes_arguments`. `rest` are commands that were meant as more arguments, where those are
    counted in.
    """

    module: str
    program: str
    overrides: tuple[Override, ...]
    hydra: tuple[Override, ...]
    flags: tuple[Flag, ...]
    stray: tuple[Stray, ...]
    unresolved: tuple[Word, ...]
    passes_arguments: bool
    command: Command
    rest: tuple[Command, ...] = ()

    @property
    def line(self) -> int:
        """The line on which the command begins."""
        return self.command.place.line

    @property
    def column(self) -> int:
        """The column at which the command begins."""
        return self.command.place.column

    @property
    def config_name(self) -> str | None:
        """The value of `--config-name`, where it is given and known."""
        return self._flag("config-name")

    @property
    def config_path(self) -> str | None:
        """The value of `--config-path`, where it is given and known."""
        return self._flag("config-path")

    @property
    def multirun(self) -> bool:
        """Whether Hydra is to sweep."""
        return any(flag.name == "multirun" for flag in self.flags)

    def _flag(self, name: str) -> str | None:
        values = [flag.value for flag in self.flags if flag.name == name]
        return values[-1].text if values and values[-1] is not None else None


def launches(script: Script) -> tuple[Launch, ...]:
    """The programs with overrides that the script starts, or may start, in order."""
    return tuple(
        launch
        for command in script.commands
        if command.reach != "never"
        for launch in _command_launches(script, command, DEEPEST)
    )


def _command_launches(script: Script, command: Command, depth: int) -> Iterator[Launch]:
    launch = _launch(script, command)
    if launch is not None:
        yield launch
    index = _quoted_command(command) if depth else None
    if index is None:
        return
    commands = command.inner
    if command.name != "eval":
        commands = reread(script, command.words[index].value, command.environment).commands
    for nested in commands:
        for launch in _command_launches(script, nested, depth - 1):
            yield launch._replace(command=command)


def _quoted_command(command: Command) -> int | None:
    """The index of the word with the text that `eval` or a shell's `-c` is to run."""
    if command.name == "eval" and len(command.words) > 1:
        return 1
    for index, word in enumerate(command.words[:-2]):
        shell = (word.text or "").rpartition("/")[2]
        options = command.words[index + 1].text or ""
        if shell in ("bash", "sh", "zsh") and re.fullmatch(r"-[a-z]*c", options):
            return index + 2
    return None


def _launch(script: Script, command: Command) -> Launch | None:
    program = started(command.words)
    if program is None:
        return None
    arguments = Arguments(script, program.arguments)
    if not _takes_overrides(program.module, arguments):
        return None
    return Launch(
        module=program.module,
        program=program.name,
        overrides=tuple(arguments.overrides),
        hydra=tuple(arguments.hydra),
        flags=tuple(arguments.flags),
        stray=tuple(arguments.stray),
        unresolved=tuple(arguments.unresolved),
        passes_arguments=arguments.passes_arguments,
        command=command,
    )


def _takes_overrides(module: str, arguments: Arguments) -> bool:
    package, _, name = module.rpartition(".")
    is_trainer = bool(_TRAINER.fullmatch(name)) and package.split(".")[0] in PACKAGES
    dotted = sum("." in item.key for item in (*arguments.overrides, *arguments.hydra))
    return is_trainer or dotted > 1
