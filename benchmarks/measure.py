"""One measurement, in a process of its own: `python measure.py WHAT CSV OUT`.

Prints seconds, seconds of processor and the peak of memory. What was found goes to OUT, a Parquet
file of row (from 0), field and kind; a cell of which an engine tells twice is there twice.
Imports and the reading of the schema are not measured.
"""

from __future__ import annotations

import atexit
import json
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import take_snapshot
from rl_resources.package import read_package
from rl_resources.schema.validate import FAILURES

ROOT = Path(__file__).parents[1]
SNAPSHOT = take_snapshot(read_package(ROOT))
TABLE = SNAPSHOT.tables["tuning"]
WORDS = vocabulary_of(SNAPSHOT, TABLE)
UNIQUE = "unique"
Found = Callable[[], pl.DataFrame]


def ours(path: Path) -> Found:
    """The engine of `rl-resources check --resource`."""
    from rl_resources.schema.bulk import survey

    return lambda: survey(path, TABLE.schema, WORDS).broken.cast(dict(FAILURES))


def read(path: Path) -> Found:
    """What polars needs to read the file into columns of the schema's types; bad cells are null."""
    from rl_resources.schema.compiled import compiled

    columns = compiled(TABLE.schema.fields, {}).columns
    types = {name: column.dtype.type for name, column in columns.items()}

    def run() -> pl.DataFrame:
        pl.read_csv(path, schema=types, ignore_errors=True)
        return pl.DataFrame(schema=FAILURES)

    return run


def pandas(path: Path) -> Found:
    """The same pandera schema on pandas, with types read by pandas; blanks and types by hand."""
    import pandas as pd
    import pandera.errors

    from rl_resources.schema.compiled import compiled

    fields = TABLE.schema.fields
    schema = compiled(fields, WORDS, "pandas")

    def typed(raw: pd.Series[str], kind: str) -> Any:
        if kind == "date":
            return pd.to_datetime(raw, format="%Y-%m-%d", errors="coerce").astype("datetime64[s]")
        if kind in {"integer", "number"}:
            numbers = pd.to_numeric(raw, errors="coerce")
            whole = numbers.where(numbers % 1 == 0) if kind == "integer" else numbers
            return whole.astype("Int64" if kind == "integer" else "Float64")
        return raw

    def run() -> pl.DataFrame:
        raw = pd.read_csv(path, dtype="str", keep_default_na=False, na_values=[""])
        frame = pd.DataFrame({field.name: typed(raw[field.name], field.type) for field in fields})
        found = [
            (row, field.name, "type")
            for field in fields
            for row in raw.index[raw[field.name].notna() & frame[field.name].isna()]
        ]
        told = {(row, name) for row, name, _ in found}
        try:
            schema.validate(frame, lazy=True)
        except pandera.errors.SchemaErrors as error:
            cases = error.failure_cases[["index", "column", "check"]].itertuples(index=False)
            found += [
                (row, name, "required" if check == "not_nullable" else check)
                for row, name, check in cases
                if (row, name) not in told
            ]
        return pl.DataFrame(found, schema=FAILURES, orient="row")

    return run


_NOTE = re.compile(r'constraint "(\w+)" is ')


def frictionless(path: Path) -> Found:
    """`frictionless validate` of a package of this file and the tables that it refers to."""
    import frictionless as judge

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    package = json.loads((ROOT / "datapackage.json").read_text(encoding="utf-8"))
    wanted = {"tuning", *(key.resource for key in TABLE.schema.foreign_keys)}
    package["resources"] = [item for item in package["resources"] if item["name"] in wanted]
    for name in ("schema", "records"):
        shutil.copytree(ROOT / name, folder / name)
    for item in package["resources"]:
        schema = json.loads((folder / item["schema"]).read_text(encoding="utf-8"))
        keys = [
            key for key in schema.get("foreignKeys", []) if key["reference"]["resource"] in wanted
        ]
        (folder / item["schema"]).write_text(json.dumps(schema | {"foreignKeys": keys}))
    (folder / "records/tuning.csv").unlink()
    (folder / "records/tuning.csv").symlink_to(path.resolve())
    (folder / "datapackage.json").write_text(json.dumps(package))

    def run() -> pl.DataFrame:
        report = judge.validate(str(folder / "datapackage.json"), limit_errors=10**9)
        task = next(task for task in report.tasks if task.name == "tuning")
        return pl.DataFrame(
            [place for error in task.errors for place in _places(error)],
            schema=FAILURES,
            orient="row",
        )

    return run


def _places(error: Any) -> list[tuple[int, str, str]]:
    row = error.row_number - 2
    if error.type == "foreign-key":
        return [(row, name, "vocabulary") for name in error.field_names]
    match = _NOTE.match(error.note)
    kinds = {"type-error": "type", "unique-error": UNIQUE, "primary-key": UNIQUE}
    kind = kinds.get(error.type) or (match[1] if match else error.type)
    return [(row, getattr(error, "field_name", ""), kind)]


ENGINES: dict[str, Callable[[Path], Found]] = {
    "polars reads": read,
    "rl-resources": ours,
    "pandera on pandas": pandas,
    "frictionless": frictionless,
}


def main(what: str, path: str, out: str) -> None:
    """Measure once."""
    run = ENGINES[what](Path(path))
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found.write_parquet(out)
    print(json.dumps(spent | {"peak_gb": peak, "findings": found.height}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
