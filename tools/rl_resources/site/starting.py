"""How a record is started: what its script expects, and the commands on one node and on many."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from rl_resources.script.run import MODEL, Run
from rl_resources.script.settings import Setting

SEVERAL_NODES_SOURCE = (
    "https://github.com/volcengine/verl/blob/1113c2c27e9049bc465fc001d695c34a9041c5ca"
    "/docs/start/multinode.rst"
)
"""verl's guide to several nodes: the head and worker commands, and the script run directly."""

_EXPECTED = {
    "Model": f"{MODEL}.path",
    "Training data": "data.train_files",
    "Validation data": "data.val_files",
}
_COMMENT = re.compile(r"#[ \t]?(.*)")
_ABOUT_NODES = "Several nodes:"


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that must be there before the script starts.

    `value` is blank where it depends on the reader's machine; then `written` is the line that
    defines it. `variables` are those of the environment that replace it.
    """

    title: str
    value: str
    line: int
    written: str
    variables: tuple[str, ...]


def expected(run: Run, script: str) -> list[Expected]:
    """The model and the files that the script names."""
    return list(_expected(run, script.split("\n")))


def _expected(run: Run, lines: list[str]) -> Iterator[Expected]:
    for title, key in _EXPECTED.items():
        setting = run.setting(key)
        if setting.place and setting.origin:
            line = setting.origin.line
            value = str(setting.value) if setting.known else ""
            yield Expected(title, value, line, lines[line - 1].strip(), _variables(run, setting))


def _variables(run: Run, setting: Setting) -> tuple[str, ...]:
    """The environment variables that replace the value."""
    places = {item.place: item for item in run.launch.overrides}
    content = places[setting.place].content if setting.place in places else None
    parts = content.parts if content else ()
    return tuple(dict.fromkeys(part.name for part in parts if part.default and part.name))


def command(path: str) -> str:
    """What starts a script, from the folder that `path` is relative to."""
    return f"bash {shlex.quote(path)}"


def cluster(nodes: int, start: str) -> str:
    """The commands of a run over several nodes, as verl's own guide has them."""
    others = f"each of the other {nodes - 1} nodes" if nodes > 2 else "the other node"
    return (
        "# on the head node; it prints the address that the others need\n"
        "ray start --head\n\n"
        f"# on {others}\n"
        "ray start --address=<address>\n\n"
        f"# on the head node: are all {nodes} nodes there?\n"
        "ray status\n\n"
        "# on the head node alone\n"
        f"{start}\n"
    )


def own_words(script: str) -> str:
    """What the script's opening comment says of several nodes; blank where it says nothing."""
    paragraphs = "\n".join(_comment_lines(script)).split("\n\n")
    found = (" ".join(text.split()) for text in paragraphs if text.startswith(_ABOUT_NODES))
    return next(found, "").removeprefix(_ABOUT_NODES).strip()


def _comment_lines(script: str) -> Iterator[str]:
    for line in script.split("\n"):
        found = _COMMENT.fullmatch(line)
        if not found:
            break
        yield found[1].rstrip()
