"""The downloads: each opens in the tool it is meant for, and all hold the same cells."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import frictionless
import mlcroissant
import polars as pl
import pytest
import yaml

from rl_resources import Dataset
from rl_resources.site.downloads import Download, downloads
from rl_resources.site.environment import Site
from rl_resources.site.pages import data_page
from shipped import DATASET
from website import read_rows

PACKAGE = DATASET.package
TABLES = list(DATASET.records)
Rows = list[dict[str, Any]]


def plain(value: Any) -> Any:
    """A value in the words of JSON, however a reader gives it."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date):
        return value.isoformat()[:10]
    return value


def rows(records: Iterable[Mapping[str, Any]]) -> Rows:
    return [plain(record) for record in records]


def named(table: str, cells: Iterable[Iterable[Any]]) -> Rows:
    names = PACKAGE.resources[table].schema.names
    return rows(dict(zip(names, line, strict=True)) for line in cells)


def by_csv(folder: Path, table: str) -> Rows:
    schema = PACKAGE.resources[table].schema

    def typed(line: Mapping[str, str]) -> Mapping[str, Any]:
        return {name: schema.field(name).read(cell) for name, cell in line.items()}

    lines = read_rows(folder / f"{table}.csv")
    return rows(map(typed, lines))


def by_frictionless(folder: Path, table: str) -> Rows:
    package = frictionless.Package(str(folder / "datapackage.json"))
    found = package.get_resource(table).read_rows()
    return rows(row.to_dict() for row in found)


def by_polars(folder: Path, table: str) -> Rows:
    frame = pl.read_parquet(folder / f"{table}.parquet")
    return rows(frame.iter_rows(named=True))


def by_duckdb(folder: Path, table: str) -> Rows:
    found = duckdb.read_parquet(str(folder / f"{table}.parquet"))
    return named(table, found.fetchall())


def by_sqlite(folder: Path, table: str) -> Rows:
    fields = PACKAGE.resources[table].schema.fields
    lists = [field.name for field in fields if field.type == "list"]
    found = named(table, asked(folder, f'SELECT * FROM "{table}"'))  # noqa: S608
    for row in found:
        row.update({name: json.loads(row[name]) for name in lists if row[name]})
    return found


def asked(folder: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "rl-resources.sqlite")) as connection:
        return connection.execute(question).fetchall()


def by_mlcroissant(folder: Path, table: str) -> Rows:
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    found = []
    for record in rows(dataset.records(record_set=table)):
        row = {name.removeprefix(f"{table}/"): value for name, value in record.items()}
        found.append(row)
    return found


@pytest.mark.parametrize(
    "read",
    [
        by_csv,
        by_polars,
        by_sqlite,
        pytest.param(by_duckdb, marks=pytest.mark.nightly),
        pytest.param(by_frictionless, marks=pytest.mark.nightly),
        pytest.param(by_mlcroissant, marks=pytest.mark.nightly),
    ],
)
def test_every_format_holds_every_cell_of_every_table(read, downloads_folder):
    for table in TABLES:
        expected = rows(DATASET.records[table])
        assert read(downloads_folder, table) == expected, table


def test_each_format_carries_its_schema(downloads_folder):
    assert not asked(downloads_folder, "PRAGMA foreign_key_check")
    statements = dict(asked(downloads_folder, "SELECT name, sql FROM sqlite_master"))
    for table in TABLES:
        schema = PACKAGE.resources[table].schema
        found = pl.read_parquet_metadata(downloads_folder / f"{table}.parquet")
        assert json.loads(found["table_schema"]) == schema.document
        columns = asked(downloads_folder, f'PRAGMA table_info("{table}")')
        primary_key = [name for _, name, *_, place in columns if place]
        assert primary_key == list(schema.primary_key)
        keys = asked(downloads_folder, f'PRAGMA foreign_key_list("{table}")')
        fields = {field for _, _, _, field, *_ in keys}
        assert fields == {key.field for key in schema.foreign_keys}
        for field in schema.fields:
            assert f"-- {field.sentence}\n" in statements[table]


def test_the_view_joins_model_and_device_to_every_record(downloads_folder):
    columns = "script, model_size, device_memory_gb"
    found = asked(downloads_folder, f"SELECT {columns} FROM records")  # noqa: S608
    expected = []
    for row in DATASET.records["tuning"]:
        model = DATASET.by_key["models"][row["model"]]
        device = DATASET.by_key["devices"][row["device"]]
        expected.append((row["script"], model["size"], device["memory_gb"]))
    assert found == expected


@pytest.mark.nightly
def test_mlcroissant_and_frictionless_accept_the_descriptions(downloads_folder):
    metadata = mlcroissant.Dataset(
        jsonld=str(downloads_folder / "croissant.json")
    ).metadata
    issues = metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    for item in metadata.file_objects:
        content = (downloads_folder / item.content_url).read_bytes()
        assert item.sha256 == hashlib.sha256(content).hexdigest()
    assert frictionless.validate(str(downloads_folder / "datapackage.json")).valid


def described(dataset: Dataset) -> tuple[str, dict[str, Any], list[Download]]:
    """The page of the data of a published site, the JSON-LD in it, and the files."""
    site = Site(dataset, None, "https://example.org/x/")
    files = [*downloads(site)]
    page = data_page(site, files)
    block = re.search(r'(?m)^<script type="application/ld\+json">(.*)</script>$', page)
    assert block
    return page, json.loads(block[1]), files


def test_the_page_describes_the_dataset_as_croissant_in_the_words_of_schema_org():
    _, found, files = described(DATASET)
    assert found["url"] == "https://example.org/x/data/"
    assert 50 <= len(found["description"]) <= 5000  # what Google's dataset search takes
    for csv, item in zip(files, found["distribution"], strict=False):
        assert csv.format == "CSV"
        assert item["contentUrl"] == f"https://example.org/x/downloads/{csv.name}"
        assert item["sha256"] == csv.sha256
    assert len(found["distribution"]) == len(TABLES)


def test_no_text_of_the_descriptor_ends_the_block_that_describes_the_dataset():
    title = "</script><script>alert(1)</script>"
    package = replace(PACKAGE, document={**PACKAGE.document, "title": title})
    page, found, _ = described(replace(DATASET, package=package))
    assert found["alternateName"] == title
    assert title not in page


def test_the_dataset_card_names_the_license_and_a_file_for_every_table(
    downloads_folder,
):
    content = (downloads_folder / "README.md").read_text()
    _, front, text = content.split("---\n", 2)
    card = yaml.safe_load(front)
    licenses = PACKAGE.document["licenses"]
    assert card["license"] == [license_["name"].lower() for license_ in licenses]
    configs = card["configs"]
    for item, table in zip(configs, TABLES, strict=True):
        assert item["data_files"] == f"{table}.parquet"
    (default,) = [item for item in configs if item.get("default")]
    assert default["config_name"] == "tuning"
    assert PACKAGE.document["description"] in text
