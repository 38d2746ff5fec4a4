"""What a program in Python, Perl, Ruby, node or awk does that stands in a command as a text.

By the names of what it calls: none is parsed, and what it starts is given back as commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FETCHES = re.compile(
    r"urlopen|urlretrieve|\brequests\b|httpx\.|LWP::|b64decode|fromhex|unhexlify|codecs\.decode"
    r"|Buffer\.from\([^)]*base64|\batob\(|socket|\bpack\b|open-uri|URI\.open"
    r"|fsockopen|require\(['\"]https?['\"]\)|\(['\"]https?://"
)
_RUNS = re.compile(
    r"(?<![.\w])(?:exec|eval|compile)\b|\b(?:system|popen|subprocess|spawn|dup2|pty)\b"
)
_BUILDS = re.compile(
    r"(?<![.\w])exec\s*\(\s*(?!open\b|[rbfu]?['\"]|\))|(?<![.\w])(?:exec|eval)\s*\(\s*['\"]{2}\.join"
    r"|(?<![.\w])eval\s*\(\s*(?:compile|bytes|chr|codecs|marshal|__import__)\b"
    r"|\bgetattr\s*\(\s*(?:__import__|__builtins__|builtins)\b"
)
"""What it runs is no text that stands there: it is made at run time."""
_WRITES = re.compile(
    r"open\(\s*['\"]/(?:etc|usr|s?bin|lib\w*|boot|proc|sys)/[^'\"]*['\"]\s*,\s*['\"][wax]"
)
_STARTS = re.compile(
    r"(?:system|popen|run|call|check_call|check_output|exec|execSync|execute|spawn)\s*\(?\s*"
    r"(?:qq?\(|(?P<quote>['\"]))(?P<text>.{0,4096}?)(?(quote)(?P=quote)|\))"
    r"|\"(?P<read>[^\"]+)\"\s*\|\s*getline",
    re.IGNORECASE,
)
_SENDS = re.compile(r"(?:\b(?:post|put)|urlopen|request|sendall)\b")
_ALL_SETTINGS = re.compile(r"\bos\.environ\b(?!\s*[\[.])")
_DELETES_TREE = re.compile(
    r"(?:rmtree|unlink|rmSync|rm_rf|remove_dir_all)\W{1,20}(?:(?:glob|[\w.]{0,20}expanduser)\W{1,20})?"
    r"(?:qq?\(|(?<=['\"]))[/~](?!tmp/)"
)


def program_fear(program: str) -> str | None:
    """What is to fear of a program itself, in words that fit after its command."""
    if (_FETCHES.search(program) and _RUNS.search(program)) or _BUILDS.search(program):
        return "runs what was downloaded or hidden"
    if any(map(_sends_settings, program.splitlines())):
        return "sends files or settings of the reader to another machine"
    if _DELETES_TREE.search(program):
        return "deletes outside of the work folder"
    return "changes the reader's system" if _WRITES.search(program) else None


def _sends_settings(line: str) -> bool:
    sends = _SENDS.search(line)
    return sends is not None and _ALL_SETTINGS.search(line, sends.end()) is not None


def started(program: str) -> Iterator[str]:
    """The commands that a program starts."""
    return (match["text"] or match["read"] or "" for match in _STARTS.finditer(program))
