"""The formula and the profiles of frameworks as JSON, for the page and for others.

Each formula is also a tree of lists, `["*", "layers", ["+", 1, 2]]`, so that a browser evaluates it
without `eval`; `site/assets/javascripts/estimate/formula.js` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from rl_resources.estimate.configuration import (
    OF_FRAMEWORK,
    WEIGHTS,
    EstimateInputs,
    of_run,
)
from rl_resources.estimate.estimate import OTHERS
from rl_resources.estimate.formula import (
    RESERVED,
    WHOLE,
    backends,
    engine_sizes,
    formula,
    inputs_by_name,
    parallel_sizes,
    parse,
    plausible,
)
from rl_resources.estimate.frameworks import (
    VERL,
    ProfileCell,
    earlier_cells,
    engine_words,
    frameworks,
    profile,
    profiles,
    released_cells,
    unprofiled,
    usual_run,
)
from rl_resources.estimate.time import LENGTHS, PHASES, constants
from rl_resources.files import table_beside

_KEYS: Mapping[str, Sequence[str]] = table_beside(__file__)


@cache  # a second is much for what the page, its data and their schema all need
def published() -> dict[str, Any]:
    """The formula as JSON: every key always there, sources as URLs, each term with its tree."""
    found = formula()
    return _row(found, "tables") | {
        "backends": [_backend(name, row) for name, row in backends().items()],
        "phases": {"others": OTHERS, "reserved": RESERVED},
        "inputs": [_input(item) for item in inputs_by_name().values()],
        "terms": [_term(item) for item in found["term"]],
        "moments": found["moment"],
        "knobs": [_knob(item) for item in found["knob"]],
        "frameworks": [_profile(name) for name in profiles()],
        "sizes": parallel_sizes(),
        "engine_sizes": engine_sizes(),
        "plausible": plausible(),
        "time": _time(),
    }


def _time() -> dict[str, Any]:
    """`time.toml`, as the page evaluates it."""
    found = formula()["time"]
    return _row(found, "time") | {
        "constants": constants(),
        "engines": found["engine"],
        "phases": PHASES,
        "lengths": LENGTHS,
        "thinking": found["thinking"]["models"],
        "inputs": [item["name"] for item in found["input"]],
        "terms": [{**item, "tree": parse(item["formula"])} for item in found["term"]],
    }


def _input(item: Mapping[str, Any]) -> dict[str, Any]:
    return _row(item, "input") | {"whole": item.get("unit") in WHOLE}


def _knob(item: Mapping[str, Any]) -> dict[str, Any]:
    return _row(item, "knob") | {"settings": _settings(item)}


def _settings(item: Mapping[str, Any]) -> dict[str, str]:
    """How a knob is written: by training backend of verl, `TRAIN ENGINE`, `FRAMEWORK TRAIN STAGE`.

    A text that ends in `=` lacks the number. Without a framework it is that of a task without
    rollouts. `FRAMEWORK TRAIN TASK` is that of such a task, empty where it has no such knob. With
    `offload` after the stage it is that of a run whose Adam runs on the host.
    """
    found: dict[str, str] = {}
    for train in backends():
        words = {train, *WEIGHTS}
        found[train] = _written(VERL, item, train)
        found[f" {train} sft"] = unprofiled("").written(item, item.get("value"), words)
        for infer in engine_words():
            own = _written(VERL, item, train, infer)
            if own != found[train]:
                found[f"{train} {infer}"] = own
    for name in profiles():
        for train in profile(name).trains:
            for stage in ("rl", "sft"):
                run = f"{name} {train} {stage}"
                found[run] = _written(name, item, train, stage)
                own = _written(name, item, train, stage, "offload")
                if own != found[run]:
                    found[f"{run} offload"] = own
    known = {words: text for words, text in found.items() if text}
    return known | dict(_settings_of_tasks(item, found))


def _settings_of_tasks(
    item: Mapping[str, Any], found: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Those of tasks without rollouts that are not written as in SFT."""
    for name in profiles():
        for train in profile(name).trains:
            for task in formula()["offline"]:
                own = _written(name, item, train, "sft", "offline", task.lower())
                if own != found[f"{name} {train} sft"]:
                    yield f"{name} {train} {task}", own


def _written(name: str, item: Mapping[str, Any], *words: str) -> str:
    """A knob as a framework writes it in a run with these words."""
    return profile(name).written(item, item.get("value"), {*words, *WEIGHTS})


def _profile(name: str) -> dict[str, Any]:
    found = profile(name)
    return {
        "framework": name,
        "title": found.title,
        "release": found.release,
        "trains": list(found.trains),
        "alone": found.usual_train(1),
        "offline": found.row.get("offline"),
        "weights": found.row.get("weights"),
        "trains_rl": found.trains_rl,
        "cells": [_cell_as_json(cell) for cell in _cells_with_source(name)],
        "earlier": [_cell_as_json(cell) for cell in earlier_cells(name)],
    }


def _cells_with_source(name: str) -> Iterator[ProfileCell]:
    """The cells of a profile that have a source; of verl also what its own configuration says."""
    found = profile(name)
    yield from (cell for cell in released_cells(name, found.release) if cell.source)
    if not found.is_verl:
        return
    for train in found.trains:
        inputs = EstimateInputs(train)
        inputs.give("gpus", 1)
        of_run(usual_run(train), inputs)
        for item in inputs.assumed:
            if item.reason == OF_FRAMEWORK:
                yield ProfileCell(item.input, "", value=item.value, when=(train,))


def _cell_as_json(cell: ProfileCell) -> dict[str, Any]:
    repository, _, path = cell.source.partition(" ")
    source = frameworks()["repositories"].get(repository, "") + path
    return {
        "input": cell.input,
        "value": cell.value,
        "setting": cell.setting or None,
        "when": list(cell.when),
        "source": source or None,
    }


def _term(item: Mapping[str, Any]) -> dict[str, Any]:
    return _row(item, "term") | {"tree": parse(item["formula"])} | _cited(item)


def _backend(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    defaults = dict(row)
    like = defaults.pop("like")
    defaults.pop("source", None)
    return {"backend": name, "like": like, "defaults": defaults, **_cited(row)}


def _row(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What is published of a table or a row of this kind."""
    return {name: item.get(name) for name in _KEYS[kind]}


def _cited(item: Mapping[str, Any]) -> dict[str, list[str]]:
    urls = formula()["sources"]
    names = item.get("source", ())
    return {"sources": [urls[name] for name in names]}
