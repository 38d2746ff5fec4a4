"""Asking a person at a terminal for what `new` needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from rl_resources.contribute.changes import Row
from rl_resources.contribute.facts import cell
from rl_resources.contribute.new import (
    GROWING,
    OPTIONS,
    Asked,
    UnknownWord,
    known_words,
    needed_columns,
    read_word,
)
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.package import Field
from rl_resources.words import MOST_LISTED, nearest

_USED = {
    "model": ("layers", "attention_heads", "kv_heads", "experts"),
    "device": ("memory_gb",),
}
"""Columns of a new row that may stay empty, but from which starting values follow."""


def complete(
    asked: Asked, added: Mapping[str, Row], dataset: Dataset
) -> tuple[Asked, Mapping[str, Row]]:
    """The options and new rows with an answer for all that is missing or not known."""
    found, rows = dict(asked), dict(added)
    for option in OPTIONS:
        if GROWING.get(option) in rows:
            continue
        found[option] = _word(dataset, option, asked.get(option, ""), rows)
    if "contributor" not in found:
        column = dataset.package.resources["tuning"].schema.field("contributor")
        found["contributor"] = _cell(column, f"{column.title}, your public handle [Enter: none]: ")
    return {option: text for option, text in found.items() if text}, rows


def _word(dataset: Dataset, option: str, text: str, rows: dict[str, Row]) -> str:
    """A known word for the option, or an unknown one with its new row in `rows`."""
    offer = ""
    while True:
        text = text or _ask(_question(dataset, option, offer)) or offer
        if text == "?":
            _say("  ".join(known_words(dataset, option)))
        elif text:
            try:
                return read_word(dataset, option, text)
            except UnknownWord as error:
                _say(str(error))
            if option in GROWING and _agrees(f"Add `{text}` to records/{GROWING[option]}.csv?"):
                rows[GROWING[option]] = _row(dataset, option, text)
                return text
            offer = next(iter(nearest(text, known_words(dataset, option)).words), "")
        text = ""


def _question(dataset: Dataset, option: str, offer: str) -> str:
    known = known_words(dataset, option)
    column = dataset.package.resources["tuning"].schema.field(option)
    choice = f" ({', '.join(known)})" if 0 < len(known) <= MOST_LISTED else ""
    example = "" if choice else f", such as {column.example}"
    more = " (? lists them)" if len(known) > MOST_LISTED else ""
    return f"{column.title}{choice}{example}{more}{f' [{offer}]' if offer else ''}: "


def _row(dataset: Dataset, option: str, key: str) -> Row:
    schema = dataset.package.resources[GROWING[option]].schema
    row = {option: key}
    asked = {*needed_columns(dataset, option), *_USED[option]}
    for column in schema.fields:
        if column.name not in asked:
            continue
        name, unit = column.name, f" ({column.unit})" if column.unit else ""
        blank = "" if column.required else " [Enter: not known]"
        about = f"{column.title}{unit}. {column.description} For example `{column.example}`.{blank}"
        row[name] = _cell(column, f"{about}\n  {name}: ")
    return row


def _cell(column: Field, question: str) -> str:
    while True:
        fact = cell(column, _ask(question))
        if fact.text or not (fact.doubt or column.required):
            return fact.text
        _say(fact.doubt or f"{column.name} must not be empty")


def _agrees(question: str) -> bool:
    return _ask(f"{question} [y/N]: ").lower().startswith("y")


def _ask(question: str) -> str:
    """The answer to a question on standard error. Raises `UnusableInput` at the end of input."""
    print(question, end="", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return input().strip()
    except (EOFError, KeyboardInterrupt):
        _say("")
        raise UnusableInput("stopped before the last answer", "Nothing was written.") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201
