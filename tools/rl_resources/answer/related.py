"""What else a reader of one record may want: the same with less, otherwise, or one size up.

A pure function on the configurations that `find` asks too; records come before reports. What ran
out of memory, and what nobody has run, is no way on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rl_resources.answer.configurations import ESTIMATED, UNTESTED, Configuration
from rl_resources.answer.find import Answer, find
from rl_resources.answer.question import Question
from rl_resources.answer.sentences import resource

MOST_OF_A_KIND = 3


@dataclass(frozen=True, slots=True)
class Related:
    """Another configuration: `kind` says in which way it is related, `difference` in a sentence."""

    kind: str
    difference: str
    configuration: Configuration


def related(configurations: Sequence[Configuration], record: Configuration) -> list[Related]:
    """The nearest configurations of each kind, in the order of the kinds.

    `less-hardware`: same model and task with less memory in all; `other-tag`: same model and task
    under the other tag; `other-task`: same model, another task; `same-device`: another model of
    the size on no more of the same device; `next-size`: the next larger size that this hardware is
    known to run. Each configuration is told once.
    """
    others = [row for row in configurations if row.id != record.id and _ran(row)]
    found = [
        *_less_hardware(others, record),
        *_other_tag(others, record),
        *_other_task(others, record),
        *_same_device(others, record),
        *_next_size(others, record),
    ]
    first = {item.configuration.id: item for item in reversed(found)}
    return [item for item in found if first[item.configuration.id] is item]


def failures(configurations: Iterable[Configuration], record: Configuration) -> list[Configuration]:
    """Runs of the same model and task that ran out of memory on no less hardware."""
    return [
        row
        for row in configurations
        if row.outcome != "ran"
        and _same(row, record)
        and row.gpus >= record.gpus
        and row.memory_gb >= record.memory_gb
    ]


def _ran(row: Configuration) -> bool:
    return row.outcome == "ran" and row.trust not in {UNTESTED, ESTIMATED}


def _same(row: Configuration, record: Configuration) -> bool:
    return row.model == record.model and row.task == record.task


def _nearest(rows: Iterable[Configuration]) -> list[Configuration]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""
    ordered = sorted(
        rows,
        key=lambda row: (
            row.kind != "record",
            not row.memory_gb,
            row.total_memory_gb,
            row.gpus,
            row.id,
        ),
    )
    first: dict[tuple[object, ...], Configuration] = {}
    for row in ordered:
        alike = (row.kind, row.tag, row.task, row.model, row.gpus, row.device_shown)
        first.setdefault(alike, row)
    return list(first.values())


def _less_hardware(others: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    less = (
        row
        for row in others
        if _same(row, record) and 0 < row.total_memory_gb < record.total_memory_gb
    )
    for row in _nearest(less)[:MOST_OF_A_KIND]:
        yield Related("less-hardware", f"Ran {_memory(row, record)}{_lengths(row, record)}.", row)


def _other_tag(others: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    tagged = (row for row in others if _same(row, record) and row.tag not in {"", record.tag})
    for row in _nearest(tagged)[:1]:
        aim = "for best throughput" if row.tag == "RECOMMENDED" else "on the least hardware"
        what = f"{row.tag}, {aim}, {_memory(row, record)}"
        yield Related("other-tag", f"{what}{_lengths(row, record)}.", row)


def _other_task(others: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    tasks: dict[str, Configuration] = {}
    same_model = (row for row in others if row.model == record.model and row.task != record.task)
    for row in _nearest(same_model):
        if row.task:
            tasks.setdefault(row.task, row)
    for row in list(tasks.values())[:MOST_OF_A_KIND]:
        instead = f"{row.task} in place of {record.task}, {_memory(row, record)}"
        yield Related("other-task", f"{instead}{_lengths(row, record)}.", row)


def _same_device(others: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    beside = (
        row
        for row in others
        if row.size == record.size
        and row.device == record.device
        and row.gpus <= record.gpus
        and row.model not in {"", record.model}
    )
    for row in _nearest(beside)[:MOST_OF_A_KIND]:
        yield Related("same-device", f"Another {row.size} model on {_count(row, record)}.", row)


def _count(row: Configuration, record: Configuration) -> str:
    if row.gpus == record.gpus:
        return "the same hardware"
    return f"{record.gpus - row.gpus} fewer of the same device"


def _next_size(others: Sequence[Configuration], record: Configuration) -> Iterator[Related]:
    larger = [row for row in others if row.position > record.position]
    asked = Question(
        gpus=record.gpus, device=record.device, vendor=record.vendor, memory_gb=record.memory_gb
    )
    answers = find(larger, asked).answers
    nearest = min((item.configuration.position for item in answers), default=0)
    best = [item for item in answers if item.configuration.position == nearest]
    for item in sorted(best, key=lambda item: item.configuration.task != record.task)[:1]:
        yield Related("next-size", _next(item, record), item.configuration)


def _next(item: Answer, record: Configuration) -> str:
    row = item.configuration
    where = "is tested on" if item.standing == "tested" else "should fit"
    return f"{row.size} with {row.task_shown} {where} your {resource(record)}."


def _memory(row: Configuration, record: Configuration) -> str:
    if not row.memory_gb or not record.memory_gb:
        return f"on {resource(row)}"
    more = row.total_memory_gb - record.total_memory_gb
    if not more:
        return "on as much memory"
    return f"on {abs(more):g} GB {'more' if more > 0 else 'less'} in all"


def _lengths(row: Configuration, record: Configuration) -> str:
    """How the context differs, where both are known."""
    if not row.length or not record.length or row.length == record.length:
        return ""
    word = "shorter" if row.length < record.length else "longer"
    return f", with {word} sequences ({row.length} tokens, not {record.length})"
