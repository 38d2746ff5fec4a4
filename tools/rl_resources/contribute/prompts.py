"""Asking a person at a terminal for what `new` needs."""

from __future__ import annotations

import sys

from rl_resources.contribute.facts import cell
from rl_resources.contribute.new import OPTIONS, Asked, UnknownWord, known_words, read_word
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.words import MOST_LISTED, nearest


def complete(asked: Asked, added: frozenset[str], dataset: Dataset) -> Asked:
    """The options with an answer for each that is missing or not known.

    Those of `added` have a new row of their table, so any word is known.
    """
    found = dict(asked)
    for option in OPTIONS:
        if option not in added:
            found[option] = _word(dataset, option, asked.get(option, ""))
    if "contributor" not in found:
        found["contributor"] = _contributor(dataset)
    return {option: text for option, text in found.items() if text}


def _word(dataset: Dataset, option: str, text: str) -> str:
    """A known word for the option; the nearest to a wrong one is offered."""
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
            offer = next(iter(nearest(text, known_words(dataset, option)).words), "")
        text = ""


def _question(dataset: Dataset, option: str, offer: str) -> str:
    known = known_words(dataset, option)
    column = dataset.package.resources["tuning"].schema.field(option)
    choice = f" ({', '.join(known)})" if 0 < len(known) <= MOST_LISTED else ""
    example = "" if choice else f", such as {column.example}"
    more = " (? lists them)" if len(known) > MOST_LISTED else ""
    return f"{column.title}{choice}{example}{more}{f' [{offer}]' if offer else ''}: "


def _contributor(dataset: Dataset) -> str:
    column = dataset.package.resources["tuning"].schema.field("contributor")
    while True:
        fact = cell(column, _ask(f"{column.title}, your public handle [Enter: none]: "))
        if not fact.doubt:
            return fact.text
        _say(fact.doubt)


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
