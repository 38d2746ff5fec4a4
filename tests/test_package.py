"""Reading the descriptor and the dataset; what users get from `load`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import frictionless
import pandas as pd
import pytest

import rl_resources
from rl_resources import InvalidDataset, UnreadableDataset
from rl_resources.cli import main
from rl_resources.package import Field, read_package
from sample_tree import apply

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


def test_all_public_names_are_there_before_they_are_asked_for() -> None:
    code = "import rl_resources as r; print(*(name in dir(r) for name in r.__all__), r.lod)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "module 'rl_resources' has no attribute 'lod'" in done.stderr
    code = code.replace(", r.lod", "")
    assert set(subprocess.check_output([sys.executable, "-c", code], text=True).split()) == {"True"}


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


def test_an_unreadable_cell_is_reported_with_its_place(tmp_path: Path) -> None:
    fields = [{"name": "n", "type": "integer", "title": "N", "description": "A number."}]
    schema = {"title": "T", "description": "D", "fields": fields, "primaryKey": ["n"]}
    (tmp_path / "t.json").write_text(json.dumps({**schema, "orderBy": ["n"]}))
    resource = {"name": "t", "path": "t.csv", "schema": "t.json"}
    descriptor = {"title": "T", "description": "D", "version": "2026.01.0", "licenses": []}
    (tmp_path / "datapackage.json").write_text(json.dumps({**descriptor, "resources": [resource]}))
    (tmp_path / "t.csv").write_text("n\n1\ntwo\n")
    with pytest.raises(InvalidDataset) as caught:
        rl_resources.load(tmp_path)
    (finding,) = caught.value.findings
    assert (finding.path, finding.line, finding.column) == ("t.csv", 3, 1)


def _first(**changed: object) -> Callable[[dict[str, Any]], Any]:
    """Change the first field of a schema."""
    return lambda schema: schema["fields"][0].update(changed)


def _limited(kind: str, **constraints: object) -> Callable[[dict[str, Any]], Any]:
    return _first(type=kind, constraints=constraints)


SCHEMAS_THAT_ARE_NONE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a name that is a number": _first(name=1),
    "a description that is null": _first(description=None),
    "constraints that are a list": _first(constraints=[1]),
    "a primary key that is a word": lambda schema: schema.update(primaryKey="size"),
    "an order by numbers": lambda schema: schema.update(orderBy=[1.5]),
    "fields that are a word": lambda schema: schema.update(fields="size"),
    "a foreign key to an object": lambda schema: schema.update(
        foreignKeys=[{"fields": ["size"], "reference": {"resource": {}, "fields": ["size"]}}]
    ),
    "a pattern that no machine can count": _limited("string", pattern="a{99999999999999999999}"),
    "required that is a word": _limited("string", required="yes"),
}


@pytest.mark.parametrize("change", SCHEMAS_THAT_ARE_NONE.values(), ids=SCHEMAS_THAT_ARE_NONE.keys())
def test_a_schema_that_is_none_is_reported_with_its_file(
    change: Callable[[dict[str, Any]], Any], root: Path
) -> None:
    path = root / "schema" / "sizes.json"
    schema = json.loads(path.read_text())
    change(schema)
    path.write_text(json.dumps(schema))
    with pytest.raises(UnreadableDataset, match=r"^schema/sizes\.json: "):
        read_package(root)


@pytest.mark.parametrize("version", ["", "1", "2026", "2026.13.0", "2026.01", None, 2026.1, {}])
def test_a_version_that_is_no_month_is_reported(version: object, root: Path) -> None:
    path = root / "datapackage.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))
    with pytest.raises(UnreadableDataset, match=r"^datapackage\.json: .* is not YYYY\.MM\.N"):
        read_package(root)


@pytest.mark.parametrize("gone", ["trials", "reports", "compatibility", "moved"])
def test_an_answer_from_a_package_that_lacks_a_table_says_which(
    gone: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / "datapackage.json"
    document = json.loads(path.read_text())
    document["resources"] = [item for item in document["resources"] if item["name"] != gone]
    path.write_text(json.dumps(document))
    assert main(["check", "--root", str(root)]) == 2
    assert f"datapackage.json: there is no resource called '{gone}'" in capsys.readouterr().err
    assert main(["find", "--root", str(root)]) in (0, 2)


def test_an_answer_that_stumbles_over_a_cell_says_what_is_wrong_with_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(root, [{"file": "records/reports.csv", "line": 2, "set": {"statement": "guessed"}}])
    assert main(["find", "--root", str(root)]) == 1
    assert "records/reports.csv:2:" in capsys.readouterr().err
