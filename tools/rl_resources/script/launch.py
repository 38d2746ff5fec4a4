"""What a script starts: the training program and the Hydra overrides that it hands to it.

The form of an override is that of Hydra's grammar, hydra/grammar/OverrideParser.g4 (1.3): a prefix
`+`, `++` or `~`, a key or config group, and the value after the first `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rl_resources.script.shell import Command, Place, Script, Value, Word, reread

DEEPEST = 3
_PART = r"(?:[A-Za-z_$][A-Za-z0-9_$-]*|[0-9]+)"
_KEY = re.compile(
    rf"(?P<prefix>\+\+|\+|~|)(?P<key>{_PART}(?:[./]{_PART})*(?:@[A-Za-z0-9_.$-]*)?)(?P<sign>=|$)"
)
_WORD = re.compile(r"(?:[^\s\\'\"()]|\\.|'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")+")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"python[0-9.]*")
_TRAINER = re.compile(r"main|main_\w+|\w+_main|\w+_trainer|trainer")
_PACKAGES = ("verl", "recipe")
_WRAPPERS = frozenset(
    {"env", "nohup", "exec", "command", "setsid", "sudo", "time", "nice", "ionice", "numactl"}
    | {"stdbuf", "taskset", "timeout", "unbuffer", "srun", "mpirun", "ray", "uv", "poetry"}
)
_DISTRIBUTORS = frozenset({"torchrun", "accelerate", "deepspeed"})
_DISTRIBUTOR_MODULES = frozenset(
    {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
    | {"deepspeed.launcher.runner", "debugpy", "coverage", "viztracer"}
)
_HYDRA_VALUES: Mapping[str, str] = {
    "--config-path": "config-path",
    "-cp": "config-path",
    "--config-name": "config-name",
    "-cn": "config-name",
    "--config-dir": "config-dir",
    "-cd": "config-dir",
    "--package": "package",
    "-p": "package",
    "--cfg": "cfg",
    "-c": "cfg",
    "--experimental-rerun": "experimental-rerun",
}
_HYDRA_SWITCHES: Mapping[str, str] = {
    "--multirun": "multirun",
    "-m": "multirun",
    "--run": "run",
    "-r": "run",
    "--help": "help",
    "-h": "help",
    "--hydra-help": "hydra-help",
    "--version": "version",
    "--resolve": "resolve",
    "--info": "info",
    "-i": "info",
}

Cause = Literal["comment", "blank-line", "space-after-backslash", "no-backslash"]


@dataclass(frozen=True)
class Override:
    """One `key=value` of the command line.

    `raw` is the word as the script has it where it is written, `place`; `content` is what stands
    after the `=`, or `None` where a `~key` has none.
    """

    prefix: str
    key: str
    content: Value | None
    raw: str
    place: Place
    value_place: Place

    @property
    def value(self) -> str | None:
        """The text that the program gets; `None` where it cannot be known or there is none."""
        return None if self.content is None else self.content.text

    @property
    def line(self) -> int:
        """The line of the key."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column of the key, or of the prefix before it."""
        return self.place.column

    @property
    def origin(self) -> Place:
        """Where the value's text is defined: in another line for `key=${NAME}`."""
        return (self.content.origin if self.content else None) or self.value_place


@dataclass(frozen=True)
class Flag:
    """An option of Hydra itself; `value` is `None` for a switch."""

    name: str
    value: Value | None
    place: Place


@dataclass(frozen=True)
class Stray:
    """An argument that is no override: a word cut off by a blank, or left by a lost quote."""

    value: Value
    raw: str
    place: Place


@dataclass(frozen=True)
class Submission:
    """The options of `ray job submit`; a switch has an empty value."""

    options: Mapping[str, Value]
    place: Place


@dataclass(frozen=True)
class Launch:
    """One start of a program that takes overrides.

    `module` is dotted also where the script names a file, then `program` is its path. `unresolved`
    are arguments of which not even the key is known. `exports` is what the script and the command
    add to the environment. `rest` are commands that were meant as more arguments, where those are
    counted in.
    """

    module: str
    program: str
    launcher: tuple[str, ...]
    overrides: tuple[Override, ...]
    hydra: tuple[Override, ...]
    flags: tuple[Flag, ...]
    stray: tuple[Stray, ...]
    unresolved: tuple[Word, ...]
    passes_arguments: bool
    exports: Mapping[str, Value]
    submission: Submission | None
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
    def conditional(self) -> bool:
        """Whether it cannot be known that it runs."""
        return self.command.conditional

    @property
    def config_name(self) -> str | None:
        """The value of `--config-name`, where it is given and known."""
        return self._flag("config-name")

    @property
    def config_path(self) -> str | None:
        """The value of `--config-path`, where it is given and known."""
        return self._flag("config-path")

    @property
    def config_dir(self) -> str | None:
        """The value of `--config-dir`, where it is given and known."""
        return self._flag("config-dir")

    @property
    def multirun(self) -> bool:
        """Whether Hydra is told to sweep."""
        return any(flag.name == "multirun" for flag in self.flags)

    def _flag(self, name: str) -> str | None:
        values = [flag.value for flag in self.flags if flag.name == name]
        return values[-1].text if values and values[-1] is not None else None


