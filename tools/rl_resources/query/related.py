"""What else a reader of one record may want: the same with less, otherwise, or one size up.

A pure function on the configurations that `find` asks too; records come before reports. What ran
out of memory, and what nobody has run, is no way on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from rl_resources.query.configurations import RUNS, Configuration
from rl_resources.query.find import Answer, answers
from rl_resources.query.question import Question
from rl_resources.query.sentences import resource

MOST_OF_A_KIND = 3


@dataclass(frozen=True, slots=True)
class Related:
    """Another configuration: `kind` says in which way it is related, `difference` in a sentence."""

    kind: str
    difference: str
    configuration: Configuration


class Neighbourhood:
    """Configurations by what makes them alike, so that one is not held to all others."""

    def __init__(self, configurations: Iterable[Configuration]) -> None:
        rows = list(configurations)
        ran = [row for row in rows if _ran(row)]
        self._failed = _grouped((row for row in rows if row.outcome != "ran"), _by_model)
        self._of_model = _grouped(ran, _by_model)
        self._beside = _grouped(ran, _by_size_and_device)
        self._sizes = sorted(_grouped(ran, attrgetter("position")).items())
        self._larger: dict[tuple[int, Question], Sequence[Answer]] = {}

    def related(self, record: Configuration) -> list[Related]:
        """The nearest configurations of each kind, in the order of the kinds.

        `less-hardware`: same model and task with less memory in all; `other-tag`: same model and
        task under the other tag; `other-task`: same model, another task; `same-device`: another
        model of the size on no more of the same device; `next-size`: the next larger size that this
        hardware is known to run. Each configuration is told once.
        """
        of_model = [row for row in self._of_model.get(_by_model(record), ()) if row.id != record.id]
        found = [
            *_less_hardware(of_model, record),
            *_other_tag(of_model, record),
            *_other_task(of_model, record),
            *_same_device(self._beside.get(_by_size_and_device(record), ()), record),
            *self._next_size(record),
        ]
        first = {item.configuration.id: item for item in reversed(found)}
        return [item for item in found if first[item.configuration.id] is item]

    def failures(self, record: Configuration) -> list[Configuration]:
        """Runs of the same model and task that ran out of memory on no less hardware."""
        return [
            row
            for row in self._failed.get(_by_model(record), ())
            if _same(row, record) and row.gpus >= record.gpus and row.memory_gb >= record.memory_gb
        ]

    def _next_size(self, record: Configuration) -> Iterator[Related]:
        asked = Question(
            gpus=record.gpus, device=record.device, vendor=record.vendor, memory_gb=record.memory_gb
        )
        best = self._best_larger(record.position, asked)
        for item in sorted(best, key=lambda item: item.configuration.task != record.task)[:1]:
            yield Related("next-size", _next(item, record), item.configuration)

    def _best_larger(self, position: int, asked: Question) -> Sequence[Answer]:
        """Answers of the smallest size above `position` with any; many records ask alike."""
        if (position, asked) not in self._larger:
            found = (answers(rows, asked) for place, rows in self._sizes if place > position)
            self._larger[position, asked] = next(filter(None, found), ())
        return self._larger[position, asked]


def _by_model(row: Configuration) -> Hashable:
    return row.model


def _by_size_and_device(row: Configuration) -> Hashable:
    return row.size, row.device


def _grouped(
    rows: Iterable[Configuration], key: Callable[[Configuration], Any]
) -> dict[Any, list[Configuration]]:
    groups: dict[Any, list[Configuration]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _ran(row: Configuration) -> bool:
    return row.outcome == "ran" and row.statement in RUNS


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
        alike = (row.kind, row.tag, row.task, row.model, row.gpus, row.device_label)
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


def _next(item: Answer, record: Configuration) -> str:
    row = item.configuration
    where = "is tested on" if item.fit == "tested" else "should fit"
    return f"{row.size} with {row.task_label} {where} your {resource(record)}."


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
