"""What a reader must fear of a command, judged by the words that bash would hand over.

So it matters little how they are spelt. By classes: what runs text that the script does not show,
what deletes outside of the work folder, what opens the machine to others, what takes rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from rl_resources.check.harm import (
    FETCHERS,
    INTERPRETERS,
    Call,
    bare,
    harm,
    leaves_work_folder,
    name_of,
)
from rl_resources.script.shell import Command, Script, Word, read

_DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "axel"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_HIDDEN = (
    r"(?:curl|wget|aria2c)\s|base(?:64|32)\s+(?:-d|-D|--decode)|xxd\s+[^)`]*-\w*r|\brev\b"
    r"|openssl\s+(?:enc|base64)|printf\s+[^)`]*\\{1,2}(?:x[0-9a-f]{2}|[0-7]{3})|uudecode|unhexlify"
    r"|\b(?:gunzip|zcat|bzcat|xzcat|unxz|zstdcat)\b|\b(?:gzip|xz|zstd|bzip2)\s+-\w*d"
)
_FETCHED = re.compile(rf"(?:[<$]\(|`)[^)`]*(?:{_HIDDEN})", re.IGNORECASE)
_DECODERS = re.compile(rf"(?:{_HIDDEN}|\btr\s+\S+\s+\S+|echo\s+-\w*e\w*\s+[^|]*\\x)", re.IGNORECASE)
_ODD_NAME = re.compile(r"\w(?:''|\"\"|\\|\$['@*]|['\"]\w|\$\{?IFS)|^\$'|^['\"]\w+['\"]['\"]?\w")
_PROGRAM_FETCHED = re.compile(
    r"urlopen|urlretrieve|requests\.|httpx\.|LWP::|b64decode|fromhex|unhexlify|codecs\.decode|socket"
)
_PROGRAM_RUN = re.compile(r"\b(?:exec|eval|compile|system|popen|subprocess|spawn|dup2|pty)\b")
_PROGRAM_STARTS = re.compile(
    r"(?:system|popen|run|call|check_call|check_output|exec|execSync|spawn)\s*\(?\s*"
    r"(?P<quote>['\"])(?P<text>.*?)(?P=quote)",
    re.IGNORECASE,
)
_DELETES_TREE = re.compile(
    r"(?:rmtree|unlink|rmSync|rm_rf|remove_dir_all)\W+(?:(?:glob|\w*expanduser)\W+)?(?<=['\"])[/~](?!tmp/)"
)
MOST_NESTED = 3


class Fear(NamedTuple):
    """A command and what is to fear of it, in words that fit after it."""

    command: Command
    words: str


def fears(script: Script, depth: int = 0) -> Iterator[Fear]:
    """Every command that a reader must fear."""
    piped: list[Command] = []
    fetched: set[str] = set()
    hidden = {item.name for item in script.assignments if _FETCHED.search(item.raw)}
    for command in script.commands:
        hidden |= _read_from_afar(command)
    assigned = frozenset(item.name for item in script.assignments)
    away = False
    for command in script.commands:
        if command.pipeline[0] == 0:
            piped = []
        if command.reach != "never":
            known = hidden, frozenset(fetched), assigned, away
            words = _fear(Call(command, tuple(piped), *known), depth)
            if words:
                yield Fear(command, words)
            fetched |= _written(command)
            away = leaves_work_folder(command, assigned, away)
        piped.append(command)


def _fear(call: Call, depth: int) -> str | None:
    if not call.words:
        return harm(call)
    return _of_hidden_program(call, depth) or harm(call) or _of_spelling(call)


def _of_hidden_program(call: Call, depth: int) -> str | None:
    told = "runs what was downloaded or hidden"
    first = call.words[0]
    if (first.text or "").removeprefix("./") in call.fetched:
        return told
    if first.text is None and (_FETCHED.match(first.raw) or {*first.value.names} & call.hidden):
        return told
    if call.name in {"trap", "alias"}:
        return _inner((text.partition("=")[2] or text for text in call.texts[:1]), depth)
    if call.name not in _SHELLS | {"eval", "source", "."} and not INTERPRETERS.fullmatch(call.name):
        return None
    program = _program(call)
    here = [item.body.shown if item.body else item.target.raw for item in call.command.redirections]
    raws = [word.raw for word in program] + [text for text in here if text]
    names = {name for word in program for name in word.value.names}
    files = {(word.text or "").removeprefix("./") for word in program}
    if any(map(_FETCHED.search, raws)) or names & call.hidden or files & call.fetched:
        return told
    if not program and any(_hides(command, call.hidden) for command in call.piped):
        return told
    texts = [word.text or "" for word in program] + here
    if INTERPRETERS.fullmatch(call.name):
        whole = " ".join(texts)
        if _PROGRAM_FETCHED.search(whole) and _PROGRAM_RUN.search(whole):
            return told
        if _DELETES_TREE.search(whole):
            return "deletes outside of the work folder"
        return _inner((match["text"] for match in _PROGRAM_STARTS.finditer(whole)), depth)
    if call.name == "eval":
        return _inner([" ".join(texts)], depth)
    piped = () if program else call.piped[-1:]
    said = [" ".join(word.text or "" for word in bare(one)[1:]) for one in piped if _says(one)]
    return _inner([*said, *(texts if "-c" in call.texts else ())], depth)


def _inner(texts: Iterable[str], depth: int) -> str | None:
    """What is to fear of commands that stand in a text."""
    if depth >= MOST_NESTED:
        return None
    return next((fear.words for text in texts for fear in fears(read(text), depth + 1)), None)


def _says(command: Command) -> bool:
    return name_of(bare(command)) in {"echo", "printf"}


def _read_from_afar(command: Command) -> set[str]:
    """The variables that `read` or `mapfile` fills with what was downloaded or hidden."""
    if name_of(command.words) not in {"read", "mapfile", "readarray"}:
        return set()
    if not any(_FETCHED.search(item.target.raw) for item in command.redirections):
        return set()
    return {word.text for word in command.words[1:] if word.text and word.text.isidentifier()}


def _program(call: Call) -> Sequence[Word]:
    """What an interpreter is told to run: a text, a file, or nothing, which is its input."""
    words = call.words[1:]
    if call.name == "eval":
        return words
    for at, word in enumerate(words):
        text = word.text or word.raw
        if re.fullmatch(r"-\w*[ce]", text):
            return words[at + 1 : at + 2]
        if text == "-m":
            return words[at + 1 : at + 2]
        if not text.startswith("-"):
            return words[at : at + 1]
    return ()


def _hides(command: Command, hidden: Set[str]) -> bool:
    """Whether what a command writes cannot be read in the script."""
    names = {name for word in command.words for name in word.value.names}
    return bool(
        name_of(bare(command)) in FETCHERS or _DECODERS.search(command.raw) or names & hidden
    )


def _written(command: Command) -> set[str]:
    """The files that a downloader writes."""
    words = bare(command)
    if name_of(words) not in _DOWNLOADERS:
        return set()
    found = [item.target.text for item in command.redirections if item.operator in {">", ">>"}]
    texts = [word.text or "" for word in words[1:]]
    for flag, after in pairwise([*texts, ""]):
        if re.fullmatch(r"-\w*[oO]|--output(?:-document)?", flag):
            found.append(after)
        if "://" in flag:
            found.append(flag.rpartition("/")[2])
    return {text.removeprefix("./") for text in found if text}


def _of_spelling(call: Call) -> str | None:
    first = call.command.words[0]
    odd = _ODD_NAME.search(first.raw) and first.raw.strip("\"'") != first.text
    return "is spelt so that its reader does not see what it runs" if odd else None
