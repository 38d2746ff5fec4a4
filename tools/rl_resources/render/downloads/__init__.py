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
from rl_resources.render.downloads import data_package

BASE = "downloads"


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
    texts = {name: csv_text(dataset, name).encode() for name in dataset.records}
    descriptor = data_package.descriptor(dataset.package, texts)
    return (
        *(_download(f"{name}.csv", "text/csv", text, name) for name, text in texts.items()),
        _download("datapackage.json", "application/json", descriptor.encode()),
    )


def _download(name: str, mediatype: str, content: bytes, table: str = "") -> Download:
    return Download(f"{BASE}/{name}", mediatype, content, table)


def csv_text(dataset: Dataset, name: str) -> str:
    """One table as canonical CSV, with the header and the order of its file."""
    fields = dataset.package.resources[name].schema.fields
    rows = ([field.write(row[field.name]) for field in fields] for row in dataset.records[name])
    return tabular.write([[field.name for field in fields], *rows])
