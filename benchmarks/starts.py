"""What a person waits for: whole processes on a copy of the dataset, beside others.

A changed file is one in which a sentence of a cell or a comment is another one before each run: the
case of a check before a commit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
OURS = str(BIN / "rl-resources")
TABLE, REPORTS, SCRIPT = "records/tuning.csv", "records/reports.csv", "SCRIPT"
FOLDERS = ("schema", "records", "examples")

COMMANDS: Mapping[str, Sequence[str]] = {
    "import pandas": (sys.executable, "-c", "import pandas"),
    "import pandera.polars": (sys.executable, "-c", "import pandera.polars"),
    "frictionless validate": (str(BIN / "frictionless"), "validate", "datapackage.json"),
    "rl-resources --help": (OURS, "--help"),
    "rl-resources find": (OURS, "find", "--model", "7B", "--gpus", "2"),
    "check of a changed table": (OURS, "check", TABLE),
    "check of a changed script": (OURS, "check", SCRIPT),
    "check of both, changed": (OURS, "check", TABLE, SCRIPT),
    "check of changed reports": (OURS, "check", REPORTS),
    "check of all": (OURS, "check"),
    "check of all without ShellCheck": (OURS, "check", "--ignore", "shellcheck,shellcheck-error"),
}


def starts(rounds: int) -> Iterator[dict[str, Any]]:
    """Every command in turn: the medians of `rounds` after one to warm up."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        root = _copy(Path(folder))
        script = next(path for path in sorted((root / "examples/tuning").rglob("*.sh")))
        files = {TABLE: root / TABLE, REPORTS: root / REPORTS, SCRIPT: script}
        changes = count()
        for _ in range(rounds + 1):
            for name, words in COMMANDS.items():
                for word in files.keys() & words:
                    _change(files[word], next(changes))
                command = [str(files.get(word, word)) for word in words]
                spent[name].append(_run(command, root))
    for name, (_, *measured) in spent.items():
        wall, cpu = (median(column) for column in zip(*measured, strict=True))
        yield {"command": name, "seconds": wall, "cpu": cpu, "rounds": rounds}


def _copy(folder: Path) -> Path:
    root = folder / "dataset"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "datapackage.json", root)
    return root


def _change(path: Path, number: int) -> None:
    """Put another number into the first sentence of a table or a script that speaks of a source."""
    text = path.read_text(encoding="utf-8")
    changed = re.sub(r"( source)(?: \(\d+\))?", rf"\1 ({number})", text, count=1)
    path.write_text(changed, encoding="utf-8")


def _run(command: Sequence[str], root: Path) -> tuple[float, float]:
    """Seconds, and seconds of processor. Raises `CalledProcessError` where there are findings."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else whatever was edited is compiled anew
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The figures as lines of text, beside importing pandas and frictionless."""
    by = {row["command"]: row for row in rows}
    pandas, judge = by["import pandas"], by["frictionless validate"]
    yield (
        f"{'process':34} {'s':>6} {'CPU s':>6} {'x import pandas':>16} {'x frictionless':>15} "
        f"{'(by CPU':>9} {'CPU)':>6}"
    )
    for row in rows:
        ratios = [row[unit] / one[unit] for unit in ("seconds", "cpu") for one in (pandas, judge)]
        yield (
            f"{row['command']:34} {row['seconds']:>6.2f} {row['cpu']:>6.2f} {ratios[0]:>16.2f} "
            f"{ratios[1]:>15.2f} {ratios[2]:>9.2f} {ratios[3]:>6.2f}"
        )
