"""Settings by which other programs run code that their command line does not show.

Variables that a loader, a shell or an interpreter obeys, configuration of git, indexes of packages
that are not the usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rl_resources.script.shell import Assignment, Command

_ANYWHERE = r"(?:\./|/tmp/|/var/tmp/|/dev/shm/|[\w-]+/)"
_OBEYED = {
    **dict.fromkeys(("LD_PRELOAD", "LD_AUDIT"), re.compile(rf"(?:.*[: ])?{_ANYWHERE}.*")),
    "PATH": re.compile(r"(?:\.|\.?/?(?:tmp|var/tmp|dev/shm)/[^:]*)?(?::.*)"),
    "GIT_SSH_COMMAND": re.compile(r"(?!(?:/usr/bin/)?ssh\b).+|.*ProxyCommand.*"),
    "NODE_OPTIONS": re.compile(r".*--(?:require|import|loader)\b.*"),
    **dict.fromkeys(
        ("BASH_ENV", "PERL5OPT", "PROMPT_COMMAND", "PYTHONSTARTUP", "RUBYOPT"),
        re.compile(r".+"),
    ),
}
_INDEXES = re.compile(r"(?:PIP|UV)_(?:EXTRA_|DEFAULT_)?INDEX(?:_URL)?")
_INDEX_OPTION = re.compile(
    r"(?:-i|--(?:extra-|default-)?index(?:-url)?|global\.(?:extra-)?index-url)[ =](?P<url>\S+)"
)
_USUAL_INDEX = re.compile(
    r"https?://(?:[\w-]+\.)*(?:pypi|mirrors?|download|wheels?|repo|nexus|artifactory)[\w-]*\."
    r"|https?://(?:localhost|127\.|\[::1\])|https://\S+/whl\b"
)
_UNUSUAL = re.compile(r"https?://(?!\S*\$)\S+")
_INSTALLERS = re.compile(r"(?:pip[\d.]*|uv)")
_GIT_RUNS = re.compile(
    r"\b(?:core\.(?:sshcommand|hookspath|fsmonitor|pager|editor)|diff\.external|init\.templatedir"
    r"|[\w-]+\.[\w.-]*(?:command|cmd|driver)|filter\.\S+\.(?:clean|smudge|process))\b"
    r"|\b(?:alias\.[\w-]+|credential\.helper)[ =]!",
    re.IGNORECASE,
)

_TAR_RUNS = re.compile(r"--(?:checkpoint-action|to-command|rsh-command)\b")
_SED_RUNS = re.compile(r"s(?P<d>[/|#,@!])(?:(?!(?P=d)).)*(?P=d)(?:(?!(?P=d)).)*(?P=d)[0-9gipm]*e")


def detour(command: Command, name: str, words: Iterable[str]) -> str | None:
    """By what a command makes others run hidden code, in words that fit after it.

    `name` and `words` are the program that it starts in the end and what it hands to it.
    """
    texts = [*words]
    line = " ".join(texts)
    if any(map(_is_obeyed, command.assignments)) or _sets(name, texts):
        return "makes programs run code that nobody sees"
    if name == "git" and re.match(r"config\b|-c ", line) and _GIT_RUNS.search(line):
        return "makes git run code"
    if (name == "tar" and _TAR_RUNS.search(line)) or (
        name == "sed" and any(map(_SED_RUNS.match, texts))
    ):
        return "runs commands that its name does not tell"
    if name in {"mapfile", "readarray"} and "-C" in texts:
        return "runs commands that its name does not tell"
    if (name == "enable" and "-f" in texts) or (name == "hash" and "-p" in texts):
        return "puts another program in the place of one"
    indexes = [item.value.shown for item in command.assignments if _INDEXES.fullmatch(item.name)]
    if any(map(_is_unusual, [*indexes, *_indexes(name, texts, line)])):
        return "takes packages from an index that is not a usual one"
    return None


def _is_obeyed(item: Assignment) -> bool:
    return _obeys(item.name, item.value.shown or item.raw.partition("=")[2])


def _obeys(name: str, text: str) -> bool:
    form = _OBEYED.get(name)
    return bool(form and form.fullmatch(text))


def _sets(name: str, texts: Iterable[str]) -> bool:
    """Whether `export` and its like set a variable that programs obey."""
    if name not in {"export", "declare", "typeset", "env"}:
        return False
    return any(_obeys(*text.split("=", 1)) for text in texts if "=" in text)


def _indexes(name: str, texts: list[str], line: str) -> Iterator[str]:
    if name in {"export", "declare", "env"}:
        pairs = (text.split("=", 1) for text in texts if "=" in text)
        yield from (value for key, value in pairs if _INDEXES.fullmatch(key))
    installs = _INSTALLERS.fullmatch(name) or re.match(r"-m (?:pip|uv)\b", line)
    if installs:
        yield from (match["url"] for match in _INDEX_OPTION.finditer(line))


def _is_unusual(url: str) -> bool:
    return bool(_UNUSUAL.match(url)) and not _USUAL_INDEX.match(url)
