"""What a script starts: the training program and the Hydra overrides that it gets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rl_resources.script.bash import Command, Script, Word
from rl_resources.script.override import Arguments, Override, parse_override, takes_value

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"python[0-9.]*")
_PACKAGES = ("verl", "recipe")
_TRAINER = re.compile(r"(?:verl|recipe)\.(?:.*\.)?(?:main|main_\w+|\w+_main|\w+_trainer|trainer)")
_WRAPPERS = frozenset(
    {"env", "nohup", "exec", "command", "setsid", "sudo", "time", "nice", "ionice", "numactl"}
    | {"stdbuf", "taskset", "timeout", "unbuffer", "srun", "mpirun", "ray", "uv", "poetry"}
)
_DISTRIBUTORS = frozenset(
    {"torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch"}
    | {"accelerate.commands.launch", "deepspeed.launcher.runner", "debugpy", "coverage"}
)


@dataclass(eq=False)
class Launch(Arguments):
    """One start of a program that takes overrides, in `command`.

    `module` is dotted also where the script names a file. `rest` are the lost lines that were
    meant as more arguments and are counted in.
    """

    module: str = ""
    command: Command = field(kw_only=True)
    rest: list[Command] = field(default_factory=list)

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

    def extend(self, script: Script, command: Command) -> None:
        """Count in a lost line; an escaped space that ended the line before is no argument."""
        self.stray = [item for item in self.stray if (item.value.text or "x").strip()]
        self.add(script, command.words)
        self.rest.append(command)

    def _flag(self, name: str) -> str | None:
        values = [flag.value for flag in self.flags if flag.name == name]
        return values[-1].text if values and values[-1] is not None else None


def launches(script: Script) -> tuple[Launch, ...]:
    """The programs with overrides that the script starts, or may start, with their lost lines."""
    reached = (command for command in script.commands if command.reach != "never")
    found = tuple(launch for command in reached for launch in _launches(script, command))
    parts = {id(item.command) for item in lost(script)}
    current: list[Launch] = []
    for command in script.commands if parts else ():
        if id(command) in parts:
            for launch in current:
                launch.extend(script, command)
        elif command.words and not command.in_substitution:
            current = [launch for launch in found if launch.command is command]
    return found


def _launches(script: Script, command: Command) -> Iterator[Launch]:
    """What a command starts."""
    program = _program(command.words)
    if program is not None:
        launch = Launch(module=program.module, command=command)
        launch.add(script, program.arguments)
        trains = (
            _TRAINER.fullmatch(program.module) and program.module.partition(".")[0] in _PACKAGES
        )
        dotted = sum("." in item.key for item in (*launch.overrides, *launch.hydra))
        if trains or dotted > 1:
            yield launch


class _Program(NamedTuple):
    """A program as it is named, a module or a path, and its arguments."""

    name: str
    arguments: Sequence[Word]

    @property
    def module(self) -> str:
        """Its dotted name, also where a file is named."""
        if not self.name.endswith(".py"):
            return self.name
        parts = re.findall(r"[^/.][^/]*", self.name.removesuffix(".py"))
        known = [index for index, part in enumerate(parts) if part in _PACKAGES]
        return ".".join(parts[known[-1] if known else -1 :])


def _program(words: Sequence[Word]) -> _Program | None:
    """What the words of a command start in the end; `None` where it is no program of Python."""
    names = [(word.text or "").rpartition("/")[2] for word in words]
    for index, name in enumerate(names):
        if words[index].text is None and not index:
            return _of_unnamed_python(words)
        if _PYTHON.fullmatch(name):
            return _of_python(words[index + 1 :])
        if name in _DISTRIBUTORS:
            return _distributed(words[index + 1 :])
        if not index and name not in _WRAPPERS:
            return None
    return None


def _of_python(words: Sequence[Word]) -> _Program | None:
    """What follows Python's own options."""
    rest = iter(range(len(words)))
    for index in rest:
        text = words[index].text
        if text is None:
            return _of_unnamed_python(words[index:])
        if not text.startswith("-"):
            return _named(text, words[index + 1 :])
        if re.fullmatch(r"-[bBdEhiIOPqsSuvx]*m", text):
            name = words[index + 1].text if words[index + 1 :] else None
            return _named(name, words[index + 2 :]) if name else None
        if re.fullmatch(r"-[bBdEhiIOPqsSuvx]*c.*", text) or text == "-":
            return None
        if text in ("-X", "-W"):
            next(rest, None)
    return None


def _of_unnamed_python(words: Sequence[Word]) -> _Program | None:
    """The module of `$PYTHON -m MODULE`, whatever program or options that variable has."""
    texts = [word.text or "-" for word in words]
    at = next((index for index, text in enumerate(texts) if text[:1] != "-"), 0)
    named = at and texts[at - 1] == "-m" and "." in texts[at]
    return _named(texts[at], words[at + 1 :]) if named else None


def _named(name: str, arguments: Sequence[Word]) -> _Program | None:
    if name in _DISTRIBUTORS:
        return _distributed(arguments)
    known = name.endswith(".py") or _MODULE.fullmatch(name)
    return _Program(name, arguments) if known else None


def _distributed(words: Sequence[Word]) -> _Program | None:
    """What follows the options of a launcher of many processes: `-m` and a module, or a file."""
    for index, word in enumerate(words):
        text = word.text or ""
        if text in ("-m", "--module") and words[index + 1 :]:
            name = words[index + 1].text
            return _Program(name, words[index + 2 :]) if name else None
        if text.endswith(".py"):
            return _Program(text, words[index + 1 :])
    return None


Cause = Literal["comment", "empty-line", "space-after-backslash", "no-backslash"]


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
        _lost(script, command)
        for command in script.commands
        if command.words and _is_lost(script, command.words[0])
    )


def _is_lost(script: Script, word: Word) -> bool:
    override = parse_override(script, word)
    option = takes_value((word.text or "").partition("=")[0])
    return option or (override is not None and bool("." in override.key or override.prefix))


def _lost(script: Script, command: Command) -> Lost:
    found = (parse_override(script, word) for word in command.words)
    overrides = tuple(override for override in found if override is not None)
    above = command.place.line - 1
    text = script.lines[above - 1] if above else ""
    cause: Cause = "no-backslash"
    if not text.strip():
        cause = "empty-line"
    elif text.lstrip().startswith("#"):
        cause = "comment"
    elif text.rstrip().endswith("\\"):
        cause = "space-after-backslash"
    return Lost(command, overrides, cause, max(above, 1))
