"""Files of records that lie outside the dataset, of any size, held to a table of the dataset.

The rules are those of the dataset, and they look at no more than the rows that `bulk` suspects, so
many at a time. A file under another header, or that is no text, is told of as a file of the dataset
would be.
"""

from __future__ import annotations

import errno
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from heapq import merge
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from rl_resources.check import Rule, findings_of, subjects_of
from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import Excerpt, Snapshot, Table
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.package import Resource, TableSchema
from rl_resources.regular import open_regular
from rl_resources.schema import bulk
from rl_resources.schema.parts import (
    LONGEST_LINE_BYTES,
    IrregularError,
    TooManyError,
    has_endless_line,
    header_of,
)
from rl_resources.tabular import Defect, Row, Text, record
from rl_resources.words import nearest

PART_ROWS = 4_000
MOST_BYTES = 1 << 24
"""Of a file under another header."""

_OF_ROWS = frozenset({"header", "row-length", "line-break", "duplicate-key"})
_OF_TEXT = frozenset({"quoting", "merge-conflict", "byte-order-mark", "line-ending"})
_FAMILIES = frozenset({"files", "cells"})
Excerpts = Callable[[pl.Series], Excerpt]
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
        _hold_to_files(path)
        try:
            found = bulk.survey(path, table.schema, vocabulary_of(snapshot, table))
        except IrregularError:
            return _irregular(beside, resource, path, rules)
        parquet = bulk.is_parquet(path)
        excerpts = _parquet(path, table.schema) if parquet else _csv(path, found)
    except TooManyError as error:
        raise UnusableInput(
            f"{path}: {error}",
            f"Look at its first rows: are they records of {table.resource.name}?",
        ) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        words = getattr(error, "strerror", None) or error
        raise UnusableInput(f"{path}: cannot be read: {words}") from error
    wanted = [rule for rule in rules if rule.family == "cells" or rule.name in _OF_ROWS | _OF_TEXT]
    first = 1 if parquet else 2
    told = _in_parts(beside, resource, found, excerpts, first, wanted)
    return Judged(found.rows, _with_files(path, told) if path.is_dir() else told)


def _hold_to_files(path: Path) -> None:
    """Raise `UnusableInput` for a folder without records, `OSError` for what has no sure end.

    That is no ordinary file, or a line that would fill memory.
    """
    files = bulk.files_of(path)
    if not files:
        raise UnusableInput(f"{path}: holds no {bulk.PARQUET} file", "Name a folder that does.")
    for file in files:
        open_regular(file).close()
        if not bulk.is_parquet(file) and has_endless_line(file):
            raise OSError(errno.EFBIG, f"A line has more than {LONGEST_LINE_BYTES >> 20} MiB")


def _irregular(beside: Snapshot, resource: Resource, path: Path, rules: Sequence[Rule]) -> Judged:
    """Tell of a file as of one of the dataset; of a large one under another header, of its begin.

    What its cells mean is a guess until the header is mended.
    """
    wanted = [rule for rule in rules if rule.family in _FAMILIES or rule.name in _OF_ROWS]
    header = header_of(path)
    another = header is not None and header.cells != resource.schema.names
    with path.open("rb") as file:
        data = file.read(MOST_BYTES if another else -1) + file.readline()
        table = Table(resource, data, outside=True)
        told = _told(beside, table, wanted)
        rest = bool(file.peek(1))
        if rest and not any(item.rule == "header" for item in told):
            table = Table(resource, data + file.read(), outside=True)
            return Judged(len(table.rows), iter(_told(beside, table, wanted)))
    end = data.count(b"\n")
    note = f"; nothing after line {end} was looked at" if rest else ""
    noted = (
        item._replace(message=item.message + note) if item.rule == "header" else item
        for item in told
    )
    return Judged(len(table.rows), noted)


