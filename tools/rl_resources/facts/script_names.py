"""Scripts and rows that belong together, and what a name and its row say of each part."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rl_resources.facts.broken import Record, broken_keys
from rl_resources.facts.models import size_of, slug_of
from rl_resources.package import SCRIPTS
from rl_resources.script.name import PARTS, ScriptName, parsed
from rl_resources.snapshot import ScriptFile, Snapshot

OTHER_ROLE = {"train": "infer", "infer": "train"}


def role_of(snapshot: Snapshot, backend: str) -> str:
    """`train` or `infer`; empty for a backend that is not known or whose row does not say."""
    return snapshot.row("backends", backend).get("role", "")


def misplaced(snapshot: Snapshot, record: Record, name: str) -> bool:
    """Whether `train` or `infer` of a record names a backend of the other role."""
    return role_of(snapshot, record.text(name)) == OTHER_ROLE[name]


LIKENESS = 0.7


TABLES = {"model": "models", "task": "tasks", "device": "devices"}
TABLES |= {"train": "backends", "infer": "backends"}
"""The tables whose keys are the parts of a name."""


@dataclass(frozen=True)
class Pairing:
    """`rows` maps the script cell of a record to its row, `files` a script's name to the file.

    `alike` maps a row whose script is not there to the file that it most likely means, one that no
    record names.
    """

    rows: Mapping[str, int]
    files: Mapping[str, ScriptFile]
    alike: Mapping[int, ScriptFile]

    def row(self, script: ScriptFile) -> int | None:
        """The row of a script, by its name or by likeness."""
        alike = (row for row, file in self.alike.items() if file.path == script.path)
        return self.rows.get(script.name, next(alike, None))


def scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The files that should be scripts: not READMEs, hidden files and what is no file."""
    files = (script for script in snapshot.scripts if script.data is not None)
    return (it for it in files if it.name != "README.md" and not it.name.startswith("."))


@lru_cache(maxsize=1)
def pairing(snapshot: Snapshot) -> Pairing:
    """Pair files and rows by the script cell, and what is left by similar names."""
    rows = snapshot.tables["tuning"].keys
    files = {script.name: script for script in scripts(snapshot)}
    lost = {name.lower(): row for name, row in rows.items() if name not in files}
    alike = {}
    for name in sorted(files.keys() - rows.keys()):
        for close in difflib.get_close_matches(name.lower(), lost, 1, LIKENESS):
            alike[lost.pop(close)] = files[name]
    return Pairing(rows, files, alike)


def expected_name(snapshot: Snapshot, row: int | None) -> ScriptName | None:
    """The name that follows from a record's other cells, where they are all known."""
    words = [] if row is None else [word_in_name(snapshot, row, part) for part in PARTS]
    return parsed("_".join(filter(None, words)) + ".sh") if words and all(words) else None


def word_in_name(snapshot: Snapshot, row: int, part: str) -> str | None:
    """How a cell of a record appears in a name; `None` for a cell that is empty or in doubt."""
    cell = snapshot.tables["tuning"].cell(row, part)
    if not cell or _is_in_doubt(snapshot, row, part):
        return None
    if part == "model":
        return slug_of(cell)
    return str(int(cell)) if part == "gpus" else cell.lower()


def _is_in_doubt(snapshot: Snapshot, row: int, part: str) -> bool:
    """Whether a cell of a record is broken, or a backend of the other role."""
    table = snapshot.tables["tuning"]
    if (table.path, row, part) in broken_keys(snapshot):
        return True
    return part in OTHER_ROLE and misplaced(snapshot, Record(table, row), part)


@lru_cache(maxsize=len(TABLES))
def words_of_part(snapshot: Snapshot, part: str) -> Mapping[str, str]:
    """The words that a part of a name may be, each with the key that it means; none if unknown."""
    resource = TABLES[part]
    words = () if snapshot.tables[resource].lost else snapshot.tables[resource].keys
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
        if not words or getattr(name, part) in words:
            continue
        if row is None or not _is_in_doubt(snapshot, row, part):
            return part
    return None


def agreement_with_name(snapshot: Snapshot, file_name: str, row: int) -> Mapping[str, bool]:
    """For each part of a script's name whether the row's cell says the same.

    A cell that is in doubt is excluded, and all are where the name itself is.
    """
    name = parsed(file_name)
    if name is None or row in pairing(snapshot).alike or unknown_part(snapshot, name, row):
        return {}
    known = (part for part in PARTS if word_of_name(snapshot, file_name, part))
    words = {part: word_in_name(snapshot, row, part) for part in known}
    return {part: word == str(getattr(name, part)) for part, word in words.items() if word}


def directory_of(snapshot: Snapshot, name: ScriptName | None) -> str | None:
    """The directory of a script with this name, where the size of its model is known."""
    size = size_of(snapshot, name.model) if name else ""
    return f"{SCRIPTS}/{size.lower()}" if size else None
