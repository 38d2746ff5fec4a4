"""Runs compared: smaller and faster ones, which decide a tag, and the same run published twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isclose
from typing import TypeVar

from rl_resources.certainty import RUNS
from rl_resources.dataset import grouped
from rl_resources.facts import TableRow, records
from rl_resources.facts.models import devices_memory
from rl_resources.snapshot import Snapshot

Item = TypeVar("Item")

SPEEDS = ("tokens_per_second_per_gpu", "step_seconds")
NO_TAG = "\N{EN DASH}"
"""In place of a tag, in the header of a script and on pages."""
ALIKE = ("model", "weights", "scenario", "device")
"""Where two RECOMMENDED records agree in these columns, only the faster one keeps its tag."""
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
_TOLERANCES = {
    "step_seconds": 0.1,
    "tokens_per_second_per_gpu": 0.1,
    "max_prompt_length": 0,
    "max_response_length": 0,
}
"""How far the figures of one run may differ."""


Kind = tuple[str, str, frozenset[str]]
"""Model, weights and scenario: tags compare runs of one kind."""


def smaller_run(snapshot: Snapshot, record: TableRow) -> TableRow | None:
    """The run of the same kind on the least memory; `None` if none is known on less than this."""
    kind = _kind_of_run(record)
    model, weights, _ = kind
    context = _context(record)
    if not model or not weights or not context:
        return None
    smallest: TableRow | None = None
    least = devices_memory(snapshot, record)
    for run in _runs_by_kind(snapshot).get(kind, ()):
        memory = devices_memory(snapshot, run)
        if 0 < memory < least and _context(run) >= context:
            smallest = run
            least = memory
    return smallest


@lru_cache(maxsize=1)
def _runs_by_kind(snapshot: Snapshot) -> Mapping[Kind, Sequence[TableRow]]:
    """All records and reports that ran; records first."""
    return grouped(
        [run for run in _ran(snapshot) if run.text("statement") in RUNS], _kind_of_run
    )


def _ran(snapshot: Snapshot) -> Iterator[TableRow]:
    """The records, then the reports whose outcome is a run."""
    yield from records(snapshot, "tuning", *COMPARED)
    for report in records(snapshot, "reports", *COMPARED, "outcome", "gpus_maximum"):
        if report.text("outcome") == "ran":
            yield report


def _kind_of_run(record: TableRow) -> Kind:
    scenario = frozenset(filter(None, record.text("scenario").split("; ")))
    return record.text("model"), record.text("weights"), scenario


def _context(record: TableRow) -> float:
    """The tokens of the longest prompt and response together; 0 if not known."""
    prompt = record.number("max_prompt_length")
    response = record.number("max_response_length")
    if prompt and response:
        return prompt + response
    return record.number("max_total_length")


def faster_record(record: TableRow, others: list[TableRow]) -> TableRow | None:
    """The first of the others that is faster with the same model, weights, scenario and device."""
    if not record.text("weights"):
        return None
    for other in others:
        is_alike = _kind(other) == _kind(record)
        if is_alike and _is_faster(other, record):
            return other
    return None


def _kind(record: TableRow) -> list[str]:
    return list(map(record.text, ALIKE))


def _is_faster(record: TableRow, other: TableRow) -> bool:
    """Whether a record is faster, by throughput if both have one, otherwise by step time."""
    throughput, step = SPEEDS
    ours = record.number(throughput)
    theirs = other.number(throughput)
    if ours and theirs:
        return ours > theirs
    return 0 < record.number(step) < other.number(step)


def same_runs(
    records: Iterable[Item], reports: Iterable[Item], cell: Callable[[Item, str], str]
) -> Iterator[tuple[Item, Item]]:
    """Each report of a run that is a record as well, after that record; `cell` is a row's text.

    The same lines of a source are the same run if model, number of GPUs and speed agree, the speed
    within a tenth, as one is a mean, the other a median; nor do their lengths differ. Of several,
    it is one of the same task.
    """

    def lines_of(item: Item, column: str) -> tuple[str, ...]:
        return cell(item, column), cell(item, "model"), cell(item, "gpus")

    by_lines: defaultdict[tuple[str, ...], list[Item]] = defaultdict(list)
    for record in records:
        for column in ("source", "evidence"):
            by_lines[lines_of(record, column)].append(record)
    for report in reports:
        of_source = by_lines[lines_of(report, "source_url")]
        same = [record for record in of_source if _may_be_same(record, report, cell)]
        task = cell(report, "task")
        same.sort(key=lambda record: cell(record, "task") != task)
        for record in same[:1]:
            yield record, report


def _may_be_same(record: Item, report: Item, cell: Callable[[Item, str], str]) -> bool:
    """Whether speeds and lengths agree, as far as both state them."""
    for name, tolerance in _TOLERANCES.items():
        ours = float(cell(record, name) or 0)
        theirs = float(cell(report, name) or 0)
        if ours and theirs and not isclose(ours, theirs, rel_tol=tolerance):
            return False
    return True


def tag_line(tag: str) -> str:
    """The line of a script's header for a tag or `NO_TAG`."""
    return f"# Tag:      {tag}"
