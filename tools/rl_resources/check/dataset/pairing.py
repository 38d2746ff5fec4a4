"""Which script file belongs to which tuning record, also where the two are not called alike."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.dataset.tables import misplaced, role_of, size_of, slug_of
from rl_resources.check.snapshot import ScriptFile, Snapshot
from rl_resources.package import SCRIPTS
from rl_resources.script.name import PARTS, ScriptName, parsed
from rl_resources.words import lines_in_words

IGNORED = frozenset({"README.md"})
LIKENESS = 0.8

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
    """The files that should be scripts: hidden ones and READMEs are nobody's business."""
    return (
        script
        for script in snapshot.scripts
        if script.name not in IGNORED and not script.name.startswith(".")
    )


@lru_cache(maxsize=1)
def pairing(snapshot: Snapshot) -> Pairing:
    """Pair files and rows by the script cell, and what is left by `_likely`."""
    cells = snapshot.tables["tuning"].columns.get("script", ())
    rows = {name: row for name, row in snapshot.keys("tuning").items() if name}
    files = {script.name: script for script in scripts(snapshot)}
    lost = {
        row: cell
        for row, cell in enumerate(cells)
        if cell not in files and rows.get(cell, row) == row
    }
    free = [script for script in scripts(snapshot) if script.name not in rows]
    return Pairing(rows, files, dict(_likely(snapshot, free, lost)) if lost else {})


def _likely(
    snapshot: Snapshot, free: Sequence[ScriptFile], lost: Mapping[int, str]
) -> Iterator[tuple[str, int]]:
    """Pair scripts without a row and rows without a script.

    First those where the row's other cells say the script's name, then those whose names are alike
    in all but the model, then those of similar names.
    """
    by_cells = {str(expected_name(snapshot, row)): row for row in lost}
    by_name = {cell: row for row, cell in lost.items() if cell}
    left = set(lost)
    for script in sorted(free, key=lambda script: script.name not in by_cells):
        alike = [row for row, cell in lost.items() if _tail(cell) == _tail(script.name)]
        close = difflib.get_close_matches(script.name, by_name, n=1, cutoff=LIKENESS)
        candidates = [by_cells.get(script.name), *(alike if len(alike) == 1 else ())]
        candidates += [by_name[other] for other in close]
        row = next((row for row in candidates if row in left), None)
        if row is not None:
            left.remove(row)
            yield script.path, row


def _tail(file_name: str) -> tuple[str, ...]:
    """All parts of a name but the model, which may contain the separator by mistake."""
    return tuple(file_name.lower().split("_")[1 - len(PARTS) :])


def expected_name(snapshot: Snapshot, row: int) -> ScriptName | None:
    """The name that follows from a record's other cells, where they are all known."""
    words = [word_in_name(snapshot, row, part) for part in PARTS]
    return parsed("_".join(filter(None, words)) + ".sh") if all(words) else None


def word_in_name(snapshot: Snapshot, row: int, part: str) -> str | None:
    """How a cell of a record stands in a name; `None` for a cell that another rule speaks of."""
    tuning = snapshot.tables["tuning"]
    cell = tuning.cell(row, part)
    if not cell or is_told(snapshot, row, part):
        return None
    if part == "model":
        return slug_of(cell)
    return str(int(cell)) if part == "gpus" else cell.lower()


def is_told(snapshot: Snapshot, row: int, part: str) -> bool:
    """Whether another rule speaks of this cell of a record."""
    tuning = snapshot.tables["tuning"]
    if (tuning.path, row, part) in broken_keys(snapshot):
        return True
    return part in {"train", "infer"} and misplaced(snapshot, row, part)


@lru_cache(maxsize=len(TABLES))
def words_of_part(snapshot: Snapshot, part: str) -> Mapping[str, str]:
    """The words that a part of a name may be, each with the key that it stands for."""
    resource, column = TABLES[part]
    table = snapshot.tables[resource]
    if part == "model":
        return {slug_of(model): model for model in table.mentioned(column)}
    other = {"train": "infer", "infer": "train"}.get(part)
    words = table.mentioned(column)
    return {word.lower(): word for word in words if not other or role_of(snapshot, word) != other}


def unknown_part(snapshot: Snapshot, name: ScriptName, row: int | None) -> str | None:
    """The first part of a name that no table knows, unless its row has it wrong, too."""
    for part in TABLES:
        words = words_of_part(snapshot, part)
        told = row is not None and is_told(snapshot, row, part)
        if words and getattr(name, part) not in words and not told:
            return part
    return None


def agreement_with_name(snapshot: Snapshot, file_name: str, row: int) -> Mapping[str, bool]:
    """For each part of a script's name whether the row's cell says the same.

    A cell that another rule speaks of is left out, and all are where the name itself is in doubt.
    """
    name = parsed(file_name)
    if name is None or row in pairing(snapshot).path_of or unknown_part(snapshot, name, row):
        return {}
    words = {part: word_in_name(snapshot, row, part) for part in PARTS}
    return {part: word == str(getattr(name, part)) for part, word in words.items() if word}


def lines_about(snapshot: Snapshot, script: str) -> list[tuple[str, str]]:
    """The other files with rows about a script, each with the lines of these rows in words."""
    found = []
    for table in snapshot.tables.values():
        for key in table.schema.foreign_keys:
            cells = table.columns.get(key.field, ()) if key.resource == "tuning" else ()
            if lines := [table.rows[row].line for row, cell in enumerate(cells) if cell == script]:
                found.append((table.path, lines_in_words(lines)))
    return found


def folder_of(snapshot: Snapshot, name: ScriptName | None) -> str | None:
    """The folder that a script of this name belongs into, where the size of its model is known."""
    size = size_of(snapshot, name.model) if name else ""
    return f"{SCRIPTS}/{size.lower()}" if size else None
