"""Safety and privacy of a script.

The script contains no secret, no private path and no unexpected command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rl_resources.rule import Mistake, rule
from rl_resources.schema.text_rules import hidden_places
from rl_resources.script.bash.parser import Node, parse
from rl_resources.script.bash.script import Command, Source
from rl_resources.script.launch import program
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.text import shown

_SHAPE = frozenset(
    {"CallExpr", "DeclClause", "IfClause", "CaseClause", "TestClause", "ArithmCmd", "BinaryCmd"}
    | {"Block", "Word", "Lit", "SglQuoted", "DblQuoted", "ParamExp", "CmdSubst", "ArithmExp"}
    | {"BraceExp", "BinaryTest", "UnaryTest", "ParenTest"}
    | {"BinaryArithm", "UnaryArithm", "ParenArithm"}
)
"""What a tuning script consists of, as shfmt calls it: no loop, function, subshell or process."""
COMMANDS = frozenset(
    {":", "[", "basename", "date", "dirname", "echo", "exit", "false", "hostname", "mkdir"}
    | {"nproc", "nvidia-smi", "pwd", "set", "shift", "sleep", "tee", "test", "true", "ulimit"}
    | {"unset", "wait"}
)
_RAY = re.compile(r"ray (?:start|status|stop)\b")
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?|torchrun")
_BEFORE_MODULE = re.compile(r"--\w[\w-]*(?:=\w+)?|-[uBOsE]+|\d+")
_OBEYED = re.compile(
    r"(?:BASH|DYLD|GIT|LD|PIP|UV)_\w+|PATH|ENV|IFS|PS[0-4]|PROMPT_COMMAND|\w*PAGER|EDITOR|VISUAL"
    r"|PYTHON(?:PATH|STARTUP|HOME|USERBASE|INSPECT|BREAKPOINT)|PERL\w+|RUBY\w+|LESS(?:OPEN|CLOSE)"
    r"|NODE_(?:OPTIONS|PATH)|\w*JAVA_\w*OPTIONS|BROWSER|SHELL(?:OPTS)?|HOME|CC|CXX|CUDA(?:CXX|_HOME)"
    r"|NVCC\w*|TRITON_\w*PATH"
)
"""Variables by which other programs run code."""
_LOG = re.compile(
    r"(?!.*\.\.)(?:/tmp/)?(?![/~.]|\$\{?HOME\b)[^\s`]+\.(?:err|log|out|txt)|/dev/(?:null|stderr)|\d|-"
)
"""A file of messages below the working directory or `/tmp`, and file descriptors."""
_COMMAND = re.compile(r"\$\(|`|^\$'")
_KEPT = re.compile(r"(?!/(?:var/tmp|tmp|dev/shm)/[^*])/|(?:~|\$\{?HOME\b\}?)(?!/\.cache/\w+/)")
"""What may be somebody else's: what is neither temporary nor a part of a cache."""
_UNSET = re.compile(r"\$\{?([A-Za-z_]\w*)\}?/\*?$")
"""All of a folder, or of `/` where nothing sets the variable."""
_SUDO = re.compile(r"sudo(?:\s+-\S+)*\s+")
_DELETES = re.compile(r"rm\b.*\s(?:-\w*[rR]|--rec)|find\b.*\s-delete\b", re.S)
_SPACED = re.compile(r"\$\w+=\S*|\w+ +=(?: \S+)?")
"""An assignment that bash takes for a command, as ShellCheck reports it."""
_GENERIC = r"\b(?:ray|python3?|verl|vllm|sglang)\b"
_OWN = r"(?![^|]*(?:-\w*P\b|--ppid))"
_LISTS = re.compile(rf"\b(?:ps|pgrep)\b{_OWN}[\s\S]*{_GENERIC}|\bnvidia-smi\b")
_LONGEST_PIPELINE = 1000
_ENDS = re.compile(
    rf"killall\b|pkill\b{_OWN}|fuser\s+-\w*k\w*\s+/dev/nvidia"
    rf"|kill\b(?>.*?(?:\$\(|`)\s*(?:ps|pgrep|pidof|nvidia-smi)\b){_OWN}.*{_GENERIC}"
    r"|docker\s+(?:rm|kill|stop)\b.*docker\s+ps\b",
    re.S,
)


@rule()
def hidden_character(target: ScriptText) -> Iterator[Mistake]:
    """Every character of a script is visible.

    A character that changes the order of others shows a reader another script than bash runs.

    Bad: `rm x # ⟨U+202E⟩txet`
    Good: `rm x # text`
    """
    for number, line in enumerate(target.text.split("\n"), 1):
        at = next((at for at in hidden_places(line) if line[at] not in "\t\r"), None)
        if at is not None:
            message = f"U+{ord(line[at]):04X} is an invisible character"
            fix = "Delete it, or write it as an escape such as `\\x1b`."
            yield Mistake(target.path, number, at + 1, message, fix)