@dataclass(frozen=True)
class Lost:
    """A command that is the rest of an earlier one: it begins with an override or Hydra's option.

    `cause` says what ended the earlier command and `cause_line` where.
    """

    command: Command
    overrides: tuple[Override, ...]
    cause: Cause
    cause_line: int


def launches(script: Script) -> tuple[Launch, ...]:
    """The programs with overrides that the script starts, or may start, in order."""
    return tuple(
        launch
        for command in script.commands
        if command.reach != "never"
        for launch in _command_launches(script, command, DEEPEST)
    )


def lost(script: Script) -> tuple[Lost, ...]:
    """The commands that were meant to be arguments of the command before."""
    return tuple(
        found
        for command in script.commands
        if command.words and (found := _lost(script, command)) is not None
    )


def extended(script: Script, launch: Launch, command: Command) -> Launch:
    """The launch with the words of `command` as more arguments.

    An escaped blank that ended the launch's own line is then no argument.
    """
    more = _Arguments(script, command.words)
    keys = [override for override in more.overrides if not override.key.startswith("hydra.")]
    stray = (item for item in launch.stray if (item.value.text or "x").strip())
    return replace(
        launch,
        overrides=(*launch.overrides, *keys),
        flags=(*launch.flags, *more.flags),
        stray=(*stray, *more.stray),
        unresolved=(*launch.unresolved, *more.unresolved),
        passes_arguments=launch.passes_arguments or more.passes_arguments,
        rest=(*launch.rest, command),
    )


def parse_override(script: Script, word: Word) -> Override | None:
    """The word as an override, or `None` where it is none or its key is not known."""
    head = ""
    for index, part in enumerate(word.value.parts):
        if part.text is None:
            return None
        start = len(head)
        head += part.text
        at = part.text.find("=")
        if at >= 0:
            match = _KEY.match(head)
            rest = _rest(script, word.value, index, at + 1)
            return _override(script, word, match, rest, start + at)
    match = _KEY.fullmatch(head) if head.startswith("~") else None
    return _override(script, word, match, None, len(head))


def _override(
    script: Script, word: Word, match: re.Match[str] | None, content: Value | None, at: int
) -> Override | None:
    if match is None or match.end("key") != at:
        return None
    place = _written(word)
    value_place = place if content is None else _after_sign(script, word, at)
    raw = _raw(script, word, place)
    return Override(match["prefix"], match["key"], content, raw, place, value_place)


def _after_sign(script: Script, word: Word, at: int) -> Place:
    """Where the value is written: after the `=`, which is character `at` of the word."""
    for part in word.value.parts:
        text = part.text or ""
        if at < len(text):
            verbatim = script.text.startswith(text[: at + 1], part.origin.offset)
            return _shifted(part.origin, at + 1) if verbatim else part.place
        at -= len(text)
    return word.place


def _written(word: Word) -> Place:
    """Where the key is written: in a variable's value where that holds all of the word."""
    first = word.value.parts[0]
    holds_key = first.text is not None and "=" in first.text
    return first.origin if holds_key and first.name else word.place


def _raw(script: Script, word: Word, place: Place) -> str:
    """The word as it is written at `place`, without what follows it on the line."""
    text = word.text
    if place == word.site or not word.raw.lstrip("\"'").startswith("$"):
        return word.raw
    if text is not None and script.text.startswith(text, place.offset):
        return text
    match = _WORD.match(script.text, place.offset)
    return match[0] if match else word.value.shown


def _rest(script: Script, value: Value, index: int, at: int) -> Value:
    """What stands after character `at` of part `index`."""
    part = value.parts[index]
    text = (part.text or "")[at:]
    offset = part.origin.offset + at
    tail = value.parts[index + 1 :]
    if not text and tail:
        return Value(tail)
    place = part.place
    origin = part.origin
    if script.text.startswith(text, offset) and script.text[offset - 1] == "=":
        place = origin = _shifted(origin, at)
    first = replace(part, text=text, place=place, origin=origin)
    return Value((first, *tail))


