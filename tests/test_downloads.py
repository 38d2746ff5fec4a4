"""The downloads: each opens in the tool it is meant for, and all hold the same cells."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import frictionless
import pytest

from rl_resources import tabular
from rl_resources.dataset import load, typed_records
from rl_resources.package import read_package
from rl_resources.render.downloads import Download, downloads
from website import ROOT

DATASET = load(ROOT)


@pytest.fixture(scope="session")
def made() -> dict[str, Download]:
    return {item.name: item for item in downloads(DATASET)}


@pytest.fixture(scope="session")
def folder(made: dict[str, Download], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything under `/downloads` and nothing else, as somebody has it who took it all."""
    folder = tmp_path_factory.mktemp("downloads")
    for item in made.values():
        (folder / item.name).write_bytes(item.content)
    return folder


def test_the_same_dataset_gives_the_same_bytes(made: dict[str, Download]) -> None:
    assert downloads(load(ROOT)) == tuple(made.values())


@pytest.mark.parametrize("name", DATASET.records)
def test_a_csv_file_reads_back_to_the_records(name: str, made: dict[str, Download]) -> None:
    text = tabular.read(made[f"{name}.csv"].content.decode())
    resource = DATASET.package.resources[name]
    assert typed_records(resource, text) == DATASET.records[name]


def test_frictionless_finds_the_descriptor_and_every_file_valid(folder: Path) -> None:
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])
    assert len(report.tasks) == len(DATASET.records)


def test_frictionless_tells_a_byte_that_was_changed(folder: Path, tmp_path: Path) -> None:
    for item in folder.iterdir():
        (tmp_path / item.name).write_bytes(item.read_bytes())
    text = (tmp_path / "sizes.csv").read_bytes()
    (tmp_path / "sizes.csv").write_bytes(text.removesuffix(b".\n") + b"!\n")
    report = frictionless.validate(str(tmp_path / "datapackage.json"))
    assert [row[0] for row in report.flatten(["type"])] == ["hash-count"]


def test_the_descriptor_states_hash_and_length_of_every_csv_file(folder: Path) -> None:
    descriptor = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    for resource in descriptor["resources"]:
        content = (folder / resource["path"]).read_bytes()
        assert resource["bytes"] == len(content)
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_the_descriptor_needs_no_file_of_ours_to_be_read(folder: Path) -> None:
    descriptor = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    schemas = {item["name"]: item["schema"] for item in descriptor["resources"]}
    package = read_package(ROOT)
    assert schemas == {name: item.schema.document for name, item in package.resources.items()}
