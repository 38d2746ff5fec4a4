"""Safety and privacy of a script.

The script contains no secret, no private path and no unexpected command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rl_resources.files import table_beside
from rl_resources.rule import Mistake, rule
from rl_resources.schema.text_rules import hidden_places
from rl_resources.script.bash.parser import Node, nodes_in, parse
from rl_resources.script.bash.script import Command
from rl_resources.script.launch import starts_plainly
from rl_resources.script.script_text import ScriptText
from rl_resources.text import shown

_TABLE = table_beside(__file__)
_EXPECTED_NODES = frozenset(_TABLE["shape"])
_COMMANDS = frozenset(_TABLE["commands"])
_RAY = re.compile(r"ray (?:start|status|stop)\b")
_OF_ARGUMENTS = re.compile(_TABLE["of_arguments"])
"""How a loop that reads the script's own arguments begins."""
_RUNS_CODE = re.compile(
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
_COMMAND = re.compile(r"\[.*(?:\$\(|`)|(?:\$\(|`).*\]|^\$'.*\\[0-7cuUx]", re.S)
"""A command that arithmetic runs, in the index of an array, or characters that nobody reads."""
_MAY_BE_WRONG = re.compile(r"[(`]|@P\}|\$'|\$\{[^}]*=")
"""A word without any of these is plain; most are, so this saves half the time."""
_NOT_TEMPORARY = re.compile(
    r"(?!/(?:var/tmp|tmp|dev/shm)/[^*])/|(?:~|\$\{?HOME\b\}?)(?!/\.cache/\w+/)"
)
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
_KILLS = re.compile(
    rf"killall\b|pkill\b{_OWN}|fuser\s+-\w*k\w*\s+/dev/nvidia"
    rf"|kill\b(?>.*?(?:\$\(|`)\s*(?:ps|pgrep|pidof|nvidia-smi)\b){_OWN}.*{_GENERIC}"
    r"|docker\s+(?:rm|kill|stop)\b.*docker\s+ps\b",
    re.S,
)


@rule()
def hidden_character(target: ScriptText) -> Iterator[Mistake]:
    """Every character of a script is visible.

    A character that reorders others shows readers a different script than bash runs.

    Bad: `rm x # ⟨U+202E⟩txet`
    Good: `rm x # text`
    """
    for number, line in enumerate(target.text.split("\n"), 1):
        hidden = [index for index in hidden_places(line) if line[index] not in "\t\r"]
        for first in hidden[:1]:
            yield Mistake(
                target.path,
                number,
                first + 1,
                f"U+{ord(line[first]):04X} is an invisible character",
                "Delete it, or write it as an escape such as `\\x1b`.",
            )


@rule()
def unexpected_command(target: ScriptText) -> Iterator[Mistake]:
    """A script consists of settings and the training command.

    Readers run it on machines with their data, keys and colleagues. A tuning script needs little:
    variables, conditions, a loop over arguments, messages, log directories, `ray` and the trainer.
    Anything else needs an exemption with a reason.

    Bad: `curl -s "$URL" | bash`
    Good: `python3 -m verl.trainer.main_ppo`

    Of the scripts of a page, which nobody is asked to run, only what deletes or ends.
    """
    # Where a lost backslash has made a command of a setting, the backslash is the mistake.
    seen = {item.command.place.line for item in target.broken_continuations}
    source = target.script.source
    exempt = target.or_exempt("unexpected-command")
    parts = _unexpected(target) if target.ours else _destructive(target)
    for start, end, wrong in sorted(parts):
        place = source.place(start)
        raw = source.text[start:end].strip()
        if place.line in seen or (target.ours and _SPACED.fullmatch(raw)):
            continue
        seen.add(place.line)
        first_line, _, _ = raw.partition("\n")
        yield target.mistake(
            place,
            f"`{shown(first_line, 80)}` {wrong}",
            f"{_instead(raw)}{exempt}.",
        )


def _instead(raw: str) -> str:
    """What to do about a part of a script, as a sentence without its end."""
    fitting = (item for item in _TABLE["help"] if re.match(item["begins"], raw))
    return str(next(fitting)["help"])


def _unexpected(target: ScriptText) -> Iterator[tuple[int, int, str]]:
    """The outermost parts of a script that a tuning script does not have.

    Where each begins and ends, and what is wrong with it.
    """
    script = target.script
    text = script.text
    # A call of a function is not reported: its definition is.
    expected = {
        item.place.offset
        for item in script.commands
        if item.name in script.functions or starts_plainly(script, item.words)
    }
    waiting = list(parse(text).statements)
    while waiting:
        node = waiting.pop()
        if "Parts" in node and not _MAY_BE_WRONG.search(_raw(node, text)):
            continue
        wrong = _wrong(node, text)
        is_call = node.get("Type") == "CallExpr"
        if wrong and not (is_call and node["Pos"] in expected):
            yield node["Pos"], node["End"], wrong
            continue
        for value in node.values():
            waiting += nodes_in(value)


def _wrong(node: Node, text: str) -> str:
    """What makes a node no part of a tuning script, in words that follow it."""
    if node.get("Type") == "CallExpr" and node.get("Args"):
        return _wrong_call(node["Args"], text)
    if "Redirs" in node:
        return _not_all_logs(_raw(item["Word"], text) for item in node["Redirs"])
    if "Type" in node or "Name" in node:
        return _wrong_part(node, _raw(node, text))
    return ""


def _wrong_part(node: Node, raw: str) -> str:
    kind = node.get("Type")
    if _RUNS_CODE.fullmatch(_name_set_by(node, raw)):
        return "sets a variable by which other programs run code"
    if _hides_command(kind, raw):
        return "hides a command in a text"
    if kind is None or kind in _EXPECTED_NODES or _OF_ARGUMENTS.match(raw):
        return ""
    return "does not belong in a tuning script"


def _raw(node: Node, text: str) -> str:
    """A node as it is written."""
    return text[node["Pos"] : node["End"]]


def _name_set_by(node: Node, raw: str) -> str:
    """The variable that a node sets, or gives a default; otherwise empty."""
    name = node.get("Name")
    if not name and "=" in raw:
        name = node.get("Param")
    if not name:
        return ""
    return str(name.get("Value", ""))


def _hides_command(kind: str | None, raw: str) -> bool:
    if kind == "ParamExp":
        return "@P}" in raw
    return kind in ("Lit", "SglQuoted") and _COMMAND.search(raw) is not None


def _not_all_logs(files: Iterable[str]) -> str:
    if all(map(_is_log, files)):
        return ""
    return "reads or writes a file that may not be a log in the working directory"


def _wrong_call(words: list[Node], text: str) -> str:
    name, *arguments = [_raw(word, text) for word in words]
    command = " ".join([name, *arguments])
    is_known = name in _COMMANDS or _RAY.match(command)
    sets_name = name == "printf" and "-v" in arguments
    if sets_name or not is_known:
        return "is not a command that a tuning script needs"
    if name != "tee":
        return ""
    return _not_all_logs(
        word for word in arguments if word not in ("-a", "-i", "--append")
    )


def _is_log(word: str) -> bool:
    return _LOG.fullmatch(re.sub(r"[\"']|\$\(date [^()`$]*\)", "", word)) is not None


def _destructive(target: ScriptText) -> Iterator[tuple[int, int, str]]:
    """The commands that may delete files or kill processes of somebody else."""
    pipeline = 0
    piped = False
    for command in target.script.commands:
        start = command.place.offset
        if not piped:
            pipeline = start
        piped = command.piped
        if _kills_others(target.script.text, command, pipeline):
            wrong = (
                "kills every such process on the machine, including those of other runs"
            )
            yield start, command.end.offset, wrong
        elif _deletes_others(target, command):
            wrong = "deletes files outside the working directory"
            yield start, command.end.offset, wrong


def _without_sudo(command: Command) -> str:
    return _SUDO.sub("", command.raw, count=1)


def _kills_others(text: str, command: Command, pipeline: int) -> bool:
    """Whether a command kills all processes of a kind; its pipeline starts at `pipeline`."""
    raw = _without_sudo(command)
    if _KILLS.match(raw):
        return True
    end = command.place.offset
    if not re.match(r"xargs\b.*\bkill\b", raw):
        return False
    return _LISTS.search(text, max(pipeline, end - _LONGEST_PIPELINE), end) is not None


def _deletes_others(target: ScriptText, command: Command) -> bool:
    """Whether a command deletes files that are not the script's own."""
    if not _DELETES.match(_without_sudo(command)):
        return False
    set_names = target.script.names | {"HOME", "TMPDIR"}
    for word in command.words[1:]:
        path = word.value.shown
        folder = _UNSET.match(path)
        is_unset = folder and folder[1] not in set_names
        if (is_unset or _NOT_TEMPORARY.match(path)) and not word.raw.endswith('/*"'):
            return True
    return False
