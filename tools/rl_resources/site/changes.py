"""A difference of two datasets as text for people, JSON, and Markdown for pull requests.

What contributors wrote is escaped: control characters in text, markup in Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rl_resources.page.rows import HEADERS
from rl_resources.query.diff import Changed, Key, Row, TableDiff, key_of
from rl_resources.site.markdown import escape, table_line
from rl_resources.site.tuning_table import tuning_row
from rl_resources.words import printable, shown

SAME = "No record differs."
EMPTY = "(empty)"
MOST_LISTED = 30
MOST_DELETED_LISTED = 1000
"""Rows of one table that Markdown lists; GitHub refuses a job summary of more than 1 MiB."""
MOST_LETTERS = 300


def as_json(diffs: Sequence[TableDiff]) -> str:
    """A list of objects, one for each table that differs; rows are objects of text cells."""
    return json.dumps(as_values(diffs), indent=2 if diffs else None) + "\n"


def as_values(diffs: Sequence[TableDiff]) -> list[dict[str, object]]:
    """The same in the types of JSON."""
    return [_json(item) for item in diffs]


def _json(item: TableDiff) -> dict[str, object]:
    def named(key: Key) -> dict[str, str]:
        return dict(zip(item.key, key, strict=True))

    return {
        "table": item.name,
        "removed": [dict(row) for row in item.removed],
        "added": [dict(row) for row in item.added],
        "renamed": [{"old": named(pair.old), "new": named(pair.new)} for pair in item.renamed],
        "changed": [
            {
                "key": named(row.key),
                "changes": [
                    {"field": change.field, "old": change.old, "new": change.new}
                    for change in row.changes
                ],
            }
            for row in item.changed
        ],
        "columns_removed": list(item.columns_removed),
        "columns_added": list(item.columns_added),
    }


def as_text(diffs: Sequence[TableDiff]) -> str:
    """One line a row, `- removed`, `+ added`, `> renamed` or `~ changed`, under its table."""
    if not diffs:
        return f"{SAME}\n"
    return "\n".join(f"{item.name}: {counts(item)}\n" + _text_lines(item) for item in diffs)


def counts(item: TableDiff) -> str:
    """What differs in one table, in figures: `1 removed, 2 added`."""
    parts = {
        "removed": item.removed,
        "added": item.added,
        "renamed": item.renamed,
        "changed": item.changed,
        "columns removed": item.columns_removed,
        "columns added": item.columns_added,
    }
    return ", ".join(f"{len(rows)} {word}" for word, rows in parts.items() if rows)


def _text_lines(item: TableDiff) -> str:
    lines = [f"  - column {name}" for name in item.columns_removed]
    lines += [f"  + column {name}" for name in item.columns_added]
    lines += [f"  - {' '.join(key_of(row, item.key))}" for row in item.removed]
    for row in item.added:
        lines.append(f"  + {' '.join(key_of(row, item.key))}")
        lines += [f"      {name}: {cell}" for name, cell in _facts(row, item.key)]
    lines += [f"  > {' '.join(pair.old)} -> {' '.join(pair.new)}" for pair in item.renamed]
    for changed in item.changed:
        lines.append(f"  ~ {' '.join(changed.key)}")
        lines += [
            f"      {change.field}: {change.old or EMPTY} -> {change.new or EMPTY}"
            for change in changed.changes
        ]
    return "".join(f"{printable(line)}\n" for line in lines)


def _facts(row: Row, key: Key) -> Iterator[tuple[str, str]]:
    return ((name, cell) for name, cell in row.items() if cell and name not in key)


def as_markdown(diffs: Sequence[TableDiff]) -> str:
    """For reviewers: rows deleted first and in bold, then added, renamed and changed ones.

    An added record is the nine-column row that readers will see.
    """
    if not diffs:
        return f"{SAME}\n"
    deleted = (section for item in diffs for section in _deleted(item))
    others = (section for item in diffs for section in _others(item))
    sections = [*deleted, *others]
    return "\n".join(_section(*section) for section in sections if section[1])


def _deleted(item: TableDiff) -> Iterator[tuple[str, list[str], int]]:
    name, count = _escaped(item.name), len(item.removed)
    rows = [f"- **{_key(key_of(row, item.key))}**" for row in item.removed]
    yield f"**Deleted: {count} row{'s' * (count != 1)} of {name}**", rows, MOST_DELETED_LISTED
    columns = [f"- **{_escaped(column)}**" for column in item.columns_removed]
    yield f"**Deleted: columns of {name}**", columns, MOST_LISTED


def _others(item: TableDiff) -> Iterator[tuple[str, list[str], int]]:
    name = _escaped(item.name)
    yield (
        f"New columns of {name}",
        [f"- {_escaped(one)}" for one in item.columns_added],
        MOST_LISTED,
    )
    added = _nine_columns(item.added) if item.name == "tuning" else _added(item)
    yield f"Added to {name}", added, MOST_LISTED
    renamed = [f"- {_key(pair.old)} → {_key(pair.new)}" for pair in item.renamed]
    yield f"Renamed in {name}", renamed, MOST_LISTED
    yield f"Changed in {name}", [_changed(row) for row in item.changed], MOST_LISTED


def _nine_columns(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    records = [tuning_row(row, row.get("script", "")) for row in rows]
    lines = [table_line(HEADERS), table_line(["---"] * len(HEADERS))]
    lines += [table_line([_escaped(cell) for cell in record.cells()]) for record in records]
    notes = [
        f"- {_escaped(row.script_path)}: {_escaped(row.notes)}" for row in records if row.notes
    ]
    return [*lines, "", *notes]


def _added(item: TableDiff) -> list[str]:
    return [
        ": ".join(filter(None, (f"- {_key(key_of(row, item.key))}", _cells(row, item.key))))
        for row in item.added
    ]


def _cells(row: Row, key: Key) -> str:
    return ", ".join(f"{_escaped(name)} {_escaped(cell)}" for name, cell in _facts(row, key))


def _changed(row: Changed) -> str:
    lines = [f"- {_key(row.key)}"]
    for item in row.changes:
        old, new = (_escaped(cell) or EMPTY for cell in (item.old, item.new))
        lines.append(f"    - {_escaped(item.field)}: {old} → {new}")
    return "\n".join(lines)


def _section(title: str, lines: Sequence[str], most: int) -> str:
    listed = list(lines[:most])
    if len(lines) > most:
        listed.append(f"- and {len(lines) - most} more; `rl-resources diff` lists them all")
    return "\n".join([title, "", *listed, ""])


def _key(key: Key) -> str:
    return _escaped(" ".join(key))


def _escaped(text: str) -> str:
    return escape(shown(text, MOST_LETTERS))
