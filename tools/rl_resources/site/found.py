"""What `find` found: for a person and as JSON."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence
from typing import Any

from rl_resources.dataset import Dataset, is_packaged
from rl_resources.estimate import PLAN_OPTIONS
from rl_resources.query import sentences
from rl_resources.query.configurations import (
    Conditions,
    Configuration,
    every_configuration,
)
from rl_resources.query.find import Found, folded, verdicts
from rl_resources.query.fit import RAN_ON_IT
from rl_resources.query.vocabulary import vocabulary
from rl_resources.site import rendered, terminal
from rl_resources.text import json_text

_EXTREMES = ("smallest", "smallest_full", "longest")


def as_json(dataset: Dataset, found: Found, notes: Sequence[str]) -> str:
    """Everything that was found."""
    return json_text(as_value(dataset, found, notes), 1)


def as_value(dataset: Dataset, found: Found, notes: Sequence[str]) -> dict[str, Any]:
    """Everything that was found, in values that JSON has."""
    start = None
    if found.script:
        start = sentences.start(found.script, _root(dataset))
    extremes = {name: getattr(found, name) for name in _EXTREMES}
    against = _contradictions(dataset, found)
    return {
        "dataset_version": dataset.version,
        "query": {name: value or None for name, value in found.query._asdict().items()},
        "notes": list(notes),
        "verdict": verdicts(dataset, found),
        "answers": list(map(_flat, found.answers)),
        "start": start,
        "plan": plan_command(dataset, found) or None,
        **{name: row and row.id for name, row in extremes.items()},
        "largest": [
            {"task": row.task, "size": row.size, "best": row.id}
            for row in found.largest
        ],
        "nearest": [
            {"nearest": item.kind, "missing": item.reason, **_flat(item.row)}
            for item in found.nearest
        ],
        "failures": list(map(_flat, found.failures)),
        "unclear": list(map(_flat, found.unclear)),
        "contradictions": {
            name: list(map(_cells, rows)) for name, rows in against.items()
        },
    }


def _flat(row: Configuration) -> dict[str, Any]:
    """An answer as one level of columns; what is unknown is `None`."""
    return {"fit": row.fit, "reason": sentences.reason(row), **_cells(row)}


def _cells(row: Configuration) -> dict[str, Any]:
    known = row._asdict()
    del known["fit"]
    for name, cell in known.items():
        if isinstance(cell, tuple | Conditions):
            known[name] = list(cell)
        elif not isinstance(cell, bool):
            known[name] = cell or None
    return known


def _contradictions(dataset: Dataset, found: Found) -> dict[str, list[Configuration]]:
    """What other reports say against those that are listed, by the id of these."""
    by_id = {row.id: row for row in every_configuration(dataset)}
    nearest = (item.row for item in found.nearest)
    against: dict[str, list[Configuration]] = {}
    for row in (*found.answers, *found.unclear, *found.failures, *nearest):
        contradicting = [by_id[name] for name in row.contradicts if name in by_id]
        if contradicting:
            against[row.id] = contradicting
    return against


def _root(dataset: Dataset) -> str:
    """What stands before a script's path in a command; empty in a checkout, whose root is used."""
    root = dataset.package.root
    return str(root) if is_packaged(root) else ""


def plan_command(dataset: Dataset, found: Found) -> str:
    """The command that plans the run of a question that nobody ran on its device.

    Empty where somebody did, where model or hardware are open, or where it has no plan.
    """
    query = found.query
    several = len(query.devices) > 1 or query.weights == "partial"
    is_known = query.memory_gb or query.vendor
    if several or not (query.size and is_known):
        return ""
    if any(row.fit == RAN_ON_IT for row in found.answers):
        return ""
    from rl_resources.query.estimate import estimated_models
    from rl_resources.query.plan_question import trains_weights

    if query.weights and not trains_weights(query, query.weights):
        return ""
    models = {row["model"] for row in estimated_models(dataset)}
    if query.model and query.model not in models:
        return ""
    words = {"model": found.words.get("size"), **found.words}
    asked = {name: words.get(name, "") for name in PLAN_OPTIONS}
    return rendered("plan_command", asked=asked, quote=shlex.quote)


def as_text(
    dataset: Dataset,
    found: Found,
    notes: Sequence[str],
    *,
    limit: int = 0,
    verbose: bool = False,
    width: int = 100,
    color: bool = False,
) -> str:
    """What was found, in lines of `width`: the verdict, then a line per run, `limit` or with 0 all.

    Those of one series are one answer. With `verbose` each has all that is known of it. URLs are
    not broken.
    """
    text = rendered(
        "find.txt",
        found=found,
        notes=notes,
        verbose=verbose,
        verdicts=verdicts(dataset, found),
        limit=limit or None,
        against=_contradictions(dataset, found),
        root=_root(dataset),
        is_open=not sentences.asked_hardware(found.query, vocabulary(dataset)),
        plan=plan_command(dataset, found),
        known=vocabulary(dataset),
        extremes=_EXTREMES,
        folded=folded,
        join=posixpath.join,
        say=sentences.say,
        words=sentences,
    )
    return terminal(text, width, color=color)
