"""Where the text comes from that a script runs: what it shows itself, what it fetches or hides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rl_resources.check.script.calls import FETCHERS, as_written, bare, name_of
from rl_resources.check.script.hidden import (
    decodes,
    holds_fetched,
    holds_unseen,
    is_shown,
    passes_on,
    said,
)
from rl_resources.script.shell import Command, Script, Word

_DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "axel"})
_COPIERS = frozenset({"scp", "rsync", "aws", "gsutil", "gcloud", "rclone", "hdfs"})
_HUBS = frozenset({"hf", "huggingface-cli", "modelscope"})
_FROM_AFAR = re.compile(r"[a-z][a-z0-9]*://|[\w.@${}\"-]+:")
_UNPACKERS = frozenset({"tar", "unzip", "7z"})
_ARCHIVE = re.compile(r"\.(?:tar(?:\.\w+)?|t[gx]z|zip|7z)$")
_INTO_FOLDER = frozenset(
    {"-P", "--directory-prefix", "--output-dir", "-d", "--dir", "-C", "--directory"}
    | {"--local-dir", "--local_dir"}
)
_PINNED = re.compile(r"[0-9a-f]{7,40}|(?:tags/)?v?\d+(?:\.\d+)+\S*")
"""A commit, or the tag of a release."""
_AT_BRANCH = re.compile(r"-b|--branch|--revision")
_PROGRAM_FILE = re.compile(r".*/|.*\.(?:sh|bash)\Z")
_CLONERS = frozenset({"git", "gh", "hg"})

_SUBSTITUTED = re.compile(r"(?:[<$]\(|`)\s*([\w.-]+)")
_VARIABLE = re.compile(r"\"?\$\{?\w+(?:\[[@*]\])?\}?\"?")
_LONGEST_LOOP = 4096
_LOOP_INPUT = re.compile(r"\bdone\s*<\s*(<\([^)]*)")
_NAME = re.compile(r"\$\{?!?([A-Za-z_]\w*)")


class Origins:
    """What is known of texts and files when a command runs; `follow` takes it past a command."""

    def __init__(self, script: Script) -> None:
        self._hidden = {
            item.name for item in script.assignments if holds_fetched(as_written(script, item))
        }
        self._typed: set[str] = set()
        self._shown: dict[str, str] = {}
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._inside: Command | None = None
        self._text = "\n".join(script.lines)
        self._fetching = {
            item.function
            for item in script.commands
            if item.function and name_of(bare(item)) in FETCHERS
        }
        for before, command in zip((None, *script.commands), script.commands, strict=False):
            self._read_in(command, before)
        for item in script.assignments:
            used = {*item.value.names, *_NAME.findall(as_written(script, item))}
            if used & self._hidden:
                self._hidden.add(item.name)

    def text_of(self, path: str) -> str:
        """What the script writes into a file, where it shows that."""
        return self._shown.get(_bare(path), "")

    def hides(self, command: Command) -> bool:
        """Whether what a command writes cannot be read in the script."""
        words = {name for word in command.words for name in _names(word)}
        name = name_of(bare(command))
        return bool(
            name in FETCHERS
            or (name and name in self._fetching)
            or decodes(command.raw)
            or words & self._hidden
        )

    def hides_pipeline(self, piped: Sequence[Command]) -> bool:
        """Whether what comes out of a pipeline cannot be read in the script or a file of it."""
        if not piped:
            return False
        shown = is_shown(piped[0]) and all(map(passes_on, piped[1:]))
        return not shown or any(map(self.hides, piped))

    def hides_text(self, text: str) -> bool:
        """Whether a text that is run holds what a command fetches or hides."""
        if holds_fetched(text) or holds_unseen(text):
            return True
        return any(match[1] in self._fetching for match in _SUBSTITUTED.finditer(text))

    def unseen(self, word: Word, *, as_text: bool = True) -> bool:
        """Whether a word is made of what was fetched or hidden, or is what somebody types.

        What is typed matters only where it is run `as_text`, not as the name of a file.
        """
        used = _names(word)
        typed = as_text and used & self._typed and _VARIABLE.fullmatch(word.raw)
        return bool(used & self._hidden or typed)

    def fetched(self, path: str, command: Command) -> bool:
        """Whether a command's file is one that was fetched, or lies in a folder that was."""
        if _bare(path) in self._shown:
            return self.fetched_file(path)
        if self._folders and not self._folders.isdisjoint(_folders_of(path.removeprefix("./"))):
            return True
        here = self._inside is not None and self._inside.in_subshell <= command.in_subshell
        beside = here and _PROGRAM_FILE.match(path) and path[:1] not in {"/", "~", "$"}
        return self.fetched_file(path) or bool(beside)

    def fetched_file(self, path: str) -> bool:
        """Whether exactly this file was fetched."""
        return _bare(path) in self._files

    def follow(self, command: Command, piped: Sequence[Command]) -> None:
        """Take note of what a command fetches, writes, or goes into."""
        words = bare(command)
        name, texts = name_of(words), [path_of(word) for word in words[1:]]
        self._files |= {_bare(text) for text in _saved(name, texts, command) if text}
        self._note_written([_bare(text) for text in _targets(name, texts, command)], command, piped)
        if name in _DOWNLOADERS:
            self._folders.update(map(_bare, _into(texts)))
        if name in _CLONERS:
            self._follow_clone(texts)
        if name in _UNPACKERS and (
            any(map(self.fetched_file, texts)) or any(map(self.hides, piped))
        ):
            self._folders.update(_unpacked(texts, piped))
        if name in {"cd", "pushd", "popd"}:
            target = _bare(texts[0] if texts else "~")
            inside = f"{target}/x" if self.fetched(f"{target}/x", command) else ""
            self._inside = command if inside and not target.startswith("..") else None

    def _note_written(
        self, targets: Sequence[str], command: Command, piped: Sequence[Command]
    ) -> None:
        if not targets:
            return
        words = (word.value.shown for word in command.words)
        if any(map(self.hides, (*piped, command))) or any(map(self.hides_text, words)):
            self._files.update(targets)
        elif text := said(command) or "".join(map(said, piped[-1:])):
            self._shown.update(dict.fromkeys(targets, text))

    def _follow_clone(self, texts: Sequence[str]) -> None:
        """Take note of the folder that a clone makes, unless a commit says what is in it."""
        if "checkout" in texts and _PINNED.fullmatch(texts[-1]):
            self._folders.clear()
            self._inside = None
        if "clone" not in texts:
            return
        branches = (after for flag, after in pairwise(texts) if _AT_BRANCH.fullmatch(flag))
        if any(map(_PINNED.fullmatch, branches)):
            return
        given = [text for text in texts[texts.index("clone") + 1 :] if not text.startswith("-")]
        at = next((at for at, text in enumerate(given) if re.match(r"\S*[/$:]", text)), None)
        if at is not None:
            name = given[at].rstrip("/").rpartition("/")[2].removesuffix(".git")
            self._folders.add(_bare(next(iter(given[at + 1 :]), name)))

    def _read_in(self, command: Command, before: Command | None) -> None:
        """Take note of the variables that `read` and its like fill from elsewhere.

        `before` is the command before, which may write into the loop that reads.
        """
        texts = [word.text or "" for word in command.words]
        if texts[:2] == ["printf", "-v"] and decodes(command.raw):
            self._hidden.update(texts[2:3])
        if name_of(command.words) not in {"read", "mapfile", "readarray"}:
            return
        filled = {text for text in texts[1:] if text.isidentifier()}
        looped = before is not None and before.pipeline[0] + 1 < before.pipeline[1]
        piped = looped and before is not None and self.hides(before)
        inputs = [item.target.raw for item in command.redirections]
        inputs += self._loop_input(command)
        if piped or any(map(holds_fetched, inputs)):
            self._hidden |= filled
        elif not (looped or command.in_loop or inputs):
            self._typed |= filled

    def _loop_input(self, command: Command) -> list[str]:
        """What a loop around the command reads, where that is told not far behind."""
        start = command.place.offset
        given = _LOOP_INPUT.search(self._text, start, start + _LONGEST_LOOP)
        return [given[1]] if command.in_loop and given else []


