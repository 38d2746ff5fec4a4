"""One cell of a row to be, as somebody states it, or why nobody does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rl_resources.errors import UnusableInput
from rl_resources.package import Field, TableSchema
from rl_resources.words import nearest, shown


@dataclass(frozen=True, slots=True)
class Fact:
    """The text of a cell; where it is empty, `doubt` says why."""

    text: str = ""
    doubt: str = ""


Facts = Mapping[str, Fact]


def merged(sources: Iterable[Facts]) -> dict[str, Fact]:
    """For each column the first fact that is known, else the first doubt."""
    found: dict[str, Fact] = {}
    for facts in sources:
        for column, fact in facts.items():
            before = found.get(column, Fact())
            if not before.text and (fact.text or not before.doubt):
                found[column] = fact
    return found


def plain_text(text: str) -> str:
    """Text fit for one cell: on one line, without signs that a terminal would obey."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def cell(field: Field, text: str) -> Fact:
    """What somebody wrote as the cell of a column, if the schema lets it stand there.

    A handle may have its `@`, a release its `v`, and a word of a list any case.
    """
    text = plain_text(text)
    words = {word.lower(): word for word in field.constraints.get("enum", ())}
    text = words.get(text.lower(), text)
    if field.pattern and re.fullmatch(field.pattern, text) is None:
        text = text.removeprefix("@").removeprefix("v")
    problem = _problem(field, text)
    return Fact(doubt=problem) if problem else Fact(field.write(field.read(text)))


def _problem(field: Field, text: str) -> str:
    if not text:
        return ""
    try:
        field.read(text)
    except ValueError:
        return f"`{shown(text)}` is not of type {field.type}, as in `{field.example}`"
    words = field.constraints.get("enum", ())
    if words and text not in words:
        return f"`{shown(text)}` is none of its words. {nearest(text, words).sentence()}"
    if field.pattern and re.fullmatch(field.pattern, text) is None:
        return f"`{shown(text)}` has not its form, as in `{field.example}`"
    return ""


def given_facts(pairs: Iterable[str], schema: TableSchema) -> Facts:
    """Cells as somebody states them, each as `column=value`.

    Raises `UnusableInput` for what is no column, or no cell of it.
    """
    found: dict[str, Fact] = {}
    columns = [name for name in schema.names if name != "script"]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in columns:
            problem = f"`{shown(name)}` is no column" if equals else "wanted is COLUMN=VALUE"
            close = nearest(name, columns).sentence()
            raise UnusableInput(f"--set {shown(pair)}: {problem}", close or ", ".join(columns))
        fact = cell(schema.field(name), value)
        if fact.doubt:
            raise UnusableInput(f"--set {shown(pair)}: {fact.doubt}")
        found[name] = fact
    return found
