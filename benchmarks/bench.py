"""`make bench`: how fast `check` is, beside others that judge the same records to the same effect.

Each measurement is a process of its own; those of one row of a table follow each other in turn, and
a figure is the median of the rounds. Nothing is ever failed for being slow.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import starts
from records import write_records

import rl_resources

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
SLOW = ("frictionless", "pandera on pandas")
ENGINES: Mapping[str, str] = {
    "polars reads": "pl.read_csv into the schema's types; nothing is judged",
    "rl-resources": "the engine of `check --resource`: which cells break a type, a constraint, "
    "the vocabulary or a rule of texts, which keys repeat, and whether we would split it alike",
    "frictionless": "validate of a package of the file and the tables that it refers to",
    "pandera on pandas": "the same pandera schema, after pd.read_csv and casts",
}
ROUNDS_OF_SLOW = {1_000_000: 1}  # many minutes each
PACKAGES = ("polars", "pandera", "pandas", "frictionless")

Figures = dict[str, Any]


def engines(
    sizes: Sequence[int], rounds: int, folder: Path, chosen: Sequence[str] = tuple(ENGINES)
) -> Iterator[Figures]:
    """Every chosen engine on every file. Raises `ValueError` where two do not find the same."""
    dataset = rl_resources.load(ROOT)
    for size in sizes:
        for bad in (0.0, 0.01):
            path = folder / f"{size}-{bad}.csv"
            write_records(path, dataset, size, bad)
            spent: dict[str, list[Figures]] = {engine: [] for engine in chosen}
            for number in range(rounds):
                for engine in chosen:
                    if engine not in SLOW or number < ROUNDS_OF_SLOW.get(size, rounds):
                        out = folder / f"{engine}.parquet"
                        spent[engine].append(_measured(engine, path, out))
            _hold_equal(folder, [engine for engine in SLOW if engine in chosen])
            path.unlink()
            yield from (_row(size, bad, engine, figures) for engine, figures in spent.items())


def _measured(engine: str, path: Path, out: Path) -> Figures:
    command = [sys.executable, str(HERE / "measure.py"), engine, str(path), str(out)]
    found: Figures = json.loads(subprocess.check_output(command))
    return found


def _hold_equal(folder: Path, others: Sequence[str]) -> None:
    """All engines find the same cells; each kind of ours is one of those that another tells.

    Raises `ValueError` where that is not so.
    """
    ours = pl.read_parquet(folder / "rl-resources.parquet")
    for engine in others:
        theirs = pl.read_parquet(folder / f"{engine}.parquet")
        places = ours.join(theirs, on=["row", "field"], how="full", coalesce=False)
        kinds = ours.join(theirs, on=ours.columns, how="anti")
        if places.null_count().sum_horizontal().item() or kinds.height:
            raise ValueError(f"rl-resources and {engine} do not find the same")


def _row(size: int, bad: float, engine: str, figures: Sequence[Figures]) -> Figures:
    middle = {name: median(figure[name] for figure in figures) for name in figures[0]}
    return {"rows": size, "bad": bad, "engine": engine, "rounds": len(figures)} | middle


def table(rows: Sequence[Figures]) -> Iterator[str]:
    """The engines' figures as lines of text, with ratios to reading and to our own engine."""
    yield (
        f"{'rows':>8} {'bad':>5} {'engine':18} {'n':>2} {'s':>8} {'CPU s':>8} {'GB':>5} "
        f"{'us/row':>7} {'findings':>8} {'x reading':>10} {'CPU x reading':>14} {'x ours':>7}"
    )
    for row in rows:
        by = {other["engine"]: other for other in rows if _same_file(other, row)}
        read, own = by["polars reads"], by["rl-resources"]
        yield (
            f"{row['rows']:>8} {row['bad']:>5.0%} {row['engine']:18} {row['rounds']:>2} "
            f"{row['seconds']:>8.2f} {row['cpu']:>8.2f} {row['peak_gb']:>5.2f} "
            f"{row['seconds'] / row['rows'] * 1e6:>7.2f} {row['findings']:>8} "
            f"{row['seconds'] / read['seconds']:>10.2f} {row['cpu'] / read['cpu']:>14.2f} "
            f"{row['seconds'] / own['seconds']:>7.1f}"
        )


def legend() -> Iterator[str]:
    """What the engines' lines measure."""
    yield "Each is one process; imports and the reading of the schema are left out of its figures."
    yield from (f"{engine}: {words}" for engine, words in ENGINES.items())


def _same_file(one: Figures, other: Figures) -> bool:
    return (one["rows"], one["bad"]) == (other["rows"], other["bad"])


def slopes(rows: Sequence[Figures]) -> Iterator[str]:
    """How time and memory grow with the rows: exponents, by least squares on logarithms."""
    for bad in (0.0, 0.01):
        own = [row for row in rows if row["engine"] == "rl-resources" and row["bad"] == bad]
        if len(own) > 1:
            growth = {name: _slope(own, name) for name in ("seconds", "cpu", "peak_gb")}
            words = ", ".join(f"{name} {value:.2f}" for name, value in growth.items())
            yield f"slope on log-log, {bad:.0%} bad: {words}"


def _slope(rows: Sequence[Figures], name: str) -> float:
    x = [math.log(row["rows"]) for row in rows]
    y = [math.log(row[name]) for row in rows]
    at, level = sum(x) / len(x), sum(y) / len(y)
    pairs = zip(x, y, strict=True)
    return sum((a - at) * (b - level) for a, b in pairs) / sum((a - at) ** 2 for a in x)


def machine() -> Figures:
    """What the figures depend on."""
    releases = {name: version(name) for name in PACKAGES}
    load = os.getloadavg()[0]
    return {"python": platform.python_version(), "cores": os.cpu_count(), "load": load} | releases


def main() -> None:
    """Measure, print the tables, write all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--out", type=Path, default=ROOT / "build/benchmarks.json")
    arguments = parser.parse_args()
    found: Figures = {"machine": machine(), "starts": list(starts.starts(arguments.rounds))}
    print(found["machine"], *starts.table(found["starts"]), sep="\n", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        chosen = [engine for engine in ENGINES if not (arguments.quick and engine in SLOW)]
        found["engines"] = list(engines(arguments.sizes, arguments.rounds, Path(folder), chosen))
    lines = [*table(found["engines"]), *slopes(found["engines"]), *legend()]
    print(*lines, sep="\n")  # noqa: T201
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
