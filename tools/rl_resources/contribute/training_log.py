"""A training log of any size to figures: memory, time, throughput, releases, out of memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import StringIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from statistics import median
from typing import IO, Any, Literal, TextIO

from rl_resources.contribute.log_formats import Step, parser_for, plain, step_of
from rl_resources.errors import UnusableInput
from rl_resources.words import shown

MOST_WARM_UP_STEPS = 10
LONGEST_LINE = 1 << 20
LINES_WITH_RELEASES = 50_000
LONGEST_QUOTE = 300
DECIMALS = 3
_PACKED: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)
_WANTED = (
    "Wanted is verl's console output (lines with `step:12 - …timing_s/step:93.5 - …`), the file "
    "of its `file` logger (JSON lines), or a CSV export with columns such as `timing_s/step`, as "
    "text in UTF-8 or packed by gzip, bzip2 or xz. Figures that another log shows are stated with "
    "--set, as in --set step_seconds=93.5."
)

_BATCH = re.compile(r"'train_batch_size': (\d{1,9})\b")
_ACCELERATOR = re.compile(
    r"\b(?:CUDA|HIP|NPU|XPU|MUSA) out of memory\b"
    r"|\b(?:CUDA|HIP|NPU) [Ee]rror: out of memory"
    r"|\bCuda failure (?:\d+ )?'out of memory'"
    r"|\bNo available memory for the cache blocks"
    r"|\bKV cache is needed, which is larger than the available KV cache memory"
    r"|\blarger than the maximum number of tokens that can be stored in KV cache"
    r"|\bNot enough memory\. Please try to increase --mem-fraction-static"
)
_HOST = re.compile(
    r"\bkilled due to memory pressure \(OOM\)"
    r"|\bkilled due to the node running low on memory"
    r"|\bOut of memory: Kill(?:ed)? process"
)
_ENGINE = re.compile(
    r"(?:Initializing an? (?:V\d )?LLM engine \(v|vLLM API server version v?)([\w.]+)"
)
_LISTED = re.compile(
    r"^(?:\([^()]*\) ?)*\s*(vllm|sglang|verl|torch)\s*(?:==|:|\s\s)\s*(\d+(?:\.\d+)+[\w.]*)"
    r"(?:\+[\w.]+)?\s*$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<![\w./-])(vllm|sglang|verl|(?:py)?torch) version\s*[:=]?\s*v?(\d+(?:\.\d+)+[\w.]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The memory that a run lacked, and the line that says so."""

    memory: Literal["accelerator", "host"]
    line: str


