"""Forms of a training log: which metrics a line of it holds.

To add a form, write a function from a line to metrics and choose it in `parser_for`. To add names
of metrics, extend the constants below. The names are those of verl's
verl/trainer/ppo/metric_utils.py (`timing_s/*`, `perf/time_per_step`, `perf/throughput` in tokens
for each second and GPU) and of its workers' `update_actor` (`perf/max_memory_*_gb`, since 0.7 below
`actor/`), from 0.2 to 0.9.1. Before that a step has the times of its parts alone: `timing/gen`, …,
`timing/update_actor` of ray_trainer.py.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rl_resources.errors import UnusableInput
from rl_resources.words import shown

NUMBERS = ("step", "_step", "global_step", "training/global_step", "trainer/global_step")
SECONDS = ("timing_s/step", "perf/time_per_step", "timing/step")
THROUGHPUT = "perf/throughput"
IMAGES = "perf/total_num_images"
MEMORY = ("perf/max_memory_reserved_gb", "perf/max_memory_allocated_gb")
INTERRUPTIONS = ("testing", "save_checkpoint")
PARTS = frozenset({"timing/gen", "timing/update_actor"})
LARGEST_STEP = 10**12

Metrics = Mapping[str, object]
Parser = Callable[[str], Metrics | None]
"""The metrics on a line; `None` where it has none."""

_STEP = re.compile(r"(?<![\w/.@-])step:\s?(\d{1,12}) - ")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_NUMBER = re.compile(
    r"(?:[\w.]+\()?\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\d.]|[eE][-+\d]).*",
    re.DOTALL,
)
_SUMMARY = re.compile(r"__(?:MIN|MAX|STEP)$")
_TENSORBOARD = ["Wall time", "Step", "Value"]


class Step(NamedTuple):
    """One training step; a figure that was not logged is `None`.

    `seconds` of a step whose parts alone were logged are their sum (`summed`), `tokens` are per
    second and GPU, `memory` is in GB. An `interrupted` step also validated or saved a checkpoint,
    which its seconds include.
    """

    number: int | None
    seconds: float | None
    tokens: float | None
    memory: float | None
    interrupted: bool
    summed: bool


def parser_for(line: str, file_name: str) -> Parser:
    """The parser of a log by its first line that is not empty.

    Raises `UnusableInput` for a CSV file with the same metric of several runs.
    """
    if json_metrics(line) is not None:
        return json_metrics
    columns = _columns(line, file_name)
    return _csv_parser(columns, _delimiter(line)) if columns else console_metrics


def console_metrics(line: str) -> Metrics | None:
    """What verl prints: `step:3 - timing_s/step:92.0 - …`, also behind Ray's prefix."""
    if "step:" not in line:
        return None
    text = plain(line)
    step = _STEP.search(text)
    if step is None:
        return None
    pairs = (word.rpartition(":") for word in text[step.end() :].split(" - "))
    return {name.strip(): value for name, _, value in pairs} | {"step": step[1]}


def json_metrics(line: str) -> Metrics | None:
    """One JSON object a line, as verl's file logger writes them: metrics, or those in `data`."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    data = entry.get("data")
    return {**data, **entry} if isinstance(data, dict) else entry


def _csv_parser(columns: list[str], delimiter: str) -> Parser:
    def parse(line: str) -> Metrics | None:
        cells = _cells(line, delimiter)
        named = zip(columns, cells, strict=False)
        found = {name: cell for name, cell in named if name and cell}
        return found if len(cells) == len(columns) else None

    return parse


def _columns(line: str, file_name: str) -> list[str]:
    """The metric of each column of a CSV export; nothing where the line is no header of one.

    Weights & Biases may write `run - metric`, with `__MIN` and `__MAX` beside it. TensorBoard has
    one metric and names it in the file's name.
    """
    cells = _cells(line.removeprefix("\ufeff"), _delimiter(line))
    if cells == _TENSORBOARD:
        flat = re.sub(r"\W+", "_", file_name)
        metrics = (*SECONDS, THROUGHPUT, *MEMORY)
        found = (name for name in metrics if name.replace("/", "_") in flat)
        return ["", "step", next(found, "")]
    names = ["" if _SUMMARY.search(cell) else cell.rpartition(" - ")[2].strip() for cell in cells]
    figures = [name for name in names if _is_figure(name)]
    for name in figures:
        if figures.count(name) > 1:
            raise UnusableInput(
                f"{shown(file_name, 200)}: has {figures.count(name)} columns of `{name}`",
                "Export the metrics of one run alone.",
            )
    return ["step" if name.lower() in NUMBERS else name for name in names] if figures else []


def _is_figure(name: str) -> bool:
    return name in {*SECONDS, THROUGHPUT} or name.endswith(MEMORY)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def step_of(metrics: Metrics) -> Step | None:
    """The training step that metrics are of; `None` for a validation or anything else."""
    seconds = next((value for name in SECONDS if (value := _positive(metrics.get(name)))), None)
    parts = _sum_of_parts(metrics) if seconds is None else None
    tokens = None if IMAGES in metrics else _positive(metrics.get(THROUGHPUT))
    memories = [_positive(value) for name, value in metrics.items() if name.endswith(MEMORY)]
    memory = max(filter(None, memories), default=None)
    if not any((seconds, parts, tokens, memory)):
        return None
    numbers = (_step_number(metrics.get(name)) for name in NUMBERS)
    number = next((item for item in numbers if item is not None), None)
    groups = (f"{group}/{name}" for group in ("timing_s", "timing") for name in INTERRUPTIONS)
    interrupted = any(_positive(metrics.get(name)) for name in groups)
    return Step(number, seconds or parts, tokens, memory, interrupted, parts is not None)


def _sum_of_parts(metrics: Metrics) -> float | None:
    """The seconds of all parts of a step that generated and updated the actor."""
    if not PARTS.issubset(metrics):
        return None
    names = (name for name in metrics if name.startswith("timing/"))
    work = (name for name in names if not name.endswith(INTERRUPTIONS))
    return sum(filter(None, (_positive(metrics[name]) for name in work))) or None


def _step_number(value: object) -> int | None:
    found = _number(value)
    whole = found is not None and found == int(found) and 0 <= found < LARGEST_STEP
    return int(found) if found is not None and whole else None


def _positive(value: object) -> float | None:
    found = _number(value)
    return found if found is not None and found > 0 else None


def _number(value: object) -> float | None:
    """A finite number, also as text and inside `np.float64(…)`; `None` for all else."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip()[:80])
        value = match[1] if match else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def plain(line: str) -> str:
    """A line without escape sequences and NUL characters."""
    return _ANSI.sub("", line).replace("\x00", "")
