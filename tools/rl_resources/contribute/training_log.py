"""A training log of any size to figures: memory, time, throughput, releases, out of memory.

The metrics are those of verl 0.1 to 0.9.1 (verl/trainer/ppo/metric_utils.py and `update_actor` of
its workers). To add names of metrics, extend the constants below. To add a form of log, write a
function from a line to metrics and choose it in `_line_metrics`, or by the first line of the log in
`_parser_for`; name it in `_WANTED`.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple, TextIO

from rl_resources.dataset_rules.plausibility import GB_PER_GIB
from rl_resources.errors import UnusableInput
from rl_resources.text import shown

NUMBERS = ("step", "_step", "global_step", "training/global_step", "trainer/global_step")
SECONDS = ("timing_s/step", "perf/time_per_step", "timing/step")
THROUGHPUT = ("perf/throughput", "Tokens/Sec/GPU")  # the latter in verl 0.2.0.dev
IMAGES = "perf/total_num_images"
MEMORY = ("perf/max_memory_reserved_gb", "perf/max_memory_allocated_gb")  # GiB, as ends of keys
INTERRUPTIONS = ("timing_s/testing", "timing_s/save_checkpoint")
FIGURES = ("peak_memory_gb", "step_seconds", "tokens_per_second_per_gpu")
MOST_WARM_UP_STEPS = 10
LONGEST_LINE = 1 << 20
LONGEST_QUOTE = 300

Metrics = Mapping[str, object]
Parser = Callable[[str], Metrics | None]
"""The metrics on a line; `None` where it has none."""

_WANTED = (
    "Wanted is verl's console output (lines with `step:12 - …timing_s/step:93.5 - …`), the file "
    "of its `file` logger (JSON lines), or a CSV export with columns such as `timing_s/step`, as "
    "text in UTF-8, not compressed. State the figures of another log yourself, such as "
    "step_seconds=93.5."
)
_STEP = re.compile(r"(?<![\w/.@-])step:\s?(\d{1,12}) - ")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\x00")
_NUMBER = re.compile(r"\s*(?:[\w.]+\()?\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\d.,])")
_SETTING = re.compile(
    r"'(train_batch_size|max_prompt_length|max_response_length|lora_rank)': (\d{1,9})\b"
)
_OUT_OF_MEMORY = re.compile(
    r"\b(?:CUDA|HIP|NPU|XPU|MUSA) (?:[Ee]rror: )?out of memory\b"
    r"|\bCuda failure (?:\d+ )?'out of memory'"
    r"|\bNo available memory for the cache blocks"
    r"|\bKV cache is needed, which is larger than the available KV cache memory"
    r"|\blarger than the maximum number of tokens that can be stored in KV cache"
    r"|\bNot enough memory\. Please try to increase --mem-fraction-static"
)
_VERSION = r"v?(\d+(?:\.\d+)+\w*(?:\.\w+)*)"
_ENGINE = re.compile(
    rf"(?:Initializing an? (?:V\d )?LLM engine \(|vLLM API server version ){_VERSION}"
)
_LISTED = re.compile(
    rf"^(?:\([^()]*\) ?)*\s*(vllm|sglang|verl)\s*(?:==|:|\s\s)\s*{_VERSION}(?:\+[\w.]+)?\s*$",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"(?<![\w./-])(vllm|sglang|verl) version\s*[:=]?\s*{_VERSION}", re.IGNORECASE)


class Step(NamedTuple):
    """One training step; a figure that was not logged is `None`.

    `tokens` are per second and GPU, `memory` is in GiB: verl divides by 1024³. An `interrupted`
    step also validated or saved a checkpoint, which its seconds include.
    """

    number: float | None
    seconds: float | None
    tokens: float | None
    memory: float | None
    interrupted: bool


@dataclass
class TrainingLog:
    """What a log says of the last run in it.

    `out_of_memory` is the line that ended the run for lack of GPU memory, empty where none did.
    `settings` are some of its printed configuration, `printed` those of a run that has not shown
    itself yet. `releases` has every
    release that vLLM, SGLang and verl printed, by their names in lower case.
    """

    steps: list[Step] = field(default_factory=list)
    out_of_memory: str = ""
    settings: dict[str, int] = field(default_factory=dict)
    printed: dict[str, int] | None = None
    releases: dict[str, set[str]] = field(default_factory=dict)

    @property
    def batch(self) -> int | None:
        """The prompts of a step, where the log has the configuration."""
        return self.settings.get("train_batch_size")

    @property
    def fits(self) -> bool:
        """Whether the run did not end out of memory."""
        return not self.out_of_memory

    @property
    def warm_up(self) -> int:
        """Steps that are excluded as warm-up: a tenth, at least one and at most ten."""
        return min(len(self.steps), max(1, min(MOST_WARM_UP_STEPS, len(self.steps) // 10)))

    @property
    def measured(self) -> list[Step]:
        """The steps after warm-up that neither validate nor save."""
        return [step for step in self.steps[self.warm_up :] if not step.interrupted]

    @property
    def figures(self) -> dict[str, float]:
        """The figures that the log shows, by column; none of a run out of memory.

        Memory in decimal GB is the most of any step, seconds and throughput are medians of
        measured steps.
        """
        if self.out_of_memory:
            return {}
        memory = max((step.memory or 0 for step in self.steps), default=0) * GB_PER_GIB
        seconds = median([step.seconds for step in self.measured if step.seconds] or [0])
        tokens = median([step.tokens for step in self.measured if step.tokens] or [0])
        found = zip(FIGURES, (memory, seconds, tokens), strict=True)
        return {name: round(value, 3) for name, value in found if value}

    def begin(self) -> None:
        """A run of which the configuration was printed shows itself: an earlier one is forgotten,
        but for the steps that it goes on with.
        """
        if self.printed not in (None, self.settings):
            self.steps, self.settings = [], self.printed or {}
        self.printed = None

    def add(self, step: Step) -> None:
        """Take in a step; a number lower than the last one begins another run."""
        self.begin()
        self.out_of_memory = ""
        last = self.steps[-1].number if self.steps else None
        if step.number is not None and last is not None:
            if step.number == last:
                return
            if step.number < last:
                self.steps = []
        self.steps.append(step)


def read_log(path: Path) -> TrainingLog:
    """Read verl's console output, its JSON lines, or a CSV export of a run's metrics.

    Raises `UnusableInput` where the file cannot be read, or has neither a step nor an
    out-of-memory.
    """
    label = shown(str(path), 500)
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return _read(file, label)
    except OSError as error:
        help_ = "Name the log of your own run."
        raise UnusableInput(f"{label}: cannot be read: {error.strerror}", help_) from error


def read_excerpt(text: str, label: str) -> TrainingLog:
    """Read lines of a log that somebody pasted under the heading `label`.

    Raises `UnusableInput` where they have neither a step nor an out-of-memory.
    """
    return _read(StringIO(text, newline=None), label)


def _read(file: TextIO, label: str) -> TrainingLog:
    log = TrainingLog()
    # A line that never ends comes in pieces.
    lines = filter(str.strip, iter(partial(file.readline, LONGEST_LINE), ""))
    first = next(lines, "")
    parse = _parser_for(first, label)
    for line in chain([first], lines):
        metrics = parse(line)
        if metrics is None:
            _read_message(log, line)
        elif step := _step_of(metrics):
            log.add(step)
    if not log.steps and not log.out_of_memory:
        raise UnusableInput(f"{label}: has no training step", _WANTED)
    return log


def _parser_for(line: str, label: str) -> Parser:
    """The parser of a log by its first line that is not empty.

    Raises `UnusableInput` for a CSV file with the same metric of several runs.
    """
    delimiter = max(",;\t", key=line.count)
    # Weights & Biases may write `run - metric`, with `__MIN` and `__MAX` in columns of their own.
    names = [name.rpartition(" - ")[2].lower() for name in _cells(line, delimiter)]
    figures = [name for name in names if name.endswith((*SECONDS, *THROUGHPUT, *MEMORY))]
    if twice := [name for name in figures if figures.count(name) > 1]:
        raise UnusableInput(
            f"{label}: has {figures.count(twice[0])} columns of `{twice[0]}`",
            "Export the metrics of one run alone.",
        )
    return partial(_csv_metrics, names, delimiter) if figures else _line_metrics


def _csv_metrics(names: list[str], delimiter: str, line: str) -> Metrics | None:
    cells = _cells(line, delimiter)
    return dict(zip(names, cells, strict=True)) if len(cells) == len(names) else None


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _line_metrics(line: str) -> Metrics | None:
    """The metrics on a line of JSON or of the console."""
    if line.startswith("{"):
        return _json_metrics(line)
    return _console_metrics(line) if "step:" in line else None


def _json_metrics(line: str) -> Metrics | None:
    """One JSON object a line, as verl's file logger writes them: metrics, or those in `data`."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    data = entry.get("data")
    return {**data, **entry} if isinstance(data, dict) else dict(entry)


