"""What a reader must fear of a command, judged by the words that bash would hand over.

So it matters little how they are spelt. By classes: what runs text that the script does not show,
what deletes outside of the work folder, what opens the machine to others, what takes rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rl_resources.script.shell import Command, Script, Word, read
from rl_resources.words import shown

_FETCHERS = frozenset(
    {"curl", "wget", "aria2c", "axel", "lynx", "nc", "ncat", "socat", "aws", "gsutil"}
)
_DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "axel"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_PYTHONS = re.compile(r"(?:python|pypy)[\d.]*|ipython|perl|ruby|node|php")
_PREFIXES = frozenset(
    {"env", "nohup", "time", "exec", "command", "builtin", "nice", "ionice", "stdbuf", "timeout"}
    | {"setsid", "xargs", "busybox", "watch", "unbuffer", "parallel"}
)
_PREFIX_WORD = re.compile(r"-.*|\w+=.*|\d+[smhd]?")
_HIDDEN = (
    r"(?:curl|wget|aria2c)\s|base(?:64|32)\s+(?:-d|-D|--decode)|xxd\s+[^)`]*-\w*r|\brev\b"
    r"|openssl\s+(?:enc|base64)|printf\s+[^)`]*\\{1,2}(?:x[0-9a-f]{2}|[0-7]{3})|uudecode|unhexlify"
)
_FETCHED = re.compile(rf"(?:[<$]\(|`)[^)`]*(?:{_HIDDEN})", re.IGNORECASE)
_DECODERS = re.compile(rf"(?:{_HIDDEN}|\btr\s+\S+\s+\S+|echo\s+-\w*e\w*\s+[^|]*\\x)", re.IGNORECASE)
_ODD_NAME = re.compile(r"\w(?:''|\"\"|\\|\$['@*]|['\"]\w|\$\{?IFS)|^\$'|^['\"]\w+['\"]['\"]?\w")
_PROGRAM_FETCHED = re.compile(
    r"urlopen|urlretrieve|requests\.|httpx\.|LWP::|b64decode|fromhex|unhexlify|codecs\.decode|socket"
)
_PROGRAM_RUN = re.compile(r"\b(?:exec|eval|compile|system|popen|subprocess|spawn|dup2|pty)\b")
_HARMLESS = re.compile(r"/(?:tmp|var/tmp|dev/shm)/(?!\.\.)[^/*\s]")
_SYSTEM = re.compile(
    r"/(?:(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|var/spool)\b|dev/(?:sd|nvme|mem|vd))"
)
_KEPT = re.compile(
    r"\.ssh\b|authorized_keys|\.(?:bash|zsh)rc\b|\.(?:bash_)?profile\b|/cron|sitecustomize|\.pth$"
)
_WRITERS = frozenset({"tee", "cp", "mv", "ln", "install", "sed", "truncate", "rsync", "dd"})
_RIGHTS = frozenset(
    {"sudo", "su", "doas", "pkexec", "useradd", "usermod", "passwd", "visudo", "insmod", "modprobe"}
    | {"iptables", "nft", "setcap", "chattr", "mount", "nsenter", "chroot"}
)
_LISTENERS = frozenset({"sshd", "telnetd", "ngrok", "cloudflared", "frpc", "bore", "gotty", "ttyd"})
_LISTENS = re.compile(r"(?:^|\s)-(?:\w*[lec]|-listen|-exec)")
_SERVERS = re.compile(r"-m\s*(?:http\.server|SimpleHTTPServer|pyftpdlib)")
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
    assigned = frozenset(item.name for item in script.assignments)
    for command in script.commands:
        if command.pipeline[0] == 0:
            piped = []
        if command.reach != "never" and command.words:
            words = _fear(_Call(command, tuple(piped), hidden, frozenset(fetched), assigned), depth)
            if words:
                yield Fear(command, words)
            fetched |= _written(command)
        piped.append(command)


class _Call(NamedTuple):
    """A command with those before it in its pipeline, and with what was downloaded before it."""

    command: Command
    piped: tuple[Command, ...]
    hidden: set[str]
    fetched: frozenset[str]
    assigned: frozenset[str]

    @property
    def words(self) -> Sequence[Word]:
        """The words from the program's name on that is run in the end."""
        return bare(self.command)

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return _name(self.words)

    @property
    def texts(self) -> list[str]:
        """Its arguments; what is not known as it is written."""
        return [word.text or word.value.shown for word in self.words[1:]]


