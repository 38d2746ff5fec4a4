"""What a command says and prints, whole: complaints with their help, remarks, and next steps."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from botched_tree import commit, git, plant_frozen
from cases import each, read_cases
from rl_resources.__main__ import status_of
from rl_resources.contribute.new import ALGORITHMS, engines, strategies
from rl_resources.package import read_package
from rl_resources.script.backends import BACKENDS, ENGINES
from rl_resources.script.framework.shipped import shipped
from sample_tree import REPOSITORY, apply, files, plant

VERL = shipped("verl")
COLUMNS = read_package(REPOSITORY).resources["tuning"].schema.names
LISTS = {
    "COLUMNS": COLUMNS[1:],
    "ALGORITHMS": ALGORITHMS,
    "TRAINS-ADAPTERS": [name for name, backend in BACKENDS.items() if backend.adapters],
    "LOADS-ADAPTERS": [name for name, engine in ENGINES.items() if engine.adapters],
    "TRAINS": sorted(strategies(VERL)),
    "GENERATES": sorted(engines(VERL)),
}


def expanded(text: str) -> str:
    """The text with what its words stand for, so that a new column or backend changes no case."""
    for word, names in LISTS.items():
        text = text.replace(word, ", ".join(names))
    return text.replace("VERSION", VERL.version)


@each(read_cases("messages"), "frozen edit arguments status said printed")
def test_a_command_says_exactly_this_and_writes_nothing_where_it_fails(
    tmp_path, monkeypatch, capsys, frozen, edit, arguments, status, said, printed
):
    root = tmp_path / "dataset"
    if frozen:
        plant_frozen(root)
    else:
        plant(root)
        git(root, "init", "--quiet")
        commit(root)
    apply(root, edit or [])
    monkeypatch.chdir(root)
    before = files(root)
    assert status_of(arguments) == status
    assert status == 0 or files(root) == before
    output = capsys.readouterr()
    without_empty_cells = re.sub(",,+", ",", output.err)
    assert without_empty_cells.replace(str(root), "ROOT") == expanded(said)
    assert output.out == (printed or "")


# Every message stands in some test, whole

SPEAKING = {".py", ".toml", ".jinja"}
TOOLS = REPOSITORY / "tools/rl_resources"
NO_MESSAGES = read_cases("no_messages")
"""Parts of the names of modules, and of texts, that no user sees, and why."""
WORDS = re.compile(r"[a-z]{2,}\S* \S*[a-z]{2,}")
REGEX = re.compile(r"\(\?|\\[bdsw.\[(]|\[\^|\]\*|\.\*|\|")
VALUE = re.compile(r"\0|\{\w*\}")


def words_of(node: ast.AST) -> str:
    """A text in Python, with NUL for each value in it; empty for what is none."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(words_of(value) or "\0" for value in values)
    return ""


def texts_in(value: object) -> Iterator[str]:
    """The texts of data, or of Python but for docstrings, help of options and parts of texts."""
    match value:
        case str():
            yield value
        case dict():
            yield from texts_in([*value, *value.values()])
        case list():
            for item in value:
                yield from texts_in(item)
        case ast.keyword(arg="help" | "description") | ast.Expr(value=ast.Constant()):
            pass
        case ast.Constant() | ast.JoinedStr():
            yield words_of(value)
        case ast.AST():
            yield from texts_in([*ast.iter_child_nodes(value)])


def said_by(template: str) -> str:
    """The lines of a template, with NUL for each value."""
    lines = re.sub(r"\{[#%].*?[#%]\}", "\n", template, flags=re.DOTALL)
    return re.sub(r"\{\{.*?\}\}", "\0", lines, flags=re.DOTALL)


READERS = {
    ".py": ast.parse,
    ".toml": tomllib.loads,
    ".json": json.loads,
    ".jinja": said_by,
    ".rst": str,
    ".markdown": str,
}


def read(path: Path) -> object:
    """What a file says; nothing where no user or test reads it."""
    reader = READERS.get(path.suffix)
    if reader is None:
        return None
    return reader(path.read_text())


def messages() -> Iterator[tuple[str, str]]:
    """Each line of a message, and the module that says it."""
    paths = [path for path in TOOLS.rglob("*.*") if path.suffix in SPEAKING]
    for path in sorted(paths):
        module = path.relative_to(TOOLS).as_posix()
        for text in texts_in(read(path)):
            place = f"{module}: {text}"
            if REGEX.search(text) or any(
                re.search(known, place) for known in NO_MESSAGES
            ):
                continue
            for line in text.splitlines():
                if WORDS.search(line):
                    yield line.strip("\0 :;,"), module


def test_every_message_stands_in_a_test():
    known = texts_in([read(path) for path in (REPOSITORY / "tests").rglob("*.*")])
    everything = "\n".join(known)
    missing = []
    for message, module in messages():
        parts = map(re.escape, VALUE.split(message))
        if not re.search(".*".join(parts), everything):
            missing.append(f"{module}: {message}")
    assert missing == []
