"""Answers of `find`, `coverage` and `estimate`: text for a person, JSON for a program."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

from rl_resources.dataset import Dataset, is_packaged
from rl_resources.devices import Devices, devices_of
from rl_resources.estimate.configuration import estimable
from rl_resources.estimate.estimate import Estimate, Knob, knobs, limits
from rl_resources.estimate.formula import inputs_by_name
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration, every_configuration
from rl_resources.query.coverage import MOST_WANTED, WANTED_RULE, Coverage, CoverageCell
from rl_resources.query.find import RAN_ON_LESS, Found, folded
from rl_resources.query.vocabulary import say, vocabulary
from rl_resources.site.templates import rendered, terminal
from rl_resources.text import json_text

_EXTREMES = ("smallest", "smallest_full", "longest")


def as_json(dataset: Dataset, found: Found, notes: Sequence[str]) -> str:
    """Everything that was found."""
    return json_text(as_value(dataset, found, notes), 1)


def as_value(dataset: Dataset, found: Found, notes: Sequence[str]) -> dict[str, Any]:
    """Everything that was found, in values that JSON has."""
    against = _contradictions(dataset, found)
    return {
        "dataset_version": dataset.version,
        "query": {name: value or None for name, value in found.query._asdict().items()},
        "notes": list(notes),
        "answers": [_flat(row) for row in found.answers],
        "start": sentences.start(found.script, _root(dataset)) if found.script else None,
        "estimate": estimate_command(dataset, found) or None,
        **{name: row.id if (row := getattr(found, name)) else None for name in _EXTREMES},
        "largest": [{"task": row.task, "size": row.size, "best": row.id} for row in found.largest],
        "nearest": [
            {"nearest": item.kind, "missing": item.reason, **_flat(item.row)}
            for item in found.nearest
        ],
        "failures": [_flat(row) for row in found.failures],
        "unclear": [_flat(row) for row in found.unclear],
        "contradictions": {name: [_cells(row) for row in rows] for name, rows in against.items()},
    }


def _flat(row: Configuration) -> dict[str, Any]:
    """An answer as one level of columns; what is unknown is `None`."""
    return {"fit": row.fit, "reason": sentences.reason(row), **_cells(row)}


def _cells(row: Configuration) -> dict[str, Any]:
    known = {name: cell for name, cell in row._asdict().items() if name != "fit"}
    lists = {name: list(cell) for name, cell in known.items() if isinstance(cell, tuple)}
    flags = {name: cell for name, cell in known.items() if isinstance(cell, bool)}
    return {name: cell or None for name, cell in known.items()} | lists | flags


def _contradictions(dataset: Dataset, found: Found) -> dict[str, list[Configuration]]:
    """What other reports say against those that are listed, by the id of these."""
    by_id = {row.id: row for row in every_configuration(dataset)}
    nearest = (item.row for item in found.nearest)
    listed = (*found.answers, *found.unclear, *found.failures, *nearest)
    against = {row.id: [by_id[name] for name in row.contradicts if name in by_id] for row in listed}
    return {name: rows for name, rows in against.items() if rows}


def _root(dataset: Dataset) -> str:
    """What a command names before a script's path: readers of a checkout are in its root."""
    return str(dataset.package.root) if is_packaged(dataset.package.root) else ""


def estimate_command(dataset: Dataset, found: Found) -> str:
    """The command that estimates the memory of a question that no run on its device answers.

    Empty where one does, or where model, GPUs or device are open.
    """
    query, fits = found.query, {row.fit for row in found.answers}
    model = dataset.by_key["models"].get(query.model)
    asked = model and estimable(model) and query.gpus and query.memory_gb
    several = len(query.devices) > 1 or query.weights == "partial"
    if not asked or several or (fits and RAN_ON_LESS not in fits):
        return ""
    words = {
        "model": query.model,
        "gpus": query.gpus,
        "device": query.device,
        "memory": "" if query.device else f"{query.memory_gb:g}",
        **{name: getattr(query, name) for name in ("task", "weights", "train", "infer")},
        **({"prompt-length": "0", "response-length": query.length} if query.length else {}),
    }
    options = (f"--{name} {shlex.quote(str(word))}" for name, word in words.items() if word)
    return " ".join(["rl-resources estimate", *options])


def as_text(
    dataset: Dataset,
    found: Found,
    notes: Sequence[str],
    *,
    limit: int = 0,
    width: int = 100,
    color: bool = False,
) -> str:
    """Everything that was found, in lines of `width`; of the answers `limit`, or with 0 all.

    Those of one series are one answer. URLs are not broken.
    """
    text = rendered(
        "find.txt",
        found=found,
        notes=notes,
        limit=limit or None,
        against=_contradictions(dataset, found),
        root=_root(dataset),
        is_open=not sentences.asked_hardware(found.query, vocabulary(dataset)),
        estimate=estimate_command(dataset, found),
        known=vocabulary(dataset),
        extremes=_EXTREMES,
        folded=folded,
        join=posixpath.join,
        say=say,
        words=sentences,
    )
    return terminal(text, width, color=color)


def coverage_as_json(found: Coverage, version: str) -> str:
    """Every cell that anything is known of, what is wanted most, and which tags are missing."""
    value = {
        "dataset_version": version,
        "cells": [cell._asdict() for cell in found.cells],
        "unplaced_reports": found.unplaced,
        "wanted_rule": WANTED_RULE,
        "wanted": [
            {"size": cell.size, "task": cell.task, "device": cell.device} for cell in found.wanted
        ],
        "missing_tags": [
            {"size": size, "tag": tag} for tag, sizes in found.missing.items() for size in sizes
        ],
    }
    return json_text(value, 1)


def coverage_as_text(dataset: Dataset, found: Coverage) -> str:
    """What there is, what is wanted, and which tags are missing."""
    table = partial(_cell_table, devices_of(dataset))
    values = {"table": table, "rule": WANTED_RULE, "most_wanted": MOST_WANTED}
    return rendered("coverage.txt", found=found, **values)


def _cell_table(names: Devices, cells: Sequence[CoverageCell], counts: Mapping[str, str]) -> str:
    """An aligned table of cells with some of their counts, by header; 0 is empty."""

    def row_of(cell: CoverageCell) -> tuple[str, ...]:
        figures = (str(getattr(cell, name) or "") for name in counts.values())
        return (cell.size, cell.task, names.label(cell.device), *figures)

    rows = [("SIZE", "TASK", "DEVICE", *counts), *map(row_of, cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def inputs_as_text() -> str:
    """The inputs of the formula, each with its meaning and the framework's keys."""
    return rendered("inputs.txt", inputs=inputs_by_name())


def estimate_as_json(estimate: Estimate) -> str:
    """The estimate with its knobs and limits."""
    found = [_knob(knob) for knob in knobs(estimate)]
    return json_text({**estimate.as_dict(), "knobs": found, "limits": limits(estimate)}, 2)


def _knob(knob: Knob) -> dict[str, Any]:
    saves = {phase: round(gb, 2) for phase, gb in knob.saves.items()}
    found = {"setting": knob.setting, "saves_gb": saves, "price": knob.price}
    return {**found, "line": knob.line or None}


def estimate_as_text(estimate: Estimate) -> str:
    """The estimate for a terminal."""
    return rendered(
        "estimate.txt",
        estimate=estimate,
        inputs=inputs_by_name(),
        knobs=knobs(estimate),
        limits=limits(estimate),
        fill=fill,
    )
