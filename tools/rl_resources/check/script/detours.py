"""Settings by which other programs run code that their command line does not show.

Variables that a loader, a shell or an interpreter obeys, configuration of git, indexes of packages
that are not the usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rl_resources.check.script.calls import names
from rl_resources.script.shell import Assignment, Command

_ANYWHERE = r"(?:\./|/tmp/|/var/tmp/|/dev/shm/|[\w-]+/)"
_OBEYED = {
    **dict.fromkeys(("LD_PRELOAD", "LD_AUDIT"), re.compile(rf"(?:.*[: ])?{_ANYWHERE}.*")),
    "PATH": re.compile(r"(?:\.|\.?/?(?:tmp|var/tmp|dev/shm)/[^:]*)?(?::.*)"),
    "LD_LIBRARY_PATH": re.compile(r"/(?:tmp|var/tmp|dev/shm)/.*"),
    "GIT_SSH_COMMAND": re.compile(r"(?!(?:/usr/bin/)?ssh\b).+|.*ProxyCommand.*"),
    "NODE_OPTIONS": re.compile(r".*--(?:require|import|loader)\b.*"),
    "JAVA_TOOL_OPTIONS": re.compile(r".*-(?:javaagent|agent(?:path|lib))\b.*"),
    **dict.fromkeys(
        names("""
            BASH_ENV GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND LESSCLOSE LESSOPEN PERL5DB PERL5OPT
            PROMPT_COMMAND PYTHONSTARTUP RUBYOPT
            """),
        re.compile(r".+"),
    ),
}
_INDEXES = re.compile(r"(?:PIP|UV)_(?:EXTRA_|DEFAULT_)?INDEX(?:_URL)?")
_INDEX_OPTION = re.compile(
    r"(?:-[if]|--(?:extra-|default-)?index(?:-url)?|--(?:find-links|registry)"
    r"|global\.(?:extra-)?index-url)[ =](?P<url>\S+)"
)
_CHANNEL_OPTION = re.compile(r"(?:-c|--channel|channels)[ =](?P<url>\S+)")
_USUAL_INDEX = re.compile(
    r"https?://(?:[\w-]+\.)*(?:pypi|mirrors?|download|wheels?|repo|conda|npm\w*|registry|nexus|artifactory)[\w-]*\."
    r"|https?://(?:localhost|127\.|\[::1\])|https://\S+/(?:whl|wheels|[\w-]+-releases)\b"
)
_UNUSUAL = re.compile(r"https?://(?!\S*\$)\S+")
_INSTALLERS = re.compile(r"pip[\d.]*|uv|npm")
_CONDA = re.compile(r"(?:micro)?mamba|conda")
_GIT_RUNS = re.compile(
    r"\b(?:core\.(?:sshcommand|hookspath|fsmonitor|pager|editor)|diff\.external|init\.templatedir"
    r"|[\w-]{1,100}\.[\w.-]{0,200}(?:command|cmd|driver)|filter\.\S{1,200}\.(?:clean|smudge|process))\b"
    r"|\b(?:alias\.[\w-]+|credential\.helper)[ =]!",
    re.IGNORECASE,
)
_GIT_LEADS = re.compile(
    r"\burl\.(?P<to>\S{1,400})\.(?:push)?insteadof[ =](?P<of>\S+)",
    re.IGNORECASE,
)
"""Another host takes the place of one that addresses name."""
_HOST_OF = re.compile(r"(?:[a-z+]+://)?(?:[^@/]*@)?([^/:]*)")
_GIT_STARTS = re.compile(r"\bext::|\bprotocol\.ext\.allow\b")

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
    if name == "git" and (_sets_git(line) or _GIT_STARTS.search(line)):
        return "makes git run code"
    if name == "git" and any(_leads_elsewhere(match) for match in _GIT_LEADS.finditer(line)):
        return "makes git fetch from another host than the address names"
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


def _sets_git(line: str) -> bool:
    return bool(re.match(r"(?:-C \S+ )?(?:config\b|-c )", line) and _GIT_RUNS.search(line))


def _leads_elsewhere(match: re.Match[str]) -> bool:
    to, of = (_HOST_OF.match(match[name]) for name in ("to", "of"))
    return bool(to and of and to[1] and to[1].lower() != of[1].lower())


def _is_obeyed(item: Assignment) -> bool:
    return _obeys(item.name, item.value.shown or item.raw.partition("=")[2])


def _obeys(name: str, text: str) -> bool:
    form = _OBEYED.get(name)
    return bool(form and form.fullmatch(text))


def _sets(name: str, texts: Iterable[str]) -> bool:
    """Whether `export` and its like set a variable that programs obey."""
    if name not in {"export", "declare", "typeset", "env"}:
        return False
    return any(_obeys(*pair) for pair in _pairs(texts))


def _pairs(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names and values that such a command sets, without quotes that the words still have."""
    for text in texts:
        name, given, value = text.partition("=")
        if given:
            yield name, value.strip("\"'")


def _indexes(name: str, texts: list[str], line: str) -> Iterator[str]:
    if name in {"export", "declare", "env"}:
        yield from (value for key, value in _pairs(texts) if _INDEXES.fullmatch(key))
    installs = _INSTALLERS.fullmatch(name) or re.match(r"-m (?:pip|uv)\b", line)
    if installs:
        yield from (match["url"] for match in _INDEX_OPTION.finditer(line))
    if _CONDA.fullmatch(name):
        yield from (match["url"] for match in _CHANNEL_OPTION.finditer(line))


def _is_unusual(url: str) -> bool:
    return bool(_UNUSUAL.match(url)) and not _USUAL_INDEX.match(url)
