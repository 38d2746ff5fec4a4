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
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat()[:10] if isinstance(value, date) else value


def rows(records: Iterable[Mapping[str, Any]]) -> Rows:
    return [{name: plain(value) for name, value in record.items()} for record in records]


def named(table: str, cells: Iterable[Iterable[Any]]) -> Rows:
    names = PACKAGE.resources[table].schema.names
    return rows(dict(zip(names, line, strict=True)) for line in cells)


def by_csv(folder: Path, table: str) -> Rows:
    fields = {field.name: field for field in PACKAGE.resources[table].schema.fields}
    lines = read_rows(folder / f"{table}.csv")
    return rows({name: fields[name].read(cell) for name, cell in line.items()} for line in lines)


def by_frictionless(folder: Path, table: str) -> Rows:
    package = frictionless.Package(str(folder / "datapackage.json"))
    return rows(row.to_dict() for row in package.get_resource(table).read_rows())


def by_polars(folder: Path, table: str) -> Rows:
    return rows(pl.read_parquet(folder / f"{table}.parquet").iter_rows(named=True))


def by_duckdb(folder: Path, table: str) -> Rows:
    return named(table, duckdb.read_parquet(str(folder / f"{table}.parquet")).fetchall())


def by_sqlite(folder: Path, table: str) -> Rows:
    fields = PACKAGE.resources[table].schema.fields
    lists = [field.name for field in fields if field.type == "list"]
    found = named(table, asked(folder, f'SELECT * FROM "{table}"'))  # noqa: S608
    return [
        {**row, **{name: json.loads(row[name]) for name in lists if row[name]}} for row in found
    ]


def asked(folder: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "rl-resources.sqlite")) as connection:
        return connection.execute(question).fetchall()


def by_mlcroissant(folder: Path, table: str) -> Rows:
    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).records(record_set=table)
    return [{name.removeprefix(f"{table}/"): row[name] for name in row} for row in rows(found)]


FOREIGN = (by_duckdb, by_frictionless, by_mlcroissant)


@pytest.mark.parametrize(
    "read",
    [by_csv, by_polars, by_sqlite, *(pytest.param(r, marks=pytest.mark.nightly) for r in FOREIGN)],
)
def test_every_format_holds_every_cell_of_every_table(read, downloads_folder):
    for table in TABLES:
        assert read(downloads_folder, table) == rows(DATASET.records[table]), table


def test_each_format_carries_its_schema(downloads_folder):
    assert not asked(downloads_folder, "PRAGMA foreign_key_check")
    statements = dict(asked(downloads_folder, "SELECT name, sql FROM sqlite_master"))
    for table in TABLES:
        schema = PACKAGE.resources[table].schema
        found = pl.read_parquet_metadata(downloads_folder / f"{table}.parquet")
        assert json.loads(found["table_schema"]) == schema.document
        columns = asked(downloads_folder, f'PRAGMA table_info("{table}")')
        assert tuple(name for _, name, *_, place in columns if place) == schema.primary_key
        keys = asked(downloads_folder, f'PRAGMA foreign_key_list("{table}")')
        assert {key[3] for key in keys} == {key.field for key in schema.foreign_keys}
        assert all(f"-- {field.sentence}\n" in statements[table] for field in schema.fields)


def test_the_view_joins_model_and_device_to_every_record(downloads_folder):
    columns = "script, model_size, device_memory_gb"
    found = asked(downloads_folder, f"SELECT {columns} FROM records")  # noqa: S608
    models, devices = DATASET.by_key["models"], DATASET.by_key["devices"]
    assert found == [
        (row["script"], models[row["model"]]["size"], devices[row["device"]]["memory_gb"])
        for row in DATASET.records["tuning"]
    ]


@pytest.mark.nightly
def test_mlcroissant_and_frictionless_accept_the_descriptions(downloads_folder):
    metadata = mlcroissant.Dataset(jsonld=str(downloads_folder / "croissant.json")).metadata
    issues = metadata.ctx.issues
    assert (list(issues.errors), list(issues.warnings)) == ([], [])
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
    assert [(item["contentUrl"], item["sha256"]) for item in found["distribution"]] == [
        (f"https://example.org/x/downloads/{item.name}", item.sha256)
        for item in files
        if item.format == "CSV"
    ]


def test_no_text_of_the_descriptor_ends_the_block_that_describes_the_dataset():
    title = "</script><script>alert(1)</script>"
    package = replace(PACKAGE, document={**PACKAGE.document, "title": title})
    page, found, _ = described(replace(DATASET, package=package))
    assert found["alternateName"] == title
    assert title not in page


def test_the_dataset_card_names_the_license_and_a_file_for_every_table(downloads_folder):
    _, front, text = (downloads_folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["license"] == [licence["name"].lower() for licence in PACKAGE.document["licenses"]]
    assert [item["config_name"] for item in card["configs"] if item.get("default")] == ["tuning"]
    assert [item["data_files"] for item in card["configs"]] == [f"{t}.parquet" for t in TABLES]
    assert PACKAGE.document["description"] in text
