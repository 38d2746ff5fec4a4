"""Files of records that lie outside the dataset, of any size, held to a table of the dataset.

The rules are those of the dataset, and they look at no more than the rows that `bulk` suspects. A
file that is not what `bulk` can split is read whole, and told of as a file of the dataset would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rl_resources.check import Rule, findings_of, subjects_of
from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.package import TableSchema
from rl_resources.schema import bulk
from rl_resources.tabular import Row, Text, read
from rl_resources.words import nearest

_OF_ROWS = frozenset({"header", "row-length", "line-break", "duplicate-key"})
_FAMILIES = frozenset({"files", "cells"})


class Judged(NamedTuple):
    """How many records were looked at, and what is wrong with them."""

    records: int
    findings: list[Finding]


def table_of(snapshot: Snapshot, path: Path, resource: str) -> Table:
    """The table that a file is held to: the one of that name, or else of the file's own name.

    Raises `UnusableInput` where there is none.
    """
    name = resource or path.stem
    if name not in snapshot.tables:
        raise UnusableInput(
            f"{path}: {name!r} is no table of the dataset",
            f"Name one with --resource. {nearest(name, snapshot.tables).sentence()}".strip(),
        )
    return snapshot.tables[name]


def judge_records(snapshot: Snapshot, table: Table, path: Path, rules: Sequence[Rule]) -> Judged:
    """Hold a file to what the rules say of single records and of keys that stand twice.

    Raises `UnusableInput` where the file cannot be read.
    """
    resource = replace(table.resource, path=path.as_posix())
    try:
        found = bulk.survey(path, table.schema, vocabulary_of(snapshot, table))
        text = (_parquet if bulk.is_parquet(path) else _csv)(path, table.schema, found.suspects)
        own = Table(resource, b"", excerpt=text)
        records = found.rows
        rules = [rule for rule in rules if rule.family == "cells" or rule.name in _OF_ROWS]
    except bulk.IrregularError:
        own = Table(resource, path.read_bytes())
        records = len(own.rows)
        rules = [rule for rule in rules if rule.family in _FAMILIES or rule.name in _OF_ROWS]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}") from error
    told = findings_of(rules, subjects_of(_beside(snapshot, own)))
    return Judged(records, [item for item in told if item.path == own.path])


def _beside(snapshot: Snapshot, own: Table) -> Snapshot:
    """The table with those that it refers to; no other has rows, and there is no script."""
    wanted = {key.resource for key in own.schema.foreign_keys}
    tables = {
        name: table if name in wanted else Table(table.resource, b"", excerpt=Text(None, ()))
        for name, table in snapshot.tables.items()
    }
    return Snapshot(snapshot.package, {**tables, own.resource.name: own}, ())


def _csv(path: Path, schema: TableSchema, suspects: pl.Series) -> Text:
    """The header and the suspected rows, each on a line of its own, at their places."""
    wanted = set(suspects)
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = [next(file), *(line for row, line in enumerate(file) if row in wanted)]
    text = read("".join(lines))
    rows = zip(text.rows, suspects, strict=True)
    return Text(text.header, tuple(_moved(row, index + 2) for row, index in rows))


def _moved(row: Row, line: int) -> Row:
    return Row(line, row.cells, tuple((line, column) for _, column in row.starts))


def _parquet(path: Path, schema: TableSchema, suspects: pl.Series) -> Text:
    """The suspected rows; Parquet has no lines, so a place is the number of row and column."""
    lazy = bulk.scan(path, schema)
    header = tuple(lazy.collect_schema().names())
    places = [(1, column) for column in range(1, len(header) + 1)]
    indexed = (
        lazy.fill_null("").with_row_index("row").filter(pl.col("row").is_in(suspects.implode()))
    )
    return Text(
        Row(1, header, tuple(places)),
        tuple(
            Row(index + 1, tuple(cells), tuple((index + 1, column) for _, column in places))
            for index, *cells in indexed.collect(engine="streaming").iter_rows()
        ),
    )
