"""The files below `/downloads`: every table in the forms that other tools open.

All of them hold the same cells. A CSV file holds every text as `records/` has it: `check` refuses
one that a spreadsheet would take for a formula, so nothing has to be escaped, and reading gives
back what was written.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rl_resources import tabular
from rl_resources.dataset import Dataset
from rl_resources.render.downloads.card import card
from rl_resources.render.downloads.croissant import croissant
from rl_resources.render.downloads.data_package import descriptor
from rl_resources.render.downloads.datasette import metadata
from rl_resources.render.downloads.parquet import parquet
from rl_resources.render.downloads.sqlite import database

BASE = "downloads"
JSON = "application/json"
PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Download:
    """One file; `path` is its place below the site's root, `table` its resource if it has one."""

    path: str
    mediatype: str
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


def downloads(dataset: Dataset) -> tuple[Download, ...]:
    """Every file, the same bytes for the same dataset."""
    package = dataset.package
    csv = {name: csv_text(dataset, name).encode() for name in dataset.records}
    return (
        *(Download(f"{BASE}/{name}.csv", "text/csv", csv[name], name) for name in csv),
        *(
            Download(f"{BASE}/{name}.parquet", PARQUET, parquet(package, resource, rows), name)
            for name, resource in package.resources.items()
            for rows in [dataset.records[name]]
        ),
        _about_all("rl-resources.sqlite", "application/vnd.sqlite3", database(dataset)),
        _about_all("rl-resources.datasette.json", JSON, metadata(package, "rl-resources")),
        _about_all("datapackage.json", JSON, descriptor(package, csv)),
        _about_all("croissant.json", "application/ld+json", croissant(package, csv)),
        _about_all("README.md", "text/markdown", card(dataset)),
    )


def _about_all(name: str, mediatype: str, content: str | bytes) -> Download:
    as_bytes = content if isinstance(content, bytes) else content.encode()
    return Download(f"{BASE}/{name}", mediatype, as_bytes)


def csv_text(dataset: Dataset, name: str) -> str:
    """One table as canonical CSV, with the header and the order of its file."""
    fields = dataset.package.resources[name].schema.fields
    rows = ([field.write(row[field.name]) for field in fields] for row in dataset.records[name])
    return tabular.write([[field.name for field in fields], *rows])
