"""Figures from a training log of any form: memory, time, throughput, releases, out of memory.

The metrics are those of verl 0.1 to 0.9.1 (verl/trainer/ppo/metric_utils.py and `update_actor` of
its workers); their names, and what devices and other frameworks print, are in `training_log.toml`,
releases in `script/backends.py`. To add a form of log, write a function from its text to metrics
and choose it in `read_log` or `_metrics`; name it in `_READABLE`.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rl_resources.errors import UnusableInput
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.files import encoding_of, table_beside
from rl_resources.script.backends import ENGINES, named_version
from rl_resources.script.script_text import FRAMEWORK
from rl_resources.tabular import mappings
from rl_resources.text import shown

MOST_WARM_UP_STEPS = 10
LARGEST_LOG = 1 << 30
LONGEST_LINE = 1 << 20
"""In characters, also of a text of several lines."""
MOST_ROWS = 100_000
"""Of an export."""

Metrics = Mapping[str, object]

_READABLE = (
    "Give verl's console output (lines with `step:12 - …timing_s/step:93.5 - …`), the file of "
    "its `file` logger (JSON lines), or a run's summary (JSON) or export (CSV) of Weights & "
    "Biases, as text, not compressed. State the figures of another log yourself, such as "
    "step_seconds=93.5."
)
_STATE_YOURSELF = (
    "It counts its figures differently: state them yourself, such as step_seconds=93.5."
)
_STEP = re.compile(r"(?<![\w/.@-])step:\s?(\d{1,12}) - ")
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\x00"
)
_PREFIX_OF_RAY = re.compile(r"\A\(\w+(?:\.\w+)* pid=\d+(?:, ip=[\w.:]+)?\) ?")
"""What Ray puts before each line of a worker."""
_REST = re.compile(
    r"(?=.*[:\d]) ?(?:- )?[\w/@.()+:-]*(?: - [\w/@.()+-]+:[\w.()+-]*)*(?: -(?: [\w/@.()+-]*)?)? ?"
)
"""What is left of a line of metrics that a terminal has wrapped."""
_NARROWEST = 60
"""Characters of a terminal's line, below which a number in the next one is no rest of it."""
_NUMBER = re.compile(r"\s*(?:[\w.]+\()?\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\d.,])")
_SETTING = re.compile(
    r"'(train_batch_size|max_prompt_length|max_response_length)': (\d{1,9})\b"
)
_TABLE = re.compile(r'"?\w*"?,.*(?:timing_s/step|perf/\w+)\b')
"""The header of an export of metrics."""
_DAY = re.compile(r"(?:\W|[A-Z]+\b:?){0,4}(20\d\d-[01]\d-[0-3]\d)[ T]\d\d:\d\d")
_PATTERNS = table_beside(__file__)
_METRICS: Mapping[str, Sequence[str]] = _PATTERNS["metrics"]
_DEVICE = re.compile("|".join(_PATTERNS["devices"]))
_OUT_OF_MEMORY = re.compile("|".join(_PATTERNS["out_of_memory"]))
_FRAMEWORKS = {
    name: re.compile("|".join(patterns))
    for name, patterns in _PATTERNS["frameworks"].items()
}


def _releases() -> Mapping[str, re.Pattern[str]]:
    """How a log names the release of each program."""
    found = {FRAMEWORK: _release([named_version(FRAMEWORK)])}
    for name, engine in ENGINES.items():
        if engine.releases:
            found[name] = _release(engine.releases)
    return found


def _release(programs: Iterable[str]) -> re.Pattern[str]:
    """The pattern of a version after one of these programs, without local parts like `+cu124`."""
    return re.compile(
        rf"(?:{'|'.join(programs)})v?(\d+(?:\.\d+)+\w*(?:\.\w+)*)", re.IGNORECASE
    )


class Step(NamedTuple):
    """One training step; a figure that was not logged is 0.

    `tokens` are per second and GPU, `memory` is in GiB: verl divides by 1024³. An `interrupted`
    step also validated or saved a checkpoint, which its seconds include.
    """

    number: float
    seconds: float
    tokens: float
    memory: float
    interrupted: bool


