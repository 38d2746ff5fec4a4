"""The published JSON: shapes, types, schemas."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from rl_resources import InvalidOutput, load
from rl_resources.dataset import Dataset
from rl_resources.query.diff import Table, diff
from rl_resources.revision import Release
from rl_resources.site import api
from rl_resources.site.validation import hold_to_schemas

CONTRACT = Path(__file__).with_name("api_contract.json")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load()


@pytest.fixture(scope="module")
def files(dataset: Dataset) -> dict[str, Any]:
    return parsed(dataset, commit="0" * 40, commit_time=0, files={"downloads/a.csv": b"a\xff\n"})


def parsed(dataset: Dataset, **known: Any) -> dict[str, Any]:
    """Every file of the API as a value."""
    publication = api.Publication(**known)
    listed = api.documents(dataset, publication)
    texts = api.files(dataset, publication, listed)
    return {path: json.loads(text) for path, text in texts.items()}


def test_every_document_holds_the_schema_that_the_index_names(files: dict[str, Any]) -> None:
    listed = files["api/v1/index.json"]["documents"]
    assert {f"api/v1/{item['path']}" for item in listed} == {
        path
        for path in files
        if "/schema/" not in path and not path.endswith(("/index.json", "/openapi.json"))
    }
    for item in listed:
        schema = files[f"api/v1/{item['schema']}"]
        Draft202012Validator(schema).validate(files[f"api/v1/{item['path']}"])
    Draft202012Validator(files["api/v1/schema/index.json"]).validate(files["api/v1/index.json"])


def test_sizes_together_hold_every_record_once(files: dict[str, Any], dataset: Dataset) -> None:
    ids = [
        record["id"]
        for size in dataset.records["sizes"]
        for record in files[f"api/v1/sizes/{str(size['size']).lower()}.json"]["records"]
    ]
    assert sorted(ids) == sorted(item["id"] for item in files["api/v1/records.json"]["records"])
    assert len(ids) == len(set(ids)) == len(dataset.records["tuning"])


def test_a_document_that_breaks_its_schema_is_refused(dataset: Dataset) -> None:
    document = api.records_document(dataset)
    broken = dict(document.value)
    broken["records"] = [{**broken["records"][0], "gpus": "two"}]
    with pytest.raises(InvalidOutput, match=r"records/0/gpus: .two. is not"):
        hold_to_schemas([dataclasses.replace(document, value=broken)], api.schemas(dataset))


def test_a_field_that_no_schema_names_is_refused_though_consumers_must_bear_it(
    dataset: Dataset,
) -> None:
    document = api.records_document(dataset)
    more = {**document.value, "records": [{**document.value["records"][0], "new": 1}]}
    schema = api.schemas(dataset)["schema/records.json"]
    Draft202012Validator(schema).validate(more)
    with pytest.raises(InvalidOutput, match="'new'"):
        hold_to_schemas([dataclasses.replace(document, value=more)], api.schemas(dataset))


def test_a_schema_stands_alone(files: dict[str, Any]) -> None:
    for path, schema in files.items():
        if "/schema/" in path:
            Draft202012Validator.check_schema(schema)
            targets = {item for place, item in _targets(schema)}
            assert targets <= {f"#/$defs/{name}" for name in schema.get("$defs", {})}
            assert targets == {f"#/$defs/{name}" for name in schema.get("$defs", {})}


def _targets(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "$ref":
                yield name, item
            yield from _targets(item)
    elif isinstance(value, list):
        for item in value:
            yield from _targets(item)


def test_everything_in_one_document_is_what_the_others_hold(files: dict[str, Any]) -> None:
    whole = files["api/v1/all.json"]
    tables = [name for name, value in whole.items() if isinstance(value, list)]
    tables.remove("licenses")
    assert set(tables) == set(files["api/v1/index.json"]["counts"])
    for name in tables:
        assert whole[name] == files[f"api/v1/{name}.json"][name]


def test_the_index_has_the_checksum_of_every_document_and_download(dataset: Dataset) -> None:
    others = {"downloads/a.csv": b"a\xff\n", "rst/7b.rst": "ä\n", "index.md": "# A page\n"}
    publication = api.Publication(files=others)
    texts = api.files(dataset, publication, api.documents(dataset, publication))
    index = json.loads(texts["api/v1/index.json"])
    published = {**texts, **others}
    listed = [*index["documents"], *index["downloads"]]
    assert [item["path"] for item in index["downloads"]] == [
        "../../downloads/a.csv",
        "../../rst/7b.rst",
    ]
    for item in listed:
        content = published[urljoin("/api/v1/index.json", item["path"])[1:]]
        data = content.encode() if isinstance(content, str) else content
        assert (item["bytes"], item["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


def test_the_index_names_no_commit_of_a_changed_checkout(dataset: Dataset) -> None:
    index = parsed(dataset, commit=None, commit_time=1_700_000_000)["api/v1/index.json"]
    assert (index["commit"], index["committed_at"]) == (None, None)
    index = parsed(dataset, commit="0" * 40, commit_time=1_700_000_000)["api/v1/index.json"]
    assert index["committed_at"] == "2023-11-14T22:13:20Z"


def test_the_description_is_valid_openapi_and_has_every_document(files: dict[str, Any]) -> None:
    description = files["api/v1/openapi.json"]
    OpenAPIV31SpecValidator(description).validate()
    patterns = [re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(p)) for p in description["paths"]]
    for item in files["api/v1/index.json"]["documents"]:
        assert any(re.fullmatch(pattern, f"/{item['path']}") for pattern in patterns), item["path"]


def test_every_example_of_the_description_is_a_real_response(files: dict[str, Any]) -> None:
    description = files["api/v1/openapi.json"]
    seen = 0
    for path, item in description["paths"].items():
        operation = item["get"]
        place = path[1:]
        for parameter in operation.get("parameters", ()):
            place = place.replace(f"{{{parameter['name']}}}", parameter["example"])
        content = operation["responses"]["200"]["content"]["application/json"]
        example = content["examples"]["published"]
        schema = {**content["schema"], "components": description["components"]}
        real = files[f"api/v1/{place}"]
        if "value" in example:
            seen += 1
            Draft202012Validator(schema).validate(example["value"])
            assert example["value"] == real
        else:
            assert example["externalValue"] == place
    assert seen >= 5


def test_generators_of_clients_find_one_name_for_each_schema_and_no_page_among_the_replies(
    files: dict[str, Any],
) -> None:
    description = files["api/v1/openapi.json"]
    known = description["components"]["schemas"]
    assert [name for name, schema in known.items() if "title" in schema] == []
    assert "Record" not in known  # a word of TypeScript and Java
    for path, item in description["paths"].items():
        assert ("404" in item["get"]["responses"]) is ("{" in path)
    (reply,) = description["components"]["responses"].values()
    assert "content" not in reply


def test_the_description_names_a_server_only_where_the_address_is_known(dataset: Dataset) -> None:
    here = parsed(dataset)["api/v1/openapi.json"]["servers"]
    there = parsed(dataset, site="https://example.org/x/")["api/v1/openapi.json"]["servers"]
    assert (here, there) == ([{"url": "."}], [{"url": "https://example.org/x/api/v1"}])


def test_the_api_is_what_its_contract_says(files: dict[str, Any]) -> None:
    """Record what is new in `api_contract.json`; what it names must stay, or move to `/api/v2`."""
    description = files["api/v1/openapi.json"]
    found = {
        "paths": sorted(description["paths"]),
        "fields": {
            component: {name: in_words(field) for name, field in schema["properties"].items()}
            for component, schema in description["components"]["schemas"].items()
        },
    }
    assert found == json.loads(CONTRACT.read_text(encoding="utf-8"))


def in_words(schema: dict[str, Any]) -> str:
    """A schema in a line: its type, or what it refers to, and the words of its vocabulary."""
    if "anyOf" in schema:
        return " or ".join(map(in_words, schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    words = " or ".join(map(str, kinds))
    if "items" in schema:
        words += f" of {in_words(schema['items'])}"
    if "properties" in schema:
        fields = (f"{name}: {in_words(item)}" for name, item in schema["properties"].items())
        words += f" ({', '.join(fields)})"
    return words + "".join(f" | {word}" for word in schema.get("enum", ()))


def test_a_release_has_a_document_of_its_changes(dataset: Dataset) -> None:
    columns = ("script", "gpus")
    rows = ({"script": "a.sh", "gpus": "1"}, {"script": "b.sh", "gpus": "1"})
    states = [{"tuning": Table(("script",), columns, rows[:count])} for count in (1, 2)]
    release = Release("2026.11.0", "2026-11-21", None, [], diff(*states))
    publication = api.Publication(releases=[release])
    documents = api.documents(dataset, publication)
    hold_to_schemas(documents, api.schemas(dataset))
    values = {item.path: item.value for item in documents}
    assert values["changes.json"]["releases"][0]["path"] in values
    (change,) = values["changes/2026.11.0.json"]["since_release"]
    assert (change["table"], change["added"]) == ("tuning", [rows[1]])
