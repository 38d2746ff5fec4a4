"""A training log of any size to figures: memory, time, throughput, releases, out of memory.

The metrics are those of verl 0.1 to 0.9.1 (verl/trainer/ppo/metric_utils.py and `update_actor` of
its workers). To add names of metrics, extend the constants below. To add a form of log, write a
function from a line to metrics and choose it in `_line_metrics`; name it in `_WANTED`. How a
rollout engine names its release stands in `script/backends.py`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from rl_resources.errors import UnusableInput
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.script.backends import ENGINES, named_version
from rl_resources.script.script_text import FRAMEWORK

NUMBERS = ("step", "global_step", "training/global_step")
SECONDS = ("timing_s/step", "perf/time_per_step", "timing/step")
THROUGHPUT = ("perf/throughput", "Tokens/Sec/GPU")  # the latter in verl 0.2.0.dev
MEMORY = ("perf/max_memory_reserved_gb", "perf/max_memory_allocated_gb")  # GiB, as ends of keys
INTERRUPTIONS = ("timing_s/testing", "timing_s/save_checkpoint")
MOST_WARM_UP_STEPS = 10

Metrics = Mapping[str, object]

_WANTED = (
    "Wanted is verl's console output (lines with `step:12 - …timing_s/step:93.5 - …`) or the file "
    "of its `file` logger (JSON lines), as text in UTF-8, not compressed. State the figures of "
    "another log yourself, such as step_seconds=93.5."
)
_STEP = re.compile(r"(?<![\w/.@-])step:\s?(\d{1,12}) - ")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\x00")
_NUMBER = re.compile(r"\s*(?:[\w.]+\()?\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\d.,])")
_SETTING = re.compile(r"'(train_batch_size|max_prompt_length|max_response_length)': (\d{1,9})\b")
_OUT_OF_MEMORY = re.compile(
    r"\b(?:CUDA|HIP|NPU|XPU|MUSA) (?:[Ee]rror: )?out of memory\b"
    r"|\bCuda failure (?:\d+ )?'out of memory'"
    r"|\bNo available memory for the cache blocks"
    r"|\bKV cache is needed, which is larger than the available KV cache memory"
    r"|\blarger than the maximum number of tokens that can be stored in KV cache"
    r"|\bNot enough memory\. Please try to increase --mem-fraction-static"
)
_VERSION = r"v?(\d+(?:\.\d+)+\w*(?:\.\w+)*)"
"""Without local parts such as `+cu124`."""


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

    `out_of_memory` is the line that ended the run for lack of GPU memory, empty where none did.
    `settings` are some of its printed configuration, `releases` those that verl and the rollout
    engine printed, by verl's names; of both the last ones.
    """

    steps: list[Step] = field(default_factory=list)
    out_of_memory: str = ""
    settings: dict[str, int] = field(default_factory=dict)
    releases: dict[str, str] = field(default_factory=dict)

    @property
    def warm_up(self) -> int:
        """Steps that are excluded as warm-up: a tenth, at least one and at most ten."""
        steps = len(self.steps)
        tenth = min(MOST_WARM_UP_STEPS, steps // 10)
        return min(steps, max(1, tenth))

    @property
    def measured(self) -> list[Step]:
        """The steps after warm-up that neither validate nor save."""
        after_warm_up = self.steps[self.warm_up :]
        return [step for step in after_warm_up if not step.interrupted]

    @property
    def figures(self) -> dict[str, float]:
        """The figures that the log shows, by column.

        Memory in decimal GB is the most of any step, seconds and throughput are medians of
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
        """Take in a step; a number lower than the last one begins another run."""
        self.out_of_memory = ""
        last = self.steps[-1].number if self.steps else 0
        if 0 < step.number < last:
            self.steps = []
        self.steps.append(step)


def _median(values: Iterable[float]) -> float:
    """The median of the values that were logged; 0 if there is none."""
    logged = [value for value in values if value]
    if not logged:
        return 0
    return round(median(logged), 3)


def read_log(lines: Iterable[str], label: str) -> TrainingLog:
    """Read verl's console output or its JSON lines; `label` names them in messages.

    Raises `UnusableInput` where they have neither a step nor an out-of-memory.
    """
    log = TrainingLog()
    patterns = _release_patterns()
    for line in lines:
        metrics = _line_metrics(line)
        if metrics is None:
            _read_message(log, line, patterns)
            continue
        step = _step_of(metrics)
        if step:
            log.add(step)
    if not log.steps and not log.out_of_memory:
        raise UnusableInput(f"{label}: has no training step", _WANTED)
    return log


def _line_metrics(line: str) -> Metrics | None:
    """The metrics on a line of JSON or of the console; `None` where it has none."""
    if line.startswith("{"):
        return _json_metrics(line)
    if "step:" in line:
        return _console_metrics(line)
    return None


def _json_metrics(line: str) -> Metrics | None:
    """One JSON object a line, as verl's file logger writes them: metrics, or those in `data`."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    metrics = dict(entry)
    if isinstance(entry.get("data"), dict):
        metrics = entry["data"] | entry
    return metrics


def _console_metrics(line: str) -> Metrics | None:
    """What verl prints: `step:3 - timing_s/step:92.0 - …`, also behind Ray's prefix."""
    text = _ANSI.sub("", line)
    step = _STEP.search(text)
    if step is None:
        return None
    metrics = {}
    for pair in text[step.end() :].split(" - "):
        name, _, value = pair.rpartition(":")
        metrics[name.strip()] = value
    metrics["step"] = step[1]
    return metrics


def _step_of(metrics: Metrics) -> Step | None:
    """The training step that metrics are of; `None` for a validation or anything else."""
    seconds = _first(metrics, SECONDS)
    tokens = _first(metrics, THROUGHPUT)
    memory: float = 0
    for name, value in metrics.items():
        if name.endswith(MEMORY):
            memory = max(memory, _positive(value))
    if not (seconds or tokens or memory):
        return None
    interrupted = any(_positive(metrics.get(name)) for name in INTERRUPTIONS)
    return Step(_first(metrics, NUMBERS), seconds, tokens, memory, interrupted)


def _first(metrics: Metrics, names: tuple[str, ...]) -> float:
    """The first positive number that metrics have under one of these names, else 0."""
    for name in names:
        value = _positive(metrics.get(name))
        if value:
            return value
    return 0


def _positive(value: object) -> float:
    """A positive finite number, also as text and inside `np.float64(…)`; 0 for all else."""
    match = _NUMBER.match(str(value)[:80])
    if match is None:
        return 0
    found = float(match[1])
    return found if found < math.inf else 0


def _release_patterns() -> Mapping[str, re.Pattern[str]]:
    """How a log names the release of each program."""
    patterns = {}
    for name, engine in ENGINES.items():
        if engine.releases:
            patterns[name] = _release_pattern(engine.releases)
    patterns[FRAMEWORK] = _release_pattern([named_version(FRAMEWORK)])
    return patterns


def _release_pattern(before: Iterable[str]) -> re.Pattern[str]:
    texts = "|".join(before)
    return re.compile(rf"(?:{texts}){_VERSION}", re.IGNORECASE)


def _read_message(log: TrainingLog, line: str, patterns: Mapping[str, re.Pattern[str]]) -> None:
    """Take in a line without metrics: the end of a run, its settings, releases."""
    text = _ANSI.sub("", line)
    found = _OUT_OF_MEMORY.search(text)
    if found and not log.out_of_memory:
        log.out_of_memory = text[found.start() :].strip()
    for name, value in _SETTING.findall(text):
        log.settings[name] = int(value)
    beginning = text[:2000]
    for name, pattern in patterns.items():
        for release in pattern.findall(beginning):
            log.releases[name] = release
