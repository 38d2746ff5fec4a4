"""Tuning records to the text of a CSV file in canonical form."""

from __future__ import annotations

from collections.abc import Iterable

from rl_resources import tabular
from rl_resources.dataset import Dataset
from rl_resources.order import Cells, sort_key
from rl_resources.package import Record, Resource


def tuning_csv(records: Iterable[Record], dataset: Dataset) -> str:
    """Header and one line a record, in the columns and the row order of the tuning schema."""
    package = dataset.package
    schema = package.resources["tuning"].schema

    def find(resource: str, key: str) -> Cells | None:
        target = dataset.by_key[resource].get(key)
        return _cells(package.resources[resource], target) if target else None

    rows = [_cells(package.resources["tuning"], record) for record in records]
    rows.sort(key=lambda row: sort_key(package, schema, row, find))
    return tabular.write([schema.names, *(map(row, schema.names) for row in rows)])


def _cells(resource: Resource, record: Record) -> Cells:
    return lambda name: resource.schema.field(name).write(record[name])
