"""What the finder of the front page reads, as compact JSON: rows with their finished words, and
what is needed to read a question.

Rows are in the order that no question changes, so that the page need not know it. They are
published by column, which compresses best.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.devices import VENDORS
from rl_resources.estimate.frameworks import profiles
from rl_resources.query import sentences, understand
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.estimate import estimated_models
from rl_resources.query.find import ALTERNATIVES, OTHER_BASE
from rl_resources.query.fit import size_of
from rl_resources.query.vocabulary import (
    FIELDS,
    FILTERS,
    MESSAGES,
    NO_TAG,
    PATTERNS,
    UNITS,
    WEIGHTS,
    vocabulary,
)
from rl_resources.site.environment import place
from rl_resources.text import is_web_address

PATH = "assets/finder.json"
"""Its form may change with any release; that of the API is stable."""


def files(dataset: Dataset) -> dict[str, str]:
    """The file by its path on the site."""
    known = vocabulary(dataset)
    value = {
        "dataset_version": dataset.version,
        "vocabulary": {
            "spellings": known.spellings,
            "models": known.models,
            "sizes": [size._asdict() for size in known.sizes],
            "devices": {key: device._asdict() for key, device in known.devices.known.items()},
            "tasks": known.tasks,
            "architectures": known.architectures,
            "experts": known.experts,
            "projects": known.projects,
            "vendors": VENDORS,
        },
        "patterns": PATTERNS,
        "units": UNITS,
        "most_gigabytes": understand.MOST_GIGABYTES,
        "hints": {name: understand.hint(name) for name in FIELDS},
        "messages": MESSAGES,
        "weights": WEIGHTS,
        "no_tag": NO_TAG,
        "other_base": OTHER_BASE,
        "filters": list(FILTERS),
        "alternatives": [[item._asdict() for item in group] for group in ALTERNATIVES],
        "estimable": [row["model"] for row in estimated_models(dataset)],
        "profiled": list(profiles()),
        "columns": columns(configurations(dataset)),
    }
    return {PATH: json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"}


def columns(rows: Sequence[Configuration]) -> dict[str, list[Any]]:
    """Rows by column."""
    ranks = {row.id: rank for rank, row in enumerate(sorted(rows, key=size_of))}
    by_id = {row.id: row for row in rows}
    by_column: dict[str, list[Any]] = {}
    for row in rows:
        cells = _cells(row, by_id) | {"rank": ranks[row.id]}
        for name, cell in cells.items():
            by_column.setdefault(name, []).append(cell)
    return by_column


_SAME = (
    "id",
    "kind",
    "tag",
    "position",
    "model",
    "architecture",
    "experts",
    "precision",
    "task",
    "weights",
    "gpus",
    "device",
    "memory_gb",
    "vendor",
    "possible_devices",
    "variant",
    "nodes",
    "state",
    "doubtful",
    "certainty",
    "marks",
    "series",
    "conditions",
    "length",
    "host_memory_gb",
    "out_of_memory_on",
)
"""The columns that are facts of a configuration, under the same names."""
_ASKED = ("architecture", "size", *FILTERS)


def _cells(row: Configuration, by_id: Mapping[str, Configuration]) -> dict[str, Any]:
    linked = is_web_address(row.source)
    doubts: list[str] = []
    if sentences.is_disputed(row) and row.notes:
        doubts.append(sentences.note(row))
    doubts += [sentences.contradicted(by_id[name]) for name in row.contradicts if name in by_id]
    return {
        **{name: getattr(row, name) for name in _SAME},
        **sentences.parts(row),
        "words": {name: row.words(name) for name in _ASKED},
        "folder": place(row).partition(row.id)[0],
        "figures": tuple(sentences.figures(row)),
        "evidence": f"{sentences.evidence(row)}. {'' if linked else row.source}",
        "source": row.source if linked else "",
        "doubts": doubts,
        "start": sentences.start(row) if row.script else "",
        "script": sentences.script(row),
    }