@dataclass
class TrainingLog:
    """What a log says of the last run in it.

    `out_of_memory` is the line that ended the run for lack of GPU memory, if any. `settings` are
    parts of the printed configuration, `releases` those of verl and the rollout engine, by verl's
    names; of both, the last ones count. `devices` are the log's names for the hardware, `day` is
    the day of its last message, `frameworks` are others than verl. A `summary` has only the last
    step of a run.
    """

    steps: list[Step] = field(default_factory=list)
    out_of_memory: str = ""
    settings: dict[str, int] = field(default_factory=dict)
    releases: dict[str, str] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    day: str = ""
    frameworks: set[str] = field(default_factory=set)
    summary: bool = False

    @property
    def warm_up(self) -> int:
        """How many steps count as warm-up: a tenth, at least one and at most ten."""
        if self.summary:
            return 0
        steps = len(self.steps)
        return min(steps, max(1, steps // 10), MOST_WARM_UP_STEPS)

    @property
    def measured(self) -> list[Step]:
        """The steps after warm-up that have a time or throughput and neither validate nor save."""
        counted = []
        for step in self.steps[self.warm_up :]:
            is_timed = step.seconds or step.tokens
            if is_timed and not step.interrupted:
                counted.append(step)
        return counted

    @property
    def figures(self) -> dict[str, float]:
        """The figures of the log, by column.

        Memory is the maximum of all steps in decimal GB; seconds and throughput are medians of the
        measured steps.
        """
        memory_gib = max((step.memory for step in self.steps), default=0)
        found = {
            "peak_memory_gb": round(memory_gib * GB_PER_GIB, 3),
            "step_seconds": _median(step.seconds for step in self.measured),
            "tokens_per_second_per_gpu": _median(step.tokens for step in self.measured),
        }
        return {column: value for column, value in found.items() if value}

    def add(self, step: Step) -> None:
        """Add a step; a lower number than the last one begins another run."""
        self.out_of_memory = ""
        if self.steps and 0 < step.number < self.steps[-1].number:
            self.steps = []
        self.steps.append(step)


def _median(values: Iterable[float]) -> float:
    """The median of the values that were logged; 0 if there is none."""
    return round(median(list(filter(None, values)) or [0]), 3)


def read_log_file(path: Path) -> TrainingLog:
    """Read a file in its own encoding. Raises `OSError`, and what `read_log` raises."""
    label = shown(str(path), 500)
    with path.open("rb") as data:
        encoding = encoding_of(data.peek()) or "utf-8"
        text = TextIOWrapper(data, encoding, errors="replace")
        return read_log(_lines_of(text, label), label)


def _lines_of(file: TextIOWrapper, label: str) -> Iterator[str]:
    """The lines of a file; of a line that is too long, only its beginning."""
    left = LARGEST_LOG
    ended = True
    while line := file.readline(LONGEST_LINE):
        left -= len(line)
        if left < 0:
            raise UnusableInput(
                f"{label}: has more than {LARGEST_LOG:,} characters",
                "Keep what counts: `grep -aE 'step:|version|Type' LOG > short.log`.",
            )
        if ended:
            yield line
        ended = line.endswith("\n")


def read_log(lines: Iterable[str], label: str) -> TrainingLog:
    """Read verl's console output, metrics as JSON or an export as CSV; `label` is for messages.

    Raises `UnusableInput` if they contain neither a step nor an out-of-memory error.
    """
    log = TrainingLog()
    stream = iter(lines)
    first = next(stream, "")
    stream = chain([first], stream)
    if _TABLE.match(first):
        for metrics in _rows(stream, label):
            _add_step(log, metrics)
    else:
        _read_entries(log, stream)
    if log.steps or log.out_of_memory:
        return log
    for name in filter(log.frameworks.__contains__, _FRAMEWORKS):
        raise UnusableInput(
            f"{label}: is a log of {name}, not of {FRAMEWORK}", _STATE_YOURSELF
        )
    raise UnusableInput(
        f"{label}: has no training step with a time, throughput or memory", _READABLE
    )


def _rows(lines: Iterable[str], label: str) -> Iterator[Metrics]:
    """The metrics of an export by Weights & Biases: columns are called `RUN - METRIC`."""
    try:
        rows = mappings("".join(islice(lines, MOST_ROWS)))
    except ValueError as error:
        raise UnusableInput(f"{label}: {error}", _READABLE) from error
    for row in rows:
        metrics = {column.rpartition(" - ")[2]: value for column, value in row.items()}
        if len(metrics) < len(row):
            raise UnusableInput(
                f"{label}: has several runs", "Export the one that counts."
            )
        yield metrics


def _read_entries(log: TrainingLog, lines: Iterable[str]) -> None:
    releases = _releases()
    before = ""
    for entry in _entries(lines):
        if _add_step(log, _metrics(entry)):
            continue
        for line in entry:
            _read_message(log, before, line, releases)
            before = line


def _entries(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines without colors and Ray's prefix; lines of one wrapped text come together."""
    entry: list[str] = []
    size = 0
    depth = 0
    for line in lines:
        text = _PREFIX_OF_RAY.sub("", _ANSI.sub("", line.rstrip("\r\n")))
        if entry and (size >= LONGEST_LINE or not _is_rest(text, entry, depth)):
            yield entry
            entry = []
            size = 0
            depth = 0
        entry.append(text)
        size += len(text)
        depth += text.count("{") - text.count("}")
    yield entry


def _is_rest(text: str, entry: list[str], depth: int) -> bool:
    """Whether a line continues an entry that has this many open braces."""
    if text.startswith("{") or _STEP.search(text):
        return False
    if not _STEP.search(entry[0]):
        return depth > 0
    if not text or not _REST.fullmatch(text):
        return False
    return ":" in text or len(entry[-1]) >= _NARROWEST


def _metrics(entry: list[str]) -> Metrics:
    """The metrics of an entry; most have none."""
    if _STEP.search(entry[0]):
        return _console_metrics(entry)
    text = "\n".join(entry)
    brace = text.find("{")
    if 0 <= brace < _NARROWEST:
        return _dictionary(text[brace:])
    return {}


def _dictionary(text: str) -> Metrics:
    """Metrics as JSON or as Python prints them, also those that verl's file logger puts in `data`.

    Any other text has none.
    """
    try:
        entry = _value(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    if not isinstance(entry, dict):
        return {}
    data = entry.get("data")
    if isinstance(data, dict):
        entry |= data
    return entry


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _console_metrics(entry: list[str]) -> Metrics:
    """What verl prints: `step:3 - timing_s/step:92.0 - …`, in one line or several."""
    text = ""
    for line in entry:
        if text.endswith(" -") or line.startswith("- "):
            text += " "
        text += line
    _, number, rest = _STEP.split(text, maxsplit=1)
    metrics = {"step": number}
    for pair in rest.split(" - "):
        name, _, value = pair.rpartition(":")
        metrics.setdefault(name.strip(), value)
    return metrics


def _add_step(log: TrainingLog, metrics: Metrics) -> bool:
    """Add the step that metrics are of; whether they are of a training step."""
    seconds = _first(metrics, "seconds")
    tokens = _first(metrics, "tokens")
    of_memory = tuple(_METRICS["memory"])
    memory = 0.0
    for name, value in metrics.items():
        if name.endswith(of_memory):
            memory = max(memory, _positive(value))
    if not (seconds or tokens or memory):
        return False
    interrupted = _first(metrics, "interruptions") > 0
    log.add(Step(_first(metrics, "number"), seconds, tokens, memory, interrupted))
    log.summary = len(log.steps) == 1 and "_step" in metrics
    return True


def _first(metrics: Metrics, figure: str) -> float:
    """The first positive number under one of a figure's names; 0 if there is none."""
    for name in _METRICS[figure]:
        value = _positive(metrics.get(name))
        if value:
            return value
    return 0


def _positive(value: object) -> float:
    """A positive finite number, also as text or inside `np.float64(…)`; 0 for anything else."""
    match = _NUMBER.match(str(value)[:80])
    if match is None or float(match[1]) == math.inf:
        return 0
    return float(match[1])


def _read_message(
    log: TrainingLog, before: str, text: str, releases: Mapping[str, re.Pattern[str]]
) -> None:
    """Read a line without metrics: the end of a run, its settings, releases or hardware."""
    found = _OUT_OF_MEMORY.search(text)
    if found and not log.out_of_memory:
        log.out_of_memory = text[found.start() :].strip()
    for name, value in _SETTING.findall(text):
        log.settings[name] = int(value)
    beginning = text[:2000]
    if "-verl Info-" in before:
        beginning = f"{FRAMEWORK} {beginning}"
    for name, pattern in releases.items():
        for release in pattern.findall(beginning):
            log.releases[name] = release
    for name, pattern in _FRAMEWORKS.items():
        if not log.steps and pattern.search(beginning):
            log.frameworks.add(name)
    device = _DEVICE.search(beginning)
    if device:
        log.devices.add(device[device.lastindex or 0])
    day = _DAY.match(beginning)
    if day:
        log.day = day[1]