@dataclass
class TrainingLog:
    """What a log says of the last run in it.

    A run that ended `out_of_memory` has no figures. `batch` is the `train_batch_size` of the
    printed configuration. `versions` has every release that each program printed. `broken` says
    why the file could not be read to its end.
    """

    steps: list[Step] = field(default_factory=list)
    earlier_runs: int = 0
    out_of_memory: OutOfMemory | None = None
    batch: int | None = None
    versions: dict[str, set[str]] = field(default_factory=dict)
    broken: str = ""

    @property
    def warm_up(self) -> int:
        """Steps that are excluded as warm-up: a tenth, at least one and at most ten."""
        return min(len(self.steps), max(1, min(MOST_WARM_UP_STEPS, len(self.steps) // 10)))

    @property
    def measured(self) -> list[Step]:
        """The steps after warm-up that neither validate nor save."""
        return [step for step in self.steps[self.warm_up :] if not step.interrupted]

    @property
    def peak_memory_gb(self) -> float | None:
        """The most GB of one GPU in any step: reserved where verl logs it, else allocated."""
        return self._figure(max, (step.memory for step in self.steps))

    @property
    def step_seconds(self) -> float | None:
        """The median seconds of a measured step."""
        return self._figure(median, (step.seconds for step in self.measured))

    @property
    def tokens_per_second_per_gpu(self) -> float | None:
        """The median throughput of a measured step."""
        return self._figure(median, (step.tokens for step in self.measured))

    def _figure(
        self, of: Callable[[list[float]], float], values: Iterable[float | None]
    ) -> float | None:
        found = [value for value in values if value is not None]
        return round(of(found), DECIMALS) if found and not self.out_of_memory else None

    def add(self, step: Step) -> None:
        """Take in a step; a number lower than the last one begins another run."""
        self.out_of_memory = None
        last = self.steps[-1].number if self.steps else None
        if step.number is not None and last is not None:
            if step.number == last:
                return
            if step.number < last:
                self.steps, self.earlier_runs = [], self.earlier_runs + 1
        self.steps.append(step)


def read_log(path: Path) -> TrainingLog:
    """Read verl's console output, its JSON lines, or a CSV export of a run's metrics.

    A file packed by gzip, bzip2 or xz is unpacked. Raises `UnusableInput` where the file cannot be
    read, or has neither a step nor an end for want of memory.
    """
    name = shown(str(path), 500)
    try:
        with path.open("rb") as file:
            beginning = file.peek(8)
            unpack = [by for magic, by in _PACKED.items() if beginning.startswith(magic)]
            text = TextIOWrapper(unpack[0](file) if unpack else file, "utf-8", "replace")
            return _read(text, path.name, name)
    except OSError as error:
        raise UnusableInput(f"{name}: cannot be read: {error.strerror}") from error


def read_excerpt(text: str, label: str) -> TrainingLog:
    """Read lines of a log that somebody pasted under the heading `label`. Raises `UnusableInput`
    where they have neither a step nor an end for want of memory.
    """
    return _read(StringIO(text, newline=None), "", label)


def _read(file: TextIO, file_name: str, label: str) -> TrainingLog:
    log = TrainingLog()
    lines = _lines(file, log)
    first = next(lines, "")
    parse = parser_for(first, file_name)
    for number, line in enumerate(chain([first], lines)):
        metrics = parse(line)
        if metrics is not None and (step := step_of(metrics)):
            log.add(step)
        elif metrics is None:
            _read_message(log, line, with_releases=number < LINES_WITH_RELEASES)
    if not log.steps and log.out_of_memory is None:
        broken = f", and breaks off: {shown(log.broken)}" if log.broken else ""
        raise UnusableInput(f"{label}: holds no training step{broken}", _WANTED)
    return log


def _lines(file: TextIO, log: TrainingLog) -> Iterator[str]:
    """The lines that are not empty, also those that end in CR; a very long one in pieces."""
    try:
        for line in iter(partial(file.readline, LONGEST_LINE), ""):
            if not line.isspace():
                yield line.rstrip("\n")
    except _BROKEN as error:
        log.broken = str(error) or type(error).__name__


def _read_message(log: TrainingLog, line: str, *, with_releases: bool) -> None:
    if "memory" in line or "KV cache" in line:
        log.out_of_memory = log.out_of_memory or _out_of_memory(plain(line))
    elif (batch := _BATCH.search(line)) is not None:
        log.batch = int(batch[1])
    if with_releases:
        for program, version in _releases(plain(line[:2000])):
            log.versions.setdefault(program, set()).add(version.rstrip("."))


def _out_of_memory(line: str) -> OutOfMemory | None:
    if (found := _ACCELERATOR.search(line)) is not None:
        return OutOfMemory("accelerator", line[found.start() :][:LONGEST_QUOTE])
    if (found := _HOST.search(line)) is not None:
        return OutOfMemory("host", line[: found.end()][-LONGEST_QUOTE:])
    return None


def _releases(line: str) -> Iterator[tuple[str, str]]:
    """The programs that a line names with their releases, without local parts such as `+cu124`."""
    for match in _ENGINE.finditer(line):
        yield "vllm", match[1]
    for match in (*_LISTED.finditer(line), *_NAMED.finditer(line)):
        yield match[1].lower().removeprefix("py"), match[2]
