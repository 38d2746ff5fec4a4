"""Commands as those see them who ask what they do: the program that runs in the end, its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rl_resources.script.shell import Assignment, Command, Script, Word


def names(text: str) -> frozenset[str]:
    """Names that are written in one text, with blanks between them."""
    return frozenset(text.split())


FETCHERS = names("""
    GET aria2c aws axel curl dig fetch ftp gcloud gsutil http https lwp-request lynx nc ncat
    nslookup openssl rclone socat telnet wget
    """)
INTERPRETERS = re.compile(r"(?:python|pypy|lua)[\d.]*|ipython|perl|ruby|node|php")
_PREFIXES = names("""
    builtin busybox chrt command coproc env exec ionice mpiexec mpirun nice nohup numactl parallel
    setsid srun stdbuf taskset time timeout unbuffer watch xargs
    """)
"""Programs that run the command behind their own words."""
_ENDS = 32
MOST_PIPED = 2 * _ENDS
"""Of a longer pipeline only the first and the last commands are looked at; no honest one is."""
_PREFIX_WORD = re.compile(r"-.*|\w+=.*|\d[\d,-]*[smhd]?")
_TAKE_WORD = {
    "env": names("-u -C --chdir --unset"),
    "mpiexec": names("-H --host --hostfile -x"),
    "mpirun": names("-H --host --hostfile -hostfile -x"),
    "srun": names("-w -p -J -o -e -A --nodelist --partition --job-name"),
    "timeout": names("-s --signal"),
    "xargs": names("-I -d -a --arg-file"),
}
"""Options of such a program that a word of their own follows."""
SAYERS = frozenset({"", ":", "true", "echo", "printf"})
"""What does no more with its words than to say them."""
_LOOKED_UP = re.compile(r"\"?(?:\$\(|`) *(?:which|command -v|type -[pP]) +([\w.-]+) *[)`]\"?")
"""A program that the shell is asked for by its name."""


@dataclass(frozen=True, eq=False)
class Call:
    """A command with those before it in its pipeline, and with the variables that the script sets.

    `assigned` has these as they are written, `written` the files that the script writes, as it
    names them. `piped` are at most `MOST_PIPED`. `gone` is the `cd` that led to the folder in which
    the command runs.
    """

    command: Command
    piped: tuple[Command, ...]
    assigned: Mapping[str, str]
    written: frozenset[str] = frozenset()
    gone: Command | None = None

    @cached_property
    def words(self) -> Sequence[Word]:
        """The words from the program's name on that is run in the end."""
        return bare(self.command)

    @cached_property
    def name(self) -> str:
        """The program's name without its folder."""
        return name_of(self.words)

    @cached_property
    def texts(self) -> list[str]:
        """Its arguments; what is not known as it is written."""
        return [word.text or word.value.shown for word in self.words[1:]]

    @cached_property
    def line(self) -> str:
        """Its arguments in one text."""
        return " ".join(self.texts)

    @cached_property
    def raws(self) -> list[str]:
        """Its arguments as they are written, without the quotes around them."""
        return [word.raw.strip("\"'") for word in self.words[1:]]


def calls(script: Script) -> Iterator[Call]:
    """Every command of a script; a group in a pipeline reads what comes before it."""
    assigned = {item.name: as_written(script, item) for item in script.assignments}
    written = frozenset(word.raw for command in script.commands for word in _written(command))
    gone: Command | None = None
    piped: tuple[Command, ...] = ()
    fed: tuple[Command, ...] = ()
    for command in script.commands:
        at, count = command.pipeline
        if at == 0:
            piped = fed if command.in_subshell else ()
        if gone and gone.in_subshell > command.in_subshell:
            gone = None
        yield Call(command, piped, assigned, written, gone)
        piped = (*piped[:_ENDS], *piped[_ENDS:][1 - _ENDS :], command)
        if at + 1 < count:
            fed = piped
        elif count > 1 or not command.in_subshell:
            fed = ()
        if command.reach != "never" and name_of(bare(command)) in {"cd", "pushd", "popd"}:
            gone = command


def as_written(script: Script, item: Assignment) -> str:
    """An assignment as it is written; of `for` the words that it goes through."""
    line = script.lines[item.place.line - 1]
    looped = re.search(r"\bin\b([^;]*)", line) if item.kind == "for" else None
    return looped[1] if looped else item.raw


def _written(command: Command) -> Iterator[Word]:
    yield from (item.target for item in command.redirections if ">" in item.operator)
    if name_of(bare(command)) == "tee":
        yield from command.words


def bare(command: Command) -> Sequence[Word]:
    """The words of a command without those that only start it: of `nohup bash x`, `bash x`."""
    words, at = command.words, 0
    while at + 1 < len(words) and name_of(words[at : at + 1]) in _PREFIXES:
        prefix = name_of(words[at : at + 1])
        at += 3 if prefix == "exec" and words[at + 1].text == "-a" and at + 3 < len(words) else 1
        while at + 1 < len(words) and _PREFIX_WORD.fullmatch(words[at].text or ""):
            takes = words[at].text in _TAKE_WORD.get(prefix, ()) and at + 2 < len(words)
            at += 2 if takes else 1
    return words[at:]


def name_of(words: Sequence[Word]) -> str:
    """The name of the program that stands first, without its folder."""
    if not words:
        return ""
    asked = _LOOKED_UP.fullmatch(words[0].raw) if words[0].text is None else None
    return asked[1] if asked else (words[0].text or "").rpartition("/")[2]


def spelt(word: Word) -> str:
    """A word with what is known of its variables, and as written what they take from outside."""
    return "".join(part.source if part.text is None else part.text for part in word.value.parts)
