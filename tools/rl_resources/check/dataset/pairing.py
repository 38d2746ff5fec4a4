"""Which script file belongs to which tuning record, also where the two have different names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rl_resources.check.dataset.broken import Record, broken_keys
from rl_resources.check.dataset.tables import OTHER_ROLE, misplaced, role_of, size_of, slug_of
from rl_resources.check.snapshot import ScriptFile, Snapshot
from rl_resources.package import SCRIPTS
from rl_resources.script.name import PARTS, ScriptName, parsed

IGNORED = frozenset({"README.md"})
LIKENESS = 0.7

TABLES: Mapping[str, tuple[str, str]] = {
    "model": ("models", "model"),
    "task": ("tasks", "task"),
    "device": ("devices", "device"),
    "train": ("backends", "backend"),
    "infer": ("backends", "backend"),
}


@dataclass(frozen=True)
class Pairing:
    """`rows` maps the script cell of a record to its row, `files` a script's name to the file.

    `row_of` maps the path of a file that no record names to the row that most likely means it, and
    `path_of` that row to the path.
    """

    rows: Mapping[str, int]
    files: Mapping[str, ScriptFile]
    row_of: Mapping[str, int]

    @cached_property
    def path_of(self) -> Mapping[int, str]:
        """The inverse of `row_of`."""
        return {row: path for path, row in self.row_of.items()}

    def row(self, script: ScriptFile) -> int | None:
        """The row of a script, by its name or by likeness."""
        return self.rows.get(script.name, self.row_of.get(script.path))


def scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The files that should be scripts: not READMEs, hidden files and links."""
    return (
        script
        for script in snapshot.scripts
        if script.name not in IGNORED and not script.name.startswith(".") and not script.target
    )


@lru_cache(maxsize=1)
def pairing(snapshot: Snapshot) -> Pairing:
    """Pair files and rows by the script cell, and what is left by likeness.

    First those where the row's other cells say the script's name, then those of similar names.
    """
    rows = {name: row for name, row in snapshot.keys("tuning").items() if name}
    files = {script.name: script for script in scripts(snapshot)}
    cells = enumerate(snapshot.tables["tuning"].columns["script"])
    lost = {row: name for row, name in cells if name not in files and rows.get(name, row) == row}
    free = [script for script in scripts(snapshot) if script.name not in rows] if lost else []
    expected = {str(expected_name(snapshot, row)): row for row in lost} if free else {}
    row_of = {}
    for script in sorted(free, key=lambda script: script.name not in expected):
        names = {name.lower(): row for row, name in lost.items()}
        close = difflib.get_close_matches(script.name.lower(), filter(None, names), 1, LIKENESS)
        row = expected.get(script.name, names[close[0]] if close else None)
        if row in lost:
            row_of[script.path] = row
            del lost[row]
    return Pairing(rows, files, row_of)


def expected_name(snapshot: Snapshot, row: int | None) -> ScriptName | None:
    """The name that follows from a record's other cells, where they are all known."""
    words = [] if row is None else [word_in_name(snapshot, row, part) for part in PARTS]
    return parsed("_".join(filter(None, words)) + ".sh") if words and all(words) else None


def word_in_name(snapshot: Snapshot, row: int, part: str) -> str | None:
    """How a cell of a record appears in a name; `None` for a cell that another rule reports."""
    cell = snapshot.tables["tuning"].cell(row, part)
    if not cell or _is_reported(snapshot, row, part):
        return None
    if part == "model":
        return slug_of(cell)
    return str(int(cell)) if part == "gpus" else cell.lower()


def _is_reported(snapshot: Snapshot, row: int, part: str) -> bool:
    """Whether another rule reports this cell of a record."""
    table = snapshot.tables["tuning"]
    broken = (table.path, row, part) in broken_keys(snapshot)
    return broken or (part in OTHER_ROLE and misplaced(snapshot, Record(table, row), part))


@lru_cache(maxsize=len(TABLES))
def words_of_part(snapshot: Snapshot, part: str) -> Mapping[str, str]:
    """The words that a part of a name may be, each with the key that it means; none if unknown."""
    resource, column = TABLES[part]
    table = snapshot.tables[resource]
    words = () if table.lost else table.columns[column]
    if part == "model":
        return {slug_of(model): model for model in words}
    other = OTHER_ROLE.get(part)
    return {word.lower(): word for word in words if not other or role_of(snapshot, word) != other}


def word_of_name(snapshot: Snapshot, file_name: str, part: str) -> str:
    """What a script's name says of a column; empty where it says nothing that is known."""
    name = parsed(file_name)
    if name is None or part not in PARTS:
        return ""
    word = str(getattr(name, part))
    return word if part == "gpus" else words_of_part(snapshot, part).get(word, "")


def unknown_part(snapshot: Snapshot, name: ScriptName, row: int | None) -> str | None:
    """The first part of a name that no table knows, unless its row has it wrong, too."""
    for part in TABLES:
        words = words_of_part(snapshot, part)
        reported = row is not None and _is_reported(snapshot, row, part)
        if words and getattr(name, part) not in words and not reported:
            return part
    return None


def agreement_with_name(snapshot: Snapshot, file_name: str, row: int) -> Mapping[str, bool]:
    """For each part of a script's name whether the row's cell says the same.

    A cell that another rule reports is excluded, and all are where the name itself is in doubt.
    """
    name = parsed(file_name)
    if name is None or row in pairing(snapshot).path_of or unknown_part(snapshot, name, row):
        return {}
    words = {part: word_in_name(snapshot, row, part) for part in PARTS}
    return {part: word == str(getattr(name, part)) for part, word in words.items() if word}


def folder_of(snapshot: Snapshot, name: ScriptName | None) -> str | None:
    """The folder of a script with this name, where the size of its model is known."""
    size = size_of(snapshot, name.model) if name else ""
    return f"{SCRIPTS}/{size.lower()}" if size else None
