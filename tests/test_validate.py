"""A Table Schema as pandera applies it, compared with frictionless; the same on other engines."""

import json
import re
import shutil
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import frictionless
import ibis
import pandas as pd
import polars as pl
import pytest
from pandera.errors import SchemaErrors

from cases import read_cases
from rl_resources.facts import vocabulary_of
from rl_resources.package import (
    CONSTRAINTS,
    TEXTS,
    TYPES,
    Field,
    ForeignKey,
    TableSchema,
    read_package,
)
from rl_resources.schema.pandera_schema import PRECEDENCE, VOCABULARY, pandera_schema
from rl_resources.schema.validation import failures
from rl_resources.snapshot import take_snapshot
from rl_resources.tabular import write
from sample_tree import REPOSITORY

CASES = read_cases("validate")


def field(kind: str = "string", name: str = "x", **constraints: Any) -> Field:
    return Field(name, kind, name, f"{name}.", constraints)


def schema(*fields: Field) -> TableSchema:
    primary_key = (fields[0].name,)
    return TableSchema("schema/t.json", "T", "T.", fields, primary_key, (), (), {})


def kinds(
    column: Field, *cells: str, words: frozenset[str] | None = None
) -> list[str | None]:
    """What is wrong with each of the cells."""
    name = column.name
    vocabulary = {}
    if words is not None:
        vocabulary[name] = words
    found = failures(schema(column), {name: cells}, vocabulary)
    by_row = {failure.row: failure.constraint for failure in found}
    assert len(by_row) == len(found)
    return [by_row.get(row) for row in range(len(cells))]


def constraint_of(case: str) -> str:
    """The constraint that a case is about; words after it say which case it is."""
    constraint, _, _ = case.partition(" ")
    return constraint


@pytest.mark.parametrize("case", CASES["constraints"])
def test_a_constraint_breaks_where_it_should_and_nowhere_else(case):
    tested = CASES["constraints"][case]
    facts, good, bad = tested.values()
    column = field(**facts)
    assert set(kinds(column, *good)) == {None}
    found = kinds(column, *bad)
    assert set(found) == {constraint_of(case)}


def test_every_constraint_that_a_schema_may_use_is_tested():
    tested = set(map(constraint_of, CASES["constraints"]))
    assert tested == CONSTRAINTS - {"unique"} | {"type"}
    assert set(PRECEDENCE) == tested | {VOCABULARY}


def pandas_frame() -> pd.DataFrame:
    """Rows of which the last breaks every column."""
    columns = {
        "id": pd.Series(["a", None], dtype="str"),
        "gpus": pd.Series([8, 0], dtype="Int64"),
        "memory": pd.Series([1.5, 0.0], dtype="Float64"),
        "day": pd.Series(["2024-01-01", "2022-01-01"], dtype="datetime64[s]"),
        "fast": pd.Series([True, None], dtype="boolean"),
        "tag": pd.Series(["MIN", "min"], dtype="str"),
    }
    return pd.DataFrame(columns)


EVERY = schema(*(field(**facts) for facts in CASES["every"]))


def by_polars() -> Any:
    frame = pl.from_pandas(pandas_frame())
    return frame.with_columns(pl.col("day").cast(pl.Date))


def by_ibis() -> Any:
    table = ibis.memtable(pandas_frame())
    return table.mutate(day=table.day.cast("date"))


def by_dask() -> Any:
    from dask import dataframe

    return dataframe.from_pandas(pandas_frame(), npartitions=2)


@pytest.mark.parametrize(
    ("engine", "table"),
    [
        ("polars", by_polars),
        ("pandas", pandas_frame),
        ("ibis", by_ibis),
        pytest.param("pandas", by_dask, marks=pytest.mark.nightly),
    ],
)
def test_the_schema_is_the_same_on_every_engine(engine, table):
    judge = pandera_schema(EVERY, {"tag": ["MIN"]}, engine)
    with pytest.raises(SchemaErrors) as caught:
        result = judge.validate(table(), lazy=True)
        result.compute()
    checks = set()
    for check in caught.value.failure_cases["check"]:
        name, _, _ = check.partition("(")
        checks.add(name)
    assert checks == {"not_nullable", "minimum", "exclusiveMinimum", "enum", VOCABULARY}


