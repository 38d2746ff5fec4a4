"""Reading the descriptor and the dataset; what users get from `load`."""

import json
import sys

import frictionless
import pandas as pd
import pytest

import rl_resources
from rl_resources import InvalidDataset
from rl_resources.__main__ import status_of
from sample_tree import apply, ran, succeeded
from website import ROOT


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
    code = "import rl_resources; print(*dir(rl_resources))"
    names = succeeded(sys.executable, "-c", code).split()
    assert rl_resources.__all__
    assert set(rl_resources.__all__) <= set(names)


def test_a_name_that_the_package_does_not_have_is_named():
    code = "import rl_resources; rl_resources.lod"
    done = ran(sys.executable, "-c", code)
    assert "module 'rl_resources' has no attribute 'lod'" in done.stderr


def test_a_table_that_the_dataset_does_not_have_is_named(root):
    with pytest.raises(
        AttributeError, match=r"^'Dataset' object has no attribute 'trails'$"
    ):
        rl_resources.load(root).trails  # noqa: B018


def test_an_unreadable_cell_is_reported_with_its_place(root):
    cells = {"batch": "two"}
    apply(root, [{"file": "records/trials.csv", "line": 3, "set": cells}])
    with pytest.raises(InvalidDataset) as caught:
        rl_resources.load(root)
    assert str(caught.value) == "errors in the dataset: 1"
    assert caught.value.__notes__ == [
        "records/trials.csv:3:53: batch: 'two' is not a whole number"
    ]


@pytest.mark.parametrize("gone", ["trials", "reports", "compatibility", "moved"])
def test_an_answer_from_a_package_that_lacks_a_table_says_which(gone, root, command):
    path = root / "datapackage.json"
    document = json.loads(path.read_text())
    kept = [item for item in document["resources"] if item["name"] != gone]
    document["resources"] = kept
    path.write_text(json.dumps(document))
    answer = command("check", "--root", root, status=1)
    wrong = f"error: descriptor: there is no resource called `{gone}`"
    assert answer.endswith(f": {wrong}\n  help: Bring its entry back.\n")
    assert status_of(["find", "--root", str(root)]) in (0, 1)
