"""A difference of two datasets as text for people, JSON, and Markdown for pull requests.

What contributors wrote is escaped: control characters in text, markup in Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rl_resources.query.diff import RowKey, TableDiff
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
    def named(key: RowKey) -> dict[str, str]:
        return dict(zip(item.key, key, strict=True))

    return {
        "table": item.name,
        "removed": list(item.removed.values()),
        "added": list(item.added.values()),
        "changed": [
            {"key": named(key), "changes": [change._asdict() for change in changes]}
            for key, changes in item.changed.items()
        ],
    }


def counts(item: TableDiff) -> str:
    """What differs in one table, in figures: `1 removed, 2 added`."""
    found = {"removed": item.removed, "added": item.added, "changed": item.changed}
    return ", ".join(f"{len(rows)} {kind}" for kind, rows in found.items() if rows)


def as_text(diffs: Sequence[TableDiff]) -> str:
    """One line a row, `- removed`, `+ added` or `~ changed`, under its table."""
    return rendered(
        "diff.txt", diffs=diffs, counts=counts, groups=_groups, printable=printable, same=SAME
    )


def as_markdown(diffs: Sequence[TableDiff]) -> str:
    """For reviewers: what was deleted first and in bold, then what was added and changed."""
    groups = [(item.name, *group) for item in diffs for group in _groups(item) if group[2]]
    groups.sort(key=lambda group: group[2] != "-")
    return rendered("diff.md", sections=groups, most=MOST_LISTED, escape=_escaped, same=SAME)


def _groups(item: TableDiff) -> Iterator[tuple[str, str, Mapping[str, Sequence[str]]]]:
    """Rows that differ in one way: a title, a mark, the facts of each by name."""
    yield "Deleted from", "-", {" ".join(key): () for key in item.removed}
    added = {
        " ".join(key): [f"{n}: {cell}" for n, cell in row.items() if cell and n not in item.key]
        for key, row in item.added.items()
    }
    yield "Added to", "+", added
    changed = {
        " ".join(key): [f"{name}: {old or EMPTY} -> {new or EMPTY}" for name, old, new in changes]
        for key, changes in item.changed.items()
    }
    yield "Changed in", "~", changed


def _escaped(text: str) -> str:
    return escape(shown(text, MOST_CHARACTERS))
