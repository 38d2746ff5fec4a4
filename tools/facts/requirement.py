"""What a source says is needed: its own word, and the tag that the word supports."""

from __future__ import annotations

import re

from facts.statement import Statement
from facts.words import table

_WORD_OF_TAG = {
    "MIN": re.compile(r"minimum|min\b|at least|as few as"),
    "RECOMMENDED": re.compile(r"recommend"),
}


def requirement_cells(statement: Statement) -> dict[str, str]:
    """The tag stands only beside a word that says it."""
    wording = _decided(statement)
    if wording is None:
        wording = statement["requirement_wording"]
    tag = statement["tag_stated"]
    supported = tag in _WORD_OF_TAG and _WORD_OF_TAG[tag].search(wording)
    return {"tag": tag if supported else "", "requirement_wording": wording}


def _decided(statement: Statement) -> str | None:
    return next(
        (row["wording"] for row in table("wordings") if (row["file"], row["row"]) == statement.key),
        None,
    )
