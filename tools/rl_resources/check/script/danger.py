"""What a reader must fear of a command, judged by the words that bash would hand over.

So it matters little how they are spelt. By classes: what runs text that the script does not show,
what deletes outside of the work folder, what opens the machine to others, what takes rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from rl_resources.check.script.detours import detour
from rl_resources.check.script.harm import (
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
_INTO_FOLDER = frozenset({"-P", "--directory-prefix", "--output-dir", "-d", "--dir"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_OWN_SHELL = re.compile(r"[\"']?\$\{?(?:SHELL|BASH|0)\b")
_HIDDEN = (
    r"(?:curl|wget|aria2c)\s|gpg\s+[^)`]*(?:-d|--decrypt)\b|base(?:64|32)\s+(?:-d|-D|--decode)|xxd\s+[^)`]*-\w*r|\brev\b"
    r"|openssl\s+(?:enc|base64)|printf\s+[^)`]*\\{1,2}(?:x[0-9a-f]{2}|[0-7]{3})|uudecode|unhexlify"
    r"|\b(?:gunzip|zcat|bzcat|xzcat|unxz|zstdcat)\b|\b(?:gzip|xz|zstd|bzip2)\s+-\w*d"
)
_FETCHED = re.compile(rf"(?:[<$]\(|`)[^)`]*(?:{_HIDDEN})", re.IGNORECASE)
_DECODERS = re.compile(rf"(?:{_HIDDEN}|\btr\s+\S+\s+\S+|echo\s+-\w*e\w*\s+[^|]*\\x)", re.IGNORECASE)
_ODD_NAME = re.compile(
    r"\w(?:''|\"\"|\\|\$['@*]|['\"]\w|\$\{?IFS)|^\$'|^['\"]\w+['\"]['\"]?\w"
    r"|^/[\w/]*[?*\[]|^(?:\$\(|`) *(?:echo|printf)\b"
)
_PROGRAM_FETCHED = re.compile(
    r"urlopen|urlretrieve|\brequests\b|httpx\.|LWP::|b64decode|fromhex|unhexlify|codecs\.decode"
    r"|socket|\bpack\b|open-uri|URI\.open|require\(['\"]https?['\"]\)|\(['\"]https?://"
)
_PROGRAM_RUN = re.compile(r"\b(?:exec|eval|compile|system|popen|subprocess|spawn|dup2|pty)\b")
_PROGRAM_STARTS = re.compile(
    r"(?:system|popen|run|call|check_call|check_output|exec|execSync|spawn)\s*\(?\s*"
    r"(?:qq?\(|(?P<quote>['\"]))(?P<text>.*?)(?(quote)(?P=quote)|\))"
    r"|\"(?P<read>[^\"]+)\"\s*\|\s*getline",
    re.IGNORECASE,
)
_PROGRAM_SENDS = re.compile(
    r"(?:\b(?:post|put)|urlopen|request|sendall)\b.*\bos\.environ\b(?!\s*[\[.])"
)
_DELETES_TREE = re.compile(
    r"(?:rmtree|unlink|rmSync|rm_rf|remove_dir_all)\W+(?:(?:glob|[\w.]*expanduser)\W+)?"
    r"(?:qq?\(|(?<=['\"]))[/~](?!tmp/)"
)
_WRITERS_OF_PROGRAMS = re.compile(r"[gmn]?awk")
_STARTERS = frozenset({"tmux", "screen", "script", "env", "watch", "parallel", "vim", "vi", "sed"})
_STARTERS |= {"flock", "runuser", "sg"}
"""Programs that run a text among their words as commands."""
_BEFORE_COMMAND = re.compile(r"^:?!|^\d*e (?=\w)")
_RUNS_INPUT = re.compile(r"system\(\$|\$0 *\|")
_HOT = frozenset({"rm", "curl", "wget", "bash", "sh", "eval", "sudo", "nc", "dd", "cat", "python3"})
_NAME = re.compile(r"\$\{?!?([A-Za-z_]\w*)")
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
    for before, command in zip((None, *script.commands), script.commands, strict=False):
        hidden |= _read_from_afar(command, before, hidden)
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
            fetched |= _written(command) or _kept_by_tee(command, piped, hidden)
            away = leaves_work_folder(command, assigned, away)
        piped.append(command)


def _fear(call: Call, depth: int) -> str | None:
    if not call.words:
        return harm(call) or detour(call.command, "", ())
    own = [word.text or word.value.shown for word in call.command.words]
    return (
        _of_hidden_program(call, depth)
        or harm(call)
        or detour(call.command, call.name, call.texts)
        or detour(call.command, own[0], own[1:])
        or _of_spelling(call)
    )


def _of_hidden_program(call: Call, depth: int) -> str | None:
    told = "runs what was downloaded or hidden"
    first = call.words[0]
    if (first.text or "").removeprefix("./") in call.fetched:
        return told
    if _OWN_SHELL.match(first.raw) and any(_hides(one, call.hidden) for one in call.piped):
        return told
    if first.text is None and (_FETCHED.match(first.raw) or _names(first) & call.hidden):
        return told
    if _runs_input(call) and any(_hides(one, call.hidden) for one in call.piped):
        return told
    if call.name in {"trap", "alias"}:
        return _inner((text.partition("=")[2] or text for text in call.texts[:1]), depth)
    if _WRITERS_OF_PROGRAMS.fullmatch(call.name):
        return _inner(_started(" ".join(call.texts)), depth)
    if call.name not in _SHELLS | {"eval", "source", "."} and not INTERPRETERS.fullmatch(call.name):
        return _inner(_handed_on(call), depth)
    program = _program(call)
    here = [item.body.shown if item.body else item.target.raw for item in call.command.redirections]
    raws = [word.raw for word in program] + [text for text in here if text]
    names = {name for word in program for name in _names(word)}
    files = {(word.text or "").removeprefix("./") for word in program}
    if any(map(_FETCHED.search, raws)) or names & call.hidden or files & call.fetched:
        return told
    read_in = not program or files <= {"/dev/stdin", "-"}
    if read_in and any(_hides(command, call.hidden) for command in call.piped):
        return told
    shown_here = [
        item.body.shown if item.body else item.target.text for item in call.command.redirections
    ]
    texts = [text or "" for text in (*(word.text for word in program), *shown_here)]
    if INTERPRETERS.fullmatch(call.name):
        whole = " ".join(texts)
        if _PROGRAM_FETCHED.search(whole) and _PROGRAM_RUN.search(whole):
            return told
        if _PROGRAM_SENDS.search(whole):
            return "sends files or settings of the reader to another machine"
        if _DELETES_TREE.search(whole):
            return "deletes outside of the work folder"
        return _inner(_started(whole), depth)
    if call.name == "eval":
        return _inner([" ".join(texts)], depth)
    said = [_said(one) for one in call.piped[-1:]] if read_in else []
    if read_in or any(re.fullmatch(r"-\w*c", text) for text in call.texts):
        said += texts
    return _inner(said, depth)


def _runs_input(call: Call) -> bool:
    """Whether a command that is no shell runs what it reads."""
    if name_of(call.command.words) == "parallel" and len(call.command.words) == 1:
        return True
    if call.name in _SHELLS:
        return "{}" in call.texts
    return bool(_WRITERS_OF_PROGRAMS.fullmatch(call.name)) and any(
        map(_RUNS_INPUT.search, call.texts)
    )


def _started(program: str) -> Iterator[str]:
    """The commands that a program of another language starts."""
    return (match["text"] or match["read"] or "" for match in _PROGRAM_STARTS.finditer(program))


def _handed_on(call: Call) -> Iterator[str]:
    """The commands that a program is given to run: those after `bash -c`, or one of its words."""
    for at, word in enumerate(call.words[:-2]):
        if name_of([word]) in _SHELLS and re.fullmatch(r"-\w*c", call.words[at + 1].text or ""):
            yield call.words[at + 2].text or ""
            if call.words[at + 2].text == "{}":
                yield from (item.target.text or "" for item in call.command.redirections)
    if name_of(call.command.words) in _STARTERS or call.name in _STARTERS:
        for text in (word.text or "" for word in call.command.words[1:]):
            if " " in text:
                yield _BEFORE_COMMAND.sub("", text)


def _inner(texts: Iterable[str], depth: int) -> str | None:
    """What is to fear of commands that stand in a text."""
    if depth >= MOST_NESTED:
        return None
    return next((fear.words for text in texts for fear in fears(read(text), depth + 1)), None)


def _said(command: Command) -> str:
    """What a command writes, where the script shows it."""
    words = [word.text or "" for word in bare(command)[1:]]
    if name_of(bare(command)) == "printf" and len(words) > 1 and "%" in words[0]:
        words = words[1:]
    if name_of(bare(command)) in {"echo", "printf"}:
        return " ".join(words)
    return "\n".join(item.body.shown for item in command.redirections if item.body)


def _names(word: Word) -> set[str]:
    """The variables that a word is made of, as far as they can be told."""
    return {*word.value.names, *_NAME.findall(word.raw)}


def _read_from_afar(command: Command, before: Command | None, hidden: Set[str]) -> set[str]:
    """The variables that `read` or `mapfile` fills with what was downloaded or hidden.

    `before` is the command before, which may write into the loop that reads.
    """
    texts = [word.text or "" for word in command.words]
    if texts[:2] == ["printf", "-v"] and _DECODERS.search(command.raw):
        return {*texts[2:3]}
    if name_of(command.words) not in {"read", "mapfile", "readarray"}:
        return set()
    looped = before is not None and before.pipeline[0] + 1 < before.pipeline[1]
    piped = looped and before is not None and _hides(before, hidden)
    if not piped and not any(_FETCHED.search(item.target.raw) for item in command.redirections):
        return set()
    return {word.text for word in command.words[1:] if word.text and word.text.isidentifier()}


def _program(call: Call) -> Sequence[Word]:
    """What an interpreter is told to run: a text, a file, or nothing, which is its input."""
    words = call.words[1:]
    if call.name == "eval":
        return words
    for at, word in enumerate(words):
        text = word.text or word.raw
        if call.name in _SHELLS and re.fullmatch(r"-\w*s", text):
            return ()
        if re.fullmatch(r"-\w*[ce]", text):
            return words[at + 1 : at + 2]
        if text == "-m":
            return words[at + 1 : at + 2]
        if not text.startswith("-"):
            return words[at : at + 1]
    return ()


def _hides(command: Command, hidden: Set[str]) -> bool:
    """Whether what a command writes cannot be read in the script."""
    names = {name for word in command.words for name in _names(word)}
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
    folders = [after for flag, after in pairwise(texts) if flag in _INTO_FOLDER]
    found += [f"{folder.rstrip('/')}/{text}" for folder in folders for text in found if text]
    return {text.removeprefix("./") for text in found if text}


def _kept_by_tee(command: Command, piped: Sequence[Command], hidden: Set[str]) -> set[str]:
    """The files into which `tee` copies what was downloaded or hidden."""
    words = bare(command)
    if name_of(words) != "tee" or not any(_hides(one, hidden) for one in piped):
        return set()
    texts = (word.text or "" for word in words[1:])
    return {text.removeprefix("./") for text in texts if not text.startswith("-")}


def _of_spelling(call: Call) -> str | None:
    first = call.command.words[0]
    odd = _ODD_NAME.search(first.raw) and first.raw.strip("\"'") != first.text
    bare_name = re.sub(r"(?<=\w)\$(?:\{\w+\}|\w+)(?=\w)", "", first.raw)
    odd = odd or (bare_name != first.raw and bare_name in _HOT)
    return "is spelt so that its reader does not see what it runs" if odd else None
