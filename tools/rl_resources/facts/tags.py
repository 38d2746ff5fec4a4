"""What decides a tag besides its own record: smaller and faster runs in the dataset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rl_resources.certainty import RUNS
from rl_resources.facts.broken import Record, records
from rl_resources.facts.models import device_memory
from rl_resources.snapshot import Snapshot

SPEEDS = ("tokens_per_second_per_gpu", "step_seconds")
NO_TAG = "\N{EN DASH}"
"""What a script's header has for an empty tag."""
COMPARED = (
    "model",
    "weights",
    "scenario",
    "gpus",
    "device",
    "statement",
    "max_prompt_length",
    "max_response_length",
)


class KnownRun(NamedTuple):
    """A record or report that ran, as tags compare it; 0 is unknown."""

    name: str
    alike: tuple[str, str, frozenset[str]]
    memory_gb: float
    context: float


def smaller_run(snapshot: Snapshot, record: Record) -> KnownRun | None:
    """The run of the same kind on the least memory; `None` if none is known on less than this."""
    own = _as_run(snapshot, record)
    model, weights, _ = own.alike
    if not model or not weights or not own.context:
        return None
    smallest: KnownRun | None = None
    least = own.memory_gb
    for run in known_runs(snapshot):
        if run.alike != own.alike or run.context < own.context:
            continue
        if 0 < run.memory_gb < least:
            smallest = run
            least = run.memory_gb
    return smallest


@lru_cache(maxsize=1)
def known_runs(snapshot: Snapshot) -> tuple[KnownRun, ...]:
    """All records and reports that ran; records first."""
    found: list[KnownRun] = []
    for record in _ran(snapshot):
        if record.text("statement") in RUNS:
            run = _as_run(snapshot, record)
            found.append(run)
    return tuple(found)


def _ran(snapshot: Snapshot) -> Iterator[Record]:
    """The records, then the reports whose outcome is a run."""
    yield from records(snapshot, "tuning", *COMPARED)
    for report in records(snapshot, "reports", *COMPARED, "outcome", "gpus_maximum"):
        if report.text("outcome") == "ran":
            yield report


def _as_run(snapshot: Snapshot, record: Record) -> KnownRun:
    gpus = record.number("gpus_maximum") or record.number("gpus")
    memory_gb = gpus * device_memory(snapshot, record)
    name = record.table.label(record.row)
    model = record.text("model")
    weights = record.text("weights")
    words = record.text("scenario").split("; ")
    scenario = frozenset(filter(None, words))
    alike = (model, weights, scenario)
    context = _context(record)
    return KnownRun(name, alike, memory_gb, context)


def _context(record: Record) -> float:
    """The tokens of the longest prompt and response together; 0 if not known."""
    prompt = record.number("max_prompt_length")
    response = record.number("max_response_length")
    if prompt and response:
        return prompt + response
    return record.number("max_total_length")


def faster_record(record: Record, others: list[Record]) -> Record | None:
    """The first of the others that is faster with the same model, weights, scenario and device."""
    if not record.text("weights"):
        return None
    for other in others:
        is_alike = _kind(other) == _kind(record)
        if is_alike and _is_faster(other, record):
            return other
    return None


def _kind(record: Record) -> list[str]:
    return list(map(record.text, ("model", "weights", "scenario", "device")))


def _is_faster(record: Record, other: Record) -> bool:
    """Whether a record is faster, by throughput if both have one, otherwise by step time."""
    throughput, step = SPEEDS
    if record.number(throughput) and other.number(throughput):
        return record.number(throughput) > other.number(throughput)
    return 0 < record.number(step) < other.number(step)


def tag_line(tag: str) -> str:
    """The line of a script's header for a tag or `NO_TAG`."""
    return f"# Tag:      {tag}"
