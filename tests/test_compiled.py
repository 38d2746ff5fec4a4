"""One Table Schema on three engines: polars, pandas, and a database through Ibis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import ibis
import pandas as pd
import pandera.errors
import polars as pl
import pytest

from mutated import mutated
from rl_resources.check.broken import vocabulary_of
from rl_resources.check.snapshot import take_snapshot
from rl_resources.package import Field, read_package
from rl_resources.schema.compiled import Engine, compiled
from rl_resources.schema.validate import Vocabulary, failures

SNAPSHOT = take_snapshot(read_package(Path(__file__).parents[1]))
FIELDS = SNAPSHOT.tables["tuning"].schema.fields
RECORDS = 300
MOST = 2**63 - 1
Place = tuple[str, str, int | None]
"""Column, check of pandera, and row."""
WORDS = {"device": ["h100", "h800"], "model": ["m"], "task": ["GRPO"], "train": ["fsdp"]}
GOOD: dict[str, Any] = {field.name: None for field in FIELDS} | {
    "script": "a.sh",
    "tag": "MIN",
    "model": "m",
    "task": "GRPO",
    "gpus": 8,
    "device": "h100",
    "train": "fsdp",
    "infer": "vllm",
    "framework": "verl",
    "status": "reported",
    "peak_memory_gb": 76.5,
    "tested_on": date(2025, 6, 25),
}
BROKEN = {  # column and constraint: a value that breaks it
    ("script", "pattern"): "a b.sh",
    ("tag", "enum"): "MAX",
    ("tag", "not_nullable"): None,
    ("gpus", "minimum"): 0,
    ("gpus", "maximum"): 100_001,
    ("gpus", "not_nullable"): None,
    ("device", "vocabulary"): "h1000",
    ("infer_version", "pattern"): "v1",
    ("peak_memory_gb", "exclusiveMinimum"): 0.0,
    ("tested_on", "minimum"): date(2022, 12, 31),
    ("source", "pattern"): "http://example.org",
    ("notes", "maxLength"): "n" * 501,
}
POLARS = {"string": pl.String, "integer": pl.Int64, "number": pl.Float64, "date": pl.Date}


def table(rows: Sequence[Mapping[str, Any]], engine: Engine, folder: Path) -> Any:
    frame = pl.DataFrame(rows, schema={field.name: POLARS[field.type] for field in FIELDS})
    if engine == "polars":
        return frame
    if engine == "ibis":
        frame.write_parquet(folder / "tuning.parquet")
        return ibis.duckdb.connect().read_parquet(folder / "tuning.parquet")
    types = {"string": "str", "integer": "Int64", "number": "Float64", "date": "datetime64[s]"}
    return pd.DataFrame(rows).astype({field.name: types[field.type] for field in FIELDS})


@pytest.mark.parametrize("engine", ["polars", "pandas", "ibis"])
def test_every_engine_finds_the_same_cells(engine: Engine, tmp_path: Path) -> None:
    rows = [GOOD] + [GOOD | {name: value} for (name, _), value in BROKEN.items()]
    places = {(*place, row) for row, place in enumerate(BROKEN, 1)}
    assert found(rows, WORDS, engine, tmp_path) == placed(places, engine)


def found(
    rows: Sequence[Mapping[str, Any]], words: Vocabulary, engine: Engine, folder: Path
) -> set[Place]:
    with pytest.raises(pandera.errors.SchemaErrors) as caught:
        compiled(FIELDS, words, engine).validate(table(rows, engine, folder), lazy=True)
    cases = caught.value.failure_cases
    names = ("column", "check", "index", "failure_case")
    return {_place(*case) for case in zip(*(list(cases[name]) for name in names), strict=True)}


def _place(column: str, check: str, row: int | None, value: Any) -> Place:
    """Ibis tells the column beside the value."""
    return next(iter(value)) if isinstance(value, dict) else column, check, row


def placed(places: Iterable[Place], engine: Engine) -> set[Place]:
    """What an engine can tell of them: a database says that a cell is blank, and not where."""
    return {
        (name, check, None if engine == "ibis" and check == "not_nullable" else row)
        for name, check, row in places
    }


@pytest.mark.parametrize("engine", ["polars", "pandas", "ibis"])
def test_pandera_tells_of_mutated_records_what_we_tell(engine: Engine, tmp_path: Path) -> None:
    chance = Random(8)  # noqa: S311 (no secret)
    shipped = SNAPSHOT.tables["tuning"]
    rows = [mutated(chance.choice(shipped.rows).cells, chance) for _ in range(RECORDS)]
    columns = {
        field.name: [_readable(field, row[at]) for row in rows] for at, field in enumerate(FIELDS)
    }
    words = vocabulary_of(SNAPSHOT, shipped)
    ours = {
        (item.field, "not_nullable" if item.constraint == "required" else item.constraint, item.row)
        for item in failures(shipped.schema, columns, words)
    }
    typed = [
        {field.name: field.read(columns[field.name][row]) for field in FIELDS}
        for row in range(RECORDS)
    ]
    theirs = found(typed, words, engine, tmp_path)
    assert placed(ours, engine) <= theirs
    assert {place[::2] for place in theirs} == {place[::2] for place in placed(ours, engine)}


def _readable(field: Field, cell: str) -> str:
    """The cell, blank where it cannot be kept as its type."""
    try:
        value = field.read(cell)
    except ValueError:
        return ""
    return "" if isinstance(value, int) and abs(value) > MOST else cell
