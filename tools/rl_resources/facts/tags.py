"""What the dataset knows that decides a tag: smaller runs and faster ones."""

from __future__ import annotations

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
    *("model", "weights", "scenario", "gpus", "device", "statement"),
    *("max_prompt_length", "max_response_length"),
)


class KnownRun(NamedTuple):
    """A record or report that ran, as tags compare it: 0 is what is not known."""

    name: str
    alike: tuple[str, str, frozenset[str]]
    memory_gb: float
    context: float


def smaller_run(snapshot: Snapshot, record: Record) -> KnownRun | None:
    """The run of the same kind on the least memory; `None` where none is known on less."""
    own = _as_run(snapshot, record)
    model, weights, _ = own.alike
    if not (model and weights and own.context):
        return None
    alike = [run for run in known_runs(snapshot) if run.alike == own.alike]
    found = [
        run for run in alike if run.context >= own.context and 0 < run.memory_gb < own.memory_gb
    ]
    return min(found, key=lambda run: run.memory_gb, default=None)


@lru_cache(maxsize=1)
def known_runs(snapshot: Snapshot) -> tuple[KnownRun, ...]:
    """All records and reports that ran; records first."""
    tuning = records(snapshot, "tuning", *COMPARED)
    reports = records(snapshot, "reports", *COMPARED, "outcome", "gpus_maximum")
    ran = [*tuning, *(report for report in reports if report.text("outcome") == "ran")]
    return tuple(_as_run(snapshot, record) for record in ran if record.text("statement") in RUNS)


def _as_run(snapshot: Snapshot, record: Record) -> KnownRun:
    gpus = record.number("gpus_maximum") or record.number("gpus")
    scenario = frozenset(filter(None, record.text("scenario").split("; ")))
    return KnownRun(
        record.table.label(record.row),
        (record.text("model"), record.text("weights"), scenario),
        gpus * device_memory(snapshot, record),
        _context(record),
    )


def _context(record: Record) -> float:
    """The tokens of the longest prompt and response together; 0 if not known."""
    prompt, response = record.number("max_prompt_length"), record.number("max_response_length")
    if prompt and response:
        return prompt + response
    return record.number("max_total_length")


def faster_record(record: Record, others: list[Record]) -> Record | None:
    """The first of the others that is faster with the same model, weights, scenario and device."""
    for other in others:
        same = ("model", "weights", "scenario", "device")
        alike = all(record.text(name) == other.text(name) for name in same)
        if alike and record.text("weights") and _is_faster(other, record):
            return other
    return None


def _is_faster(record: Record, other: Record) -> bool:
    """Whether a record is faster, by throughput if both have one, otherwise by step time."""
    throughput, own_step = SPEEDS
    if record.text(throughput) and other.text(throughput):
        return record.number(throughput) > other.number(throughput)
    if record.text(own_step) and other.text(own_step):
        return record.number(own_step) < other.number(own_step)
    return False


def tag_line(tag: str) -> str:
    """The line of a script's header for a tag or `NO_TAG`."""
    return f"# Tag:      {tag}"
