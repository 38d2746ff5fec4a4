"""Pages of hand-kept tables: read into values, made into records."""

from __future__ import annotations

import os
from pathlib import Path

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding
from rl_resources.page.read import read_page
from rl_resources.page.records import tuning_records
from rl_resources.page.write import tuning_csv

__all__ = ["import_page", "read_page", "tuning_csv", "tuning_records"]


def import_page(
    page: Path, scripts: Path | None, dataset: Dataset, framework: str = "verl"
) -> tuple[str, list[Finding]]:
    """The CSV text of the records of the file `page`, and what is wrong with it.

    `scripts` is the folder with the scripts that the page links to; only their names are read.
    Raises `UnusableInput` where page or folder cannot be read.
    """
    names = None if scripts is None else _script_names(scripts)
    parsed = read_page(_text(page), page.as_posix())
    records, findings = tuning_records(parsed, dataset, names, framework)
    return tuning_csv(records, dataset), findings


def _text(page: Path) -> str:
    try:
        if page.exists() and not page.is_file():
            raise UnusableInput(f"{page}: is not a file", "Name the page itself.")
        return page.read_bytes().decode("utf-8")
    except OSError as error:
        raise UnusableInput(
            f"{page}: cannot be read: {error.strerror}", "Name a page that can be read."
        ) from error
    except UnicodeDecodeError as error:
        raise UnusableInput(
            f"{page}: is not UTF-8 (byte {error.start})", "Save it as UTF-8."
        ) from error


def _script_names(folder: Path) -> list[str]:
    """Names of all scripts below `folder`, links to folders not followed."""
    try:
        files = [name for _, _, names in os.walk(folder, onerror=_refuse) for name in names]
    except OSError as error:
        raise UnusableInput(
            f"{folder}: cannot be read: {error.strerror}", "Name the folder that holds the scripts."
        ) from error
    return sorted(name for name in files if name.endswith(".sh"))


def _refuse(error: OSError) -> None:
    raise error
