"""Reading the descriptor and the dataset; what users get from `load`."""

import json
import sys
from pathlib import Path

import frictionless
import pandas as pd
import pytest

import rl_resources
from rl_resources import InvalidDataset
from rl_resources.cli import main
from sample_tree import apply, ran

ROOT = Path(__file__).parents[1]


def test_the_shipped_package_is_valid_to_an_independent_judge():
    report = frictionless.validate(str(ROOT / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])


def test_load_gives_typed_frames():
    tuning = rl_resources.load().tuning
    assert isinstance(tuning, pd.DataFrame)
    assert tuning["gpus"].dtype == "Int64"
    assert tuning["max_batch"].isna().any()
    assert tuning["tested_on"].dtype.kind == "M"


def test_all_public_names_are_there_before_they_are_asked_for():
    code = "import rl_resources as r; print(*(name in dir(r) for name in r.__all__), r.lod)"
    done = ran(sys.executable, "-c", code)
    assert "module 'rl_resources' has no attribute 'lod'" in done.stderr
    assert {*ran(sys.executable, "-c", code.replace(", r.lod", "")).stdout.split()} == {"True"}


def test_an_unreadable_cell_is_reported_with_its_place(root):
    apply(root, [{"file": "records/trials.csv", "line": 3, "set": {"batch": "two"}}])
    with pytest.raises(InvalidDataset) as caught:
        rl_resources.load(root)
    (finding,) = caught.value.findings
    assert (finding.path, finding.line, finding.column) == ("records/trials.csv", 3, 53)


@pytest.mark.parametrize("gone", ["trials", "reports", "compatibility", "moved"])
def test_an_answer_from_a_package_that_lacks_a_table_says_which(gone, root, capsys):
    path = root / "datapackage.json"
    document = json.loads(path.read_text())
    document["resources"] = [item for item in document["resources"] if item["name"] != gone]
    path.write_text(json.dumps(document))
    assert main(["check", "--root", str(root)]) == 2
    assert f"datapackage.json: there is no resource called '{gone}'" in capsys.readouterr().err
    assert main(["find", "--root", str(root)]) in (0, 2)


def test_an_answer_that_stumbles_over_a_cell_says_what_is_wrong_with_it(root, capsys):
    apply(root, [{"file": "records/reports.csv", "line": 2, "set": {"statement": "guessed"}}])
    assert main(["find", "--root", str(root)]) == 1
    assert "records/reports.csv:2:" in capsys.readouterr().err
