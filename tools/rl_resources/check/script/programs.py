"""What a program in Python, Perl, Ruby, node or awk does that stands in a command as a text.

By the names of what it calls: none is parsed, and what it starts is given back as commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.script.outside import is_of_reader

_FETCHES = re.compile(
    r"urlopen|urlretrieve|\brequests\b|httpx\.|LWP::|b64decode|fromhex|unhexlify|codecs\.decode"
    r"|Buffer\.from\([^)]*base64|\batob\(|socket|\bpack\b|open-uri|URI\.open"
    r"|fsockopen|require\(['\"]https?['\"]\)|\(['\"]https?://"
)
_RUNS = re.compile(
    r"(?<![.\w])(?:exec|eval|compile)\b|\b(?:system|popen|subprocess|spawn|dup2|pty|run_path|run_module|exec_module)\b"
)
_BUILDS = re.compile(
    r"(?<![.\w])exec\s*\(\s*(?!open\b|[rbfu]?['\"]|\))|(?<![.\w])(?:exec|eval)\s*\(\s*['\"]{2}\.join"
    r"|(?<![.\w])eval\s*\(\s*(?:compile|bytes|chr|codecs|marshal|__import__)\b"
    r"|\bgetattr\s*\(\s*(?:__import__|__builtins__|builtins)\b"
    r"|\bgetattr\s*\([^()]{1,40}['\"]\s*\+\s*['\"]"
)
"""What it runs is no text that stands there: it is made at run time."""
_WRITES = re.compile(r"open\((?P<path>.{1,200}?),\s*(?:mode\s*=\s*)?['\"][wax]")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_QUOTES = re.compile(r"[\s'\"+]+")
_RUNS_LIST = re.compile(
    r"(?:run|call|check_call|check_output|popen|execv\w*)\s*\(\s*\[(?P<words>[^\]]{1,4096})\]",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"(?:system|popen|run|call|check_call|\w*output|exec|execSync|execute|spawn)\s*\(?\s*"
    r"(?:qq?\(|b?(?P<quote>['\"]))(?P<text>.{0,4096}?)(?(quote)(?P=quote)|\))"
    r"|\"(?P<read>[^\"]+)\"\s*\|\s*getline",
    re.IGNORECASE,
)
_SENDS = re.compile(r"(?:\b(?:post|put)|urlopen|request|sendall)\b")
_ALL_SETTINGS = re.compile(r"\bos\.environ\b(?!\s*[\[.])")
_DELETES_TREE = re.compile(
    r"(?:rmtree|unlink|rmSync|rm_rf|remove_dir_all)\W{1,20}(?:(?:glob|[\w.]{0,20}expanduser)\W{1,20})?"
    r"(?:qq?\(|(?<=['\"]))[/~](?!tmp/)"
)
_DELETES = re.compile(r"\b(?:rmtree|os\.remove|unlink|rmSync|rm_rf)\b")
_HOME = re.compile(
    r"expanduser\(['\"]~/?['\"]\)(?!\s*[+/])|Path\.home\(\)(?!\s*/)|\bENV\{HOME\}/\*"
    r"|environ(?:\.get)?[\[(]['\"]HOME['\"][\])](?!\s*[+/])"
)


_FORKS = re.compile(r"\bfork\b(?:\(\))?\s*while\b|\bwhile\s*(?:1|True|\(1\)).{0,20}\bfork\b")


def program_fear(program: str) -> str | None:
    """What is to fear of a program itself, in words that fit after its command."""
    if (_FETCHES.search(program) and _RUNS.search(program)) or _BUILDS.search(program):
        return "runs what was downloaded or hidden"
    if _FORKS.search(program):
        return "starts processes without end"
    if any(map(_sends_settings, program.splitlines())):
        return "sends files or settings of the reader to another machine"
    if _DELETES_TREE.search(program) or (_DELETES.search(program) and _HOME.search(program)):
        return "deletes outside of the work folder"
    if any(is_of_reader(path) for path in _written(program)):
        return "changes the reader's system"
    return None


def _written(program: str) -> Iterator[str]:
    """The files that it opens to write, and the words by which it names their folders."""
    for match in _WRITES.finditer(program):
        yield from _QUOTED.findall(match["path"])
        yield _QUOTES.sub("", match["path"])


def _sends_settings(line: str) -> bool:
    sends = _SENDS.search(line)
    return sends is not None and _ALL_SETTINGS.search(line, sends.end()) is not None


def started(program: str) -> Iterator[str]:
    """The commands that a program starts."""
    yield from (match["text"] or match["read"] or "" for match in _STARTS.finditer(program))
    for listed in _RUNS_LIST.finditer(program):
        yield " ".join(_QUOTED.findall(listed["words"]))
