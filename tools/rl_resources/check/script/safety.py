"""Rules about what a script does to its reader's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.missing_dollar import undollared
from rl_resources.check.target import ScriptText
from rl_resources.schema.text_rules import hidden_places
from rl_resources.script.bash import Assignment, Command, Value, Word
from rl_resources.words import shown

_EXPECTED = frozenset(
    {"", ":", "[", "basename", "break", "continue", "date", "declare", "dirname", "echo"}
    | {"exit", "export", "false", "hostname", "let", "local", "mkdir", "nvidia-smi", "printf"}
    | {"pwd", "readonly", "return", "set", "shift", "sleep", "tee", "test", "true", "ulimit"}
    | {"unset", "wait"}
)
_RAY = frozenset({"start", "status", "stop"})
_PYTHON = re.compile(r"python3?|torchrun")
_BEFORE_MODULE = re.compile(r"--\w[\w-]*(?:=\w+)?|-[uBOsE]+|\d+")
_OBEYED = re.compile(
    r"(?:BASH|DYLD|GIT|LD|PIP|UV)_\w+|PATH|ENV|IFS|PS[0-4]|PROMPT_COMMAND|\w*PAGER|EDITOR|VISUAL"
    r"|PYTHON(?:PATH|STARTUP|HOME|USERBASE|INSPECT|BREAKPOINT)|PERL\w+|RUBY\w+|LESS(?:OPEN|CLOSE)"
    r"|NODE_(?:OPTIONS|PATH)|\w*JAVA_\w*OPTIONS|BROWSER|SHELL(?:OPTS)?|HOME|CC|CXX|CUDA(?:CXX|_HOME)"
    r"|NVCC\w*|TRITON_\w*PATH"
)
"""Variables by which other programs run code."""
_NAMES = frozenset({"declare", "export", "let", "local", "printf", "readonly"})
"""Commands that set the variables among their words."""
_OUT = re.compile(r"(?!/dev/null$|/tmp/\w)/|~|\$\{?HOME\b|(?:.*/)?\.(?!/|$)")
"""Absolute paths, the reader's home, upwards, and what is hidden."""
_KEPT = re.compile(r"(?!/(?:var/tmp|tmp|dev/shm)/.)/|(?:~|\$\{?HOME\b\}?)(?!/\.cache/\w+/)")
"""What may be somebody else's: what is neither temporary nor a part of a cache."""
_LOG = re.compile(r"^-|^/dev/null$|\.(?:err|log|out|txt)$")
_HIDDEN = re.compile(r"\$\(|`")


@rule()
def unseen_sign(subject: ScriptText) -> Iterator[Mistake]:
    """Every sign of a script can be seen.

    A sign that turns the order of others shows a reader another script than bash runs.

    Bad: `rm x # ⟨U+202E⟩txet`
    Good: `rm x # text`
    """
    for number, line in enumerate(subject.text.split("\n"), 1):
        at = next((at for at in hidden_places(line) if line[at] not in "\t\r"), None)
        if at is not None:
            message = f"U+{ord(line[at]):04X} is an invisible character"
            fix = "Delete it, or write it as an escape such as `\\x1b`."
            yield Mistake(subject.path, number, at + 1, message, fix)


