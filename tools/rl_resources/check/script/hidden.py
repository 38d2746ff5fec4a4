"""Which texts of a script its reader cannot read: what is fetched, or made out of another text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rl_resources.check.script.calls import INTERPRETERS, SAYERS, bare, name_of
from rl_resources.script.shell import Command, Part, Word, read

_HIDDEN = "|".join(
    (
        r"(?:curl|wget|aria2c|\b(?:dig|nslookup|lynx|ncat?|xclip|xsel|pbpaste))\s",
        r"\b(?:aws\s+s3\s+cp|gsutil\s+(?:cat|cp)|hdfs\s+dfs\s+-cat)\b",
        r"\btr\s+[^\s-]\S{1,40}\s+\S{0,20}[b-z]-[a-z]",
        r"gpg\s(?:(?!gpg\s)[^)`])*(?:-d|--decrypt)\b",
        r"base(?:64|32)\s+(?:-d|-D|--decode)",
        r"xxd\s(?:(?!xxd\s)[^)`])*-\w*r",
        r"\brev\b",
        r"openssl\s+(?:enc|base64)",
        r"printf\s(?:(?!printf\s)[^)`])*\\{1,2}(?:x[0-9a-f]{2}|[0-7]{3})",
        r"uudecode|unhexlify",
        r"\b(?:gunzip|zcat|bzcat|xzcat|unxz|zstdcat)\b",
        r"\b(?:gzip|xz|zstd|bzip2)\s+-\w*d",
    )
)
"""What fetches a text, or makes it out of one that nobody can read."""
_DECODERS = re.compile(rf"(?:{_HIDDEN}|\btr\s+\S+\s+\S+|echo\s+-\w*e\w*\s+[^|]*\\x)", re.IGNORECASE)
_CUTTERS = frozenset({"sed", "grep", "head", "tail", "awk", "cut", "sort", "tac"})
_OF_ITSELF = r"\$(?:0\b|\{0\}|\{?BASH_SOURCE)"
_FETCHED = re.compile(rf"(?:[<$]\(|`)(?:(?![<$]\()[^)`])*(?:{_HIDDEN})", re.IGNORECASE)
_UNSEEN = re.compile(
    r"(?:\$\(|`) *(?:cat(?: +(?:-|/dev/stdin))?|< */dev/stdin) *[)`]"
    rf"|(?:[<$]\(|`) *(?:cat|{'|'.join(sorted(_CUTTERS))})\b[^()`]*{_OF_ITSELF}"
)
"""What is typed in, or cut out of lines of the script that are no commands."""


_PLACES = re.compile(r"%[sb]")


def decodes(command: str) -> bool:
    """Whether a command, as it is written, makes a text that nobody can read before."""
    return _DECODERS.search(command) is not None


def holds_fetched(text: str) -> bool:
    """Whether a text holds what a command in it fetches or decodes."""
    return _FETCHED.search(text) is not None


def holds_unseen(text: str) -> bool:
    """Whether a text holds what is typed in, or cut out of lines of the script."""
    return _UNSEEN.search(text) is not None


def said(command: Command) -> str:
    """What a command writes, where the script shows it."""
    words = [
        word.raw.strip("\"'") if word.text is None else word.text for word in bare(command)[1:]
    ]
    if name_of(bare(command)) == "printf" and words:
        return _printed(words[0], words[1:])
    if name_of(bare(command)) == "echo":
        return " ".join(words)
    return "\n".join(item.body.shown for item in command.redirections if item.body)


def _printed(form: str, words: Sequence[str]) -> str:
    """What `printf` writes, which takes its form as often as there are words for it."""
    shown, *parts = _PLACES.split(form)
    text = "" if parts else form
    for at in range(0, max(1, len(words)), len(parts)) if parts else ():
        taken = [*words[at : at + len(parts)], *[""] * len(parts)]
        text += shown + "".join(map("".join, zip(taken, parts, strict=False)))
    return text.replace("\\n", "\n")


def spoken(word: Word) -> str:
    """A word with what `echo` and `printf` write into it; nothing where it is not known else."""
    return "".join(_spoken(part) for part in word.value.parts)


def _spoken(part: Part) -> str:
    if part.text is not None or not part.source.startswith("$("):
        return part.text or ""
    commands = read(part.source[2:-1]).commands
    says = len(commands) == 1 and name_of(bare(commands[0])) in SAYERS
    return said(commands[0]) if says else ""


def is_shown(command: Command) -> bool:
    """Whether a command writes what stands in the script or in a file beside it."""
    words = bare(command)
    name = name_of(words)
    own = [word for word in words[1:] if not (word.text or "").startswith("-")]
    if not words or name in {"echo", "printf", "yes"}:
        return True
    if any(re.search(_OF_ITSELF, word.raw) for word in own):
        return False
    if any(item.operator in {"<", "<<", "<<-", "<<<"} for item in command.redirections):
        return True
    if "/" in words[0].raw:
        return True
    if INTERPRETERS.fullmatch(name) or name in {"bash", "sh"}:
        return bool(own) and not any(re.fullmatch(r"-\w*[ce]", word.raw) for word in words)
    return len(own) > (name != "cat") if name in {"cat", *_CUTTERS} else name == "envsubst"


def passes_on(command: Command) -> bool:
    """Whether a command writes what it reads, or lines of it."""
    return name_of(bare(command)) in {"cat", "tee", "envsubst", "xargs", *_CUTTERS}
