"""The changelog: what a release says about its data, and its place in the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from rl_resources.query.diff import TableDiff, key_of
from rl_resources.site.changes import SAME, counts
from rl_resources.site.markdown import escape
from rl_resources.words import printable

TITLE = "# Changelog\n"
UNRELEASED = "Unreleased"
_SECTION = re.compile(r"(?m)^## (?P<name>\S+).*\n")


def entry(version: str, day: date, diffs: Sequence[TableDiff], by_hand: str = "") -> str:
    """The section of one release: its data, then what was written by hand while it was made."""
    parts = [f"## {version} ({day.isoformat()})", f"### Data\n\n{data(diffs)}".rstrip()]
    return "\n\n".join([*parts, *([by_hand.strip()] if by_hand.strip() else [])]) + "\n"


def data(diffs: Sequence[TableDiff]) -> str:
    """A line for each table that differs; the records, which have scripts, by name."""
    if not diffs:
        return f"{SAME}\n"
    return "".join(f"- {escape(item.name)}: {counts(item)}\n{_records(item)}" for item in diffs)


def _records(item: TableDiff) -> str:
    if item.name != "tuning":
        return ""
    lines = [f"**deleted {_named(key_of(row, item.key))}**" for row in item.removed]
    lines += [f"added {_named(key_of(row, item.key))}" for row in item.added]
    lines += [f"renamed {_named(pair.old)} to {_named(pair.new)}" for pair in item.renamed]
    lines += [
        f"changed {_named(row.key)}: {', '.join(escape(change.field) for change in row.changes)}"
        for row in item.changed
    ]
    return "".join(f"    - {line}\n" for line in lines)


def _named(key: Sequence[str]) -> str:
    """A key as code; a name that no code span could hold is escaped."""
    text = printable(" ".join(key))
    return escape(text) if "`" in text else f"`{text}`"


def sections(changelog: str) -> dict[str, str]:
    """The texts below the headings of second rank, by the first word of the heading."""
    found = list(_SECTION.finditer(changelog))
    ends = [match.start() for match in found[1:]] + [len(changelog)]
    return {
        match["name"]: changelog[match.end() : end] for match, end in zip(found, ends, strict=False)
    }


def with_entry(changelog: str, version: str, text: str) -> str:
    """The changelog with a section on top; an older one of that version and `Unreleased` go."""
    kept = changelog
    for name in (version, UNRELEASED):
        kept = re.sub(rf"(?ms)^## {re.escape(name)}\b.*?(?=^## |\Z)", "", kept)
    head, mark, rest = kept.partition("\n## ")
    top = head.rstrip() + "\n\n" if head.strip() else f"{TITLE}\n"
    return f"{top}{text}" + (f"\n{mark[1:]}{rest}" if mark else "")
