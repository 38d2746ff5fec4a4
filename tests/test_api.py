"""The published JSON: shapes, types, schemas."""

from __future__ import annotations

import dataclasses
import json
from io import StringIO
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from rl_resources import InvalidOutput, load
from rl_resources.dataset import Dataset
from rl_resources.render import api
from rl_resources.render.validation import hold_to_schemas


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


@pytest.fixture(scope="module")
def files(dataset: Dataset) -> dict[str, Any]:
    return {path: json.loads(text) for path, text in api.files(dataset, "0" * 40).items()}


def test_every_document_holds_the_schema_that_the_index_names(files: dict[str, Any]) -> None:
    listed = files["api/v1/index.json"]["documents"]
    assert {f"api/v1/{item['path']}" for item in listed} == {
        path for path in files if "/schema/" not in path and not path.endswith("/index.json")
    }
    for item in listed:
        schema = files[f"api/v1/{item['schema']}"]
        Draft202012Validator(schema).validate(files[f"api/v1/{item['path']}"])
    Draft202012Validator(files["api/v1/schema/index.json"]).validate(files["api/v1/index.json"])


def test_numbers_are_numbers_and_blanks_are_null(files: dict[str, Any]) -> None:
    record = next(
        item
        for item in files["api/v1/records.json"]["records"]
        if item["id"] == "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"
    )
    assert record["gpus"] == 2
    assert record["max_batch"] is None
    assert record["size"] == "7B"
    assert record["path"] == "examples/tuning/7b/qwen2-7b-instruct_grpo_2_h800_fsdp_vllm.sh"


def test_no_column_holds_two_types(files: dict[str, Any]) -> None:
    types: dict[str, set[str]] = {}
    for record in files["api/v1/records.json"]["records"]:
        for name, value in record.items():
            if value is not None:
                types.setdefault(name, set()).add(type(value).__name__)
    assert {name: found for name, found in types.items() if len(found) > 1} == {}


def test_lists_are_arrays(files: dict[str, Any]) -> None:
    device = next(d for d in files["api/v1/devices.json"]["devices"] if d["device"] == "h100")
    assert "H100" in device["aliases"]
    assert all(source.startswith("https://") for source in device["source"])


def test_a_size_without_records_is_an_empty_list(dataset: Dataset) -> None:
    bare = dataclasses.replace(dataset, records={**dataset.records, "tuning": ()})
    document = json.loads(api.files(bare, None)["api/v1/sizes/671b.json"])
    assert document["records"] == []
    assert document["size"]["size"] == "671B"


def test_sizes_together_hold_every_record_once(files: dict[str, Any], dataset: Dataset) -> None:
    ids = [
        record["id"]
        for size in dataset.records["sizes"]
        for record in files[f"api/v1/sizes/{str(size['size']).lower()}.json"]["records"]
    ]
    assert sorted(ids) == sorted(item["id"] for item in files["api/v1/records.json"]["records"])
    assert len(ids) == len(set(ids)) == len(dataset.records["tuning"])


def test_a_record_has_its_trials_in_order(files: dict[str, Any]) -> None:
    trials = files["api/v1/records/qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm.json"]["trials"]
    assert [trial["batch"] for trial in trials] == [64, 128, 96, 112, 104, 100, 102, 101]
    assert trials[-1]["outcome"] == "out-of-memory"


def test_pandas_reads_the_records(dataset: Dataset) -> None:
    text = json.dumps(api.records_document(dataset).value["records"])
    frame = pd.read_json(StringIO(text))
    assert frame["gpus"].dtype.kind == "i"
    assert len(frame) == len(dataset.records["tuning"])


def test_a_document_that_breaks_its_schema_is_refused(dataset: Dataset) -> None:
    document = api.records_document(dataset)
    broken = dict(document.value)
    broken["records"] = [{**broken["records"][0], "gpus": "two"}]
    with pytest.raises(InvalidOutput, match=r"records/0/gpus: .two. is not"):
        hold_to_schemas([dataclasses.replace(document, value=broken)], api.schemas(dataset))
