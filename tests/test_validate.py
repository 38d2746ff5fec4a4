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
from rl_resources.facts.broken import vocabulary_of
from rl_resources.package import CONSTRAINTS, TYPES, Field, TableSchema, read_package
from rl_resources.schema.pandera_schema import PRECEDENCE, VOCABULARY, pandera_schema
from rl_resources.schema.validation import failures
from rl_resources.snapshot import take_snapshot
from rl_resources.tabular import write
from sample_tree import REPOSITORY

CASES = read_cases("validate")


def field(kind: str = "string", name: str = "x", **constraints: Any) -> Field:
    return Field(name, kind, name, f"{name}.", constraints)


def schema(*fields: Field) -> TableSchema:
    return TableSchema("schema/t.json", "T", "T.", fields, (fields[0].name,), (), (), {})


def kinds(column: Field, *cells: str, words: frozenset[str] | None = None) -> list[str | None]:
    """What is wrong with each of the cells."""
    vocabulary = {} if words is None else {column.name: words}
    found = failures(schema(column), {column.name: cells}, vocabulary)
    by_row = {failure.row: failure.constraint for failure in found}
    assert len(by_row) == len(found)
    return [by_row.get(row) for row in range(len(cells))]


@pytest.mark.parametrize("constraint", CASES["constraints"])
def test_a_constraint_breaks_where_it_should_and_nowhere_else(constraint):
    column, good, bad = CASES["constraints"][constraint].values()
    expected = [None] * len(good) + [constraint.split(" ")[0]] * len(bad)
    assert kinds(field(**column), *good, *bad) == expected


def test_every_constraint_that_a_schema_may_use_is_tested():
    tested = {name.split(" ")[0] for name in CASES["constraints"]} - {"type"}
    assert tested == set(CONSTRAINTS) - {"unique"}
    assert set(PRECEDENCE) == tested | {"type", VOCABULARY}


def pandas_frame() -> pd.DataFrame:
    """Rows of which the last breaks every column."""
    days = pd.to_datetime(["2024-01-01", "2022-01-01"])
    columns = {"id": ["a", None], "gpus": [8, 0], "memory": [1.5, 0.0], "day": days}
    frame = pd.DataFrame(columns | {"fast": [True, None], "tag": ["MIN", "min"]})
    types = {"id": "str", "gpus": "Int64", "memory": "Float64", "fast": "boolean", "tag": "str"}
    return frame.astype(types | {"day": "datetime64[s]"})


EVERY = schema(
    field(name="id", required=True, maxLength=3),
    field("integer", "gpus", minimum=1),
    field("number", "memory", exclusiveMinimum=0),
    field("date", "day", minimum="2023-01-01"),
    field("boolean", "fast", required=True),
    field(name="tag", enum=["MIN"]),
)


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
    checks = {check.partition("(")[0] for check in caught.value.failure_cases["check"]}
    assert checks == {"not_nullable", "minimum", "exclusiveMinimum", "enum", VOCABULARY}