def _console_metrics(line: str) -> Metrics | None:
    """What verl prints: `step:3 - timing_s/step:92.0 - …`, also behind Ray's prefix."""
    text = _ANSI.sub("", line)
    step = _STEP.search(text)
    if step is None:
        return None
    pairs = (word.rpartition(":") for word in text[step.end() :].split(" - "))
    return {name.strip(): value for name, _, value in pairs} | {"step": step[1]}


def _step_of(metrics: Metrics) -> Step | None:
    """The training step that metrics are of; `None` for a validation or anything else."""
    seconds = _first(metrics, SECONDS)
    tokens = None if IMAGES in metrics else _first(metrics, THROUGHPUT)
    memories = [_positive(value) for name, value in metrics.items() if name.endswith(MEMORY)]
    memory = max(filter(None, memories), default=None)
    if not (seconds or tokens or memory):
        return None
    interrupted = any(_positive(metrics.get(name)) for name in INTERRUPTIONS)
    return Step(_first(metrics, NUMBERS), seconds, tokens, memory, interrupted)


def _first(metrics: Metrics, names: tuple[str, ...]) -> float | None:
    """The first positive number that metrics have under one of these names."""
    return next((value for name in names if (value := _positive(metrics.get(name)))), None)


def _positive(value: object) -> float | None:
    """A positive finite number, also as text and inside `np.float64(…)`; `None` for all else."""
    match = _NUMBER.match(str(value)[:80])
    found = float(match[1]) if match else 0
    return found if 0 < found < math.inf else None


def _read_message(log: TrainingLog, line: str) -> None:
    """Take in a line without metrics: the end of a run, its batch, releases."""
    text = _ANSI.sub("", line)
    first = log.printed is not None or not log.out_of_memory
    if first and (found := _OUT_OF_MEMORY.search(text)):
        log.begin()
        log.out_of_memory = text[found.start() :][:LONGEST_QUOTE].strip()
    if "'actor_rollout_ref':" in text:  # the configuration of another run
        log.printed = {}
    settings = log.settings if log.printed is None else log.printed
    for name, value in _SETTING.findall(text):
        if name == "train_batch_size" or name not in settings:  # the critic's come after
            settings[name] = int(value)
    for program, version in _releases(text[:2000]):
        log.releases.setdefault(program, set()).add(version)


def _releases(line: str) -> Iterator[tuple[str, str]]:
    """The programs that a line names with their releases, without local parts such as `+cu124`."""
    for match in _ENGINE.finditer(line):
        yield "vllm", match[1]
    for match in (*_LISTED.finditer(line), *_NAMED.finditer(line)):
        yield match[1].lower(), match[2]
