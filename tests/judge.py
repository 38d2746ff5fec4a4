"""frictionless as the independent judge of a table: what it tells, as (row, field, kind)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frictionless

from rl_resources.check.snapshot import Snapshot
from rl_resources.tabular import write
from sample_tree import REPOSITORY

Told = set[tuple[int, str, str]]
"""Row as frictionless counts, the header being 1; field, blank of a whole row; kind."""

KEY, ROW, HEADER = "key", "row-length", "header"
_NOTE = re.compile(r'constraint "(\w+)" is ')
_KINDS = (
    {"type-error": "type", "foreign-key": "vocabulary", "primary-key": KEY}
    | {
        "unique-error": KEY,
        "blank-row": ROW,
        "missing-cell": ROW,
        "extra-cell": ROW,
        "enum": "vocabulary",
        "minLength": "length",
        "maxLength": "length",
    }
    | dict.fromkeys(("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"), "range")
)


def package_of(snapshot: Snapshot, name: str, folder: Path) -> None:
    """Write a package of the table and of the keys of those that it refers to."""
    for part in ("schema", "records"):
        shutil.copytree(REPOSITORY / part, folder / part)
    keys = snapshot.tables[name].schema.foreign_keys
    wanted = {name, *(key.resource for key in keys)}
    package = json.loads((REPOSITORY / "datapackage.json").read_text(encoding="utf-8"))
    package["resources"] = [item for item in package["resources"] if item["name"] in wanted]
    for key in keys:
        other = snapshot.tables[key.resource]
        scripts = {script.name for script in snapshot.scripts if key.resource == "tuning"}
        words = [[word] for word in sorted(other.mentioned(key.reference) | scripts)]
        (folder / other.path).write_text(write([[key.reference], *words]), encoding="utf-8")
        fields = {"fields": [{"name": key.reference, "type": "string"}]}
        (folder / other.schema.path).write_text(json.dumps(fields))
    (folder / "datapackage.json").write_text(json.dumps(package))


def told_by_frictionless(folder: Path, name: str) -> Told:
    """Everything that it tells of the table called `name` in a package."""
    report = frictionless.validate(str(folder / "datapackage.json"), limit_errors=10**6)
    assert not report.errors
    task = next(task for task in report.tasks if task.name == name)
    return {place for error in task.errors for place in _places(error)}


def _places(error: Any) -> Iterator[tuple[int, str, str]]:
    if "label" in error.type or "header" in error.type:
        yield 1, "", HEADER
        return
    kind = _KINDS.get(error.type, error.type)
    row = getattr(error, "row_number", 1)
    if kind in {KEY, ROW}:
        yield row, "", kind
    elif kind == "vocabulary":
        yield row, error.field_names[0], kind
    else:
        note = _NOTE.match(error.note)
        kind = note[1] if note and kind == "constraint-error" else kind
        yield row, getattr(error, "field_name", ""), _KINDS.get(kind, kind)