def _shifted(place: Place, by: int) -> Place:
    return Place(place.offset + by, place.line, place.column + by)


def _command_launches(script: Script, command: Command, depth: int) -> Iterator[Launch]:
    launch = _launch(script, command)
    if launch is not None:
        yield launch
    index = _quoted_command(command) if depth else None
    if index is None:
        return
    before = command.words[:index]
    commands = command.inner
    if command.name != "eval":
        commands = reread(script, command.words[index].value, command.environment).commands
    for nested in commands:
        for launch in _command_launches(script, nested, depth - 1):
            exports = {**command.environment, **launch.exports}
            yield replace(
                launch,
                exports=exports,
                command=command,
                launcher=(*(word.text or "" for word in before[:1]), *launch.launcher),
                submission=launch.submission or _submission(before[1:]),
            )


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
    reader = _CommandReader(command)
    program = reader.program()
    if program is None:
        return None
    arguments = _Arguments(script, reader.rest)
    module = _module(program)
    if not _takes_overrides(module, arguments):
        return None
    return Launch(
        module=module,
        program=program,
        launcher=tuple(reader.launcher),
        overrides=tuple(o for o in arguments.overrides if not o.key.startswith("hydra.")),
        hydra=tuple(o for o in arguments.overrides if o.key.startswith("hydra.")),
        flags=tuple(arguments.flags),
        stray=tuple(arguments.stray),
        unresolved=tuple(arguments.unresolved),
        passes_arguments=arguments.passes_arguments,
        exports={**command.environment, **reader.exports},
        submission=reader.submission,
        command=command,
    )


def _module(program: str) -> str:
    """The dotted name of a program that is given as a module or as a file."""
    if not program.endswith(".py"):
        return program
    parts = [part for part in program.removesuffix(".py").split("/") if part not in ("", ".", "..")]
    known = [index for index, part in enumerate(parts) if part in _PACKAGES]
    return ".".join(parts[known[-1] :] if known else parts[-1:])


def _takes_overrides(module: str, arguments: _Arguments) -> bool:
    package, _, name = module.rpartition(".")
    is_trainer = bool(_TRAINER.fullmatch(name)) and package.split(".")[0] in _PACKAGES
    dotted = sum("." in override.key for override in arguments.overrides)
    return is_trainer or dotted > 1


class _CommandReader:
    """Goes through a command's words up to the program that is started."""

    def __init__(self, command: Command) -> None:
        self.rest = command.words
        self.launcher: list[str] = []
        self.exports: dict[str, Value] = {}
        self.submission: Submission | None = None

    def program(self) -> str | None:
        """The module or file that runs; `rest` are then its arguments."""
        while self.rest:
            if self.rest[0].text is None:
                return self._unnamed()
            name = (self.rest[0].text or "").rpartition("/")[2]
            if _PYTHON.fullmatch(name):
                self._take(name)
                return self._python()
            if name in _DISTRIBUTORS:
                self._take(name)
                return self._distributed()
            if name not in _WRAPPERS or not self._unwrap(name):
                return None
        return None

    def _take(self, name: str) -> None:
        self.launcher.append(name)
        self.rest = self.rest[1:]

    def _unwrap(self, name: str) -> bool:
        """Skip to the command that a wrapper runs; whether there is one."""
        self._take(name)
        words = self.rest
        for index, word in enumerate(words):
            text = word.text or ""
            base = text.rpartition("/")[2]
            if _PYTHON.fullmatch(base) or base in _DISTRIBUTORS or base in _WRAPPERS:
                if name == "ray":
                    self.submission = _submission(words[:index])
                self.rest = words[index:]
                return True
            variable = re.match(r"[A-Za-z_]\w*=", text)
            if variable:
                value = text[variable.end() :]
                part = replace(word.value.parts[0], text=value)
                self.exports[variable[0][:-1]] = Value((part,))
        return False

    def _python(self) -> str | None:
        """Skip Python's own options."""
        while self.rest:
            text = self.rest[0].text
            if text is None:
                return self._unnamed()
            if not text.startswith("-"):
                self.rest = self.rest[1:]
                return self._started(text)
            self.rest = self.rest[1:]
            module = re.fullmatch(r"-[bBdEhiIOPqsSuvx]*m(.*)", text)
            if module:
                return self._named_module(module[1])
            if re.fullmatch(r"-[bBdEhiIOPqsSuvx]*c.*", text) or text == "-":
                return None
            if text in ("-X", "-W"):
                self.rest = self.rest[1:]
        return None

    def _unnamed(self) -> str | None:
        """The module of `$PYTHON -m MODULE`, whatever program or options that variable holds."""
        texts = [word.text or "-" for word in self.rest]
        options = next((i for i, text in enumerate(texts) if text[:1] != "-"), 0)
        if not options or texts[options - 1] != "-m" or "." not in texts[options]:
            return None
        self.launcher.append("python")
        self.rest = self.rest[options:]
        return self._named_module("")

    def _named_module(self, attached: str) -> str | None:
        name: str | None = attached
        if not attached:
            name = self.rest[0].text if self.rest else None
            self.rest = self.rest[1:]
        return self._started(name) if name else None

    def _started(self, program: str) -> str | None:
        if program in _DISTRIBUTOR_MODULES:
            self.launcher.append(program)
            return self._distributed()
        return program if program.endswith(".py") or _MODULE.fullmatch(program) else None

    def _distributed(self) -> str | None:
        """Skip the options of a launcher of many processes, up to `-m` or a file."""
        for index, word in enumerate(self.rest):
            text = word.text or ""
            if text in ("-m", "--module") and index + 1 < len(self.rest):
                program = self.rest[index + 1].text
                self.rest = self.rest[index + 2 :]
                return program
            if text.endswith(".py"):
                self.rest = self.rest[index + 1 :]
                return text
        return None


