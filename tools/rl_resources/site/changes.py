"""A difference of two datasets as text for people, JSON, and Markdown for pull requests.

What contributors wrote is escaped: control characters in text, markup in Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rl_resources.query.diff import TableDiff
from rl_resources.site.templates import rendered
from rl_resources.site.tuning_table import escape
from rl_resources.text import json_text, printable, shown

SAME = "No record differs."
EMPTY = "(empty)"
MOST_LISTED = 1000
"""Rows of one table that Markdown lists; GitHub refuses a job summary of more than 1 MiB."""
MOST_CHARACTERS = 300


def as_json(diffs: Sequence[TableDiff]) -> str:
    """A list of objects, one for each table that differs; rows are objects of text cells."""
    return json_text([_value(item) for item in diffs], 2)


def _value(item: TableDiff) -> dict[str, Any]:
    changed: list[dict[str, Any]] = []
    for key, changes in item.changed.items():
        named = dict(zip(item.key, key, strict=True))
        changed.append({"key": named, "changes": [change._asdict() for change in changes]})
    return {
        "table": item.name,
        "removed": list(item.removed.values()),
        "added": list(item.added.values()),
        "changed": changed,
    }


def counts(item: TableDiff) -> str:
    """What differs in one table, in figures: `1 removed, 2 added`."""
    found = {
        "removed": len(item.removed),
        "added": len(item.added),
        "changed": len(item.changed),
    }
    return ", ".join(f"{count} {kind}" for kind, count in found.items() if count)


def as_text(diffs: Sequence[TableDiff]) -> str:
    """One line a row, `- removed`, `+ added` or `~ changed`, under its table."""
    return rendered(
        "diff.txt", diffs=diffs, counts=counts, printable=printable, same=SAME, empty=EMPTY
    )


def as_markdown(diffs: Sequence[TableDiff]) -> str:
    """For reviewers: what was deleted first and in bold, then what was added and changed."""
    text = rendered(
        "diff.md", diffs=diffs, most=MOST_LISTED, escape=_escaped, same=SAME, empty=EMPTY
    )
    return text.lstrip("\n")


def _escaped(text: str) -> str:
    return escape(shown(text, MOST_CHARACTERS))
