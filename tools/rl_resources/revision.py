"""The tables of any state of the dataset as text: of a folder, or of a git revision.

Nothing is checked out. A state of long ago is read by its own descriptor and its own schemas, of
which only names and keys are needed: a revision may lack tables, columns and properties of today.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from rl_resources import tabular
from rl_resources.errors import UnusableInput
from rl_resources.package import DESCRIPTOR
from rl_resources.query.diff import Table, Tables

Read = Callable[[str], bytes]


def read_state(root: Path, name: str) -> Tables:
    """The tables of the folder `name` if it holds a descriptor, else of that revision of `root`.

    Raises `UnusableInput` where it is neither, or where a file of it cannot be read.
    """
    folder = Path(name)
    if name and (folder / DESCRIPTOR).is_file():
        return read_folder(folder)
    commit = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
    if not commit:
        raise UnusableInput(
            f"{name}: is neither a revision of {root} nor a folder with a {DESCRIPTOR}",
            "Name a commit, a tag, a branch or a folder; a shallow clone lacks older commits.",
        )
    revision = commit.decode().strip()
    return _tables(name, lambda path: _blob(root, revision, path))


def read_folder(folder: Path, only: Collection[str] | None = None) -> Tables:
    """The tables of a folder as they are now, or `only` those named. Raises `UnusableInput`."""
    return _tables(str(folder), lambda path: _file(folder, path), only)


def _git(root: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def _blob(root: Path, revision: str, path: str) -> bytes:
    found = _git(root, "cat-file", "blob", f"{revision}:./{path}")
    if found is None:
        raise FileNotFoundError
    return found


def _file(folder: Path, path: str) -> bytes:
    place = (folder / path).resolve()
    if not (place.is_relative_to(folder.resolve()) and place.is_file()):
        raise FileNotFoundError
    return place.read_bytes()


def _tables(state: str, read: Read, only: Collection[str] | None = None) -> Tables:
    descriptor = _object(state, read, DESCRIPTOR)
    try:
        named = {
            str(item["name"]): (_inside(item["path"]), _inside(item["schema"]))
            for item in descriptor["resources"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(state, DESCRIPTOR, "names its tables in no form that can be read") from error
    return {
        name: _table(state, read, *paths)
        for name, paths in named.items()
        if only is None or name in only
    }


def _inside(path: Any) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise ValueError(path)
    return str(pure)


def _table(state: str, read: Read, path: str, schema_path: str) -> Table:
    schema = _object(state, read, schema_path)
    try:
        key = (
            (schema["primaryKey"],)
            if isinstance(schema["primaryKey"], str)
            else (tuple(map(str, schema["primaryKey"])))
        )
        references = dict(map(_reference, schema.get("foreignKeys", ())))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _broken(state, schema_path, "says no primary key that can be read") from error
    text = tabular.read(_text(state, read, path).removeprefix("\ufeff"))
    if text.defects:
        defect = text.defects[0]
        raise _broken(state, f"{path}:{defect.line}:{defect.column}", f"not CSV: {defect.kind}")
    columns = text.header.cells if text.header else ()
    if missing := [name for name in key if name not in columns]:
        raise _broken(state, f"{path}:1", f"the header lacks the key column {missing[0]!r}")
    return Table(key, columns, _rows(state, path, columns, text), references)


def _reference(raw: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw["fields"][0]), str(raw["reference"]["resource"])


def _rows(
    state: str, path: str, columns: tuple[str, ...], text: tabular.Text
) -> tuple[Mapping[str, str], ...]:
    rows = [row for row in text.rows if not row.blank]
    for row in rows:
        if len(row.cells) != len(columns):
            counts = f"{len(row.cells)} cells where the header has {len(columns)}"
            raise _broken(state, f"{path}:{row.line}", counts)
    return tuple(dict(zip(columns, row.cells, strict=True)) for row in rows)


def _object(state: str, read: Read, path: str) -> Mapping[str, Any]:
    try:
        value = json.loads(_text(state, read, path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise _broken(state, path, "is not JSON") from error
    if not isinstance(value, dict):
        raise _broken(state, path, "holds no JSON object")
    return value


def _text(state: str, read: Read, path: str) -> str:
    try:
        return read(path).decode("utf-8")
    except OSError as error:
        raise _broken(state, path, "is not there, or cannot be read") from error
    except UnicodeDecodeError as error:
        raise _broken(state, path, f"is not UTF-8 (byte {error.start})") from error


def _broken(state: str, place: str, what: str) -> UnusableInput:
    help_ = "`rl-resources check` on that state tells every mistake and its mend."
    return UnusableInput(f"{state}: {place}: {what}", help_)