def _names(word: Word) -> set[str]:
    """The variables that a word is made of, as far as they can be told."""
    return {*word.value.names, *_NAME.findall(word.raw)}


def path_of(word: Word) -> str:
    """A word as the name of a file: as it is written where it is not known."""
    return word.text or word.raw.replace('"', "")


def _bare(path: str) -> str:
    return path.removeprefix("./").rstrip("/")


def _folders_of(path: str) -> Iterator[str]:
    return (path[: slash.start()] for slash in re.finditer("/", path))


def _into(texts: Sequence[str]) -> list[str]:
    """The folders that a command is told to write to."""
    return [after for flag, after in pairwise(texts) if flag in _INTO_FOLDER and _bare(after)]


def _saved(name: str, texts: Sequence[str], command: Command) -> Iterator[str]:
    """The files, and folders with a slash less, that a program fetches by its own means."""
    folders = _into(texts)
    if name in _DOWNLOADERS:
        found = [*_targets("", (), command)]
        for flag, after in pairwise([*texts, ""]):
            if re.fullmatch(r"-\w*[oO]|--output(?:-document)?", flag):
                found.append(after)
            if "://" in flag:
                found.append(flag.rpartition("/")[2])
    elif name in _COPIERS and any(map(_FROM_AFAR.match, texts[:-1])):
        folders, found = [*texts[-1:]], [text.rpartition("/")[2] for text in texts[:-1]]
        yield from (folder.rstrip("/") for folder in folders)
    elif name in _HUBS and "download" in texts:
        found = [text for text in texts if "." in text.rpartition("/")[2] and text not in folders]
    else:
        return
    yield from found
    yield from (f"{folder.rstrip('/')}/{text}" for folder in folders for text in found if text)


def _targets(name: str, texts: Sequence[str], command: Command) -> Iterator[str]:
    """The files into which a command writes what comes in or out of it."""
    for item in command.redirections:
        if item.operator in {">", ">>", ">|"}:
            yield path_of(item.target)
    if name == "tee":
        yield from (text for text in texts if not text.startswith("-"))
    if name == "dd":
        yield from (text[3:] for text in texts if text.startswith("of="))
    if name == "install":
        yield from texts[-1:]


def _unpacked(texts: Sequence[str], piped: Sequence[Command]) -> Iterator[str]:
    """The folders into which an archive is unpacked: as told, else as the archive is called."""
    told = _into(texts)
    piped_from = [word.text or "" for one in piped for word in one.words]
    called = (text.rpartition("/")[2] for text in (*texts, *piped_from) if _ARCHIVE.search(text))
    yield from map(_bare, told)
    if not told:
        yield from (_ARCHIVE.sub("", text) for text in called)
