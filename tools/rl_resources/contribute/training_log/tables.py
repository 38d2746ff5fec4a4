"""Metrics as a file of their own: JSON lines, as verl's file logger writes them, or CSV.

CSV comes from Weights & Biases (`_step` or `Step`, and a column for each metric, also as
`run - metric` with `__MIN` and `__MAX` beside it) and from TensorBoard (`Wall time,Step,Value`,
the metric in the file's name).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rl_resources.contribute.training_log.console import Event, Unreadable, plain
from rl_resources.contribute.training_log.metrics import NUMBERS, is_metric, step_number, told_by
from rl_resources.errors import UnusableInput
from rl_resources.words import shown

_TENSORBOARD = ("wall time", "step", "value")
_SCALARS = (
    "timing_s/step",
    "perf/time_per_step",
    "perf/throughput",
    "perf/max_memory_allocated_gb",
    "perf/max_memory_reserved_gb",
)
_SUMMARY = re.compile(r"__(?:MIN|MAX|STEP)$")


def json_object(line: bytes) -> Mapping[str, object] | None:
    """The JSON object on a line; `None` where there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """What each line tells."""
    for line in lines:
        entry = json_object(line)
        told = Unreadable() if entry is None else _told_by_entry(entry)
        if told is not None:
            yield told


def _told_by_entry(entry: Mapping[str, object]) -> Event | None:
    data = entry.get("data")
    metrics = data if isinstance(data, dict) else entry
    numbers = (step_number(place.get(name)) for place in (entry, metrics) for name in NUMBERS)
    found = next((number for number in numbers if number is not None), None)
    return told_by(found, metrics)


def header(line: bytes, file_name: str) -> Sequence[str] | None:
    """The metric of each column of a CSV file; `None` where the line is no header of one.

    Columns of no interest are empty. Raises `UnusableInput` where a metric has several columns.
    """
    cells = next(_rows([line]), [])
    if tuple(cell.lower() for cell in cells) == _TENSORBOARD:
        scalar = _scalar(file_name)
        return ("", "step", scalar) if scalar else None
    names = [_column(cell) for cell in cells]
    if not any(map(is_metric, names)):
        return None
    for name in names:
        if is_metric(name) and names.count(name) > 1:
            raise UnusableInput(
                f"{shown(file_name, 200)}: has {names.count(name)} columns of `{name}`",
                "Export the metrics of one run alone.",
            )
    return names


def _scalar(file_name: str) -> str:
    """The metric that TensorBoard put into the name of a file."""
    flat = re.sub(r"\W+", "_", file_name)
    return next((name for name in _SCALARS if name.replace("/", "_") in flat), "")


def _column(cell: str) -> str:
    if _SUMMARY.search(cell):
        return ""
    name = cell.rpartition(" - ")[2].strip()
    return "step" if name.lower() in NUMBERS else name


def csv_events(names: Sequence[str], lines: Iterable[bytes]) -> Iterator[Event]:
    """What each row tells."""
    for row in _rows(lines):
        metrics = {name: cell for name, cell in zip(names, row, strict=False) if name and cell}
        number = step_number(metrics.get("step"))
        told = Unreadable() if len(row) != len(names) else told_by(number, metrics)
        if told is not None:
            yield told


def _rows(lines: Iterable[bytes]) -> Iterator[list[str]]:
    """The cells of each line; a line break inside a cell has no business in metrics."""
    for line in lines:
        text = plain(line).removeprefix("\ufeff")
        try:
            row = next(csv.reader([text], delimiter=_delimiter(text)), [])
        except csv.Error:
            row = []
        yield [cell.strip() for cell in row]


def _delimiter(text: str) -> str:
    return max(",;\t", key=text.count)
