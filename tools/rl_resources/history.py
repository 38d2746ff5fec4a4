"""What each release changed, from the files that `make release` writes to `releases`.

Git is not asked: a shallow clone, a clone without tags and an unpacked source archive publish the
same history. `releases/VERSION.json` holds what a release changed; `releases/newest` is a copy of
the tables as the newest one published them, by which later changes are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rl_resources.errors import UnreadableDataset
from rl_resources.package import DESCRIPTOR, NEWEST, RELEASES
from rl_resources.query.diff import (
    Change,
    Changed,
    Renamed,
    Row,
    TableDiff,
    Tables,
    diff,
    key_of,
)
from rl_resources.query.undo import undone
from rl_resources.revision import read_folder

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Release:
    """One release: what it changed against the one before, and what has changed since.

    `day` is written as in ISO 8601. `since` is `None` where nobody can know it. `moments` has the
    time at which each of its records was changed, by script, where that is known.
    """

    version: str
    day: str
    previous: str | None
    made: tuple[TableDiff, ...]
    since: tuple[TableDiff, ...] | None = None
    moments: Mapping[str, str] = field(default_factory=dict)


def read_history(root: Path) -> list[Release]:
    """All releases, newest first; none where there is no folder of them.

    Raises `UnreadableDataset` for a file of it that nobody can read.
    """
    files = (root / RELEASES).glob("[0-9]*.json")
    releases = sorted(map(_read, files), key=lambda item: _order(item.version), reverse=True)
    if not releases or not (root / NEWEST / DESCRIPTOR).is_file():
        return releases
    touched = {item.name for release in releases[:-1] for item in release.made}
    touched |= set(_tables_that_differ(root))
    return with_since(releases, read_folder(root / NEWEST, touched), read_folder(root, touched))


def with_since(releases: Sequence[Release], newest: Tables, now: Tables) -> list[Release]:
    """Each release with what has changed since. `newest` is the state that the first published."""
    found: list[Release] = []
    state = dict(newest)
    for release in releases:
        since = tuple(diff(state, now))
        found.append(replace(release, since=since))
        state |= {
            change.name: undone(state[change.name], change)
            for change in release.made
            if change.name in state
        }
    return found


def _tables_that_differ(root: Path) -> Iterator[str]:
    """The tables whose file or schema is not byte for byte that of the newest release."""
    for folder, other in ((root, root / NEWEST), (root / NEWEST, root)):
        for item in json.loads((folder / DESCRIPTOR).read_text(encoding="utf-8"))["resources"]:
            for path in (item["path"], item["schema"]):
                there = other / path
                if not there.is_file() or there.read_bytes() != (folder / path).read_bytes():
                    yield item["name"]


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _read(path: Path) -> Release:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        _order(value["version"])
        return Release(
            value["version"],
            value["released_on"],
            value["previous"],
            tuple(map(_table_diff, value["in_release"])),
            moments=dict(value.get("moments", {})),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableDataset(
            f"{RELEASES}/{path.name}: cannot be read as a release: {error!r}",
            "`make release` writes it; take it from git again.",
        ) from error


def release_values(release: Release) -> dict[str, Any]:
    """A release in the types of JSON."""
    since = release.since
    return {
        "version": release.version,
        "released_on": release.day,
        "previous": release.previous,
        "in_release": [_values(change) for change in release.made],
        "since_release": None if since is None else [_values(change) for change in since],
    }


def _values(change: TableDiff) -> dict[str, Any]:
    """What changed in one table, in the types of JSON. Cells are text, blank ones are null."""
    return {
        "table": change.name,
        "key": list(change.key),
        "added": [_named(change, key_of(row, change.key)) for row in change.added],
        "removed": [{name: cell or None for name, cell in row.items()} for row in change.removed],
        "renamed": [
            {"old": _named(change, pair.old), "new": _named(change, pair.new)}
            for pair in change.renamed
        ],
        "changed": [
            {
                "key": _named(change, item.key),
                "changes": [
                    {"field": each.field, "old": each.old or None, "new": each.new or None}
                    for each in item.changes
                ],
            }
            for item in change.changed
        ],
        "columns_added": list(change.columns_added),
        "columns_removed": list(change.columns_removed),
    }


def _named(change: TableDiff, key: Sequence[str]) -> dict[str, str]:
    # A key that stands twice ends in a count, which names no column.
    return dict(zip(change.key, key, strict=False))


def _table_diff(value: Json) -> TableDiff:
    key = tuple(value["key"])
    return TableDiff(
        name=value["table"],
        key=key,
        removed=tuple(map(_row, value["removed"])),
        added=tuple(map(_row, value["added"])),
        renamed=tuple(
            Renamed(key_of(pair["old"], key), key_of(pair["new"], key)) for pair in value["renamed"]
        ),
        changed=tuple(
            Changed(
                key_of(item["key"], key),
                tuple(
                    Change(each["field"], each["old"] or "", each["new"] or "")
                    for each in item["changes"]
                ),
            )
            for item in value["changed"]
        ),
        columns_removed=tuple(value["columns_removed"]),
        columns_added=tuple(value["columns_added"]),
    )


def _row(value: Json) -> Row:
    return {name: cell or "" for name, cell in value.items()}
