"""Mutated records judged by us and by frictionless: the same cells for the same reasons.

`MUTATED_FILES` says how many files of `RECORDS` mutated records each are tried (`make fuzz`).
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path
from random import Random

import frictionless
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from judge import package_of
from mutated import mutated
from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.package import TYPES, Field, read_package
from rl_resources.schema.validate import failures
from rl_resources.tabular import write
from sample_tree import REPOSITORY

FILES = int(os.environ.get("MUTATED_FILES", "5"))
RECORDS = 400
# How many files of each, for one of the first.
TABLES = {"tuning": 1.0, "reports": 0.4, "models": 0.4, "compatibility": 0.4}
NOTE = re.compile(r'constraint "(\w+)" is ')


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return take_snapshot(read_package(REPOSITORY))


def _freely_read(kind: str, cell: str) -> bool:
    """Cells that frictionless reads more freely than Table Schema says.

    Spaces around a number, `_` in it, digits of other scripts, `nan` and `inf`, and a day or month
    of one digit.
    """
    typed = kind not in {"string", "list"} and bool(cell)
    return typed and not re.fullmatch(TYPES[kind].pattern, cell)


def _is_judged_by_us_alone(field: Field, cell: str, constraint: str) -> bool:
    """What frictionless does not know, or reads to more digits than any of the downloads holds.

    The form of a list's items is a property of ours. A number is a double, for which 1e-400 is 0.
    """
    items = field.item_pattern and constraint == "pattern"
    return bool(items or (field.type == "number" and not float(cell) and Decimal(cell)))


@pytest.mark.parametrize("name", TABLES)
def test_frictionless_tells_the_same_cells_of_mutated_records(
    snapshot: Snapshot, name: str, tmp_path: Path
) -> None:
    package_of(snapshot, name, tmp_path)

    @given(seed=st.integers(0, 2**32))
    @settings(max_examples=round(FILES * TABLES[name]), deadline=None, phases=(Phase.generate,))
    def compare(seed: int) -> None:
        _compare(snapshot, name, tmp_path, seed)

    compare()


def _compare(snapshot: Snapshot, table_name: str, folder: Path, seed: int) -> None:
    table = snapshot.tables[table_name]
    chance = Random(seed)  # noqa: S311 (no secret)
    rows = [mutated(chance.choice(table.rows).cells, chance) for _ in range(RECORDS)]
    (folder / table.path).write_text(write([table.schema.names, *rows]), encoding="utf-8")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(table.schema.names)}
    ours = {
        (item.row, item.field): item.constraint
        for item in failures(table.schema, columns, vocabulary_of(snapshot, table))
    }
    theirs = _by_frictionless(folder, table_name)
    for row, name in ours.keys() ^ theirs.keys():
        field, cell = table.schema.field(name), columns[name][row]
        assert (row, name) in ours, (name, cell, theirs[row, name])
        if not _freely_read(field.type, cell):
            assert _is_judged_by_us_alone(field, cell, ours[row, name]), (name, cell)
    for row, name in ours.keys() & theirs.keys():
        field, cell = table.schema.field(name), columns[name][row]
        # An address that is none has the wrong type for frictionless, the wrong form for us.
        address = field.format == "uri" and theirs[row, name] == {"type"}
        known = address or _freely_read(field.type, cell)
        assert known or ours[row, name] in theirs[row, name], (name, cell, theirs[row, name])


def _by_frictionless(folder: Path, name: str) -> dict[tuple[int, str], set[str]]:
    report = frictionless.validate(str(folder / "datapackage.json"), limit_errors=10**6)
    task = next(task for task in report.tasks if task.name == name)
    found: dict[tuple[int, str], set[str]] = {}
    for error in task.errors:
        kinds = {"type-error": "type", "foreign-key": "vocabulary"}
        if error.type == "constraint-error" and (match := NOTE.match(error.note)):
            kind = match[1]
        elif error.type in kinds:
            kind = kinds[error.type]
        else:  # keys that stand twice are told of a row, not of a cell
            assert error.type in {"primary-key", "unique-error"}
            continue
        names = error.field_names if kind == "vocabulary" else [error.field_name]
        found.setdefault((error.row_number - 2, names[0]), set()).add(kind)
    return found
