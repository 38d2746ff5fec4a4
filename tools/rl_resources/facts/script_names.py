"""Names of scripts, which scripts and rows belong together, and what a name and its row say.

The grammar of names: `[model]_[task]_[gpunums]_[device]_[train]_[infer].sh`. Of two configurations
of one name the later one lies in a folder that says how they differ, as in
`48k/[model]_[task]_[gpunums]_[device]_[train]_[infer].sh`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import dirname
from typing import NamedTuple

from rl_resources.facts import TableRow, broken_keys
from rl_resources.facts.models import size_of, slug_of
from rl_resources.package import SCRIPTS, number
from rl_resources.snapshot import ScriptFile, Snapshot, variant_of

FORM = "[model]_[task]_[gpunums]_[device]_[train]_[infer].sh"
PARTS = ("model", "task", "gpus", "device", "train", "infer")
_WORD = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_FORMS = {"gpus": re.compile(r"[1-9][0-9]*")}
"""The form of each part that is not a word."""


class ScriptName(NamedTuple):
    """The six parts, each in lower case, and the folder before them, empty for most.

    `model` is the slug of a model.
    """

    model: str
    task: str
    gpus: int
    device: str
    train: str
    infer: str
    folder: str = ""

    def __str__(self) -> str:
        *parts, folder = map(str, self)
        stem = "_".join(parts)
        if folder:
            return f"{folder}/{stem}.sh"
        return f"{stem}.sh"


def parse(file_name: str) -> ScriptName:
    """Read a file name.

    Raises `ValueError` with what is wrong, in words that fit after the name and a colon.
    """
    if not file_name.endswith(".sh"):
        raise ValueError("does not end in `.sh`")
    directory, _, name = file_name.rpartition("/")
    folder = variant_of(directory)
    if folder != directory:
        raise ValueError(f"its folder cannot be `{directory}`")
    stem = name.removesuffix(".sh")
    if stem != stem.lower():
        raise ValueError("has capital letters")
    parts = stem.split("_")
    if len(parts) != len(PARTS):
        raise ValueError(f"has {len(parts)} instead of {len(PARTS)} parts between `_`")
    for word, part in zip(PARTS, parts, strict=True):
        if not _FORMS.get(word, _WORD).fullmatch(part):
            raise ValueError(f"its {word} part cannot be `{part}`")
    model, task, gpus, device, train, infer = parts
    return ScriptName(model, task, int(gpus), device, train, infer, folder)


def parsed(file_name: str) -> ScriptName | None:
    """The parts of a name; `None` if it does not have the form."""
    try:
        return parse(file_name)
    except ValueError:
        return None


def predicate(wrong: str) -> str:
    """What `parse` finds wrong with a name, as words that follow the name in a sentence."""
    if wrong.startswith(("has ", "does ")):
        return wrong
    return f"is not right: {wrong}"


# Scripts and rows

OTHER_ROLE = {"train": "infer", "infer": "train"}


def role_of(snapshot: Snapshot, backend: str) -> str:
    """`train` or `infer`; empty if a backend is unknown or its row does not say."""
    return snapshot.row("backends", backend).get("role", "")


def misplaced(snapshot: Snapshot, record: TableRow, name: str) -> bool:
    """Whether `train` or `infer` of a record names a backend of the other role."""
    return role_of(snapshot, record.text(name)) == OTHER_ROLE[name]


LIKENESS = 0.7
"""How alike a file's name and that of a row without a file are, if one is the other misspelled."""

TABLES = {
    "model": "models",
    "task": "tasks",
    "device": "devices",
    "train": "backends",
    "infer": "backends",
}
"""The tables whose keys are the parts of a name."""


@dataclass(frozen=True)
class Pairing:
    """`rows` maps the script cell of a record to its row, `files` a script's name to the file.

    `alike` maps a row without its script to the most likely file that no record names.
    """

    rows: Mapping[str, int]
    files: Mapping[str, ScriptFile]
    alike: Mapping[int, ScriptFile]

    def row(self, script: ScriptFile) -> int | None:
        """The row of a script, by its name or by likeness."""
        by_likeness = {file.name: row for row, file in self.alike.items()}
        return self.rows.get(script.name, by_likeness.get(script.name))


def scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The files that should be scripts: no READMEs, hidden files or unreadable entries."""
    for script in snapshot.scripts:
        if script.data is None or script.name == "README.md":
            continue
        if not script.name.startswith("."):
            yield script


@lru_cache(maxsize=1)
def pairing(snapshot: Snapshot) -> Pairing:
    """Pair files and rows by the script cell, and the rest by similar names."""
    rows = snapshot.tables["tuning"].keys
    files = {script.name: script for script in scripts(snapshot)}
    missing = [name for name in rows if name not in files]
    lost = {name.lower(): rows[name] for name in missing}
    alike = {}
    for name in sorted(files.keys() - rows.keys()):
        for closest in difflib.get_close_matches(name.lower(), lost, 1, LIKENESS):
            alike[lost.pop(closest)] = files[name]
    return Pairing(rows, files, alike)


def expected_name(snapshot: Snapshot, row: int | None) -> ScriptName | None:
    """The name that follows from a record's other cells, if all are known."""
    if row is None:
        return None
    stem = "_".join(cell_as_part(snapshot, row, part) for part in PARTS)
    expected = parsed(f"{stem}.sh")
    if expected is None:
        return None
    script = snapshot.tables["tuning"].cell(row, "script")
    return expected._replace(folder=variant_of(dirname(script)))


def context_of(cells: Mapping[str, str]) -> str:
    """The longest sequence of a record in units of 1,024 tokens, as `48k`; empty if unknown."""
    prompt = number(cells.get("max_prompt_length", ""))
    response = number(cells.get("max_response_length", ""))
    if not prompt or not response:
        return ""
    return f"{max(round((prompt + response) / 1024), 1)}k"


def folders_of(cells: Mapping[str, str]) -> list[str]:
    """The folders that a record may lie in next to another of its name."""
    return [word for word in _distinctions(cells) if word]


def name_beside(name: str, cells: Mapping[str, str], other: Mapping[str, str]) -> str:
    """A script's name, in a folder where the record of that name has another context or tag."""
    for own, taken in zip(_distinctions(cells), _distinctions(other), strict=True):
        if own and taken and own != taken:
            return f"{own}/{name}"
    return name


def _distinctions(cells: Mapping[str, str]) -> tuple[str, str]:
    """What sets a record apart from another of its name: its context, then its tag."""
    return context_of(cells), cells.get("tag", "").lower()


def cell_as_part(snapshot: Snapshot, row: int, part: str) -> str:
    """How a cell of a record appears in a name; empty if it is empty or in doubt."""
    cell = snapshot.tables["tuning"].cell(row, part)
    if not cell or _is_in_doubt(snapshot, row, part):
        return ""
    if part == "model":
        return slug_of(cell)
    if part == "gpus":
        return str(int(cell))
    return cell.lower()


def _is_in_doubt(snapshot: Snapshot, row: int, part: str) -> bool:
    """Whether a cell of a record is broken, or a backend of the other role."""
    table = snapshot.tables["tuning"]
    if (table.path, row, part) in broken_keys(snapshot):
        return True
    if part not in OTHER_ROLE:
        return False
    return misplaced(snapshot, TableRow(table, row), part)


@lru_cache(maxsize=len(TABLES))
def known_parts(snapshot: Snapshot, part: str) -> Mapping[str, str]:
    """The possible words of a part of a name, each with its key; none if its table is broken."""
    table = snapshot.tables[TABLES[part]]
    if table.lost:
        return {}
    if part == "model":
        return {slug_of(model): model for model in table.keys}
    other = OTHER_ROLE.get(part, "none")  # `train` is no backend that only generates
    return {
        word.lower(): word for word in table.keys if role_of(snapshot, word) != other
    }


def word_of_part(snapshot: Snapshot, file_name: str, part: str) -> str:
    """The known word that a script's name has for a column; empty if there is none."""
    name = parsed(file_name)
    if name is None or part not in PARTS:
        return ""
    word = str(getattr(name, part))
    if part == "gpus":
        return word
    return known_parts(snapshot, part).get(word, "")


def unknown_part(snapshot: Snapshot, name: ScriptName, row: int | None) -> str | None:
    """The first part of a name that no table knows, unless its row has it wrong too."""
    for part in TABLES:
        words = known_parts(snapshot, part)
        if not words or getattr(name, part) in words:
            continue
        if row is None or not _is_in_doubt(snapshot, row, part):
            return part
    return None


def agreement_with_name(
    snapshot: Snapshot, file_name: str, row: int
) -> Mapping[str, bool]:
    """For each part of a script's name whether the row's cell says the same.

    Cells in doubt are left out; all are if the name itself is in doubt.
    """
    name = parsed(file_name)
    if name is None or row in pairing(snapshot).alike:
        return {}
    if unknown_part(snapshot, name, row):
        return {}
    agreement = {}
    for part in PARTS:
        word = cell_as_part(snapshot, row, part)
        if word and word_of_part(snapshot, file_name, part):
            agreement[part] = word == str(getattr(name, part))
    return agreement


def directory_of(snapshot: Snapshot, name: ScriptName | None) -> str | None:
    """The directory of a script with this name, if the size of its model is known."""
    if name is None:
        return None
    size = size_of(snapshot, name.model)
    if not size:
        return None
    return f"{SCRIPTS}/{size.lower()}"
