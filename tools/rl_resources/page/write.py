"""Tuning records to the text of a CSV file in canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rl_resources import tabular
from rl_resources.dataset import Dataset
from rl_resources.package import Record, Resource

SortKey = tuple[tuple[int, float, str], ...]


def tuning_csv(records: Iterable[Record], dataset: Dataset) -> str:
    """Header and one line a record, in the columns and the row order of the tuning schema."""
    resource = dataset.package.resources["tuning"]
    paths = [path.split(".") for path in resource.schema.order_by]
    rows = sorted(records, key=lambda record: _sort_key(dataset, resource, record, paths))
    fields = resource.schema.fields
    lines = [[field.write(record[field.name]) for field in fields] for record in rows]
    return tabular.write([resource.schema.names, *lines])


def _sort_key(
    dataset: Dataset, resource: Resource, record: Record, paths: Sequence[Sequence[str]]
) -> SortKey:
    return tuple(_sort_value(dataset, resource, record, path) for path in paths)


def _sort_value(
    dataset: Dataset, resource: Resource, record: Record, path: Sequence[str]
) -> tuple[int, float, str]:
    """The value at a path along foreign keys: numbers, then text, then what leads nowhere."""
    name, *rest = path
    value = record[name]
    if not rest:
        if isinstance(value, int | float):
            return (0, float(value), "")
        return (1, 0.0, str(value or ""))
    key = resource.schema.foreign_key(name)
    target = dataset.by_key[key.resource].get(value) if key else None
    if key is None or target is None:
        return (2, 0.0, str(value or ""))
    return _sort_value(dataset, dataset.package.resources[key.resource], target, rest)
