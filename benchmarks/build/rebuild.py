"""What a rebuild under `mkdocs serve` costs after one row has changed.

`python benchmarks/build/rebuild.py ROOT ROUNDS` does to a copy of the checkout what the server does
when a file is saved, and prints the figures as JSON.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from checkout import SOURCES
from mkdocs.commands.build import build
from mkdocs.config import load_config

ADDRESS = "http://127.0.0.1:8000/"
TABLE = "records/tuning.csv"


def measured(root: Path, rounds: int) -> dict[str, Any]:
    """Medians of seconds and processor time, and MB at the most."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        for name in (*SOURCES, "examples"):
            (shutil.copytree if (root / name).is_dir() else shutil.copy)(
                root / name, checkout / name
            )
        _rebuild(checkout, first=True)
        spent = []
        for number in range(rounds):
            _edit(checkout / TABLE, number)
            spent.append(_rebuild(checkout))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    seconds, used = (median(column) for column in zip(*spent, strict=True))
    return {"spent": (seconds, used, most)}


def _rebuild(checkout: Path, *, first: bool = False) -> tuple[float, float]:
    seconds, used = time.perf_counter(), time.process_time()
    config = load_config(
        str(checkout / "mkdocs.yml"), site_dir=str(checkout / "build/site"), site_url=ADDRESS
    )
    if first:
        config.plugins.on_startup(command="serve", dirty=False)
    build(config, serve_url=ADDRESS)
    return time.perf_counter() - seconds, time.process_time() - used


def _edit(table: Path, number: int) -> None:
    """Name another contributor in the first row that names one."""
    head, *rows = table.read_text(encoding="utf-8").split("\n")
    column = head.split(",").index("contributor")
    row = next(row for row in rows if row.split(",")[column])
    cells = row.split(",")
    cells[column] = f"somebody-{number}"
    rows[rows.index(row)] = ",".join(cells)
    table.write_text("\n".join([head, *rows]), encoding="utf-8")


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
