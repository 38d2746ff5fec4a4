"""A difference of two datasets as text for people, JSON, and Markdown for pull requests.

What contributors wrote is escaped: control signs in text, markup in Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rl_resources.package import SCRIPTS
from rl_resources.page.rows import HEADERS
from rl_resources.query.diff import Changed, Key, Renamed, Row, TableDiff, Tables, key_of
from rl_resources.site.markdown import escape, table_line
from rl_resources.site.tuning_table import TuningRow, tuning_row
from rl_resources.words import printable, shown

Item = TypeVar("Item")

SAME = "No record differs."
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
            f"      {change.field}: {change.old or '(blank)'} -> {change.new or '(blank)'}"
            for change in changed.changes
        ]
    return "".join(f"{printable(line)}\n" for line in lines)


def _facts(row: Row, key: Key) -> Iterator[tuple[str, str]]:
    return ((name, cell) for name, cell in row.items() if cell and name not in key)


def as_markdown(diffs: Sequence[TableDiff], new: Tables) -> str:
    """For reviewers: rows deleted first and in bold, then added, renamed and changed ones.

    An added record stands as the nine-column row that readers will see. `new` are all tables of
    the new state, by which the size of its model is known.
    """
    if not diffs:
        return f"{SAME}\n"
    parts = list(_removed(diffs))
    for item in diffs:
        parts += _added(item, new)
        parts += _titled(item.renamed, f"Renamed in {_escaped(item.name)}", _renamed_line)
        parts += _titled(item.changed, f"Changed in {_escaped(item.name)}", _changed_lines)
    return "\n".join(parts)


def _removed(diffs: Sequence[TableDiff]) -> Iterator[str]:
    for item in diffs:
        if item.removed:
            title = f"**Deleted: {_row_count(len(item.removed))} of {_escaped(item.name)}**"
            lines = [f"- **{_key(key_of(row, item.key))}**" for row in item.removed]
            yield _section(title, lines, MOST_DELETED_LISTED)
        if item.columns_removed:
            title = f"**Deleted: columns of {_escaped(item.name)}**"
            yield _section(title, [f"- **{_escaped(name)}**" for name in item.columns_removed])


def _added(item: TableDiff, new: Tables) -> list[str]:
    parts = _titled(
        item.columns_added,
        f"New columns of {_escaped(item.name)}",
        lambda name: f"- {_escaped(name)}",
    )
    if item.name != "tuning":
        return parts + _titled(
            item.added, f"Added to {_escaped(item.name)}", lambda row: _added_line(row, item.key)
        )
    if item.added:
        title = f"Added: {_row_count(len(item.added))} of {_escaped(item.name)}"
        records = [tuning_row(row, _script_path(row, new)) for row in item.added]
        parts.append(f"{title}\n\n{_nine_columns(records)}")
    return parts


def _nine_columns(rows: Sequence[TuningRow]) -> str:
    lines = [table_line(HEADERS), table_line(["---"] * len(HEADERS))]
    lines += [table_line([_escaped(cell) for cell in row.cells()]) for row in rows]
    remarks = [f"- {_escaped(row.script_path)}: {_escaped(row.notes)}" for row in rows if row.notes]
    return "\n".join([*lines, "", *remarks, *([""] if remarks else [])])


def _script_path(row: Row, new: Tables) -> str:
    models = new["models"].rows if "models" in new else ()
    named = (item for item in models if item.get("model") == row.get("model"))
    size = next(named, {}).get("size", "")
    return str(SCRIPTS / size.lower() / row.get("script", ""))


def _titled(items: Sequence[Item], title: str, line: Callable[[Item], str]) -> list[str]:
    return [_section(title, [line(item) for item in items])] if items else []


def _section(title: str, lines: Sequence[str], most: int = MOST_LISTED) -> str:
    listed = list(lines[:most])
    if len(lines) > most:
        listed.append(f"- and {len(lines) - most} more; `rl-resources diff` lists them all")
    return "\n".join([title, "", *listed, ""])


def _added_line(row: Row, key: Key) -> str:
    facts = ", ".join(f"{_escaped(name)} {_escaped(cell)}" for name, cell in _facts(row, key))
    return f"- {_key(key_of(row, key))}: {facts}" if facts else f"- {_key(key_of(row, key))}"


def _renamed_line(pair: Renamed) -> str:
    return f"- {_key(pair.old)} → {_key(pair.new)}"


def _changed_lines(row: Changed) -> str:
    changes = [
        f"    - {_escaped(item.field)}: {_escaped(item.old) or '(blank)'} → "
        f"{_escaped(item.new) or '(blank)'}"
        for item in row.changes
    ]
    return "\n".join([f"- {_key(row.key)}", *changes])


def _key(key: Key) -> str:
    return _escaped(" ".join(key))


def _row_count(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _escaped(text: str) -> str:
    return escape(shown(text, MOST_LETTERS))