@rule()
def unexpected_command(target: ScriptText) -> Iterator[Mistake]:
    """A script consists of settings and the command that trains.

    Readers run it on machines with their data, keys and colleagues, and what a tuning script
    needs is short: variables, conditions, messages, directories for logs, `ray` and the trainer.
    Anything else needs an exemption with a reason.

    Bad: `curl -s "$URL" | bash`
    Good: `python3 -m verl.trainer.main_ppo`

    Of the scripts of a page, which nobody is asked to run, only what deletes or ends.
    """
    # Where a lost backslash has made a command of a setting, the backslash is the mistake.
    seen = {item.command.place.line for item in target.lost}
    source, exempt = Source(target.script.text), target.or_exempt("unexpected-command")
    for start, end, wrong in sorted(_unexpected(target) if target.ours else _destructive(target)):
        place, raw = source.place(start), source.text[start:end].strip()
        of_shellcheck = target.ours and _SPACED.fullmatch(raw)
        if place.line not in seen and not of_shellcheck:
            seen.add(place.line)
            message = f"`{shown(raw.partition(chr(10))[0], 80)}` {wrong}"
            fix = f"Delete it, and say in a comment what a reader has to prepare{exempt}."
            yield target.mistake(place, message, fix)


Part = tuple[int, int, str]
"""Where a part of a script begins and ends, and what is wrong with it."""


def _unexpected(target: ScriptText) -> Iterator[Part]:
    """The outermost parts of a script that are not of the known shape."""
    trainers = {item.place.offset for item in target.script.commands if _trains(item)}
    text = target.script.text
    rest: list[Any] = [*parse(text).statements]
    while rest:
        node = rest.pop()
        if isinstance(node, list):
            rest += node
        elif isinstance(node, dict):
            if "Pos" in node and (wrong := _wrong(node, text, trainers)):
                yield node["Pos"], node["End"], wrong
            else:
                rest += node.values()


def _wrong(node: Node, text: str, trainers: set[int]) -> str:
    """What makes a node no part of a tuning script, in words that follow it."""
    kind, raw = node.get("Type"), text[node["Pos"] : node["End"]]
    if kind == "CallExpr" and node.get("Args"):
        return "" if node["Pos"] in trainers else _wrong_call(node["Args"], text)
    if "Redirs" in node:
        files = [item["Word"] for item in node["Redirs"]]
        logs = all(_is_log(text[word["Pos"] : word["End"]]) for word in files)
        return "" if logs else _NO_LOG
    name = node.get("Name") or (node.get("Param") if "=" in raw else None)
    if name and _OBEYED.fullmatch(name.get("Value", "")):
        return "sets a variable by which other programs run code"
    if "@P}" in raw or (kind in ("Lit", "SglQuoted") and _COMMAND.search(raw)):
        return "has a command in a text"
    return "" if kind is None or kind in _SHAPE else "is nothing that a tuning script needs"


_NO_LOG = "reads or writes a file that may not be a log in the working directory"


def _wrong_call(words: list[Node], text: str) -> str:
    raw = [text[word["Pos"] : word["End"]] for word in words]
    if raw[0] not in COMMANDS and not _RAY.match(" ".join(raw)):
        return "is not a command that a tuning script needs"
    files = [word for word in raw[1:] if word not in ("-a", "-i", "--append")]
    return _NO_LOG if raw[0] == "tee" and not all(map(_is_log, files)) else ""


def _is_log(word: str) -> bool:
    return bool(_LOG.fullmatch(re.sub("[\"']", "", word)))


def _trains(command: Command) -> bool:
    """Whether it starts a module of the framework, and nothing else comes before the module."""
    texts, found = [word.text or "" for word in command.words], program(command.words)
    if found is None or texts[found.at] != found.module:
        return False
    ours = found.module.partition(".")[0] in {FRAMEWORK, "recipe"}
    before = (text for text in texts[1 : found.at] if text != "-m")
    return bool(ours and _PYTHON.fullmatch(texts[0])) and all(map(_BEFORE_MODULE.fullmatch, before))


def _destructive(target: ScriptText) -> Iterator[Part]:
    """The commands that delete or end what may be somebody else's."""
    found = target.script.names | {"HOME", "TMPDIR"}
    first, piped, text = 0, False, target.script.text
    for command in target.script.commands:
        part, raw = (command.place.offset, command.end.offset), _SUDO.sub("", command.raw, count=1)
        paths = [word.value.shown for word in command.words[1:] if not word.raw.endswith('/*"')]
        unset = any((name := _UNSET.match(path)) and name[1] not in found for path in paths)
        first, piped = first if piped else part[0], command.piped
        begin = max(first, part[0] - _LONGEST_PIPELINE)
        listed = re.match(r"xargs\b.*\bkill\b", raw) and _LISTS.search(text, begin, part[0])
        if listed or _ENDS.match(raw):
            yield *part, "ends every such program on the machine, also those of other runs"
        elif _DELETES.match(raw) and (unset or any(map(_KEPT.match, paths))):
            yield *part, "deletes what lies outside of the working directory"