@pytest.mark.nightly
def test_the_recipe_for_many_machines_runs_on_a_cluster(tmp_path, monkeypatch):
    from dask.distributed import Client, LocalCluster

    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (recipe,) = (part for part in readme.split("```python\n") if "import dask" in part)
    code = compile(recipe.partition("```")[0], "README.md", "exec")
    for folder in ("schema", "records"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    shutil.copy(REPOSITORY / "datapackage.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    good = pd.DataFrame({"script": ["a.sh", "b.sh"], "order": [1, 2]})
    good = good.assign(batch=[8, 16], outcome="ran")
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
VALUES += [text * times for text, times in CASES["mutations"]["repeated"]]


def mutated(cells: tuple[str, ...], chance: Random) -> list[str]:
    """A cell or two replaced, copied from another column, or with something put into it."""
    changed = list(cells)
    for at in chance.sample(range(len(cells)), chance.randint(1, 2)):
        text = "".join(chance.choices(CHARACTERS, k=chance.randint(0, 4)))
        place = chance.randint(0, len(cells[at]))
        put_in = cells[at][:place] + text + cells[at][place + chance.randint(0, 2) :]
        changed[at] = chance.choice([chance.choice(VALUES), chance.choice(cells), put_in, text])
    return changed


def package_of(name: str, folder: Path) -> None:
    """Write a package of the table and of the keys of those that it refers to."""
    for part in ("schema", "records"):
        shutil.copytree(REPOSITORY / part, folder / part)
    keys = SNAPSHOT.tables[name].schema.foreign_keys
    wanted = {name, *(key.resource for key in keys)}
    package = json.loads((REPOSITORY / "datapackage.json").read_text(encoding="utf-8"))
    package["resources"] = [item for item in package["resources"] if item["name"] in wanted]
    for key in keys:
        other = SNAPSHOT.tables[key.resource]
        scripts = {script.name for script in SNAPSHOT.scripts if key.resource == "tuning"}
        words = [[word] for word in sorted({*other.columns[key.reference]} | scripts)]
        (folder / other.path).write_text(write([[key.reference], *words]), encoding="utf-8")
        fields = {"fields": [{"name": key.reference, "type": "string"}]}
        (folder / other.schema.path).write_text(json.dumps(fields))
    (folder / "datapackage.json").write_text(json.dumps(package))


RECORDS = 50
TABLES = ("tuning", "reports", "models", "compatibility")
NOTE = re.compile(r'constraint "(\w+)" is ')
SNAPSHOT = take_snapshot(read_package(REPOSITORY))


def reads_freely(column: Field, cell: str) -> bool:
    """Whether frictionless reads a cell that Table Schema does not allow.

    Spaces around a number, `_` in it, digits of other scripts, `nan`, days of one digit.
    """
    typed = column.type not in {"string", "list"} and bool(cell)
    return typed and not re.fullmatch(TYPES[column.type].pattern, cell)


def is_judged_by_us_alone(column: Field, cell: str) -> bool:
    """The items of a list are a property of ours; as a double 1e-400 is 0."""
    number = column.type == "number" and not reads_freely(column, cell)
    return bool(column.item_pattern or (number and not float(cell) and Decimal(cell)))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "records", [RECORDS, pytest.param(10 * RECORDS, marks=pytest.mark.nightly)]
)
def test_frictionless_finds_the_same_cells(name, records, tmp_path):
    package_of(name, tmp_path)
    table = SNAPSHOT.tables[name]
    chance = Random(records)
    rows = [mutated(chance.choice(table.rows).cells, chance) for _ in range(records)]
    (tmp_path / table.path).write_text(write([table.schema.names, *rows]), encoding="utf-8")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(table.schema.names)}
    ours = {
        (item.row, item.field): item.constraint
        for item in failures(table.schema, columns, vocabulary_of(SNAPSHOT, table))
    }
    theirs = by_frictionless(tmp_path, name)
    for row, column in {*ours, *theirs}:
        known, cell = table.schema.field(column), columns[column][row]
        kind, others = ours.get((row, column)), theirs.get((row, column), set())
        assert kind, (column, cell, others)
        alone = kind not in PRECEDENCE or reads_freely(known, cell)
        # A URL that is none has the wrong type for frictionless, the wrong form for us.
        url = known.format == "uri" and others == {"type"}
        assert kind in others or alone or url or is_judged_by_us_alone(known, cell), (column, cell)


def by_frictionless(folder: Path, name: str) -> dict[tuple[int, str], set[str]]:
    """What breaks in each cell, by row from 0 and column; not the keys that occur twice."""
    report = frictionless.validate(str(folder / "datapackage.json"), limit_errors=10**6)
    task = next(task for task in report.tasks if task.name == name)
    found: dict[tuple[int, str], set[str]] = {}
    kinds = {"type-error": "type", "foreign-key": "vocabulary"}
    for error in task.errors:
        if error.type in {"primary-key", "unique-error"}:
            continue
        note = NOTE.match(error.note)
        kind = kinds.get(error.type) or (note[1] if note else error.type)
        names = error.field_names if kind == "vocabulary" else [error.field_name]
        found.setdefault((error.row_number - 2, names[0]), set()).add(kind)
    return found
