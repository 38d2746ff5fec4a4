"""The downloads: each opens in the tool it is meant for, and all hold the same cells."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import frictionless
import jsonschema
import mlcroissant
import polars as pl
import pytest
import yaml

from rl_resources.dataset import Dataset, load
from rl_resources.site import api
from rl_resources.site.downloads import downloads
from rl_resources.site.environment import Site
from rl_resources.site.pages import pages
from website import ROOT

DATASET = load(ROOT)
PACKAGE = DATASET.package
TABLES = list(DATASET.records)
DATABASE = "rl-resources.sqlite"

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


def by_frictionless(folder: Path, table: str) -> Rows:
    package = frictionless.Package(str(folder / "datapackage.json"))
    return rows(row.to_dict() for row in package.get_resource(table).read_rows())


def by_csv(folder: Path, table: str) -> Rows:
    fields = PACKAGE.resources[table].schema.fields
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file)
    return named(
        table,
        ([field.read(cell) for field, cell in zip(fields, line, strict=True)] for line in lines),
    )


def by_polars(folder: Path, table: str) -> Rows:
    return rows(pl.read_parquet(folder / f"{table}.parquet").iter_rows(named=True))


def by_duckdb(folder: Path, table: str) -> Rows:
    return named(table, duckdb.read_parquet(str(folder / f"{table}.parquet")).fetchall())


def by_sqlite(folder: Path, table: str) -> Rows:
    schema = PACKAGE.resources[table].schema
    lists = [field.name for field in schema.fields if field.type == "list"]
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        found = named(table, connection.execute(f'SELECT * FROM "{table}"'))  # noqa: S608
    return [
        {**row, **{name: json.loads(row[name]) for name in lists if row[name]}} for row in found
    ]


@cache
def documents() -> Mapping[str, Any]:
    return {item.path: item.value for item in api.documents(DATASET, api.Publication())}


def by_json(_: Path, table: str) -> Rows:
    name = "records" if table == "tuning" else table
    names = PACKAGE.resources[table].schema.names
    found = documents()[f"{name}.json"][name]
    return [{name: row[name] for name in names} for row in found]


@cache
def croissant(folder: Path) -> mlcroissant.Dataset:
    return mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))


def by_mlcroissant(folder: Path, table: str) -> Rows:
    found = croissant(folder).records(record_set=table)
    return rows(
        {name.removeprefix(f"{table}/"): value for name, value in row.items()} for row in found
    )


@pytest.mark.parametrize(
    "read",
    [by_csv, by_frictionless, by_polars, by_duckdb, by_sqlite, by_json, by_mlcroissant],
    ids=lambda read: read.__name__,
)
def test_every_format_holds_every_cell_of_every_table(
    read: Callable[[Path, str], Rows], downloads_folder: Path
) -> None:
    for table in TABLES:
        assert read(downloads_folder, table) == rows(DATASET.records[table]), table


@pytest.mark.parametrize("table", TABLES)
def test_parquet_has_the_schema_of_its_table(table: str, downloads_folder: Path) -> None:
    found = pl.read_parquet_metadata(downloads_folder / f"{table}.parquet")
    assert json.loads(found["table_schema"]) == PACKAGE.resources[table].schema.document
    assert found["version"] == PACKAGE.version


# What no rule refuses, and what some format or reader might take for something else.
HOSTILE = (
    'a "quoted", cell; with | every `separator`',
    "NA",
    "0.10",
    "' OR 1=1; --",
    "\\n \\u0000 \\",
    "a\u0301 \U0001f600 \u6587 \u05d0",
    "---",
    "x" * 500,
)


def hostile() -> Dataset:
    """Every text and every list of the first rows hold one of the texts above."""
    records = {}
    for table, resource in PACKAGE.resources.items():
        lines = []
        for number, text in enumerate(HOSTILE):
            cells: dict[str, Any] = {field.name: None for field in resource.schema.fields}
            for field in resource.schema.fields:
                if "enum" in field.constraints:
                    cells[field.name] = field.constraints["enum"][0]
                elif field.type == "string":
                    cells[field.name] = f"{text} {number}" if field.required else text
                elif field.type == "list":
                    cells[field.name] = tuple(text.split(field.delimiter))
                elif field.required or field.name in resource.schema.primary_key:
                    cells[field.name] = {"boolean": True, "date": date(2026, 1, 2)}.get(
                        field.type, number + 1
                    )
            lines.append(cells)
        records[table] = tuple(lines)
    return Dataset(PACKAGE, records)


def test_whatever_no_rule_refuses_reads_back_from_every_format(tmp_path: Path) -> None:
    dataset = hostile()
    for item in downloads(dataset):
        (tmp_path / item.name).write_bytes(item.content)
    for table in TABLES:
        for read in (by_csv, by_polars, by_duckdb, by_sqlite):
            assert read(tmp_path, table) == rows(dataset.records[table]), (table, read.__name__)


def test_tables_without_rows_are_published_too(tmp_path: Path) -> None:
    for item in downloads(Dataset(PACKAGE, dict.fromkeys(TABLES, ()))):
        (tmp_path / item.name).write_bytes(item.content)
    for table in TABLES:
        assert by_polars(tmp_path, table) == by_sqlite(tmp_path, table) == []
    assert frictionless.validate(str(tmp_path / "datapackage.json")).valid


def test_frictionless_finds_the_descriptor_and_every_file_valid(downloads_folder: Path) -> None:
    report = frictionless.validate(str(downloads_folder / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])
    assert len(report.tasks) == len(TABLES)


@pytest.mark.parametrize("descriptor", ["published", "committed"])
def test_the_descriptor_is_valid_under_the_profile_of_data_package_2(
    descriptor: str, downloads_folder: Path
) -> None:
    folder = {"published": downloads_folder, "committed": ROOT}[descriptor]
    document = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    assert document["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    profile = json.loads(
        (resources.files("dplib") / "profiles/2.0/datapackage.json").read_text(encoding="utf-8")
    )
    for resource in document["resources"] if descriptor == "published" else ():
        for field in resource["schema"]["fields"]:
            # The standard has `list`; its profile forgot it (frictionlessdata/datapackage#1089).
            field["type"] = "any" if field["type"] == "list" else field["type"]
    validator = jsonschema.Draft7Validator(profile)
    assert [error.message for error in validator.iter_errors(document)] == []
    document["resources"][0]["bytes"] = "many"
    assert list(validator.iter_errors(document)) != []


def asked(folder: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return connection.execute(question).fetchall()


def test_sqlite_finds_the_database_whole_and_every_reference_kept(downloads_folder: Path) -> None:
    assert asked(downloads_folder, "PRAGMA integrity_check") == [("ok",)]
    assert asked(downloads_folder, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("table", TABLES)
def test_sqlite_knows_the_keys_that_the_schema_states(table: str, downloads_folder: Path) -> None:
    schema = PACKAGE.resources[table].schema
    columns = asked(downloads_folder, f'PRAGMA table_info("{table}")')
    keys = sorted((place, name) for _, name, _, _, _, place in columns if place)
    assert tuple(name for _, name in keys) == schema.primary_key
    references = asked(downloads_folder, f'PRAGMA foreign_key_list("{table}")')
    found = {(column, target, key) for _, _, target, column, key, *_ in references}
    assert found == {(key.field, key.resource, key.reference) for key in schema.foreign_keys}


def test_the_view_tells_model_and_device_of_every_record(downloads_folder: Path) -> None:
    columns = "script, model_size, model_parameters_b, device_memory_gb"
    found = asked(downloads_folder, f"SELECT {columns} FROM records")  # noqa: S608
    models, devices = DATASET.by_key["models"], DATASET.by_key["devices"]
    assert found == [
        (
            record["script"],
            models[record["model"]]["size"],
            models[record["model"]]["parameters_b"],
            devices[record["device"]]["memory_gb"],
        )
        for record in DATASET.records["tuning"]
    ]


def test_mlcroissant_has_nothing_to_say_against_the_metadata(downloads_folder: Path) -> None:
    issues = croissant(downloads_folder).metadata.ctx.issues
    assert (list(issues.errors), list(issues.warnings)) == ([], [])
    for item in croissant(downloads_folder).metadata.file_objects:
        content = (downloads_folder / item.content_url).read_bytes()
        assert item.sha256 == hashlib.sha256(content).hexdigest()


def test_the_checksums_are_those_that_sha256sum_wants(downloads_folder: Path) -> None:
    lines = (downloads_folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in downloads_folder.iterdir()
        if path.name != "SHA256SUMS"
    }


def data_page(dataset: Dataset, address: str | None = None) -> tuple[str, dict[str, Any]]:
    """The page, and the JSON-LD in it."""
    page = pages(Site(dataset, None, address), downloads(dataset))["data.md"]
    block = re.search(r'(?m)^<script type="application/ld\+json">(.*)</script>$', page)
    assert block
    return page, json.loads(block[1])


def test_the_page_describes_the_dataset_in_the_words_of_schema_org() -> None:
    _, found = data_page(DATASET)
    _, published = data_page(DATASET, "https://example.org/x/")
    assert (found["url"], published["url"]) == ("./", "https://example.org/x/data/")
    assert published["distribution"][0]["contentUrl"].startswith("https://example.org/x/downloads/")
    assert (found["@context"], found["@type"]) == ("https://schema.org/", "Dataset")
    assert found["name"] == PACKAGE.title
    assert found["version"] == PACKAGE.version
    assert found["license"] == [licence["path"] for licence in PACKAGE.licenses]
    assert 50 <= len(found["description"]) <= 5000  # what Google's dataset search takes
    assert [(item["contentUrl"], item["sha256"]) for item in found["distribution"]] == [
        (f"../{item.path}", item.sha256) for item in downloads(DATASET)
    ]


def test_no_text_of_the_descriptor_ends_the_block_that_describes_the_dataset() -> None:
    title = "</script><script>alert(1)</script>"
    page, found = data_page(replace(DATASET, package=replace(PACKAGE, title=title)))
    assert found["name"] == title
    assert title not in page


def test_the_database_says_what_its_columns_mean(downloads_folder: Path) -> None:
    statements = asked(downloads_folder, "SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    assert [name for name, _ in statements] == TABLES
    for table, sql in statements:
        for field in PACKAGE.resources[table].schema.fields:
            assert f"-- {field.sentence}\n" in sql


def test_the_dataset_card_names_the_license_and_a_file_for_every_table(
    downloads_folder: Path,
) -> None:
    _, front, _ = (downloads_folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["license"] == [licence["name"].lower() for licence in PACKAGE.licenses]
    assert [item["config_name"] for item in card["configs"] if item.get("default")] == ["tuning"]
    assert [(item["config_name"], item["data_files"]) for item in card["configs"]] == [
        (table, f"{table}.parquet") for table in TABLES
    ]
