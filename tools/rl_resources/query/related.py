"""What else a reader of one record may want: the same with less hardware, or otherwise.

Records come before reports. What ran out of memory, and what nobody has run, is not offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from rl_resources.query.configurations import Configuration
from rl_resources.query.find import size_of
from rl_resources.query.sentences import resource

MOST_OF_A_KIND = 3
_ALIKE = ("kind", "tag", "task", "model", "gpus", "device_label")
_AIMS = {"MIN": "on the minimum hardware", "RECOMMENDED": "for best throughput"}


class Related(NamedTuple):
    """Another configuration: `kind` says in which way it is related, `difference` in a sentence."""

    kind: str
    difference: str
    configuration: Configuration


def failures(rows: Iterable[Configuration], record: Configuration) -> list[Configuration]:
    """Runs of the same model and task that ran out of memory on no less hardware."""
    return [
        row
        for row in rows
        if (row.model, row.task) == (record.model, record.task)
        and row.state == "out-of-memory"
        and row.gpus >= record.gpus
        and row.memory_gb >= record.memory_gb
    ]


def related(rows: Iterable[Configuration], record: Configuration) -> list[Related]:
    """The nearest configurations of each kind, in the order of the kinds, none twice.

    `less-hardware`: same model and task with less memory in all; `other-tag`: same model and task
    under the other tag; `other-task`: same model, another task.
    """
    models = (row for row in rows if row.model == record.model and row.id != record.id)
    own = [row for row in models if row.state == "run"]
    same_task = [row for row in own if row.task == record.task]
    memory = record.total_memory_gb
    less = [row for row in same_task if 0 < row.total_memory_gb < memory]
    tagged = [row for row in same_task if row.tag not in {"", record.tag}]
    tasks = [row for row in own if row.task not in {"", record.task}]
    found = [
        *_listed("less-hardware", less, record),
        *_listed("other-tag", tagged, record, most=1),
        *_listed("other-task", tasks, record, ["task"]),
    ]
    first = {item.configuration.id: item for item in reversed(found)}
    return [item for item in found if first[item.configuration.id] is item]


def _listed(
    kind: str,
    rows: Iterable[Configuration],
    record: Configuration,
    alike: Sequence[str] = _ALIKE,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Related]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""
    first: dict[object, Configuration] = {}
    for row in sorted(rows, key=lambda row: (row.kind != "record", *size_of(row))):
        first.setdefault(attrgetter(*alike)(row), row)
    for row in [*first.values()][:most]:
        yield Related(kind, _difference(kind, row, record), row)


def _difference(kind: str, row: Configuration, record: Configuration) -> str:
    starts = {
        "less-hardware": "Ran ",
        "other-tag": f"{row.tag}, {_AIMS.get(row.tag)}, ",
        "other-task": f"{row.task} in place of {record.task}, ",
    }
    return f"{starts[kind]}{_memory(row, record)}{_lengths(row, record)}."


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
