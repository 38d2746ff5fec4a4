"""Table Schema as our engine judges it, held to frictionless; and `fmt`, which rests on it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frictionless
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_resources.check.snapshot import Snapshot, Table, take_snapshot
from rl_resources.cli import main
from rl_resources.errors import UnreadableDataset
from rl_resources.fmt import format_tables
from rl_resources.package import CONSTRAINTS, Field, TableSchema, read_package
from rl_resources.schema.constraints import PRECEDENCE, VOCABULARY
from rl_resources.schema.unique import duplicates
from rl_resources.schema.validate import Failure, failures
from rl_resources.tabular import read, write
from sample_tree import apply, plant


def field(type_: str = "string", name: str = "x", **constraints: Any) -> Field:
    return Field(name, type_, name, f"{name}.", constraints)


def schema(*fields: Field) -> TableSchema:
    return TableSchema("schema/t.json", "T", "T.", fields, (fields[0].name,), (), (), {})


def kinds(column: Field, *cells: str, words: frozenset[str] | None = None) -> list[str | None]:
    """What is wrong with each of the cells."""
    vocabulary = {} if words is None else {column.name: words}
    found = failures(schema(column), {column.name: cells}, vocabulary)
    by_row = {failure.row: failure.constraint for failure in found}
    assert len(by_row) == len(found)
    return [by_row.get(row) for row in range(len(cells))]


CONSTRAINED: dict[str, tuple[Field, list[str], list[str]]] = {
    # constraint: column, cells that hold it, cells that break it
    "required": (field(required=True), ["a"], [""]),
    "type (integer)": (field("integer"), ["1", "-1", "+8", "007", ""], ["1.0", "1e3", "two", "٢"]),
    "type (number)": (field("number"), ["1", "1.5", ".5", "5.", "1e3"], ["1,5", "NaN", "inf", "-"]),
    "type (boolean)": (field("boolean"), ["true", "false", ""], ["True", "1", "yes"]),
    "type (date)": (
        field("date"),
        ["2024-02-29", "0001-01-01", "0999-12-31", ""],
        ["2023-02-29", "2024-2-1", "20240201", "2024-13-01", "0000-01-01", "+999-01-01"],
    ),
    "pattern": (field(pattern="a|bc"), ["a", "bc", ""], ["ac", "abc", "c", "a\n"]),
    "enum": (field(enum=["ran", "out"]), ["ran", "out", ""], ["RAN", "ra"]),
    "enum (integer)": (field("integer", enum=[1, 2]), ["1", "02"], ["3"]),
    "minimum": (field("integer", minimum=1), ["1", "2"], ["0", "-1", "-" + "9" * 30]),
    "maximum": (field("integer", maximum=9), ["9", "-5"], ["10", "9" * 30]),
    "exclusiveMinimum": (field("number", exclusiveMinimum=0), ["0.1"], ["0", "-0.0", "-1"]),
    "exclusiveMaximum": (field("number", exclusiveMaximum=9), ["8.9"], ["9", "9.0", "1e400"]),
    "minimum (date)": (field("date", minimum="2023-01-01"), ["2023-01-01"], ["2022-12-31"]),
    "maximum (date)": (field("date", maximum="2023-01-01"), ["2023-01-01"], ["2023-01-02"]),
    "exclusiveMinimum (date)": (
        field("date", exclusiveMinimum="2023-01-01"),
        ["2023-01-02"],
        ["2023-01-01"],
    ),
    "exclusiveMaximum (date)": (
        field("date", exclusiveMaximum="2023-01-01"),
        ["2022-12-31"],
        ["2023-01-01"],
    ),
    "minLength": (field(minLength=2), ["ab", "éé", ""], ["a", "😀"]),
    "maxLength": (field(maxLength=2), ["ab", "éé", "😀😀"], ["abc"]),
}


@pytest.mark.parametrize("constraint", CONSTRAINED)
def test_a_constraint_breaks_where_it_should_and_nowhere_else(constraint: str) -> None:
    column, good, bad = CONSTRAINED[constraint]
    expected = [None] * len(good) + [constraint.split(" ")[0]] * len(bad)
    assert kinds(column, *good, *bad) == expected


def test_every_constraint_that_a_schema_may_use_is_tested() -> None:
    tested = {name.split(" ")[0] for name in CONSTRAINED} - {"type"}
    assert tested == CONSTRAINTS - {"unique"}
    assert set(PRECEDENCE) == tested | {"type", VOCABULARY}


def test_a_word_outside_the_vocabulary_is_told_and_a_blank_is_not() -> None:
    assert kinds(field(), "h100", "h1000", "", words=frozenset({"h100"})) == [
        None,
        VOCABULARY,
        None,
    ]


def test_a_cell_that_breaks_several_constraints_is_told_once_for_the_first() -> None:
    column = field(pattern="[a-z]+", enum=["ran"], minLength=3)
    assert kinds(column, "R", "r", "ran") == ["pattern", "enum", None]


def test_each_item_of_a_list_is_held_to_the_pattern() -> None:
    column = Field("x", "list", "X", "X.", {}, delimiter=" ", item_pattern="https://[^ ]+")
    assert kinds(column, "https://a https://b", "https://a b", "", "https://a ") == [
        None,
        "pattern",
        None,
        "pattern",
    ]


def test_failures_come_by_row_and_then_by_column() -> None:
    columns = {"b": ["x", ""], "a": ["", "1"]}
    table = schema(field("integer", "a", required=True), field("integer", "b", required=True))
    assert failures(table, columns, {}) == [
        Failure(0, "a", "required"),
        Failure(0, "b", "type"),
        Failure(1, "b", "required"),
    ]


def test_a_column_that_the_file_lacks_is_not_judged() -> None:
    assert failures(schema(field(required=True)), {}, {}) == []


def test_a_copy_is_told_with_its_first_and_a_blank_key_is_none() -> None:
    assert duplicates([["a", "b", "a", "", ""], ["1", "1", "1", "", ""]]) == [(2, 0)]


@pytest.mark.parametrize(
    "column",
    [
        field(minimumLength=1),
        field("integer", minimum="1"),
        field("integer", minimum=True),
        field("integer", minimum=10**30),
        field("date", maximum="tomorrow"),
        field("integer", maxLength=3),
        field("string", minimum=1),
        field(enum="ran"),
        field(enum=[1]),
        field(pattern="(?=a)"),
        field(pattern=5),
        field(required="yes"),
    ],
    ids=lambda column: f"{column.type} {dict(column.constraints)}",
)
def test_a_constraint_that_cannot_be_applied_raises_even_without_rows(column: Field) -> None:
    with pytest.raises(UnreadableDataset, match=r"schema/t\.json: .*'x'"):
        failures(schema(column), {"x": []}, {})


# The differential test. Left out are cells that frictionless reads more freely than Table Schema
# says (`1_000`, ` 8`, `2024-1-5`, digits of other scripts) and `NaN`, which no figure of ours is.
CELLS = {
    "id": ["a", "b"],
    "integer": ["1", "0", "-5", "100", "101", "+8", "007", "1.5", "two", "1e3", "9" * 30, ""],
    "count": ["1", "2", "3", "02", "x", ""],
    "number": ["0", "0.1", "9.99", "10", "-1", "+.5", "5.", "1e0", "1e2", "two", "1,5", ""],
    "boolean": ["true", "false", "True", "0", "yes", ""],
    "date": ["2023-01-01", "2022-12-31", "2024-12-31", "2025-01-01", "2024-02-30", "today", ""],
    "text": ["ab", "a", "abcd1", "abcde", "AB", "a b", "ab1", "é", ""],
    "word": ["ran", "out", "RAN", "rann", ""],
}
DESCRIPTOR: dict[str, Any] = {
    "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
    "fields": [
        {"name": "id", "type": "string", "constraints": {"required": True}},
        {"name": "integer", "type": "integer", "constraints": {"minimum": 1, "maximum": 100}},
        {"name": "count", "type": "integer", "constraints": {"required": True, "enum": [1, 2]}},
        {
            "name": "number",
            "type": "number",
            "constraints": {"exclusiveMinimum": 0, "exclusiveMaximum": 10},
        },
        {"name": "boolean", "type": "boolean", "trueValues": ["true"], "falseValues": ["false"]},
        {
            "name": "date",
            "type": "date",
            "constraints": {"minimum": "2023-01-01", "maximum": "2024-12-31"},
        },
        {
            "name": "text",
            "type": "string",
            "constraints": {
                "required": True,
                "pattern": "[a-z]+[0-9]?",
                "minLength": 2,
                "maxLength": 4,
            },
        },
        {"name": "word", "type": "string", "constraints": {"enum": ["ran", "out"]}},
    ],
    "missingValues": [""],
}
PACKAGE = {
    "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
    "name": "t",
    "resources": [
        {
            "name": "t",
            "type": "table",
            "path": "t.csv",
            "scheme": "file",
            "format": "csv",
            "encoding": "utf-8",
            "schema": "t.json",
        }
    ],
}
ROWS = st.lists(st.tuples(*map(st.sampled_from, CELLS.values())), min_size=1, max_size=12)
NOTE = re.compile(r'constraint "(\w+)" is ')


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    (folder / "t.json").write_text(json.dumps(DESCRIPTOR), encoding="utf-8")
    (folder / "datapackage.json").write_text(json.dumps(PACKAGE), encoding="utf-8")
    return folder


def by_frictionless(package: Path) -> dict[tuple[int, str], set[str]]:
    """Row from 0 and column of every cell that breaks something, with all that it breaks."""
    report = frictionless.validate(str(package / "datapackage.json"))
    found: dict[tuple[int, str], set[str]] = {}
    for row, name, kind, note in report.flatten(["rowNumber", "fieldName", "type", "note"]):
        match = NOTE.match(note)
        constraint = match[1] if kind == "constraint-error" and match else "type"
        assert kind in {"constraint-error", "type-error"}
        found.setdefault((row - 2, name), set()).add(constraint)
    return found


@given(rows=ROWS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_frictionless_judges_the_same(package: Path, rows: list[tuple[str, ...]]) -> None:
    (package / "t.csv").write_text(write([CELLS, *rows]), encoding="utf-8")
    fields = [
        field(raw["type"], raw["name"], **raw.get("constraints", {}))
        for raw in DESCRIPTOR["fields"]
    ]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(CELLS)}
    ours = {
        (failure.row, failure.field): failure.constraint
        for failure in failures(schema(*fields), columns, {})
    }
    theirs = by_frictionless(package)
    assert ours.keys() == theirs.keys()
    assert all(constraint in theirs[place] for place, constraint in ours.items())


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return take_snapshot(read_package(plant(tmp_path_factory.mktemp("sample") / "dataset")))


def with_trials(sample: Snapshot, data: bytes) -> Snapshot:
    """The sample with other bytes in the file of trials."""
    trials = Table(sample.tables["trials"].resource, data)
    return Snapshot(sample.package, {**sample.tables, "trials": trials}, sample.scripts)


CELL = st.text(alphabet='ab1,"\n é=', max_size=4)
TRIALS = st.lists(st.tuples(CELL.map("s".__add__), CELL, CELL, CELL), max_size=6)
QUOTING = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
ENDS = st.sampled_from(["\n", "\r\n"])


def formatted(snapshot: Snapshot) -> Iterator[Snapshot]:
    """The snapshot before and after `fmt`."""
    yield snapshot
    text = format_tables(snapshot).get("records/trials.csv")
    data = snapshot.tables["trials"].data if text is None else text.encode()
    assert data is not None
    yield with_trials(snapshot, data)


@given(rows=TRIALS, end=ENDS, quoting=QUOTING, mark=st.sampled_from(["", "\ufeff"]))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fmt_loses_no_cell_and_has_nothing_to_do_twice(
    sample: Snapshot, rows: list[tuple[str, ...]], end: str, quoting: Any, mark: str
) -> None:
    header = ("script", "order", "batch", "outcome")
    lines = "".join(
        end.join([",".join(_written(cell, quoting) for cell in row), ""]) for row in [header, *rows]
    )
    before, after = formatted(with_trials(sample, (mark + lines).encode()))
    assert Counter(row.cells for row in after.tables["trials"].text.rows) == Counter(rows)
    assert after.tables["trials"].text.header == read(",".join(header)).header
    assert "records/trials.csv" not in format_tables(after)
    assert before.tables["trials"].text.defects == ()


def _written(cell: str, quoting: int) -> str:
    if quoting == csv.QUOTE_ALL or any(sign in cell for sign in ',"\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


UNREADABLE = {
    "an unclosed quote": b'script,order,batch,outcome\n"a,1,2,ran\n',
    "a row that is too short": b"script,order,batch,outcome\na,1,2\n",
    "a row of blanks": b"script,order,batch,outcome\n,,,\n",
    "another header": b"script,batch,order,outcome\na,1,2,ran\n",
    "no header": b"a,1,2,ran\n",
    "a merge conflict": b"script,order,batch,outcome\n<<<<<<< a\na,1,2,ran\n=======\n>>>>>>> b\n",
    "Latin-1": b"script,order,batch,outcome\n\xe9,1,2,ran\n",
    "NUL": b"script,order,batch,outcome\na\x00,1,2,ran\n",
    "nothing": b"",
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_fmt_leaves_alone_what_it_cannot_read(sample: Snapshot, data: bytes) -> None:
    assert format_tables(with_trials(sample, data)) == {}


def test_fmt_check_says_what_it_would_do_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = plant(tmp_path / "dataset")
    path = root / "records/trials.csv"
    apply(root, [{"file": "records/trials.csv", "replace": "\n", "with": "\r\n", "all": True}])
    before = path.read_bytes()
    assert main(["fmt", "--check", "--root", str(root)]) == 1
    shown = capsys.readouterr()
    assert shown.err == "records/trials.csv: would be rewritten\n"
    assert "-script,order,batch,outcome\\u000d\n" in shown.out
    assert "+script,order,batch,outcome\n" in shown.out
    assert path.read_bytes() == before
    assert main(["fmt", "--root", str(root)]) == 0
    assert path.read_bytes() == before.replace(b"\r\n", b"\n")