@pytest.mark.nightly
def test_the_recipe_for_many_machines_runs_on_a_cluster(tmp_path, monkeypatch):
    from dask.distributed import Client, LocalCluster

    readme = (REPOSITORY / "README.md").read_text()
    recipes = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (recipe,) = [text for text in recipes if "import dask" in text]
    code = compile(recipe, "README.md", "exec")
    for folder in ("schema", "records"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    shutil.copy(REPOSITORY / "datapackage.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    good = pd.DataFrame()
    good["script"] = ["a.sh", "b.sh"]
    good["order"] = [1, 2]
    good["batch"] = [8, 16]
    good["outcome"] = "ran"
    cluster = LocalCluster(n_workers=2, processes=False, dashboard_address=None)
    with cluster, Client(cluster):
        good.to_parquet("trials-1.parquet")
        exec(code, {})  # noqa: S102 (a text of ours)
        good.assign(batch=0).to_parquet("trials-2.parquet")
        with pytest.raises(SchemaErrors, match="minimum"):
            exec(code, {})  # noqa: S102 (a text of ours)


# frictionless judges mutated records: the same cells for the same reasons.

CHARACTERS = CASES["mutations"]["characters"]
VALUES = CASES["mutations"]["texts"]
for text, times in CASES["mutations"]["repeated"]:
    VALUES.append(text * times)


def mutated(cells: tuple[str, ...], chance: Random) -> list[str]:
    """A cell or two replaced, copied from another column, or with something put into it."""
    changed = list(cells)
    number = chance.randint(1, 2)
    for index in chance.sample(range(len(cells)), number):
        cell = cells[index]
        length = chance.randint(0, 4)
        text = "".join(chance.choices(CHARACTERS, k=length))
        begin = chance.randint(0, len(cell))
        end = begin + chance.randint(0, 2)
        put_in = cell[:begin] + text + cell[end:]
        value = chance.choice(VALUES)
        other = chance.choice(cells)
        candidates = [value, other, put_in, text]
        changed[index] = chance.choice(candidates)
    return changed


def package_of(name: str, folder: Path) -> None:
    """Write a package of the table and of the keys of those that it refers to."""
    for part in ("schema", "records"):
        shutil.copytree(REPOSITORY / part, folder / part)
    keys = SNAPSHOT.tables[name].schema.foreign_keys
    wanted = {name, *(key.resource for key in keys)}
    descriptor = (REPOSITORY / "datapackage.json").read_text()
    package = json.loads(descriptor)
    every = package["resources"]
    package["resources"] = [item for item in every if item["name"] in wanted]
    (folder / "datapackage.json").write_text(json.dumps(package))
    for key in keys:
        write_keys(folder, key)


def write_keys(folder: Path, key: ForeignKey) -> None:
    """Write the table that a key refers to, with its one column."""
    table = SNAPSHOT.tables[key.resource]
    words = set(table.columns[key.reference])
    if key.resource == "tuning":
        words.update(script.name for script in SNAPSHOT.scripts)
    rows = [[word] for word in sorted(words)]
    text = write([[key.reference], *rows])
    (folder / table.path).write_text(text)
    column = {"name": key.reference, "type": "string"}
    schema = {"fields": [column]}
    (folder / table.schema.path).write_text(json.dumps(schema))


RECORDS = 50
TABLES = ("tuning", "reports", "models", "compatibility")
NOTE = re.compile(r'constraint "(\w+)" is ')
SNAPSHOT = take_snapshot(read_package(REPOSITORY))


def reads_freely(column: Field, cell: str) -> bool:
    """Whether frictionless reads a cell that Table Schema does not allow.

    Spaces around a number, `_` in it, digits of other scripts, `nan`, days of one digit.
    """
    if not cell or column.type in TEXTS:
        return False
    return re.fullmatch(TYPES[column.type].pattern, cell) is None


def is_too_small(column: Field, cell: str) -> bool:
    """Whether a number is not 0, but as a double: 1e-400."""
    if column.type != "number" or reads_freely(column, cell):
        return False
    return not float(cell) and bool(Decimal(cell))


def is_judged_by_us_alone(column: Field, cell: str, kind: str) -> bool:
    """Whether frictionless need not find what is wrong with a cell.

    The items of a list are a property of ours, as is what no text may contain.
    """
    if kind not in PRECEDENCE or column.item_pattern:
        return True
    return reads_freely(column, cell) or is_too_small(column, cell)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "records", [RECORDS, pytest.param(10 * RECORDS, marks=pytest.mark.nightly)]
)
def test_frictionless_finds_the_same_cells(name, records, tmp_path):
    package_of(name, tmp_path)
    table = SNAPSHOT.tables[name]
    names = table.schema.names
    chance = Random(records)
    rows = []
    for _ in range(records):
        row = chance.choice(table.rows)
        rows.append(mutated(row.cells, chance))
    text = write([names, *rows])
    (tmp_path / table.path).write_text(text)
    by_column = zip(*rows, strict=True)
    columns = dict(zip(names, by_column, strict=True))
    found = failures(table.schema, columns, vocabulary_of(SNAPSHOT, table))
    ours = {(item.row, item.field): item.constraint for item in found}
    theirs = by_frictionless(tmp_path, name)
    assert ours.keys() >= theirs.keys()
    for place, kind in ours.items():
        row, column = place
        cell = columns[column][row]
        known = table.schema.field(column)
        if is_judged_by_us_alone(known, cell, kind):
            continue
        others = theirs.get(place, set())
        # A URL that is none has the wrong type for frictionless, the wrong form for us.
        if known.format == "uri" and others == {"type"}:
            continue
        assert kind in others, (column, cell)


def by_frictionless(folder: Path, name: str) -> dict[tuple[int, str], set[str]]:
    """What breaks in each cell, by row from 0 and column; not the keys that occur twice."""
    path = str(folder / "datapackage.json")
    report = frictionless.validate(path, limit_errors=10**6)
    (task,) = [task for task in report.tasks if task.name == name]
    found = {}
    kinds = {"type-error": "type", "foreign-key": "vocabulary"}
    for error in task.errors:
        if error.type in {"primary-key", "unique-error"}:
            continue
        kind = kinds.get(error.type, error.type)
        note = NOTE.match(error.note)
        if note and error.type not in kinds:
            kind = note[1]
        column = error.field_names[0] if kind == "vocabulary" else error.field_name
        place = (error.row_number - 2, column)
        kinds_there = found.setdefault(place, set())
        kinds_there.add(kind)
    return found
