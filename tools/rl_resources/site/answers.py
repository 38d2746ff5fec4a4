"""Answers of `coverage` and `estimate`, and the table of `plan`: for a person and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, devices_of
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import formula, inputs_by_name
from rl_resources.estimate.frameworks import VERL, cells_of, profile
from rl_resources.estimate.plan import host_word, rules, usual_host_gb
from rl_resources.estimate.search import (
    Knob,
    advised,
    fits,
    knobs,
    limits,
    seconds_of_knobs,
)
from rl_resources.estimate.time import lacking, step_time
from rl_resources.query.coverage import MOST_WANTED, WANTED_RULE, Coverage, CoverageCell
from rl_resources.query.plan import FewestGpus, PlanTable
from rl_resources.query.plan_question import run_as_dict
from rl_resources.query.vocabulary import WEIGHTS
from rl_resources.site import rendered
from rl_resources.text import json_text


def coverage_as_json(found: Coverage, version: str) -> str:
    """Every cell that anything is known of, what is wanted most, and which tags are missing."""
    missing: list[dict[str, str]] = []
    for tag, sizes in found.missing.items():
        missing += [{"size": size, "tag": tag} for size in sizes]
    value = {
        "dataset_version": version,
        "cells": [cell._asdict() for cell in found.cells],
        "unplaced_reports": found.unplaced,
        "wanted_rule": WANTED_RULE,
        "wanted": [
            {"size": cell.size, "task": cell.task, "device": cell.device}
            for cell in found.wanted
        ],
        "missing_tags": missing,
    }
    return json_text(value, 1)


def coverage_as_text(dataset: Dataset, found: Coverage) -> str:
    """What there is, what is wanted, and which tags are missing."""
    return rendered(
        "coverage.txt",
        found=found,
        table=partial(_cell_table, devices_of(dataset)),
        rule=WANTED_RULE,
        most_wanted=MOST_WANTED,
    )


def _cell_table(
    names: Devices, cells: Sequence[CoverageCell], counts: Mapping[str, str]
) -> str:
    """An aligned table of cells with some of their counts, by header; 0 is empty."""

    rows = [["SIZE", "TASK", "DEVICE", *counts]]
    for cell in cells:
        figures = (str(getattr(cell, name) or "") for name in counts.values())
        rows.append([cell.size, cell.task, names.label(cell.device), *figures])
    return "\n".join(_aligned(rows))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return [line.rstrip() for line in lines]


def inputs_as_text(framework: str = "") -> str:
    """The inputs of the formula, each with its meaning and its settings in a framework.

    Without a framework they are the keys of verl. Raises `UnusableInput` for one without profile.
    """
    settings: dict[str, list[str]] = defaultdict(list)
    if framework:
        profile(framework)
        for cell in cells_of(framework):
            settings[cell.input] += cell.names
    if framework in {"", VERL}:
        for name, item in inputs_by_name().items():
            settings[name] += item.get("key", {}).values()
    return rendered("inputs.txt", inputs=inputs_by_name(), settings=settings)


def estimate_as_json(
    estimate: Estimate, evidence: Sequence[str] = (), steps: float = 0, price: float = 0
) -> str:
    """The estimate with its time, what published runs say, its knobs and limits."""
    seconds = seconds_of_knobs(estimate)
    value = estimate.as_dict() | {
        "step_time": time_as_dict(estimate, steps, price),
        "evidence": list(evidence),
        **_combinations(estimate),
        "knobs": [_knob(knob, seconds) for knob in knobs(estimate)],
        "limits": limits(estimate),
    }
    return json_text(value, 2)


def time_as_dict(estimate: Estimate, steps: float, price: float) -> dict[str, Any]:
    """The time of a step and of a run, or what is lacking to know it."""
    found = step_time(estimate)
    if found is None:
        return {"lacking": lacking(estimate)}
    value = found.as_dict()
    hours = found.gpu_hours(steps)
    if steps:
        value["gpu_hours"] = [round(figure, 2) for figure in hours]
    if steps and price:
        value["cost"] = [round(figure, 2) for figure in hours.times(price)]
    return value


def _combinations(estimate: Estimate) -> dict[str, Any]:
    """The settings with which it fits, and those with which it may where none are sure.

    There are none if it does without; `None` if no combination does.
    """
    found = advised(estimate)
    turns = None
    if found:
        turns = [turn._asdict() for turn in found.turns]
    if found and not fits(found.estimate):
        return {"cheapest": None, "likely": turns}
    return {"cheapest": turns, "likely": None}


def _knob(knob: Knob, seconds: Mapping[str, float]) -> dict[str, Any]:
    longer = seconds.get(knob.setting)
    return {
        "setting": knob.setting,
        "saves_gb": {phase: round(gb, 2) for phase, gb in knob.saves.items()},
        "price": knob.price,
        "price_seconds": longer if longer is None else round(longer, 1),
        "line": knob.line or None,
    }


def estimate_as_text(
    estimate: Estimate, evidence: Sequence[str] = (), steps: float = 0, price: float = 0
) -> str:
    """The estimate for a terminal, with its time and what published runs say."""
    return rendered(
        "estimate.txt",
        estimate=estimate,
        trained=WEIGHTS[estimate.weights],
        inputs=inputs_by_name(),
        advised=advised(estimate),
        unsure=_why_unsure(estimate),
        host=_host_line(estimate),
        evidence=evidence,
        time=step_time(estimate),
        lacking=lacking(estimate),
        seconds=seconds_of_knobs(estimate),
        steps=steps,
        price=price,
        knobs=knobs(estimate),
        limits=limits(estimate),
        fill=fill,
    )


def _why_unsure(estimate: Estimate) -> str:
    """Why not the whole interval fits where its middle does."""
    said = formula()["said"]
    names = estimate.unsure
    if names:
        return str(said["unsure_assumed"]).format(names=", ".join(names))
    asked = estimate.configuration
    if asked.framework:
        return str(said["unsure_framework"]).format(framework=asked.profile.title)
    return str(said["unsure"])


def _host_line(estimate: Estimate) -> str:
    """That host memory decides, or may; empty where it does not."""
    word = host_word(estimate)
    if not word:
        return ""
    gpus = estimate.values["local_gpus"]
    low, high = estimate.host_interval_gb
    sentence: str = formula()["said"][word]
    return sentence.format(
        need=f"{estimate.host_memory_gb:.0f}",
        low=f"{low:.0f}",
        high=f"{high:.0f}",
        node=f"{gpus:g} GPU{'s' if gpus > 1 else ''}",
        usual=f"{usual_host_gb(estimate):g}",
    )


def table_as_text(table: PlanTable) -> str:
    """The fewest GPUs by device and weights, after a line that says what they come to."""
    kinds = next(iter(table.rows.values()))
    lines = [["", *(WEIGHTS[name] for name in kinds)]]
    for device, cells in table.rows.items():
        lines.append([device, *map(_fewest, cells.values())])
    return rendered(
        "plan_table.txt",
        question=table.question,
        least={name: _least(table, name) for name in kinds},
        weights=WEIGHTS,
        lines=_aligned(lines),
        assumed=_assumed(table),
        fewer_by_host=any(cell.of_host and cell.fits for cell in table.cells),
        none_by_host=any(cell.of_host and not cell.fits for cell in table.cells),
        usual=rules()["usual"],
    )


def _assumed(table: PlanTable) -> list[str]:
    """What was taken where the question was open; of which weights, where they differ in it."""
    question = table.question
    taken: dict[str, list[str]] = {}
    for weights in next(iter(table.rows.values())):
        cells = [row[weights].fits for row in table.rows.values()]
        taken[weights] = question.assumed(filter(None, cells))
    first, *others = taken.values()
    if all(other == first for other in others):
        return first
    kinds: dict[str, list[str]] = {}
    for weights, said in taken.items():
        for framework in said[len(question.taken) :]:
            kinds.setdefault(framework, []).append(WEIGHTS[weights])
    own = [f"{' and '.join(names)} with {said}" for said, names in kinds.items()]
    return [*question.taken, *own]


def _least(table: PlanTable, weights: str) -> str:
    """The hardware of the least memory that suffices; empty if none does."""
    most = table.question.query.gpus
    enough: list[tuple[float, str]] = []
    for device, cells in table.rows.items():
        found = cells[weights].fits
        if found is None:
            continue
        gpus = found.values["gpus"]
        if not most or gpus <= most:
            enough.append((gpus * found.values["device_gb"], f"{gpus:g} × {device}"))
    _, least = min(enough, default=(0, ""))
    return least


def _fewest(cell: FewestGpus) -> str:
    """The fewest GPUs that ran, and by arithmetic."""
    ran = "-"
    if cell.ran:
        ran = f"{cell.ran.gpus}"
    fits = "host" if cell.of_host else "-"
    if cell.fits:
        fits = f"{cell.fits.values['gpus']:g}"
    if cell.fits and cell.of_host:
        fits += "*"
    return f"{ran} / {fits}"


def table_as_json(table: PlanTable) -> str:
    """The table for a program."""
    rows: list[dict[str, Any]] = []
    for device, cells in table.rows.items():
        for weights, cell in cells.items():
            rows.append(
                {
                    "device": device,
                    "weights": weights,
                    "gpus_that_ran": cell.ran.gpus if cell.ran else None,
                    "gpus_by_arithmetic": cell.fits.values["gpus"]
                    if cell.fits
                    else None,
                    "host_memory_decides": cell.of_host,
                    "ran": run_as_dict(cell.ran) if cell.ran else None,
                }
            )
    version = table.question.dataset.version
    taken = _assumed(table)
    return json_text({"dataset_version": version, "taken": taken, "devices": rows}, 2)
