"""One Table Schema on three engines: polars, pandas, and a database through Ibis."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pandera.errors
import polars as pl
import pytest

from rl_resources.package import read_package
from rl_resources.schema.compiled import Engine, compiled

FIELDS = read_package(Path(__file__).parents[1]).resources["tuning"].schema.fields
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


def table(engine: Engine, folder: Path) -> Any:
    rows = [GOOD] + [GOOD | {name: value} for (name, _), value in BROKEN.items()]
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
    with pytest.raises(pandera.errors.SchemaErrors) as caught:
        compiled(FIELDS, WORDS, engine).validate(table(engine, tmp_path), lazy=True)
    cases = caught.value.failure_cases
    names = ("column", "check", "index", "failure_case")
    found = {_place(*case) for case in zip(*(list(cases[name]) for name in names), strict=True)}
    rows = {place: row for row, place in enumerate(BROKEN, 1)}
    if engine == "ibis":  # a database says that a cell is blank, and not where
        rows |= {place: None for place in rows if place[1] == "not_nullable"}
    assert found == set(rows.items())


def _place(column: str, check: str, row: int | None, value: Any) -> tuple[tuple[str, str], Any]:
    """Ibis tells the column beside the value."""
    return (next(iter(value)) if isinstance(value, dict) else column, check), row
