"""One log, read from its beginning to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from rl_resources.contribute.training_log import console, tables
from rl_resources.contribute.training_log.console import (
    Batch,
    Event,
    OutOfMemory,
    Unreadable,
    Version,
)
from rl_resources.contribute.training_log.metrics import Step, Validation
from rl_resources.contribute.training_log.stream import (
    Damage,
    Progress,
    blocks,
    lines_with,
    pieces,
)
from rl_resources.contribute.training_log.tally import DECIMALS, Tally
from rl_resources.errors import UnusableInput
from rl_resources.words import shown

BYTES_WITH_VERSIONS = 8 << 20
MOST_VERSIONS = 8


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """What a log says of the last run in it.

    `step_seconds` and `tokens_per_second_per_gpu` are medians over the `measured` steps: all but
    warm-up and those that also validated or saved. `peak_memory_gb` is the maximum over all steps,
    because memory that is needed once is needed: what PyTorch reserved where verl tells it, else
    what it allocated. Where `summed`, seconds are the sum of a step's parts. A run that ended
    `out_of_memory` has no figures.

    `versions` are the releases that were printed, `unsure` those programs that printed several.
    `batch` is that of the printed configuration. `unreadable` counts rows of a table.
    """

    steps: int = 0
    warm_up: int = 0
    interrupted: int = 0
    measured: int = 0
    validations: int = 0
    earlier_runs: int = 0
    summed: bool = False
    peak_memory_gb: float | None = None
    step_seconds: float | None = None
    tokens_per_second_per_gpu: float | None = None
    out_of_memory: OutOfMemory | None = None
    batch: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()
    unreadable: int = 0
    damage: Damage = field(default_factory=Damage)


def read_log(path: Path, progress: Progress = lambda _done, _size: None) -> TrainingLog:
    """Read verl's console output, its JSON lines, or a CSV export of a run's metrics.

    `gzip`, `bzip2` and `xz` are unpacked on the way. Raises `UnusableInput` where the file cannot
    be read, or says neither a step nor an end for want of memory.
    """
    damage = Damage()
    return _read(path.name, shown(str(path), 500), blocks(path, progress, damage), damage)


def read_excerpt(text: str, label: str) -> TrainingLog:
    """Read lines of a log that somebody pasted under the heading `label`.

    Raises `UnusableInput` where they say neither a step nor an end for want of memory.
    """
    return _read("", label, iter([text.encode()]), Damage())


def _read(file_name: str, label: str, source: Iterator[bytes], damage: Damage) -> TrainingLog:
    reader = _Reader()
    for event in _events(file_name, pieces(source, damage)):
        reader.take(event)
    if not reader.tally.steps and reader.out_of_memory is None:
        raise UnusableInput(f"{label}: {_nothing(reader, damage)}", _WANTED)
    return reader.result(damage)


_WANTED = (
    "Wanted is verl's console output (lines with `step:12 - …timing_s/step:93.5 - …`), the file "
    "of its `file` logger (JSON lines), or a CSV export with columns such as `timing_s/step`. "
    "Figures that another log shows are stated with --set, as in --set step_seconds=93.5."
)


def _nothing(reader: _Reader, damage: Damage) -> str:
    reason = "holds no training step"
    if reader.validations:
        reason = f"holds validations ({reader.validations}), but no training step"
    if damage.broken_at:
        reason += f", and breaks off: {shown(damage.broken_at)}"
    return reason


def _events(file_name: str, source: Iterator[bytes]) -> Iterator[Event]:
    """The events of a log; its first line that is not blank tells of which kind it is."""
    first = next((piece for piece in source if piece.strip()), b"")
    line = next((line for line in first.split(b"\n", 64) if line.strip()), b"")
    whole = chain([first], source)
    if tables.json_object(line) is not None:
        return tables.json_events(_lines(whole))
    names = tables.header(line, file_name) if line else None
    if names is not None:
        rows = _lines(whole)
        next(rows)
        return tables.csv_events(names, rows)
    return _console_events(whole)


def _lines(source: Iterator[bytes]) -> Iterator[bytes]:
    return (line for piece in source for line in piece.split(b"\n") if line.strip())


def _console_events(source: Iterator[bytes]) -> Iterator[Event]:
    read = 0
    for piece in source:
        if read < BYTES_WITH_VERSIONS:
            for line in lines_with(piece, console.VERSION_MARKS):
                yield from console.versions(line)
        for line in lines_with(piece, console.MARKS):
            yield from console.events(line)
        read += len(piece)


@dataclass
class _Reader:
    """The state of reading; of several runs in one log the last counts."""

    tally: Tally = field(default_factory=Tally)
    validations: int = 0
    earlier_runs: int = 0
    unreadable: int = 0
    out_of_memory: OutOfMemory | None = None
    batches: set[int] = field(default_factory=set)
    versions: dict[str, dict[str, None]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        match event:
            case Unreadable():
                self.unreadable += 1
            case Step():
                self._step(event)
            case OutOfMemory():
                self.out_of_memory = self.out_of_memory or event
            case Validation():
                self.validations += 1
            case Batch():
                self.batches = {event.prompts}
            case Version() if len(self.versions.setdefault(event.program, {})) < MOST_VERSIONS:
                self.versions[event.program][event.version] = None

    def _step(self, step: Step) -> None:
        """A step after an end for want of memory shows that it was not the end."""
        self.out_of_memory = None
        if step.number is not None and step.number == self.tally.last:
            return
        if step.number is not None and step.number < self.tally.last:
            self.tally, self.earlier_runs = Tally(), self.earlier_runs + 1
        self.tally.add(step)

    def result(self, damage: Damage) -> TrainingLog:
        fits = self.out_of_memory is None
        seconds, tokens = self.tally.medians()
        memory = self.tally.memory
        known = {program: tuple(found) for program, found in self.versions.items()}
        return TrainingLog(
            steps=self.tally.steps,
            warm_up=self.tally.warm_up,
            interrupted=self.tally.interrupted,
            measured=self.tally.measured,
            validations=self.validations,
            earlier_runs=self.earlier_runs,
            summed=self.tally.summed,
            peak_memory_gb=round(memory, DECIMALS) if memory and fits else None,
            step_seconds=seconds if fits else None,
            tokens_per_second_per_gpu=tokens if fits else None,
            out_of_memory=self.out_of_memory,
            batch=next(iter(self.batches), None),
            versions={program: found[0] for program, found in known.items() if len(found) == 1},
            unsure=tuple(program for program, found in known.items() if len(found) > 1),
            unreadable=self.unreadable,
            damage=damage,
        )
