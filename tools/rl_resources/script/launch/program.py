"""The program that a command starts, behind all that starts it in turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rl_resources.script.bash import Word

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"python[0-9.]*")
PACKAGES = ("verl", "recipe")
_WRAPPERS = frozenset(
    {"env", "nohup", "exec", "command", "setsid", "sudo", "time", "nice", "ionice", "numactl"}
    | {"stdbuf", "taskset", "timeout", "unbuffer", "srun", "mpirun", "ray", "uv", "poetry"}
)
_DISTRIBUTORS = frozenset({"torchrun", "accelerate", "deepspeed"})
_DISTRIBUTOR_MODULES = frozenset(
    {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
    | {"deepspeed.launcher.runner", "debugpy", "coverage", "viztracer"}
)


class Program(NamedTuple):
    """A program as it is named, a module or a path, and its arguments."""

    name: str
    arguments: Sequence[Word]

    @property
    def module(self) -> str:
        """Its dotted name, also where a file is named."""
        if not self.name.endswith(".py"):
            return self.name
        parts = self.name.removesuffix(".py").split("/")
        parts = [part for part in parts if part not in ("", ".", "..")]
        known = [index for index, part in enumerate(parts) if part in PACKAGES]
        return ".".join(parts[known[-1] :] if known else parts[-1:])


def started(words: Sequence[Word]) -> Program | None:
    """What the words of a command start in the end; `None` where it is no program of Python."""
    while words:
        if words[0].text is None:
            return _unnamed(words)
        name = _base(words[0])
        if _PYTHON.fullmatch(name):
            return _python(words[1:])
        if name in _DISTRIBUTORS:
            return _distributed(words[1:])
        if name not in _WRAPPERS:
            return None
        words = _wrapped(words[1:])
    return None


def _base(word: Word) -> str:
    return (word.text or "").rpartition("/")[2]


def _wrapped(words: Sequence[Word]) -> Sequence[Word]:
    """The command that a wrapper runs, behind the wrapper's own options."""
    for index, name in enumerate(map(_base, words)):
        if _PYTHON.fullmatch(name) or name in _DISTRIBUTORS or name in _WRAPPERS:
            return words[index:]
    return ()


def _python(words: Sequence[Word]) -> Program | None:
    """What follows Python's own options."""
    while words:
        text = words[0].text
        if text is None:
            return _unnamed(words)
        words = words[1:]
        if not text.startswith("-"):
            return _named(text, words)
        module = re.fullmatch(r"-[bBdEhiIOPqsSuvx]*m(.*)", text)
        if module:
            return _named_module(module[1], words)
        if re.fullmatch(r"-[bBdEhiIOPqsSuvx]*c.*", text) or text == "-":
            return None
        if text in ("-X", "-W"):
            words = words[1:]
    return None


def _unnamed(words: Sequence[Word]) -> Program | None:
    """The module of `$PYTHON -m MODULE`, whatever program or options that variable holds."""
    texts = [word.text or "-" for word in words]
    options = next((i for i, text in enumerate(texts) if text[:1] != "-"), 0)
    if not options or texts[options - 1] != "-m" or "." not in texts[options]:
        return None
    return _named_module("", words[options:])


def _named_module(attached: str, words: Sequence[Word]) -> Program | None:
    """The module that follows `-m`, in the same word or the next."""
    if attached:
        return _named(attached, words)
    name = words[0].text if words else None
    return _named(name, words[1:]) if name else None


def _named(name: str, arguments: Sequence[Word]) -> Program | None:
    if name in _DISTRIBUTOR_MODULES:
        return _distributed(arguments)
    known = name.endswith(".py") or _MODULE.fullmatch(name)
    return Program(name, arguments) if known else None


def _distributed(words: Sequence[Word]) -> Program | None:
    """What follows the options of a launcher of many processes: `-m` and a module, or a file."""
    for index, word in enumerate(words):
        text = word.text or ""
        if text in ("-m", "--module") and index + 1 < len(words):
            name = words[index + 1].text
            return None if name is None else Program(name, words[index + 2 :])
        if text.endswith(".py"):
            return Program(text, words[index + 1 :])
    return None