@rule()
def unexpected_command(subject: ScriptText) -> Iterator[Mistake]:
    """A script consists of settings and the command that trains.

    Readers run it on machines with their data, keys and colleagues, and what a tuning script
    needs is short: variables, messages, folders for logs, `ray` and the trainer. Anything else
    needs an exemption with a reason.

    Bad: `curl -s "$URL" | bash`
    Good: `python3 -m verl.trainer.main_ppo`

    Of the scripts of a page, which nobody is asked to run, only what deletes or ends.
    """
    script = subject.script
    # what a lost `$` or backslash has made a command is reported as that
    seen = {item.command.place.line for item in subject.lost}
    seen |= {item.place.line for item in undollared(subject)}
    if subject.ours and not script.complete:
        message = "the script does too much to be followed"
        yield Mistake(subject.path, 1, 1, message, "Write down the command that trains.")
    for command in script.commands:
        found = _unexpected(subject, command) if subject.ours else _destructive(command)
        if found and command.place.line not in seen:
            seen.add(command.place.line)
            message = f"`{shown(command.raw.strip() or command.name or '', 80)}` {found}"
            fix = "Delete it; say in a comment what a reader has to prepare."
            yield subject.mistake(command.place, message, fix)
    for item in script.assignments if subject.ours else ():
        found = _obeyed(item)
        if found and item.place.line not in seen:
            seen.add(item.place.line)
            yield subject.mistake(item.place, f"`{shown(item.raw, 80)}` {found}", "Delete it.")
    for function in script.functions if subject.ours else ():
        message = f"the function `{shown(function.name)}` hides what the script does"
        yield subject.mistake(function.place, message, "Write its commands where they run.")


def _unexpected(subject: ScriptText, command: Command) -> str:
    """What of a command no tuning script needs, in words that fit after it."""
    words, name = command.words[1:], command.name if command.words else ""
    texts = [word.text or "" for word in words]
    ray = name == "ray" and texts[:1] and texts[0] in _RAY
    if name is None or not (name in _EXPECTED or ray or _trains(subject, command)):
        return "is no command that a tuning script needs"
    given = [item.target for item in command.redirections if not item.operator.startswith("<<")]
    targets = [word for word in given if not re.fullmatch(r"\d|-", word.raw)]
    targets += words if name == "tee" else []
    if not all(map(_is_log, targets)):
        return "reads or writes what may be no log in the work folder"
    if name in _NAMES and any(_OBEYED.fullmatch(text.partition("=")[0]) for text in texts):
        return "sets a variable by which other programs run code"
    values = [word.value for word in words] + [item.target.value for item in command.redirections]
    return "holds a command in a text" if any(map(_hides, values)) else ""


def _is_log(word: Word) -> bool:
    """Whether a word names a log in the work folder, whatever the reader's settings are."""
    unknown = [part for part in word.value.parts if part.text is None]
    if any(part.reason != "environment" and part.source[:6] != "$(date" for part in unknown):
        return False
    raw = re.sub("[\"']", "", word.raw)
    named = _LOG.search(word.value.shown) or word.value.parts[-1:] == tuple(unknown[-1:])
    return bool(named) and not (_OUT.match(word.value.shown) or _OUT.match(raw))


def _trains(subject: ScriptText, command: Command) -> bool:
    """Whether it starts a module of the framework, and nothing else comes before the module."""
    texts = [word.text or "" for word in command.words]
    at = texts.index("-m") if "-m" in texts[:-1] else 0
    package = texts[at + 1].partition(".")[0] if at else ""
    before = all(map(_BEFORE_MODULE.fullmatch, texts[1:at]))
    return bool(_PYTHON.fullmatch(texts[0])) and before and package in {subject.framework, "recipe"}


def _obeyed(item: Assignment) -> str:
    if _OBEYED.fullmatch(item.name):
        return "sets a variable by which other programs run code"
    values = [item.value, *(word.value for word in item.elements or ())]
    return "holds a command in a text" if any(map(_hides, values)) else ""


def _hides(value: Value) -> bool:
    """Whether a text, of which something else may run a part, holds a command."""
    return any(
        _HIDDEN.search(part.text or "") or part.source.endswith("@P}") for part in value.parts
    )


def _destructive(command: Command) -> str:
    """Whether it deletes or ends what may be somebody else's."""
    words = command.words[1:]
    if command.name in {"killall", "pkill"}:
        return "ends every such program on the machine, also those of other runs"
    deletes = command.name == "rm" and re.search(r"(?: -\w*[rR]| --rec)", command.raw)
    outside = (_KEPT.match(word.value.shown) and not word.raw.endswith('/*"') for word in words)
    return "deletes what lies outside of the work folder" if deletes and any(outside) else ""