def _submission(words: Sequence[Word]) -> Submission | None:
    if [word.text for word in words[:2]] != ["job", "submit"]:
        return None
    options: dict[str, Value] = {}
    rest = list(words[2:])
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.value.shown.partition("=")
        if name == "--" or not name.startswith("--"):
            continue
        if equals:
            options[name[2:]] = _after(word.value, len(name) + 1)
        elif rest and not rest[0].value.shown.startswith("-"):
            options[name[2:]] = rest.pop(0).value
        else:
            options[name[2:]] = Value()
    return Submission(options, words[0].place)


def _after(value: Value, count: int) -> Value:
    """The value without its first characters, which are known."""
    parts = list(value.parts)
    while parts and count:
        text = parts[0].text or ""
        if len(text) > count:
            parts[0] = replace(parts[0], text=text[count:])
            break
        count -= len(text)
        parts.pop(0)
    return Value(tuple(parts))


class _Arguments:
    """The arguments of a program, sorted by what Hydra makes of them."""

    def __init__(self, script: Script, words: Sequence[Word]) -> None:
        self._script = script
        self.overrides: list[Override] = []
        self.flags: list[Flag] = []
        self.stray: list[Stray] = []
        self.unresolved: list[Word] = []
        self.passes_arguments = False
        rest = iter(words)
        for word in rest:
            self._sort(word, rest)

    def _sort(self, word: Word, rest: Iterator[Word]) -> None:
        override = parse_override(self._script, word)
        if override is not None:
            self.overrides.append(override)
        elif word.value.unknown is not None:
            self._unknown(word)
        elif (word.text or "").startswith("-"):
            self._option(word, word.text or "", rest)
        else:
            self._astray(word)

    def _unknown(self, word: Word) -> None:
        if any(part.reason == "argument" and part.name in ("@", "*") for part in word.value.parts):
            self.passes_arguments = True
        else:
            self.unresolved.append(word)

    def _option(self, word: Word, text: str, rest: Iterator[Word]) -> None:
        name, equals, _ = text.partition("=")
        if name in _HYDRA_SWITCHES and not equals:
            self.flags.append(Flag(_HYDRA_SWITCHES[name], None, word.place))
        elif name in _HYDRA_VALUES:
            given = _after(word.value, len(name) + 1) if equals else _next_value(rest)
            self.flags.append(Flag(_HYDRA_VALUES[name], given, word.place))
        else:
            self._astray(word)

    def _astray(self, word: Word) -> None:
        self.stray.append(Stray(word.value, word.raw, word.place))


def _next_value(rest: Iterator[Word]) -> Value:
    word = next(rest, None)
    return Value() if word is None else word.value


def _lost(script: Script, command: Command) -> Lost | None:
    first = parse_override(script, command.words[0])
    option = (command.words[0].text or "").partition("=")[0] in _HYDRA_VALUES
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
