"""Reports that differ only in their settings, so that one answer can stand for all of them.

A benchmark of twenty lengths and batches is twenty reports, of which a reader wants one answer and
the span of the rest. Reports are of one *series* where their source is the same document (the same
thread, or the same state of a repository) and all of `_SAME` is equal. A record stands for itself,
and so does a report that others contradict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rl_resources.query.configurations import Configuration

Item = TypeVar("Item")

_SAME = attrgetter(
    *("outcome", "tag", "size", "model_label", "task_label", "gpus", "gpus_maximum", "nodes"),
    *(
        "device_label",
        "memory_gb",
        "framework_label",
        "backends_label",
        "evidence_level",
        "evidence_kind",
    ),
    *("wording", "remarks", "weights", "precision", "memory_optimizations", "scenario"),
    "out_of_memory_on",
)


def in_series(rows: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The rows, with the id of the first of its series in each that is not alone in its own."""
    members: dict[tuple[object, ...], list[str]] = {}
    for row in rows:
        members.setdefault(_identity(row), []).append(row.id)
    alike = {id_: min(ids) for ids in members.values() if len(ids) > 1 for id_ in ids}
    return tuple(
        row._replace(series=series) if (series := alike.get(row.id)) else row for row in rows
    )


def _identity(row: Configuration) -> tuple[object, ...]:
    if row.kind == "record" or row.contradicts:
        return (row.id,)
    return (_document(row.source), *_SAME(row))


def _document(address: str) -> str:
    """The thread, or the state of the repository, that an address leads into."""
    whole = address.partition("#")[0]
    repository, blob, path = whole.partition("/blob/")
    return f"{repository}{blob}{path.partition('/')[0]}"


def folded(
    items: Iterable[Item], row: Callable[[Item], Configuration]
) -> tuple[tuple[Item, ...], ...]:
    """The items by the series of their rows, each series in the place of its first."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        series = row(item).series
        groups.setdefault((series, "" if series else row(item).id), []).append(item)
    return tuple(map(tuple, groups.values()))