def _in_parts(
    beside: Snapshot,
    resource: Resource,
    found: bulk.Survey,
    excerpts: Excerpts,
    first: int,
    rules: Sequence[Rule],
) -> Iterator[Finding]:
    """What is wrong with the file as a whole and with the suspected rows, some at a time.

    A copy of a key is judged beside the row that it copies. `first` is the line of the first row.
    """

    def told(excerpt: Excerpt) -> list[Finding]:
        return _told(beside, Table(resource, b"", excerpt=excerpt, outside=True), rules)

    of_all = excerpts(pl.Series(dtype=pl.UInt32))
    of_file = told(replace(of_all, marked=found.marked, ends=found.ends))

    def of_rows() -> Iterator[Finding]:
        suspects = found.suspects
        for start in range(0, suspects.len(), PART_ROWS):
            part = suspects.slice(start, PART_ROWS)
            copied = found.copies.filter(pl.col("row").is_in(part.implode()))["first"]
            excerpt = excerpts(pl.concat([part, copied]).unique().sort())
            own = {first + on for row in part for on in range(row, row + found.odd.get(row, 1))}
            yield from (item for item in told(excerpt) if item.line in own and item not in of_file)

    return merge(of_file, of_rows(), key=lambda finding: finding.position)


def _with_files(folder: Path, told: Iterable[Finding]) -> Iterator[Finding]:
    """The same, which say of a row of a folder where it stands in which of its files."""
    files = bulk.files_of(folder)
    counts = (pl.scan_parquet(file).select(pl.len()).collect().item() for file in files)
    firsts = list(accumulate(counts, initial=1))
    for item in told:
        if item.rule == "header":
            yield item
            continue
        at = bisect(firsts, item.line) - 1
        where = f"row {item.line - firsts[at] + 1} of {files[at].relative_to(folder).as_posix()}"
        yield item._replace(message=f"{item.message} ({where})")


def _told(beside: Snapshot, own: Table, rules: Sequence[Rule]) -> list[Finding]:
    tables = {**beside.tables, own.resource.name: own}
    told = findings_of(rules, subjects_of(Snapshot(beside.package, tables, ())))
    return [item for item in told if item.path == own.path]


def _beside(snapshot: Snapshot, own: Table) -> Snapshot:
    """The tables that one refers to; no other has rows, and there is no script."""
    wanted = {key.resource for key in own.schema.foreign_keys}
    tables = {
        name: table
        if name in wanted
        else Table(table.resource, b"", excerpt=Excerpt(Text(None, ())))
        for name, table in snapshot.tables.items()
    }
    return Snapshot(snapshot.package, tables, ())


def _csv(path: Path, found: bulk.Survey) -> Excerpts:
    """From a file with the header of its table."""
    header = header_of(path)
    width = len(header.cells) if header else 0

    @cache
    def starts() -> npt.NDArray[np.int64]:
        with path.open("rb") as file:
            return np.fromiter(accumulate(map(len, file)), np.int64)

    def excerpt(rows: pl.Series) -> Excerpt:
        items: list[Row | Defect] = []
        lines: dict[int, str] = {}
        with path.open("rb") as file:
            for row in rows:
                file.seek(starts()[row])
                taken = (file.readline().decode("utf-8") for _ in range(found.odd.get(row, 1)))
                texts = [line.removesuffix("\n") for line in taken]
                items.append(record(texts, 0, width)[0].at(row + 2))
                lines.update(enumerate((text.removesuffix("\r") for text in texts), row + 2))
        read = tuple(item for item in items if isinstance(item, Row))
        defects = tuple(item for item in items if isinstance(item, Defect))
        return Excerpt(Text(header, read, defects), lines)

    return excerpt


def _parquet(path: Path, schema: TableSchema) -> Excerpts:
    """From Parquet, which has no lines: a place is the number of row and column."""
    lazy = bulk.scan(path, schema).fill_null("")
    header = tuple(lazy.collect_schema().names())
    places = [(1, column) for column in range(1, len(header) + 1)]

    def excerpt(rows: pl.Series) -> Excerpt:
        first, end = (rows[0], rows[-1] + 1) if rows.len() else (0, 0)
        some = lazy.slice(first, end - first).with_row_index("row", offset=first)
        wanted = some.filter(pl.col("row").is_in(rows.implode())).collect(engine="streaming")
        records = (
            Row(1, tuple(cells), tuple(places)).at(index + 1)
            for index, *cells in wanted.iter_rows()
        )
        return Excerpt(Text(Row(1, header, tuple(places)), tuple(records)))

    return excerpt
