"""What the finder of the front page reads: rows, words and rules, as compact JSON.

A column is a list of numbers, or `words`, its different values, with `at`, the place among them of
each row. Rows stand in the order that no question changes, so that the page need not know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import RUNS, Configuration, configurations
from rl_resources.query.find import (
    RELAXATIONS,
    SMALLER,
    WEIGHTS,
    Relaxation,
    order_by_itself,
)
from rl_resources.query.fit import NOT_RUN
from rl_resources.query.hardware import MEMORY_FIRST, MEMORY_LAST, SHORTEST_PART, VENDORS, Devices
from rl_resources.query.question import MIB_PER_GB, MOST_GB, MOST_GB_UNSAID, MOST_GPUS, MOST_TOKENS
from rl_resources.query.vocabulary import PATTERNS, vocabulary
from rl_resources.query.wording import FIGURES, PAGE, SENTENCES, SPANS
from rl_resources.words import MOST_COMPARED, MOST_LISTED

PATH = "assets/finder.json"
MODULES = tuple(
    f"javascripts/finder/{name}.js"
    for name in ("answer", "question", "sentences", "table", "text", "view")
)
"""What the module of the page imports, at any depth."""

_ABOUT = (
    "Data of the finder on the front page, in a form that may change with any release. "
    "Programs find theirs under api/v1, which stays."
)


def files(dataset: Dataset) -> dict[str, str]:
    """The file by its path on the site."""
    value = rules(dataset) | {"columns": columns(configurations(dataset))}
    return {PATH: json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"}


def rules(dataset: Dataset) -> dict[str, Any]:
    """All that is needed to understand a question and to word its answers."""
    return {
        "about": _ABOUT,
        "dataset_version": dataset.version,
        "vocabulary": asdict(vocabulary(dataset, Devices(dataset))),
        "patterns": {
            **PATTERNS,
            "vendors": VENDORS,
            "memory-last": MEMORY_LAST,
            "memory-first": MEMORY_FIRST,
        },
        "limits": {
            "listed": MOST_LISTED,
            "compared": MOST_COMPARED,
            "shortest_part": SHORTEST_PART,
            "mib_per_gb": MIB_PER_GB,
            "most_gb": MOST_GB,
            "most_gb_unsaid": MOST_GB_UNSAID,
            "most_gpus": MOST_GPUS,
            "most_tokens": MOST_TOKENS,
        },
        "not_run": sorted(NOT_RUN),
        "runs": sorted(RUNS),
        "weights": WEIGHTS,
        "relaxations": _relaxations(RELAXATIONS),
        "smaller": [_relaxations(line) for line in SMALLER],
        "sentences": SENTENCES,
        "figures": FIGURES,
        "spans": SPANS,
        "asking": PAGE,
    }


def _relaxations(relaxations: Iterable[Relaxation]) -> list[dict[str, Any]]:
    return [asdict(item) for item in relaxations]


def columns(rows: Iterable[Configuration]) -> dict[str, Any]:
    """Rows by column."""
    told = sorted(rows, key=order_by_itself)
    return {name: _column([row[place] for row in told]) for place, name in _FIELDS}


_FIELDS = tuple(enumerate(Configuration._fields))


def _column(values: Sequence[Any]) -> Sequence[float] | Mapping[str, Any]:
    if all(isinstance(value, int | float) for value in values):
        return [int(value) if value == int(value) else value for value in values]
    words = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return {"words": list(words), "at": [words[value] for value in values]}
