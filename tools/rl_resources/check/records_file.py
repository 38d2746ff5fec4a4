"""Files of records outside the dataset, of any size: `check FILE --resource`.

The rules are those of the dataset. A small file is read as one of its tables; of a larger one
the rules see only the records that `bulk` found to need a look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeVar

import polars as pl

from rl_resources.check import findings_of, targets_of
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts.broken import vocabulary_of
from rl_resources.rule import Rule
from rl_resources.schema import bulk
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import Defect, Row, Text, records, wrong_end

SMALL_BYTES = 1 << 22
"""A file up to this size is read as a table of the dataset."""
ROWS_AT_ONCE = 40_000
Item = TypeVar("Item")


class RecordsFile:
    """One file of records and the rules to apply: those on single records and duplicate keys.

    `records` is their number once all findings were read. Raises `UnusableInput` where the file
    cannot be read.
    """

    def __init__(self, snapshot: Snapshot, table: Table, path: Path, rules: Sequence[Rule]) -> None:
        if not path.is_file():
            raise UnusableInput(f"{path}: cannot be read: no such file, or no ordinary one")
        self.path = path
        self.records = 0
        self.rules = [rule for rule in rules if rule.family in {"files", "cells"}]
        self.of_keys = [rule for rule in rules if rule.name == "duplicate-key"]
        self.resource = replace(table.resource, path=path.as_posix())
        self.vocabulary = vocabulary_of(snapshot, table)
        wanted = {key.resource for key in table.schema.foreign_keys}
        self.snapshot = _with_tables(snapshot, wanted)

    def findings(self) -> Iterator[Finding]:
        """All findings, in an order of their own. Raises `UnusableInput`."""
        try:
            if self.path.stat().st_size > SMALL_BYTES:
                yield from self._of_blocks()
            else:
                yield from self._of_table()
        except (OSError, pl.exceptions.PolarsError) as error:
            words = getattr(error, "strerror", None) or error
            raise UnusableInput(f"{self.path}: cannot be read: {words}") from error

    def _of_table(self) -> Iterator[Finding]:
        """The findings as of a table of the dataset; nothing is read if the file is no text."""
        data = self.path.read_bytes()
        table = Table(self.resource, data, outside=True)
        self.records = len(table.rows)
        yield from self._found(table, [*self.rules, *self.of_keys])

    def _whole(self) -> Table:
        """The file without its records."""
        with self.path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            end = wrong_end(data)
            header = data.readline()
        return Table(self.resource, header, outside=True, end=end)

    def _of_blocks(self) -> Iterator[Finding]:
        """The findings in the file as a whole; under the right header also in its records by line,
        and duplicate keys.
        """
        whole = self._whole()
        yield from self._found(whole, self.rules)
        header = whole.text.header
        schema = self.resource.schema
        if header is None or header.cells != schema.names:
            return
        keys: list[pl.DataFrame] = []
        try:
            for block in bulk.blocks(self.path, schema, self.vocabulary):
                self.records += block.keys.height
                keys.append(block.keys)
                for items in _batches(block.items):
                    yield from self._of_items(header, items, self.rules)
        except UnicodeError:
            yield from self._of_table()
            return
        if keys and self.of_keys:
            every = pl.concat(keys)
            for copies in _batches(bulk.duplicates(every)):
                yield from self._of_copies(header, copies)

    def _of_copies(self, header: Row, copies: Sequence[tuple[int, int]]) -> Iterator[Finding]:
        """The copies of keys, each reported with the row that it copies."""
        own = {copy for copy, _ in copies}
        rows = self._rows(own.union(first for _, first in copies))
        for finding in self._of_items(header, rows, self.of_keys):
            if finding.line in own:
                yield finding

    def _rows(self, wanted: set[int]) -> list[Row | Defect]:
        """The records in these lines."""
        lines: list[tuple[int, str]] = []
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number in wanted:
                    text = line.decode().rstrip("\n")
                    lines.append((number, text))
        columns = len(self.resource.schema.names)
        return list(records(lines, columns))

    def _of_items(
        self, header: Row, items: Sequence[Row | Defect], rules: Sequence[Rule]
    ) -> list[Finding]:
        """The findings in some records of the file under its header."""
        rows = tuple(item for item in items if isinstance(item, Row))
        defects = tuple(item for item in items if isinstance(item, Defect))
        some = Text(header, rows, defects)
        own = Table(self.resource, b"", outside=True, some=some)
        return self._found(own, rules)

    def _found(self, own: Table, rules: Sequence[Rule]) -> list[Finding]:
        tables = {**self.snapshot.tables, own.resource.name: own}
        snapshot = replace(self.snapshot, tables=tables)
        found = findings_of(rules, targets_of(snapshot))
        return [finding for finding in found if finding.path == own.path]


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in batches of the size that rules look at."""
    for start in range(0, len(items), ROWS_AT_ONCE):
        yield items[start : start + ROWS_AT_ONCE]


def _with_tables(snapshot: Snapshot, wanted: Collection[str]) -> Snapshot:
    """The snapshot without scripts, and with rows only in the tables that are wanted."""
    tables: dict[str, Table] = {}
    for name, table in snapshot.tables.items():
        if name in wanted:
            tables[name] = table
        else:
            tables[name] = Table(table.resource, b"")
    return Snapshot(snapshot.package, tables, ())
