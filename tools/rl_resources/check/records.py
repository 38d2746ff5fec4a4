"""Files of records that lie outside the dataset, of any size, held to a table of the dataset.

The rules are those of the dataset, and they look at no more than the rows that `bulk` suspects, so
many at a time. A file that is not what `bulk` can split is read whole, and told of as a file of the
dataset would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rl_resources.check import Rule, findings_of, subjects_of
from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.package import Resource, TableSchema
from rl_resources.schema import bulk
from rl_resources.tabular import Row, Text, read
from rl_resources.words import nearest

PART_ROWS = 4_000

_OF_ROWS = frozenset({"header", "row-length", "line-break", "duplicate-key"})
_FAMILIES = frozenset({"files", "cells"})
Excerpt = Callable[[pl.Series], Text]
"""Header and rows of a file, these given by index from 0, each with its place in the file."""


class Judged(NamedTuple):
    """How many records there are, and what is wrong with them: told while it is looked for."""

    records: int
    findings: Iterator[Finding]


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
    beside = _beside(snapshot, table)
    try:
        try:
            found = bulk.survey(path, table.schema, vocabulary_of(snapshot, table))
        except bulk.IrregularError:
            whole = Table(resource, path.read_bytes(), outside=True)
            wanted = [rule for rule in rules if rule.family in _FAMILIES or rule.name in _OF_ROWS]
            return Judged(len(whole.rows), iter(_told(beside, whole, wanted)))
        excerpt = (_parquet if bulk.is_parquet(path) else _csv)(path, table.schema)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}") from error
    wanted = [rule for rule in rules if rule.family == "cells" or rule.name in _OF_ROWS]
    return Judged(found.rows, _in_parts(beside, resource, found, excerpt, wanted))


def _in_parts(
    beside: Snapshot,
    resource: Resource,
    found: bulk.Survey,
    excerpt: Excerpt,
    rules: Sequence[Rule],
) -> Iterator[Finding]:
    """What is wrong with the header, then with the suspected rows, some at a time.

    A copy of a key is judged beside the row that it copies.
    """
    header = Table(resource, b"", excerpt=excerpt(pl.Series(dtype=pl.UInt32)), outside=True)
    of_header = _told(beside, header, rules)
    yield from of_header
    suspects = found.suspects
    for start in range(0, suspects.len(), PART_ROWS):
        part = suspects.slice(start, PART_ROWS)
        copied = found.copies.filter(pl.col("row").is_in(part.implode()))["first"]
        rows = pl.concat([part, copied]).unique().sort()
        text = excerpt(rows)
        asked = rows.is_in(part.implode())
        lines = {row.line for row, own in zip(text.rows, asked, strict=True) if own}
        told = _told(beside, Table(resource, b"", excerpt=text, outside=True), rules)
        yield from (item for item in told if item.line in lines and item not in of_header)


def _told(beside: Snapshot, own: Table, rules: Sequence[Rule]) -> list[Finding]:
    tables = {**beside.tables, own.resource.name: own}
    told = findings_of(rules, subjects_of(Snapshot(beside.package, tables, ())))
    return [item for item in told if item.path == own.path]


def _beside(snapshot: Snapshot, own: Table) -> Snapshot:
    """The tables that one refers to; no other has rows, and there is no script."""
    wanted = {key.resource for key in own.schema.foreign_keys}
    tables = {
        name: table if name in wanted else Table(table.resource, b"", excerpt=Text(None, ()))
        for name, table in snapshot.tables.items()
    }
    return Snapshot(snapshot.package, tables, ())


def _csv(path: Path, _: TableSchema) -> Excerpt:
    """From a file in which each line is a record."""
    with path.open("rb") as file:
        ends = np.fromiter(accumulate(map(len, file)), np.int64)

    def excerpt(rows: pl.Series) -> Text:
        with path.open("rb") as file:
            lines = [file.readline()]
            for start in ends[rows.to_numpy()]:
                file.seek(start)
                lines.append(file.readline())
        text = read(b"".join(lines).decode("utf-8"))
        moved = (_moved(row, index + 2) for row, index in zip(text.rows, rows, strict=True))
        return Text(text.header, tuple(moved))

    return excerpt


def _moved(row: Row, line: int) -> Row:
    return Row(line, row.cells, tuple((line, column) for _, column in row.starts))


def _parquet(path: Path, schema: TableSchema) -> Excerpt:
    """From Parquet, which has no lines: a place is the number of row and column."""
    lazy = bulk.scan(path, schema).fill_null("")
    header = tuple(lazy.collect_schema().names())
    places = [(1, column) for column in range(1, len(header) + 1)]

    def excerpt(rows: pl.Series) -> Text:
        first, end = (rows[0], rows[-1] + 1) if rows.len() else (0, 0)
        some = lazy.slice(first, end - first).with_row_index("row", offset=first)
        wanted = some.filter(pl.col("row").is_in(rows.implode())).collect(engine="streaming")
        return Text(
            Row(1, header, tuple(places)),
            tuple(
                Row(index + 1, tuple(cells), tuple((index + 1, column) for _, column in places))
                for index, *cells in wanted.iter_rows()
            ),
        )

    return excerpt
