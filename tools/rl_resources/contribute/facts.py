"""Cells of a row to be, as the command line or an issue form states them, or why nobody does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rl_resources.errors import UnusableInput
from rl_resources.package import TYPES, Field, TableSchema
from rl_resources.words import nearest, shown

NO_ANSWER = frozenset({"", "_no response_", "none", "n/a", "-"})
_HEADING = re.compile(r"###\s+(\S.*?)\s*#*\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*[\w+-]*\s*")
_LAUNCH = re.compile(r"\bpython3?\b|\bray job submit\b|\btorchrun\b|^#!.*sh\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fact:
    """The text of a cell; where it is empty, `doubt` says why."""

    text: str = ""
    doubt: str = ""


Facts = Mapping[str, Fact]
"""By column."""


def merged(sources: Iterable[Facts]) -> dict[str, Fact]:
    """For each column the first fact that is known, else the first doubt."""
    found: dict[str, Fact] = {}
    for facts in sources:
        for column, fact in facts.items():
            before = found.get(column, Fact())
            if not before.text and (fact.text or not before.doubt):
                found[column] = fact
    return found


def one_line(text: str) -> str:
    """Text fit for one cell: on one line, without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def cell(field: Field, text: str) -> Fact:
    """What somebody wrote as the cell of a column, if its schema allows it.

    A handle may have its `@`, a release its `v`, and a word of a list any case.
    """
    text = one_line(text)
    words = {word.lower(): word for word in field.constraints.get("enum", ())}
    text = words.get(text.lower(), text)
    if field.pattern and re.fullmatch(field.pattern, text) is None:
        text = text.removeprefix("@").removeprefix("v")
    if text and not _allows(field, text):
        close = nearest(text, words.values()).sentence() if words else ""
        wanted = f"one of its words. {close}".strip() if words else _wanted(field)
        return Fact(doubt=f"`{shown(text)}` is not {wanted}")
    return Fact(field.write(field.read(text)))


def _allows(field: Field, text: str) -> bool:
    try:
        value = field.read(text)
    except ValueError:
        return False
    rules = field.constraints
    if isinstance(value, int | float):
        return bool(rules.get("minimum", value) <= value <= rules.get("maximum", value))
    in_form = not field.pattern or re.fullmatch(field.pattern, text)
    return bool(in_form) and text in rules.get("enum", (text,))


def _wanted(field: Field) -> str:
    rules = field.constraints
    if field.type == "string":
        return f"one such as `{field.example}`"
    bounds = "minimum" in rules and "maximum" in rules
    between = f" from {rules['minimum']} to {rules['maximum']}" if bounds else ""
    return f"{TYPES[field.type].words}{between}, as in `{field.example}`"


def stated_facts(pairs: Iterable[str], schema: TableSchema) -> Facts:
    """Cells as `--set` states them, each as `column=value`.

    Raises `UnusableInput` for an unknown column, or a value that its schema does not allow.
    """
    found: dict[str, Fact] = {}
    columns = [name for name in schema.names if name != "script"]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in columns:
            problem = f"`{shown(name)}` is no column" if equals else "is not COLUMN=VALUE"
            close = nearest(name, columns).sentence()
            raise UnusableInput(f"--set {shown(pair)}: {problem}", close or ", ".join(columns))
        found[name] = cell(schema.field(name), value)
        if found[name].doubt:
            raise UnusableInput(f"--set {shown(pair)}: {found[name].doubt}")
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """The answers of an issue form; `script` and `log` are pasted text, empty where there is none.

    `remarks` say which answers cannot be used.
    """

    facts: Facts
    script: str
    log: str
    remarks: tuple[str, ...]


def read_form(body: str, schema: TableSchema) -> Form:
    """Read the body of an issue as GitHub renders a form: `### title`, a blank line, the answer.

    The titles are those of the columns. A code block that starts a program is the script, the text
    under `Log` the log. Other titles are ignored.
    """
    columns = {field.title.lower(): field for field in schema.fields if field.name != "script"}
    facts: dict[str, Fact] = {}
    remarks: list[str] = []
    script = log = ""
    for title, answer in _answers(body):
        code, field = _code(answer), columns.get(title.lower())
        if title.lower() == "log":
            log = log or code or answer
        elif code:
            script = script or (code if _LAUNCH.search(code) else "")
        elif field:
            fact = facts.setdefault(field.name, cell(field, answer))
            remarks += [f"`{field.title}`: {fact.doubt}"] if fact.doubt else []
        elif (likely := nearest(title, columns)).words:
            remarks.append(f"`{shown(title)}` is no column. {likely.sentence()}")
    return Form(facts, script, log, tuple(remarks))


def _answers(body: str) -> list[tuple[str, str]]:
    """Titles with their answers; a line of a code block is no title."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in re.split(r"\r\n|\r|\n", body):
        heading, opened = _HEADING.fullmatch(line), _FENCE.fullmatch(line)
        if heading and not fence:
            sections.append((heading[1], []))
            continue
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opened:
            fence = opened[1]
        sections[-1][1].append(line)
    answers = [(title, "\n".join(lines).strip()) for title, lines in sections[1:]]
    return [(title, answer) for title, answer in answers if answer.lower() not in NO_ANSWER]


def _code(answer: str) -> str:
    """The content of the code block that an answer is; empty where it is none."""
    first, *lines = answer.split("\n")
    fence = _FENCE.fullmatch(first)
    if fence is None:
        return ""
    text = "\n".join(lines[:-1] if lines and lines[-1].strip() == fence[1] else lines)
    return f"{text}\n" if text.strip().lower() not in NO_ANSWER else ""