def bare(command: Command) -> Sequence[Word]:
    """The words of a command without those that only start it: of `nohup bash x`, `bash x`."""
    words: Sequence[Word] = command.words
    while len(words) > 1 and _name(words) in _PREFIXES:
        words = words[1:]
        while len(words) > 1 and _PREFIX_WORD.fullmatch(words[0].text or ""):
            words = words[1:]
    return words


def _name(words: Sequence[Word]) -> str:
    return (words[0].text or "").rpartition("/")[2]


def _fear(call: _Call, depth: int) -> str | None:
    return (
        _of_hidden_program(call, depth)
        or _of_deletion(call)
        or _of_writing(call)
        or _of_network(call)
        or _of_rights(call)
        or _of_spelling(call)
    )


def _of_hidden_program(call: _Call, depth: int) -> str | None:
    told = "runs what was downloaded or hidden"
    if (call.words[0].text or "").removeprefix("./") in call.fetched:
        return told
    if call.name not in _SHELLS | {"eval", "source", "."} and not _PYTHONS.fullmatch(call.name):
        return None
    program = _program(call)
    here = [item.body.shown if item.body else item.target.raw for item in call.command.redirections]
    raws = [word.raw for word in program] + [text for text in here if text]
    names = {name for word in program for name in word.value.names}
    files = {(word.text or "").removeprefix("./") for word in program}
    if any(map(_FETCHED.search, raws)) or names & call.hidden or files & call.fetched:
        return told
    if not program and any(map(_hides, call.piped)):
        return told
    texts = [word.text or "" for word in program] + here
    if _PYTHONS.fullmatch(call.name):
        whole = " ".join(texts)
        return told if _PROGRAM_FETCHED.search(whole) and _PROGRAM_RUN.search(whole) else None
    if depth < MOST_NESTED and "-c" in call.texts:
        inner = (fear.words for text in texts if text for fear in fears(read(text), depth + 1))
        return next(inner, None)
    return None


def _program(call: _Call) -> Sequence[Word]:
    """What an interpreter is told to run: a text, a file, or nothing, which is its input."""
    words = call.words[1:]
    if call.name == "eval":
        return words
    for at, word in enumerate(words):
        text = word.text or word.raw
        if re.fullmatch(r"-\w*[ce]", text):
            return words[at + 1 : at + 2]
        if text == "-m":
            return ()
        if not text.startswith("-"):
            return words[at : at + 1]
    return ()


def _hides(command: Command) -> bool:
    """Whether what a command writes cannot be read in the script."""
    return _name(bare(command)) in _FETCHERS or bool(_DECODERS.search(command.raw))


def _written(command: Command) -> set[str]:
    """The files that a downloader writes."""
    words = bare(command)
    if _name(words) not in _DOWNLOADERS:
        return set()
    found = [item.target.text for item in command.redirections if item.operator in {">", ">>"}]
    texts = [word.text or "" for word in words[1:]]
    for flag, after in pairwise([*texts, ""]):
        if re.fullmatch(r"-\w*[oO]|--output(?:-document)?", flag):
            found.append(after)
        if "://" in flag:
            found.append(flag.rpartition("/")[2])
    return {text.removeprefix("./") for text in found if text}


def _of_deletion(call: _Call) -> str | None:
    line = " ".join(call.texts)
    recursive = any(re.match(r"-\w*[rR]|--recursive", text) for text in call.texts)
    if (call.name == "rm" and recursive) or call.name == "shred":
        return _deletes(call.words[1:], call.assigned)
    if call.name == "find" and re.search(r"(?:^| )(?:-delete|-exec(?:dir)? (?:rm|shred))\b", line):
        return _deletes(call.words[1:2], call.assigned)
    if call.name == "git" and re.search(r"\bclean\b.* -\w*[fdx]", line):
        return "deletes what the reader has not committed"
    return None


def _deletes(words: Sequence[Word], assigned: frozenset[str]) -> str | None:
    target = next((word for word in words if _is_outside(word, assigned)), None)
    return f"deletes `{shown(target.raw)}`, outside of the work folder" if target else None


