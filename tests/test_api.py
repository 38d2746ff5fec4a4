"""The published JSON: shapes, types, schemas; where an id leads that is gone."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

from rl_resources.dataset import Dataset, moves
from rl_resources.git import Repository
from rl_resources.site import api, record_page
from rl_resources.site.api import files
from rl_resources.site.environment import Site
from sample_tree import with_tables
from shipped import DATASET

CONTRACT = Path(__file__).with_name("api_contract.json")
UNKNOWN = Repository(None, None, None)
OTHERS: dict[str, str | bytes] = {
    "downloads/a.csv": b"a\xff\n",
    "rst/7b.rst": "ä\n",
    "a.md": "#",
}


def published(commit: str | None = None, site_url: str = "") -> dict[str, Any]:
    repository = Repository(commit, 1_700_000_000, None)
    documents = api.documents(DATASET, repository, OTHERS)
    return dict(files(DATASET, site_url, documents))


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    found = {}
    texts = published(commit="0" * 40)
    for path, text in texts.items():
        found[path.removeprefix("api/v1/")] = json.loads(text)
    return found


def validate(document: Any, schema: Any) -> None:
    """A document has all that its schema names, and nothing else."""

    def closed(node: dict[str, Any]) -> dict[str, Any]:
        if "properties" in node:
            node["additionalProperties"] = False
        return node

    only = json.loads(json.dumps(schema), object_hook=closed)
    Draft202012Validator(only, format_checker=FormatChecker()).validate(document)


def test_the_index_lists_every_document_and_download_with_its_schema(values):
    index = values["index.json"]
    described = {item["path"]: item["schema"] for item in index["documents"]}
    documents = {path for path in values if not path.startswith("schema/")}
    assert set(described) == documents - {"index.json", "openapi.json"}
    del described["all.json"]  # has the same rows
    for path, schema in described.items():
        validate(values[path], values[schema])
    validate(index, values["schema/index.json"])
    paths = [item["path"] for item in index["downloads"]]
    assert paths == ["../../downloads/a.csv", "../../rst/7b.rst"]


def test_one_record_is_the_same_in_every_document(values):
    records = values["records.json"]["records"]
    by_size = []
    for path, value in values.items():
        if path.startswith("sizes/"):
            by_size += value["records"]
    assert sorted(map(str, by_size)) == sorted(map(str, records))
    for row in records:
        own = values[f"records/{row['id']}.json"]
        assert own["record"] == row
    together = values["all.json"]
    for name in values["index.json"]["counts"]:
        table = values[f"{name}.json"]
        assert together[name] == table[name]


def test_the_commit_is_named_only_where_the_checkout_has_no_changes(values):
    assert values["index.json"]["committed_at"] == "2023-11-14T22:13:20Z"
    index = json.loads(published()["api/v1/index.json"])
    assert index["commit"] is None
    assert index["committed_at"] is None


def test_the_openapi_document_is_valid_and_its_examples_are_real(values):
    openapi = values["openapi.json"]
    OpenAPIV31SpecValidator(openapi).validate()
    schemas = openapi["components"]["schemas"]
    for path, item in openapi["paths"].items():
        operation = item["get"]
        place = path.removeprefix("/")
        for parameter in operation.get("parameters", ()):
            placeholder = f"{{{parameter['name']}}}"
            place = place.replace(placeholder, parameter["example"])
        content = operation["responses"]["200"]["content"]["application/json"]
        assert content["examples"]["published"]["externalValue"] == place
        name = content["schema"]["$ref"].removeprefix("#/components/schemas/")
        validate(values[place], schemas[name])


def test_the_openapi_document_names_the_server_of_the_site(values):
    assert values["openapi.json"]["servers"] == [{"url": "."}]
    texts = published(site_url="https://example.org/x/")
    openapi = json.loads(texts["api/v1/openapi.json"])
    assert openapi["servers"] == [{"url": "https://example.org/x/api/v1"}]


def test_the_api_is_what_its_contract_says(values):
    """Record what is new in `api_contract.json`; what it names must stay, or move to `/api/v2`."""
    openapi = values["openapi.json"]
    schemas = openapi["components"]["schemas"]
    tables = schemas["index"]["properties"]["counts"]["properties"]
    rows = {}
    for table in tables:
        properties = schemas[table]["properties"]
        rows[f"row of {table}"] = properties[table]["items"]
    contract = json.loads(CONTRACT.read_text())
    assert sorted(openapi["paths"]) == contract["paths"]
    described = schemas | rows
    for name, schema in described.items():
        properties = schema["properties"]
        fields = {field: in_words(item, rows) for field, item in properties.items()}
        assert fields == contract["fields"].get(name), name
    assert described.keys() == contract["fields"].keys()


def in_words(schema: dict[str, Any], rows: dict[str, Any]) -> str:
    """A schema in a line: its type, or the row that it is, and the words of its vocabulary."""
    for name, row in rows.items():
        if schema == row:
            return name
    if "anyOf" in schema:
        return " or ".join(in_words(item, rows) for item in schema["anyOf"])
    words = str(schema["type"])
    if isinstance(schema["type"], list):
        words = " or ".join(schema["type"])
    if "items" in schema:
        words += f" of {in_words(schema['items'], rows)}"
    if "properties" in schema:
        properties = schema["properties"]
        fields = [
            f"{name}: {in_words(item, rows)}" for name, item in properties.items()
        ]
        words += f" ({', '.join(fields)})"
    for word in schema.get("enum", ()):
        words += f" | {word}"
    return words


TODAY = "qwen2-7b-instruct_grpo_2_h800_fsdp_vllm"


def _moved(*rows: tuple[str, tuple[str, ...] | None]) -> Dataset:
    moved = []
    for name, to in rows:
        row = {
            "resource": "tuning",
            "id": name,
            "moved_to": to,
            "version": "2026.12.0",
            "reason": "Why.",
        }
        moved.append(row)
    return with_tables(DATASET, moved=moved)


def test_moves_are_followed_to_what_stands_there_today():
    dataset = _moved(
        ("a", ("b", "c")),
        ("b", (TODAY,)),
        ("c", None),
    )
    found = moves(dataset, "tuning")
    assert found["a"]["moved_to"] == (TODAY,)
    assert found["b"]["moved_to"] == (TODAY,)
    assert found["c"]["moved_to"] == ()
    assert len(found) == 3


def test_the_old_document_says_where_the_record_went_and_holds_its_schema():
    dataset = _moved(("old", (TODAY,)))
    documents = api.documents(dataset, UNKNOWN, {})
    by_path = {item.path: item.text for item in documents}
    document = json.loads(by_path["records/old.json"])
    assert document["record"] is None
    assert document["moved"] == {
        "moved_to": [TODAY],
        "version": "2026.12.0",
        "reason": "Why.",
    }
    schema = api.schemas(dataset)["record"]
    Draft202012Validator(schema).validate(document)


def test_the_old_page_links_to_the_new_one_or_says_withdrawn():
    moved = _moved(("old", (TODAY,)), ("gone", None))
    dataset = with_tables(moved, tuning=())
    pages = record_page.pages(Site(dataset), {}, UNKNOWN)
    (link,) = re.findall(r'href="([^"]+)"', pages["records/old.md"])
    assert urljoin("/records/old/", link) == f"/records/{TODAY}/"
    assert "withdrawn" in pages["records/gone.md"]
