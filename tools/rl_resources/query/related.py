"""What else a reader of one record may want: the same with less, otherwise, or one size up.

Records come before reports. What ran out of memory, and what nobody has run, is not offered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rl_resources.query.configurations import Configuration
from rl_resources.query.find import Answer, answers
from rl_resources.query.sentences import resource
from rl_resources.query.understand import Query

MOST_OF_A_KIND = 3


class Related(NamedTuple):
    """Another configuration: `kind` says in which way it is related, `difference` in a sentence."""

    kind: str
    difference: str
    configuration: Configuration


class Neighborhood:
    """The configurations of a dataset, asked for those related to one record."""

    def __init__(self, rows: Iterable[Configuration]) -> None:
        self._failed: dict[tuple[str, str], list[Configuration]] = defaultdict(list)
        self._of_model: dict[str, list[Configuration]] = defaultdict(list)
        self._of_size: dict[int, list[Configuration]] = defaultdict(list)
        for row in rows:
            if row.outcome != "ran":
                self._failed[row.model, row.task].append(row)
            elif row.state == "run":
                self._of_model[row.model].append(row)
                self._of_size[row.position].append(row)

    def related(self, record: Configuration) -> list[Related]:
        """The nearest configurations of each kind, in the order of the kinds, none twice.

        `less-hardware`: same model and task with less memory in all; `other-tag`: same model and
        task under the other tag; `other-task`: same model, another task; `same-device`: another
        model of the size on no more of the same device; `next-size`: the next larger size that this
        hardware is known to run.
        """
        others = [row for row in self._of_model[record.model] if row.id != record.id]
        same_task = [row for row in others if row.task == record.task]
        found = [
            *_less_hardware(same_task, record),
            *_other_tag(same_task, record),
            *_other_task(others, record),
            *_same_device(self._of_size[record.position], record),
            *self._next_size(record),
        ]
        first = {item.configuration.id: item for item in reversed(found)}
        return [item for item in found if first[item.configuration.id] is item]

    def failures(self, record: Configuration) -> list[Configuration]:
        """Runs of the same model and task that ran out of memory on no less hardware."""
        return [
            row
            for row in self._failed[record.model, record.task]
            if row.gpus >= record.gpus and row.memory_gb >= record.memory_gb
        ]

    def _next_size(self, record: Configuration) -> Iterator[Related]:
        query = Query(
            gpus=record.gpus, device=record.device, vendor=record.vendor, memory_gb=record.memory_gb
        )
        larger = sorted(position for position in self._of_size if position > record.position)
        found: Iterable[Sequence[Answer]] = (answers(self._of_size[size], query) for size in larger)
        best = next(filter(None, found), ())
        for row, fit in sorted(best, key=lambda item: item.configuration.task != record.task)[:1]:
            where = "is tested on" if fit == "tested" else "should fit"
            what = f"{row.size} with {row.task_label} {where} your {resource(record)}."
            yield Related("next-size", what, row)


def _nearest(rows: Iterable[Configuration]) -> list[Configuration]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""
    ordered = sorted(
        rows,
        key=lambda row: (
            *(row.kind != "record", not row.memory_gb),
            *(row.total_memory_gb, row.gpus, row.id),
        ),
    )
    first: dict[tuple[object, ...], Configuration] = {}
    for row in ordered:
        alike = (row.kind, row.tag, row.task, row.model, row.gpus, row.device_label)
        first.setdefault(alike, row)
    return list(first.values())


def _less_hardware(rows: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    less = (row for row in rows if 0 < row.total_memory_gb < record.total_memory_gb)
    for row in _nearest(less)[:MOST_OF_A_KIND]:
        yield Related("less-hardware", f"Ran {_memory(row, record)}{_lengths(row, record)}.", row)


def _other_tag(rows: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    for row in _nearest(row for row in rows if row.tag not in {"", record.tag})[:1]:
        aim = "for best throughput" if row.tag == "RECOMMENDED" else "on the minimum hardware"
        what = f"{row.tag}, {aim}, {_memory(row, record)}{_lengths(row, record)}."
        yield Related("other-tag", what, row)


def _other_task(rows: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    tasks: dict[str, Configuration] = {}
    for row in _nearest(row for row in rows if row.task not in {"", record.task}):
        tasks.setdefault(row.task, row)
    for row in list(tasks.values())[:MOST_OF_A_KIND]:
        memory = _memory(row, record)
        what = f"{row.task} in place of {record.task}, {memory}{_lengths(row, record)}."
        yield Related("other-task", what, row)


def _same_device(rows: Iterable[Configuration], record: Configuration) -> Iterator[Related]:
    others = (
        row
        for row in rows
        if row.device == record.device
        and row.gpus <= record.gpus
        and row.model not in {"", record.model}
    )
    for row in _nearest(others)[:MOST_OF_A_KIND]:
        fewer = record.gpus - row.gpus
        where = f"{fewer} fewer of the same device" if fewer else "the same hardware"
        yield Related("same-device", f"Another {row.size} model on {where}.", row)


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