def _is_outside(word: Word, assigned: frozenset[str]) -> bool:
    first, raw = word.value.parts[0] if word.value.parts else None, word.raw.replace('"', "")
    text = first.source if first and first.reason == "pathname" else word.text
    if text is not None and re.match(r"/|~|(?:\./)?\.\.(?:/|$)", text):
        return not _HARMLESS.match(text)
    if re.fullmatch(r"~(?:/\*?|/\.(?!/).*)?|\$\{?HOME\}?(?:/\*?|/\.(?!/).*)?", raw):
        return True
    whole = re.fullmatch(r"\$\{?([A-Za-z_]\w*)\}?/\*?", raw)
    if whole is not None and whole[1] not in assigned:
        return True  # the root, where the variable is not set
    unset = first is not None and first.text is None and first.reason == "environment"
    return bool(unset and first and first.name.islower() and "/" in raw and ":?" not in raw)


def _of_writing(call: _Call) -> str | None:
    redirected = call.command.redirections
    if any(re.match(r"/dev/(?:tcp|udp)/", item.target.value.shown) for item in redirected):
        return "opens a connection to another machine"
    targets = [item.target for item in redirected if ">" in item.operator]
    if call.name in _WRITERS:
        targets += call.words[1:] if call.name in {"tee", "sed", "dd"} else call.words[-1:]
    for word in targets:
        text = (word.text or word.value.shown).removeprefix("of=")
        if _SYSTEM.match(text) or _KEPT.search(text):
            return f"changes `{shown(text)}`, which is the reader's own"
    if call.name.startswith("mkfs") or call.name in {"wipefs", "fdisk", "parted"}:
        return "overwrites a disk"
    return None


def _of_network(call: _Call) -> str | None:
    line = " ".join(call.texts)
    listens = (
        (call.name in {"nc", "ncat", "netcat"} and _LISTENS.search(line))
        or (call.name == "socat" and re.search(r"LISTEN|EXEC|SYSTEM", line, re.IGNORECASE))
        or (_PYTHONS.fullmatch(call.name) and _SERVERS.search(line))
        or (call.name == "php" and "-S" in call.texts)
        or (call.name.startswith("jupyter") and re.search(r"ip[= ]'?(?:0\.0\.0\.0|\*)", line))
        or call.name in _LISTENERS
    )
    if listens:
        return "opens the machine to the network"
    if call.name == "git" and re.match(r"push\b", line):
        return "publishes from the reader's machine"
    if call.name in {"ssh", "scp", "sftp", "sshpass"}:
        return "uses the reader's keys on another machine"
    sends = call.name == "curl" and re.search(r"(?:^| )(?:-T|--upload-file)\b|@[/~.\w]*\S", line)
    known = call.name in _FETCHERS and any(
        _name(bare(one)) in {"env", "printenv"} for one in call.piped
    )
    if known or (sends and re.search(r"(?:-d|--data\S*|-F|--form) *\S*@|-T|--upload-file", line)):
        return "sends files or settings of the reader to another machine"
    return None


def _of_rights(call: _Call) -> str | None:
    line = " ".join(call.texts)
    if call.name in _RIGHTS:
        return "needs the rights of the administrator"
    if call.name in {"chmod", "chown"} and re.search(
        r"(?:^| )(?:\+?s|[ugo]+\+\w*s|[2-7][0-7]{3})\b|(?:777|a\+rwx|-R\b.*) /(?!tmp/|dev/shm/)",
        line,
    ):
        return "opens files of the system to everybody"
    if call.name in {"crontab", "at", "batch", "systemctl", "service", "launchctl"}:
        return "stays on the reader's machine after the run"
    if call.name == "docker" and re.search(r"--privileged|(?:-v|--volume)[ =]/:", line):
        return "gives a container the whole machine"
    if call.name in {"pkill", "killall"} and re.search(
        r"(?:^|[\s/])(?:python|ray|vllm)[0-9.]*\b", line
    ):
        return "ends every such program of the reader, also those of other runs"
    if call.name in {"shutdown", "reboot", "poweroff", "halt"}:
        return "stops the machine"
    return None


def _of_spelling(call: _Call) -> str | None:
    first = call.command.words[0]
    odd = _ODD_NAME.search(first.raw) and first.raw.strip("\"'") != first.text
    return "is spelt so that its reader does not see what it runs" if odd else None
