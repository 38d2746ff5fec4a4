"""Whole files broken, judged by `check --resource` and by frictionless: the same row, field, kind.

Every difference is one of those in `REASONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from random import Random

import pytest

from broken_files import BREAKS
from judge import HEADER, KEY, ROW, Told, package_of, told_by_frictionless
from mutated import mutated
from rl_resources.check import chosen_rules
from rl_resources.check.records import judge_records
from rl_resources.check.snapshot import Snapshot, Table, take_snapshot
from rl_resources.package import TYPES, read_package
from rl_resources.tabular import write
from sample_tree import REPOSITORY

ROWS = 6
SNAPSHOT = take_snapshot(read_package(REPOSITORY))
OURS = {"duplicate-key": KEY}
OURS_ALONE = frozenset(
    {"invisible-character", "outer-space", "markup", "formula"}
    | {"email-address", "byte-order-mark", "line-ending", "line-break", "merge-conflict"}
    | {"quoting", "encoding"}
)


@dataclass(frozen=True)
class Case:
    """A file and what both tell of it, the rows as frictionless counts them: by record."""

    table: Table
    theirs: Told
    findings: frozenset[tuple[int, int, str]]

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """The record of a physical line on which one begins."""
        text = self.table.text
        lines = {item.line for item in (*text.rows, *text.defects)}
        lines |= {text.header.line} if text.header else set()
        return {line: number for number, line in enumerate(sorted(lines), 1)}

    @cached_property
    def places(self) -> Mapping[tuple[int, int], tuple[int, str]]:
        """Record and column of each place at which a cell begins."""
        return {
            row.place(at): (self.numbers[row.line], name)
            for row in self.table.rows
            for at, name in enumerate(self.table.names)
        }

    @cached_property
    def ours(self) -> Told:
        """What we tell."""
        whole = {"duplicate-key", ROW, HEADER}
        found = set()
        for line, column, rule in self.findings:
            number = self.numbers.get(line, line)
            row, field = self.places.get((line, column), (number, ""))
            found.add((row, "" if rule in whole else field, OURS.get(rule, rule)))
        return found

    @cached_property
    def rows(self) -> Mapping[int, tuple[str, ...]]:
        """The cells of each record that can be read."""
        return {self.numbers[row.line]: row.cells for row in self.table.rows}

    def cell(self, row: int, field: str) -> str:
        """The text of a cell; blank where there is none."""
        cells = self.rows.get(row, ())
        return cells[self.table.names.index(field)] if cells and field in self.table.names else ""

    def tells(self, *kinds: str) -> bool:
        """Whether we tell one of these anywhere."""
        return any(kind in kinds for _, _, kind in self.ours)

    @property
    def header_row(self) -> int:
        """The record that is the header; 1 where there is none."""
        header = self.table.text.header
        return self.numbers[header.line] if header else 1

    @property
    def first_defect(self) -> int:
        """The first record that is no CSV by our grammar."""
        lines = [self.numbers[item.line] for item in self.table.text.defects]
        return min(lines, default=len(self.numbers) + 1)


def _reads_freely(case: Case, row: int, field: str, kind: str) -> bool:
    if not field or not (cell := case.cell(row, field)):
        return False
    column = case.table.schema.field(field)
    typed = column.type not in {"string", "list"}
    return typed and re.fullmatch(TYPES[column.type].pattern, cell) is None


def _is_address(case: Case, row: int, field: str, kind: str) -> bool:
    both = {(row, field, "type"), (row, field, "pattern")} <= case.ours | case.theirs
    return bool(field) and case.table.schema.field(field).format == "uri" and both


def _is_item(case: Case, _: int, field: str, kind: str) -> bool:
    return kind == "pattern" and bool(field and case.table.schema.field(field).item_pattern)


def _is_nearly_zero(case: Case, row: int, field: str, kind: str) -> bool:
    cell = case.cell(row, field)
    number = kind == "range" and bool(cell) and case.table.schema.field(field).type == "number"
    return number and not float(cell) and bool(Decimal(cell))


def _follows_a_blank_line(case: Case, row: int, field: str, kind: str) -> bool:
    theirs = (row, field, kind) in case.theirs or (row, "", ROW) in case.theirs
    return case.header_row > 1 and (theirs or (row < case.header_row and kind == ROW))


def _has_no_key(case: Case, row: int, _: str, kind: str) -> bool:
    schema = case.table.schema
    unique = [field.name for field in schema.fields if field.constraints.get("unique")]
    names = (*schema.primary_key, *unique)
    return kind == KEY and any(
        not case.cell(row, name) or (row, name, "type") in case.theirs | case.ours for name in names
    )


Reason = Callable[[Case, int, str, str], bool]
REASONS: Mapping[str, Reason] = {
    "Rules of texts, of bytes and of grammar are ours alone.": (
        lambda case, row, field, kind: kind in OURS_ALONE
    ),
    "A cell is told once: for its text first, else for the first thing that both tell of it.": (
        lambda case, row, field, kind: (
            bool(field)
            and (row, field, kind) in case.theirs
            and any(
                item[:2] == (row, field) and (item[2] in OURS_ALONE or item in case.theirs)
                for item in case.ours
            )
        )
    ),
    "A row of another length, or blank, is told once, and its cells are not read.": (
        lambda case, row, field, kind: (row, "", ROW) in case.ours
    ),
    "A row that is not read is no first copy of a key.": (
        lambda case, row, field, kind: kind == KEY and case.tells(ROW, HEADER)
    ),
    "A key that is blank or of another type is told as that; frictionless takes all such for "
    "copies of each other.": _has_no_key,
    "The header once more is told as that, and its words are not read as cells.": (
        lambda case, row, field, kind: row > 1 and (row, "", HEADER) in case.ours
    ),
    "Names of columns are as written: frictionless takes them without case and outer spaces.": (
        lambda case, row, field, kind: (row, kind) == (1, HEADER)
    ),
    "A blank line before the header is told as that and passed over; frictionless takes it for the "
    "header, and the header for a record.": _follows_a_blank_line,
    "How long a row has to be is said by the schema, for frictionless by a header that is wrong.": (
        lambda case, row, field, kind: (
            case.tells(HEADER) and (kind == ROW or (row, "", ROW) in case.theirs)
        )
    ),
    "Under a wrong header we read cells by its names, frictionless by their places.": (
        lambda case, row, field, kind: (
            case.tells(HEADER) and case.table.names != case.table.schema.names
        )
    ),
    "Where cells are parted by another sign that is told, and they are not read.": (
        lambda case, row, field, kind: case.table.separator != ","
    ),
    "Of bytes that are not UTF-8 we read none; frictionless reads NUL.": (
        lambda case, row, field, kind: case.tells("encoding")
    ),
    "From a quote inside a cell, or one left open, Python's reader goes another way.": (
        lambda case, row, field, kind: row >= case.first_defect
    ),
    "A CR alone ends no line for us, where others end with LF.": (
        lambda case, row, field, kind: "\r" in case.table.decoded.replace("\r\n", "\n")
    ),
    "A file without a header is a file that cannot be read.": (
        lambda case, row, field, kind: kind == "source-error" and case.tells("header")
    ),
    "frictionless reads more freely than Table Schema says: `_` in numbers, digits of other "
    "scripts, `nan`, a month of one digit.": _reads_freely,
    "An address that is none has the wrong type for frictionless, the wrong form for us.": (
        _is_address
    ),
    "The form of a list's items is a property of ours.": _is_item,
    "A number is a double, for which 1e-400 is 0, as it is in every download.": _is_nearly_zero,
}


@pytest.fixture(
    scope="module", params=[name for name, table in SNAPSHOT.tables.items() if table.rows]
)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("judge") / request.param
    folder.mkdir()
    package_of(SNAPSHOT, request.param, folder)
    return Judged(SNAPSHOT, request.param, folder)


@dataclass(frozen=True)
class Judged:
    """A table and the package in which frictionless reads it."""

    snapshot: Snapshot
    name: str
    folder: Path

    def case(self, data: bytes) -> Case:
        """What both tell of a file of these bytes."""
        table = self.snapshot.tables[self.name]
        path = self.folder / table.path
        path.write_bytes(data)
        found = judge_records(self.snapshot, table, path, chosen_rules([], [])).findings
        findings = frozenset((item.line, item.column, item.rule) for item in found)
        theirs = told_by_frictionless(self.folder, self.name)
        return Case(Table(table.resource, data), theirs, findings)

    def broken(self, seed: int) -> tuple[str, bytes]:
        """A few records, some of them mutated, in a file that is broken in one way."""
        chance = Random(seed)
        table = self.snapshot.tables[self.name]
        rows = [list(row.cells) for row in chance.sample(table.rows, min(ROWS, len(table.rows)))]
        rows = [mutated(row, chance) if chance.random() < 0.5 else row for row in rows]
        how = chance.choice(list(BREAKS))
        return how, BREAKS[how](write([table.schema.names, *rows]).encode(), chance)


def differences(case: Case) -> list[tuple[int, str, str]]:
    """What one of the two tells alone, without a reason."""
    alone = case.ours ^ case.theirs
    return [item for item in sorted(alone) if not any(why(case, *item) for why in REASONS.values())]


@pytest.mark.parametrize("files", [2, pytest.param(40, marks=pytest.mark.nightly)])
def test_frictionless_finds_the_same_in_broken_files(judged: Judged, files: int) -> None:
    for seed in range(files):
        how, data = judged.broken(seed)
        case = judged.case(data)
        assert differences(case) == [], (how, data[:2000], case.ours, case.theirs)
