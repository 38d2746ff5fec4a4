"""The files below `/downloads`: every table in the forms that other tools open, and descriptions.

All of them contain the same cells. A CSV file has every text as in `records/`: `check` refuses
one that a spreadsheet would take for a formula, so nothing has to be escaped, and reading gives
back what was written. In SQLite lists are JSON arrays, dates ISO text, booleans 0 and 1.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html): one record set
reads one CSV file. No field says what it `references`, because mlcroissant 1.1 then joins the
tables and fails where one of them refers to a third; `datapackage.json` has the foreign keys.

The dataset card is a README in the form of Hugging Face's dataset repositories: its front matter
makes the directory one that `datasets` loads (https://huggingface.co/docs/hub/datasets-cards).
"""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from rl_resources.dataset import Dataset
from rl_resources.files import table_beside
from rl_resources.package import Package, Value
from rl_resources.site import document, rendered
from rl_resources.site.environment import Site
from rl_resources.text import json_text

BASE = "downloads"
VIEW = "records"
"""The view of the database that joins records with their models and devices."""
_WORDS = table_beside(__file__)


class Download(NamedTuple):
    """One file; `name` is its place in the directory, `table` its resource if it has one.

    Files of one `format` are listed together; `holds` says in a few words what is in this one.
    """

    name: str
    format: str
    holds: str
    content: bytes
    table: str = ""

    @property
    def sha256(self) -> str:
        """Its SHA-256 in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


def downloads(site: Site) -> Iterator[Download]:
    """Every file, the same bytes for the same dataset. Croissant alone names the site's URL."""
    dataset = site.dataset
    package = dataset.package
    csv: list[Download] = []
    for name, item in package.resources.items():
        content = (package.root / item.path).read_bytes()
        csv.append(Download(f"{name}.csv", "CSV", item.schema.title, content, name))
    yield from csv
    for file in csv:
        facts = (file.table, "parquet", file.content)
        content = site.once(facts, partial(parquet, dataset, file.table))
        yield Download(
            f"{file.table}.parquet", "Parquet", file.holds, content, file.table
        )
    yield Download("rl-resources.sqlite", "SQLite", "All tables", database(dataset))
    holds = "Data Package 2.0 with all Table Schemas"
    yield _described("datapackage.json", holds, descriptor(package, csv))
    yield _described(
        "croissant.json", "Croissant 1.1", croissant(package, csv, site.site_url)
    )
    card = site.page(f"{BASE}/README.md", citation=citation(package))
    yield Download("README.md", "Descriptions", "Dataset card", card.encode())


def _described(name: str, holds: str, document: Mapping[str, Any]) -> Download:
    return Download(name, "Descriptions", holds, json_text(document, 2).encode())


def parquet(dataset: Dataset, name: str) -> bytes:
    """One table with typed columns; the file's metadata have its Table Schema and the licenses."""
    package = dataset.package
    schema = package.resources[name].schema
    types: dict[str, Any] = {}
    for field in schema.fields:
        types[field.name] = getattr(pl, _WORDS["parquet"].get(field.type, "String"))
        if field.type == "list":
            types[field.name] = pl.List(pl.String)
    about = {
        "title": schema.title,
        "description": schema.description,
        "version": package.version,
        "licenses": json.dumps(package.document["licenses"]),
        "table_schema": json.dumps(schema.document, ensure_ascii=False),
    }
    file = io.BytesIO()
    pl.DataFrame(dataset.records[name], schema=types).write_parquet(
        file, metadata=about
    )
    return file.getvalue()


def database(dataset: Dataset) -> bytes:
    """All tables as one SQLite database: keys, foreign keys, a joined view."""
    package = dataset.package
    statements = rendered(
        "database.sql", package=package, types=_WORDS["sqlite"], view=VIEW
    )
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(statements)
        for name, resource in package.resources.items():
            rows = [list(map(_stored, row.values())) for row in dataset.records[name]]
            places = ", ".join("?" * len(resource.schema.fields))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)  # noqa: S608
        connection.commit()
        return connection.serialize()


def _stored(value: Value) -> object:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, date):
        return value.isoformat()
    return value


def descriptor(package: Package, files: Iterable[Download]) -> dict[str, Any]:
    """Data Package 2.0 of the CSV files next to it. It needs no other file."""
    by_table = {file.table: file for file in files}
    resources: list[dict[str, Any]] = []
    for item in package.document["resources"]:
        file = by_table[item["name"]]
        schema = package.resources[file.table].schema
        described = {
            **item,
            "path": file.name,
            "title": schema.title,
            "description": schema.description,
            "bytes": len(file.content),
            "hash": f"sha256:{file.sha256}",
            "schema": schema.document,
        }
        resources.append(described)
    return {**package.document, "resources": resources}


def croissant(
    package: Package, files: Sequence[Download], site_url: str
) -> dict[str, Any]:
    """Croissant of CSV files.

    With the site's URL the document can be read by its own URL; without one mlcroissant needs the
    files next to it.
    """
    return document(
        "croissant",
        package=package,
        files=files,
        folder=f"{site_url}{BASE}/" if site_url else "",
        page=f"{site_url or '../'}data/",
        authors=authors(package),
        citation=citation(package),
        types=_WORDS["croissant"],
    )


def citation(package: Package) -> str:
    """One line to cite this version by."""
    about = package.document
    year = package.created[:4]
    named = f"{about['name']}: {about['title']}"
    return (
        f"{', '.join(authors(package))} ({year}). {named}. Version {package.version}."
    )


def authors(package: Package) -> list[str]:
    """The names to cite."""
    return [item["title"] for item in package.document["contributors"]]
