"""How long `build` takes beside plain MkDocs on equal pages: `python benchmarks/build/bench.py`.

Whole processes, in turn; the first round fills caches and is told apart. A figure is the median of
the others. Nothing is ever failed for being slow.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from checkout import ROOT, write_checkout
from peer import write_peer

Figures = dict[str, Any]
RECORD_PAGES = "records/*/index.html"


def measured(count: int, rounds: int, folder: Path) -> Figures:
    """Check, build and the peer at a number of records; 0 is the shipped dataset."""
    root = ROOT
    if count:
        root = folder / "checkout"
        write_checkout(root, count)
    pages = write_peer(root, folder / "peer")
    python = (sys.executable, "-m")
    commands = {
        "check": (*python, "rl_resources", "check", "--root", str(root)),
        "build": (*python, "rl_resources", "build", "--root", str(root), "--out", str(folder)),
        "peer": (*python, "mkdocs", "build", "-q", "-f", str(folder / "peer/mkdocs.yml")),
    }
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    environment["RL_RESOURCES_CACHE"] = str(folder / "cache")
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        # The cold build must come before a check that fills its cache.
        for name in ("build", "peer", "check"):
            spent[name].append(_run(commands[name], environment))
    site = folder / "site"
    return {
        "records": count or len(list(site.glob(RECORD_PAGES))),
        "pages": pages,
        "rounds": rounds,
        "cold_build": spent["build"][0],
        **{name: _middle(figures[1:]) for name, figures in spent.items()},
        "bytes": _weights(site),
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def _middle(figures: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(median(column) for column in zip(*figures, strict=True))


def _weights(site: Path) -> dict[str, float]:
    """Bytes of a record's page, the page of a size, the search index and the finder's data."""
    records = [path.stat().st_size for path in site.glob(RECORD_PAGES)]
    others = ("sizes/7b/index.html", "search/search_index.json", "assets/finder.json", "index.html")
    return {"record": median(records), **{name: (site / name).stat().st_size for name in others}}


def lines(found: Sequence[Figures]) -> list[str]:
    """The figures as a table."""
    head = f"{'records':>8} {'pages':>6} {'':12} {'s':>8} {'CPU s':>8} {'x peer':>7} {'CPU x':>6}"
    rows = [head]
    for row in found:
        wall, cpu = row["peer"]
        for name in ("check", "build", "cold_build", "peer"):
            s, used = row[name]
            rows.append(
                f"{row['records']:>8} {row['pages']:>6} {name:12} {s:>8.2f} {used:>8.2f}"
                f" {s / wall:>7.2f} {used / cpu:>6.2f}"
            )
        weights = (f"{name} {size:,.0f}" for name, size in row["bytes"].items())
        rows.append(f"{'':9}bytes: {', '.join(weights)}")
    return rows


def main() -> None:
    """Measure, print the table, write all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="*", default=[0, 10, 1000, 5000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "build/benchmark-of-build.json")
    arguments = parser.parse_args()
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    machine |= {"load": os.getloadavg()[0]}
    machine |= {name: version(name) for name in ("mkdocs", "mkdocs-material")}
    found = []
    for count in arguments.records:
        with tempfile.TemporaryDirectory() as folder:
            found.append(measured(count, arguments.rounds, Path(folder)))
    print(machine, *lines(found), sep="\n")  # noqa: T201
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    value = {"machine": machine, "builds": found}
    arguments.out.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
