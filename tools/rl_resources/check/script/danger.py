"""What a reader must fear of a command, judged by the words that bash would hand over.

So it matters little how they are spelt. By classes: what runs text that the script does not show,
what deletes outside of the work folder, what opens the machine to others, what takes rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rl_resources.check.script.calls import INTERPRETERS, Call, calls, name_of, spelt
from rl_resources.check.script.carried import carried
from rl_resources.check.script.detours import detour
from rl_resources.check.script.harm import harm
from rl_resources.check.script.hidden import decodes, said, spoken
from rl_resources.check.script.network import ssh_words
from rl_resources.check.script.origins import Origins, path_of
from rl_resources.check.script.programs import program_fear, started
from rl_resources.check.script.spelling import is_odd_name, is_odd_text
from rl_resources.script.shell import Command, Script, Word, read

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_RUNNERS = _SHELLS | {"eval", "source", ".", "make", "sbatch"}
_RUN_PACKAGES = frozenset({"uvx", "npx", "bunx"})
_RUN_PACKAGES_AT_RUN = frozenset({"uv", "pipx", "deno", "go"})
_ADDRESS = re.compile(r"(?:\w+\+)?https?://|[\w-]+(?:\.[\w-]+)+/\S*@")
_APPLIERS = frozenset({"kubectl", "helm", "oc"})
_APPLY = (["apply"], ["create"], ["replace"], ["install"], ["upgrade"])
_VERSION = re.compile(r"\bv?\d+\.\d+|[0-9a-f]{40}")
_PACKAGE_FLAGS = frozenset({"--from", "--spec", "--package", "-p"})
_LAUNCHERS = frozenset({"accelerate", "deepspeed", "ray", "torchrun"})
_TAKE_PROGRAM = frozenset({"timeit"})
"""Modules of Python that run a text among their words."""
_OWN_SHELL = re.compile(r"[\"']?\$\{?(?:SHELL|BASH|0)\b")
_WRITERS_OF_PROGRAMS = re.compile(r"[gmn]?awk")
_STARTERS = frozenset({"tmux", "screen", "script", "env", "watch", "parallel", "vim", "vi", "sed"})
_STARTERS |= {"flock", "runuser", "sg"}
"""Programs that run a text among their words as commands."""
_BEFORE_COMMAND = re.compile(r"^:?!|^\d*e (?=\w)")
_RUNS_INPUT = re.compile(r"system\(\$|\$0 *\|")
_RUNS_READ = re.compile(r"\bgetline\b.*\bsystem\(")
MOST_NESTED = 3


class Fear(NamedTuple):
    """A command and what is to fear of it, in words that fit after it."""

    command: Command
    words: str


def fears(script: Script, depth: int = 0) -> Iterator[Fear]:
    """Every command that a reader must fear."""
    origins = Origins(script)
    for call in calls(script):
        if call.command.reach != "never":
            if words := _fear(call, origins, depth):
                yield Fear(call.command, words)
            origins.follow(call.command, call.piped)


def _fear(call: Call, origins: Origins, depth: int) -> str | None:
    if not call.words:
        told = harm(call) or detour(call.command, "", ())
        return told or _inner(carried(call.command), depth)
    own = [word.text or word.value.shown for word in call.command.words]
    return (
        _of_program(call, origins, depth)
        or harm(call)
        or detour(call.command, call.name, call.texts)
        or detour(call.command, own[0], own[1:])
        or _of_spelling(call)
        or _inner(carried(call.command), depth)
    )


def _of_program(call: Call, origins: Origins, depth: int) -> str | None:
    """What is to fear of what a command runs: a file, a text, or what it reads."""
    if _runs_hidden(call, origins):
        return "runs what was downloaded or hidden"
    written = origins.text_of(call.words[0].text or "")
    if written:
        return _inner([written], depth)
    if call.name == "chmod":
        return _inner(map(origins.text_of, call.texts), depth)
    if call.name in {"trap", "alias"}:
        return _inner((text.partition("=")[2] or text for text in call.texts[:1]), depth)
    if _WRITERS_OF_PROGRAMS.fullmatch(call.name):
        if decodes(call.line) and _RUNS_READ.search(call.line):
            return "runs what was downloaded or hidden"
        return _inner(started(" ".join(call.texts)), depth)
    if not _is_runner(call):
        return _inner(_handed_on(call), depth)
    return _of_text(call, origins, depth)


def _is_runner(call: Call) -> bool:
    return call.name in _RUNNERS or INTERPRETERS.fullmatch(call.name) is not None


def _runs_hidden(call: Call, origins: Origins) -> bool:
    """Whether the script shows neither what the command runs nor a file that holds it."""
    if _is_hidden(call, origins) or _runs_package(call) or _loads_fetched(call, origins):
        return True
    if _runs_input(call) and any(map(origins.hides, call.piped)):
        return True
    return _is_runner(call) and (
        _is_told_hidden(call, origins)
        or (_reads_program(call) and origins.hides_pipeline(call.piped))
    )


def _is_hidden(call: Call, origins: Origins) -> bool:
    """Whether the command itself is a file that was fetched, or a text that is not shown."""
    first, path = call.words[0], path_of(call.words[0])
    if origins.fetched_file(path) or ("/" in path and origins.fetched(path, call.command)):
        return True
    if _OWN_SHELL.match(first.raw) and any(map(origins.hides, call.piped)):
        return True
    return first.text is None and (origins.hides_text(first.raw) or origins.unseen(first))


def _is_told_hidden(call: Call, origins: Origins) -> bool:
    """Whether a shell or an interpreter is told to run what the script does not show."""
    program = _program(call)
    given = call.command.redirections
    here = [item.body.shown if item.body else item.target.raw for item in given]
    texts = [text for word in program for text in (word.raw, word.value.shown)] + here
    unseen = [origins.unseen(word, as_text=_runs_text(call)) for word in program]
    unseen += [origins.unseen(item.target) for item in given if item.operator == "<<<"]
    if any(map(origins.hides_text, texts)) or any(unseen):
        return True
    files = list(filter(None, map(path_of, program)))
    inside = call.name in _RUNNERS and any(origins.fetched(file, call.command) for file in files)
    return inside or any(map(origins.fetched_file, files))


def _runs_package(call: Call) -> bool:
    """Whether it runs what lies at an address, as `uv run` and `npx` can."""
    told = call.texts
    if call.name in _APPLIERS:
        return told[:1] in _APPLY and any(_is_at_branch(text) for text in told)
    if call.name in _RUN_PACKAGES_AT_RUN and told[:1] == ["run"]:
        told = told[1:]
    elif call.name not in _RUN_PACKAGES:
        return False
    packages = [after for flag, after in pairwise(told) if flag in _PACKAGE_FLAGS]
    packages += [text for text in told if not text.startswith("-")][:1]
    return any(map(_ADDRESS.match, packages))


def _is_at_branch(text: str) -> bool:
    """Whether an address tells no version of what lies there."""
    return _ADDRESS.match(text) is not None and not _VERSION.search(text)


def _loads_fetched(call: Call, origins: Origins) -> bool:
    """Whether a word of it, or a setting, is a Python file that was fetched or lies elsewhere."""
    if not (INTERPRETERS.fullmatch(call.name) or call.name in _LAUNCHERS):
        return False
    files = (path_of(word) for word in call.words[1:] if word.raw.rstrip("\"'").endswith(".py"))
    values = [file.rpartition("=")[2] for file in files]
    return any(origins.fetched_file(value) or "://" in value for value in values)


def _runs_text(call: Call) -> bool:
    return call.name == "eval" or any(re.fullmatch(r"-\w*c|--wrap", text) for text in call.texts)


def _reads_program(call: Call) -> bool:
    """Whether what a command runs is what it reads."""
    if call.name == "make" and not _program(call):
        return False
    return {word.text or "" for word in _program(call)} <= {"/dev/stdin", "-"}


def _of_text(call: Call, origins: Origins, depth: int) -> str | None:
    """What is to fear of the text that a command runs, where the script shows it."""
    program = [spoken(word) for word in _program(call)]
    texts = program + [
        item.body.shown if item.body else item.target.text or ""
        for item in call.command.redirections
    ]
    written = [origins.text_of(text) for text in program]
    if _reads_program(call):
        written += [said(one) for one in call.piped[-1:]]
    if INTERPRETERS.fullmatch(call.name):
        program_text = " ".join(texts + written)
        return program_fear(program_text) or _inner(started(program_text), depth)
    if call.name == "eval":
        return _inner([" ".join(texts)], depth)
    if _reads_program(call) or _runs_text(call):
        written += texts
    return _inner(written, depth)


def _runs_input(call: Call) -> bool:
    """Whether a command that is no shell runs what it reads."""
    if call.name in _APPLIERS and "-" in call.texts:
        return True
    if name_of(call.command.words) == "parallel" and len(call.command.words) == 1:
        return True
    if name_of(ssh_words(call)[1:]) in _SHELLS:
        return True
    if call.name in _SHELLS:
        own = [word.text for word in call.command.words]
        places = {after for flag, after in pairwise(own) if flag == "-I"}
        return not {"{}", *places}.isdisjoint(call.texts)
    return bool(_WRITERS_OF_PROGRAMS.fullmatch(call.name)) and any(
        map(_RUNS_INPUT.search, call.texts)
    )


def _handed_on(call: Call) -> Iterator[str]:
    """The commands that a program is given to run: those after `bash -c`, or one of its words."""
    for at, word in enumerate(call.words[:-2]):
        if name_of([word]) in _SHELLS and re.fullmatch(r"-\w*c", call.words[at + 1].text or ""):
            yield call.words[at + 2].text or ""
            if call.words[at + 2].text == "{}":
                yield from (item.target.text or "" for item in call.command.redirections)
    yield " ".join(map(spelt, ssh_words(call)[1:]))
    if name_of(call.command.words) in _STARTERS or call.name in _STARTERS:
        for text in (word.text or "" for word in call.command.words[1:]):
            if " " in text:
                yield _BEFORE_COMMAND.sub("", text)


def _inner(texts: Iterable[str], depth: int) -> str | None:
    """What is to fear of commands that stand in a text."""
    if depth >= MOST_NESTED:
        return None
    return next(filter(None, (_first_fear(text, depth + 1) for text in texts if text)), None)


@lru_cache(maxsize=64)
def _first_fear(text: str, depth: int) -> str | None:
    """Kept, because a script may run one text many times."""
    return next((fear.words for fear in fears(read(text), depth)), None)


def _program(call: Call) -> Sequence[Word]:
    """What an interpreter is told to run: a text, a file, or nothing, which is its input."""
    words = [word for word in call.words[1:] if word.text != ":::"]
    if call.name == "eval":
        return words
    if call.name == "make":
        flags = {"-f", "--file", "--makefile"}
        return [after for flag, after in pairwise(words) if flag.text in flags]
    for at, word in enumerate(words):
        text = word.text or word.raw
        if call.name in _SHELLS and re.fullmatch(r"-\w*s", text):
            return ()
        if re.fullmatch(r"-\w*[ce]|--wrap", text):
            return words[at + 1 : at + 2]
        if text == "-m":
            module = words[at + 1 : at + 2]
            return words[at + 2 :] if {word.text for word in module} <= _TAKE_PROGRAM else module
        if not text.startswith("-"):
            return words[at : at + 1]
    return ()


def _of_spelling(call: Call) -> str | None:
    odd = is_odd_name(call.command.words[0])
    if not odd and _runs_text(call) and _is_runner(call):
        odd = any(map(is_odd_text, _program(call)))
    return "is spelt so that its reader does not see what it runs" if odd else None
