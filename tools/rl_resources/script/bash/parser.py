"""Bash as a syntax tree. shfmt parses it: the one complete parser of bash with exact places."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from rl_resources.errors import UnusableInput

Node = Mapping[str, Any]
"""A node as shfmt names it; each place in it (`Pos`, `End`) is an offset in characters."""

WORKERS = ThreadPoolExecutor(os.cpu_count())
"""Each waits for a process: shfmt here, ShellCheck in the rules."""
_ERROR = re.compile(r"(\d+):(\d+): (.*)")
_CONTINUED_COMMENT = re.compile(r"(?m)(#(?<!\S.).*)\\$")
"""A backslash at the end of a comment, which shfmt takes for a continued line."""
_WITHOUT_GC = {**os.environ, "GOGC": "off", "GOMEMLIMIT": "100MiB"}
"""shfmt ends before it would have to collect garbage, unless a script is huge."""


class Tree(NamedTuple):
    """A parsed text: `problems` are where and why bash refuses it."""

    statements: Sequence[Node] = ()
    problems: Sequence[tuple[int, str]] = ()


DEEPEST_NESTING = 200
LONGEST_CHAIN = 500
_TOO_DEEP = Tree(problems=[(0, "this is nested too deeply")])


def parse(text: str) -> Tree:
    """The tree of a text; if bash would refuse it, of the lines above the error.

    Raises UnusableInput if shfmt is not installed.
    """
    return ask(text).result()


@lru_cache(maxsize=1024)
def ask(text: str) -> Future[Tree]:
    """Start shfmt on a text in the background, once."""
    return WORKERS.submit(_parsed, text)


def nests_too_deeply(text: str) -> bool:
    """Whether brackets, or commands in a chain, are too many: parsers take the square in time."""
    if _in_chains(text) > LONGEST_CHAIN:
        lines = re.split(r"(?<![|&\\\s])\s*\n", re.sub(r"(?<!\S)#.*", "", text))
        if max(map(_in_chains, lines)) > LONGEST_CHAIN:
            return True
    return _depth(text) > DEEPEST_NESTING


def _in_chains(text: str) -> int:
    return text.count("&&") + text.count("|")


def _depth(text: str) -> int:
    """The most brackets that are open at once."""
    steps = [1 if bracket in "({" else -1 for bracket in re.findall(r"[(){}]", text)]
    return max(accumulate(steps), default=0)


def _parsed(text: str) -> Tree:
    if nests_too_deeply(text):
        return _TOO_DEEP
    shfmt = installed("shfmt")
    if shfmt is None:
        raise UnusableInput(
            "scripts are parsed by shfmt, which is not installed",
            "Run: pip install 'rl-resources[site]'",
        )
    plain = _CONTINUED_COMMENT.sub(r"\1 ", re.sub(r"\r|\\(?<!\\\\)\Z", " ", text))
    # Of one byte each, so that places count characters.
    plain = re.sub(r"[^\0-\x7f]", "%", plain)
    command = [shfmt, "-ln=bash", "--to-json"]
    done = subprocess.run(
        command,
        input=plain.encode(),
        capture_output=True,
        env=_WITHOUT_GC,
    )
    if done.returncode:
        return _broken(text, done.stderr.decode("utf-8", "replace"))
    try:
        document = json.loads(done.stdout, object_hook=_with_offset)
        return Tree(document.get("Stmts", ()))
    except RecursionError:
        return _TOO_DEEP


@cache
def installed(name: str) -> str | None:
    """The binary of an installed package, otherwise one on the path; `None` if there is neither."""
    beside_python = str(Path(sys.executable).parent)
    return which(name, path=beside_python) or which(name)


def _with_offset(node: dict[str, Any]) -> Any:
    """A node of shfmt's answer; its offset alone if it is a place."""
    if "Line" in node:
        return node["Offset"]
    return node


def _broken(text: str, error: str) -> Tree:
    """What shfmt parses of the lines above its error, and the error."""
    match = _ERROR.search(error)
    if match is None:
        return Tree(problems=[(0, "this cannot be read")])
    line, column, message = match.groups()
    *_, rest = text.split("\n", int(line) - 1)
    start = len(text) - len(rest)
    at = min(start + int(column) - 1, len(text))
    return _parsed(text[:start])._replace(problems=[(at, message)])


def nodes_in(value: object) -> Sequence[Node]:
    """The nodes that one property of another has: one, several or none."""
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    return ()


# What the node of a parameter, `${…}`, says


def name_of(node: Node) -> str:
    """The name of a parameter; empty for what is none."""
    parameter = node.get("Param") or {}
    return str(parameter.get("Value", ""))


def operator_of(node: Node) -> str:
    """What follows the name of a parameter: `:-`, `%`, `//`, `:` and so on."""
    if node.get("Slice"):
        return ":"
    if node.get("Repl"):
        return "/"
    expansion = node.get("Exp") or {}
    return str(expansion.get("Op", ""))
