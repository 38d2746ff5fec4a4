"""The files below `/downloads`: every table in the forms that other tools open.

All of them hold the same cells. A CSV file holds every text as `records/` has it: `check` refuses
one that a spreadsheet would take for a formula, so nothing has to be escaped, and reading gives
back what was written.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rl_resources import tabular
from rl_resources.dataset import Dataset
from rl_resources.site.metadata import card, croissant, descriptor
from rl_resources.site.sqlite import database

BASE = "downloads"
DATABASE = "rl-resources"
_POLARS_TYPES: Mapping[str, Any] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "list": pl.List(pl.String),
}


@dataclass(frozen=True, slots=True)
class Download:
    """One file; `path` is its place below the site's root, `table` its resource if it has one.

    Files of one `format` are listed together; `holds` says in a few words what is in this one.
    """

    path: str
    format: str
    mediatype: str
    holds: str
    content: bytes
    table: str = ""

    @property
    def name(self) -> str:
        """Its name in the folder of downloads."""
        return self.path.removeprefix(f"{BASE}/")

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.content)

    @property
    def sha256(self) -> str:
        """Its SHA-256 in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


def downloads(dataset: Dataset, site: str = "") -> tuple[Download, ...]:
    """Every file, the same bytes for the same dataset.

    `site` is the URL of the site with its closing slash, or empty; only Croissant names it.
    """
    csv = {name: csv_text(dataset, name).encode() for name in dataset.records}
    files = (*_tables(dataset, csv), *_of_all_tables(dataset, csv, site))
    sums = "".join(f"{item.sha256}  {item.name}\n" for item in files)
    return (*files, _described("SHA256SUMS", "text/plain", "For `sha256sum --check`", sums))


def _tables(dataset: Dataset, csv: Mapping[str, bytes]) -> Iterator[Download]:
    titles = {name: item.schema.title for name, item in dataset.package.resources.items()}
    for name, content in csv.items():
        yield Download(f"{BASE}/{name}.csv", "CSV", "text/csv", titles[name], content, name)
    mediatype = "application/vnd.apache.parquet"
    for name, title in titles.items():
        content = parquet(dataset, name)
        yield Download(f"{BASE}/{name}.parquet", "Parquet", mediatype, title, content, name)


def _of_all_tables(dataset: Dataset, csv: Mapping[str, bytes], site: str) -> Iterator[Download]:
    path, mediatype = f"{BASE}/{DATABASE}.sqlite", "application/vnd.sqlite3"
    yield Download(path, "SQLite", mediatype, "All tables", database(dataset))
    text, holds = descriptor(dataset.package, csv), "Data Package 2.0 with all Table Schemas"
    yield _described("datapackage.json", "application/json", holds, text)
    text = croissant(dataset.package, csv, f"{site}{BASE}/" if site else "")
    yield _described("croissant.json", "application/ld+json", "Croissant 1.1", text)
    yield _described("README.md", "text/markdown", "Dataset card", card(dataset))


def _described(name: str, mediatype: str, holds: str, text: str) -> Download:
    return Download(f"{BASE}/{name}", "Descriptions", mediatype, holds, text.encode())


def csv_text(dataset: Dataset, name: str) -> str:
    """One table as canonical CSV, with the header and the order of its file."""
    fields = dataset.package.resources[name].schema.fields
    rows = ([field.write(row[field.name]) for field in fields] for row in dataset.records[name])
    return tabular.write([[field.name for field in fields], *rows])


def parquet(dataset: Dataset, name: str) -> bytes:
    """One table with typed columns; the file's metadata have its Table Schema and the licenses."""
    package, schema = dataset.package, dataset.package.resources[name].schema
    types = {field.name: _POLARS_TYPES[field.type] for field in schema.fields}
    frame = pl.DataFrame(dataset.records[name], schema=types)
    about = {
        "title": schema.title,
        "description": schema.description,
        "version": package.version,
        "licenses": json.dumps(package.licenses),
        "table_schema": json.dumps(schema.document, ensure_ascii=False),
    }
    file = io.BytesIO()
    frame.write_parquet(file, metadata=about)
    return file.getvalue()
