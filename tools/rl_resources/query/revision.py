"""The tables of any state of the dataset as text: of a folder, of a git revision, of a release.

Nothing is checked out. An old state is read by its own descriptor and schemas, of which only names
and keys are needed: a revision may lack tables, columns and properties of today.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_resources.errors import UnusableInput
from rl_resources.git import file_at, git_text, released_versions
from rl_resources.package import DESCRIPTOR
from rl_resources.query.diff import Table, TableDiff, Tables, diff

Read = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Release:
    """A tagged release: its day as in ISO 8601, what it changed, and what has changed since."""

    version: str
    day: str
    previous: str | None
    made: list[TableDiff]
    since: list[TableDiff]


def read_releases(root: Path) -> list[Release]:
    """The releases of a checkout by their tags, newest first; none in a clone without tags."""
    versions = released_versions(root)
    if not versions:
        return []
    now, states = read_folder(root), [read_state(root, f"v{name}") for name in versions]
    days = [git_text(root, "log", "-1", "--format=%cs", f"v{name}") for name in versions]
    older = zip([*versions[1:], None], [*states[1:], {}], strict=True)
    return [
        Release(version, day, previous, diff(before, state) if previous else [], diff(state, now))
        for version, day, state, (previous, before) in zip(
            versions, days, states, older, strict=True
        )
    ]


def read_state(root: Path, name: str) -> Tables:
    """The tables of the folder `name` if it has a descriptor, else of that revision of `root`.

    Raises `UnusableInput` where it is neither, or where one of its files cannot be read.
    """
    if name and (Path(name) / DESCRIPTOR).is_file():
        return read_folder(Path(name))
    commit = f"{name}^{{commit}}"
    revision = git_text(root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit)
    if not revision:
        raise UnusableInput(
            f"{name}: is neither a revision of {root} nor a folder with a {DESCRIPTOR}",
            "Name a commit, a tag, a branch or a folder; a shallow clone lacks older commits.",
        )
    return _tables(name, lambda path: file_at(root, revision, path) or b"")


def read_folder(folder: Path) -> Tables:
    """The tables of a folder as they are now. Raises `UnusableInput`."""
    return _tables(str(folder), lambda path: (folder / path).read_bytes())


def _tables(state: str, read: Read) -> Tables:
    path = DESCRIPTOR
    tables = {}
    try:
        for item in json.loads(read(path))["resources"]:
            path = item["schema"]
            schema = json.loads(read(path))
            path = item["path"]
            tables[item["name"]] = _table(schema, read(path).decode("utf-8-sig"))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        missing = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        raise UnusableInput(
            f"{state}: {path}: {missing}",
            "`rl-resources check` on that state shows every error and its fix.",
        ) from error
    return tables


def _table(schema: Mapping[str, Any], text: str) -> Table:
    key = schema["primaryKey"]
    key = (key,) if isinstance(key, str) else tuple(key)
    columns, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    if missing := [name for name in key if name not in columns]:
        raise ValueError(f"the header lacks the key column {missing[0]!r}")
    references = {
        item["fields"][0]: item["reference"]["resource"] for item in schema.get("foreignKeys", ())
    }
    named = (dict(zip(columns, row, strict=True)) for row in rows if row)
    return Table(key, tuple(columns), tuple(named), references)
