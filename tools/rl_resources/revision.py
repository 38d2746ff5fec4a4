"""The tables of any state of the dataset as text: of a folder, of a git revision, of a release.

Nothing is checked out. An old state is read by its own descriptor and schemas, of which only names
and keys are needed: a revision may lack tables, columns and properties of today.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_resources import tabular
from rl_resources.errors import UnusableInput
from rl_resources.git import file_at, git_text, released_versions
from rl_resources.package import DESCRIPTOR
from rl_resources.query.diff import Table, TableDiff, Tables, diff

Read = Callable[[str], bytes | None]


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
    folder = Path(name)
    if name and (folder / DESCRIPTOR).is_file():
        return read_folder(folder)
    revision = git_text(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
    if not revision:
        raise UnusableInput(
            f"{name}: is neither a revision of {root} nor a folder with a {DESCRIPTOR}",
            "Name a commit, a tag, a branch or a folder; a shallow clone lacks older commits.",
        )
    return _tables(name, lambda path: file_at(root, revision, path))


def read_folder(folder: Path) -> Tables:
    """The tables of a folder as they are now. Raises `UnusableInput`."""
    return _tables(str(folder), lambda path: _file(folder, path))


def _file(folder: Path, path: str) -> bytes | None:
    place = (folder / path).resolve()
    inside = place.is_relative_to(folder.resolve())
    return place.read_bytes() if inside and place.is_file() else None


def _tables(state: str, read: Read) -> Tables:
    try:
        resources = [
            (str(item["name"]), str(item["path"]), str(item["schema"]))
            for item in _object(state, read, DESCRIPTOR)["resources"]
        ]
    except (KeyError, TypeError) as error:
        raise _unreadable(state, DESCRIPTOR, "has no readable list of tables") from error
    return {name: _table(state, read, path, schema) for name, path, schema in resources}


def _table(state: str, read: Read, path: str, schema_path: str) -> Table:
    schema = _object(state, read, schema_path)
    try:
        key = schema["primaryKey"]
        key = (key,) if isinstance(key, str) else tuple(map(str, key))
        references = {
            str(item["fields"][0]): str(item["reference"]["resource"])
            for item in schema.get("foreignKeys", ())
        }
    except (KeyError, TypeError, IndexError) as error:
        raise _unreadable(state, schema_path, "has no readable primary key") from error
    text = tabular.read(_text(state, read, path).removeprefix("\ufeff"))
    for line, problem in _problems(text, key):
        raise _unreadable(state, f"{path}:{line}", problem)
    columns = text.header.cells if text.header else ()
    rows = [dict(zip(columns, row.cells, strict=True)) for row in text.rows if not row.blank]
    return Table(key, columns, tuple(rows), references)


def _problems(text: tabular.Text, key: tuple[str, ...]) -> Iterator[tuple[int | str, str]]:
    """Line and problem of everything that keeps a file from being read as a table."""
    for defect in text.defects:
        yield f"{defect.line}:{defect.column}", f"not CSV: {defect.kind}"
    columns = text.header.cells if text.header else ()
    for name in key:
        if name not in columns:
            yield 1, f"the header lacks the key column {name!r}"
    for row in text.rows:
        if not row.blank and len(row.cells) != len(columns):
            yield row.line, f"{len(row.cells)} cells where the header has {len(columns)}"


def _object(state: str, read: Read, path: str) -> Mapping[str, Any]:
    try:
        value = json.loads(_text(state, read, path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise _unreadable(state, path, "is not JSON") from error
    if not isinstance(value, dict):
        raise _unreadable(state, path, "is not a JSON object")
    return value


def _text(state: str, read: Read, path: str) -> str:
    try:
        if (data := read(path)) is not None:
            return data.decode("utf-8")
    except OSError:
        pass
    except UnicodeDecodeError as error:
        raise _unreadable(state, path, f"is not UTF-8 (byte {error.start})") from error
    raise _unreadable(state, path, "is not there, or cannot be read")


def _unreadable(state: str, place: str, problem: str) -> UnusableInput:
    help_ = "`rl-resources check` on that state shows every error and its fix."
    return UnusableInput(f"{state}: {place}: {problem}", help_)
