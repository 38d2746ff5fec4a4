"""Files of records outside the dataset, of any size: `check FILE --resource`.

The rules are those of the dataset. A small file is read as one of its tables; of a larger one
the rules see only the records that `bulk` found to need a look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

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


class RecordsFile:
    """One file of records and the rules to apply: those on single records and duplicate keys.

    `records` is their number once all findings were read. Raises `UnusableInput` where the file
    cannot be read.
    """

    def __init__(self, snapshot: Snapshot, table: Table, path: Path, rules: Sequence[Rule]) -> None:
        if not path.is_file():
            raise UnusableInput(f"{path}: cannot be read: no such file, or no ordinary one")
        self.path, self.records = path, 0
        self.rules = [rule for rule in rules if rule.family in {"files", "cells"}]
        self.of_keys = [rule for rule in rules if rule.name == "duplicate-key"]
        self.resource = replace(table.resource, path=path.as_posix())
        self.vocabulary = vocabulary_of(snapshot, table)
        wanted = {key.resource for key in table.schema.foreign_keys}
        tables = {
            name: other if name in wanted else Table(other.resource, b"")
            for name, other in snapshot.tables.items()
        }
        self.snapshot = Snapshot(snapshot.package, tables, ())

    def findings(self) -> Iterator[Finding]:
        """All findings, in an order of their own. Raises `UnusableInput`."""
        try:
            large = self.path.stat().st_size > SMALL_BYTES
            yield from self._of_blocks() if large else self._of_table()
        except (OSError, pl.exceptions.PolarsError) as error:
            words = getattr(error, "strerror", None) or error
            raise UnusableInput(f"{self.path}: cannot be read: {words}") from error

    def _of_table(self) -> Iterator[Finding]:
        """As of a table of the dataset, of which nothing is read where it is no text."""
        table = Table(self.resource, self.path.read_bytes(), outside=True)
        self.records = len(table.rows)
        yield from self._found(table, [*self.rules, *self.of_keys])

    def _whole(self) -> Table:
        """The file without its records."""
        with self.path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            first = data[: data.find(b"\n") + 1 or None]
            return Table(self.resource, first, outside=True, end=wrong_end(data))

    def _of_blocks(self) -> Iterator[Finding]:
        """The findings in the file as a whole; under the right header also in its records by line,
        and duplicate keys.
        """
        whole = self._whole()
        yield from self._found(whole, self.rules)
        header = whole.text.header
        if header is None or header.cells != self.resource.schema.names:
            return
        keys = []
        try:
            for block in bulk.blocks(self.path, self.resource.schema, self.vocabulary):
                self.records += block.keys.height
                keys.append(block.keys)
                for start in range(0, len(block.items), ROWS_AT_ONCE):
                    items = block.items[start : start + ROWS_AT_ONCE]
                    yield from self._of_items(header, items, self.rules)
        except UnicodeError:
            yield from self._of_table()
            return
        copies = bulk.duplicates(pl.concat(keys)) if keys and self.of_keys else []
        for start in range(0, len(copies), ROWS_AT_ONCE):
            yield from self._of_copies(header, copies[start : start + ROWS_AT_ONCE])

    def _of_copies(self, header: Row, copies: Sequence[tuple[int, int]]) -> Iterator[Finding]:
        """The copies of keys, each reported with the row that it copies."""
        rows = self._rows({line for pair in copies for line in pair})
        own = {copy for copy, _ in copies}
        found = self._of_items(header, rows, self.of_keys)
        yield from (item for item in found if item.line in own)

    def _rows(self, wanted: set[int]) -> list[Row | Defect]:
        """The records in these lines."""
        width = len(self.resource.schema.names)
        with self.path.open("rb") as file:
            texts = {at: line.decode() for at, line in enumerate(file, 1) if at in wanted}
        return [*records(((at, text.rstrip("\n")) for at, text in texts.items()), width)]

    def _of_items(
        self, header: Row, items: Sequence[Row | Defect], rules: Sequence[Rule]
    ) -> list[Finding]:
        """The findings in some records of the file under its header."""
        rows = tuple(item for item in items if isinstance(item, Row))
        defects = tuple(item for item in items if isinstance(item, Defect))
        some = Text(header, rows, defects)
        return self._found(Table(self.resource, b"", outside=True, some=some), rules)

    def _found(self, own: Table, rules: Sequence[Rule]) -> list[Finding]:
        tables = {**self.snapshot.tables, own.resource.name: own}
        found = findings_of(rules, targets_of(replace(self.snapshot, tables=tables)))
        return [item for item in found if item.path == own.path]
