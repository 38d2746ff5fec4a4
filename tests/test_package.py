"""Reading the descriptor and the dataset; what users get from `load`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import frictionless
import pandas as pd
import pytest

import rl_resources
from rl_resources import InvalidDataset, UnreadableDataset
from rl_resources.dataset import find_root
from rl_resources.package import CONSTRAINTS, Field, read_package

ROOT = Path(__file__).parents[1]


def test_the_shipped_package_is_valid_to_an_independent_judge() -> None:
    report = frictionless.validate(str(ROOT / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])


def test_all_nine_sizes_of_the_seed_exist_in_order() -> None:
    sizes = rl_resources.load().sizes["size"].tolist()
    assert sizes == ["0.5B", "1.5B", "3B", "7B", "14B", "32B", "70B", "405B", "671B"]


def test_load_gives_typed_frames() -> None:
    tuning = rl_resources.load().tuning
    assert isinstance(tuning, pd.DataFrame)
    assert tuning["gpus"].dtype == "Int64"
    assert tuning["max_batch"].isna().any()
    assert tuning["tested_on"].dtype.kind == "M"


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'pandas', 'polars', 'pandera', 'mkdocs', 'docutils', 'jsonschema', 'jinja2'}"
    code = f"import sys, rl_resources.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("field_type", "cell", "value"),
    [
        ("integer", "8", 8),
        ("number", "7.61", 7.61),
        ("boolean", "true", True),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("list", "a b", ("a", "b")),
        ("string", "x", "x"),
        ("integer", "", None),
    ],
)
def test_a_cell_is_read_and_written_back(field_type: str, cell: str, value: object) -> None:
    field = Field("name", field_type, "Title", "Text.", {}, delimiter=" ")
    assert field.read(cell) == value
    assert field.write(field.read(cell)) == cell


@pytest.mark.parametrize(
    ("field_type", "cell"),
    [("integer", "1.5"), ("integer", "٣"), ("boolean", "maybe"), ("date", "2026-02-30")],
)
def test_a_cell_of_another_type_is_refused(field_type: str, cell: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Field("name", field_type, "Title", "Text.", {}).read(cell)


def test_every_constraint_of_the_schemas_is_one_that_something_checks() -> None:
    package = read_package(ROOT)
    used = {
        word
        for resource in package.resources.values()
        for field in resource.schema.fields
        for word in field.constraints
    }
    assert used <= CONSTRAINTS


def test_the_root_is_found_from_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "datapackage.json").write_text("{}")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_root(below) == tmp_path


def test_no_root_is_an_error_that_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDataset) as caught:
        find_root(tmp_path)
    assert "--root" in caught.value.help


def test_an_unreadable_cell_is_told_with_its_place(tmp_path: Path) -> None:
    fields = [{"name": "n", "type": "integer", "title": "N", "description": "A number."}]
    schema = {"title": "T", "description": "D", "fields": fields, "primaryKey": ["n"]}
    (tmp_path / "t.json").write_text(json.dumps({**schema, "orderBy": ["n"]}))
    resource = {"name": "t", "path": "t.csv", "schema": "t.json"}
    descriptor = {"title": "T", "description": "D", "version": "1", "licenses": []}
    (tmp_path / "datapackage.json").write_text(json.dumps({**descriptor, "resources": [resource]}))
    (tmp_path / "t.csv").write_text("n\n1\ntwo\n")
    with pytest.raises(InvalidDataset) as caught:
        rl_resources.load(tmp_path)
    (finding,) = caught.value.findings
    assert (finding.path, finding.line, finding.column) == ("t.csv", 3, 1)
