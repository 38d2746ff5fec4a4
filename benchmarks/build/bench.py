"""How long `build` takes beside plain MkDocs on equal pages: `python benchmarks/build/bench.py`.

Whole processes, in turn; the first round warms up. A figure is the median of the others. Below
stand a rebuild of a server after one row has changed, without the quarter of a second that MkDocs
waits for more changes, and the weight of pages beside that at ten records. Nothing is ever failed
for being slow.
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
from memory import most_held
from peer import write_peer
from weights import HEAD as HEAD_OF_WEIGHTS
from weights import Weight, weights
from weights import lines as lines_of_weights

Figures = dict[str, Any]
RECORD_PAGES = "records/*/index.html"
REBUILD = Path(__file__).with_name("rebuild.py")
TEN = 10
HEAD = (
    f"{'records':>8} {'pages':>6} {'':12} {'s':>8} {'CPU s':>8}"
    f" {'x peer':>7} {'CPU x':>6} {'MB':>6}"
)


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
    spent: dict[str, list[tuple[float, ...]]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name in ("build", "peer", "check"):
            spent[name].append(_run(commands[name], environment))
    site = folder / "site"
    return {
        "records": count or len(list(site.glob(RECORD_PAGES))),
        "pages": pages,
        "rounds": rounds,
        **{name: _middle(figures[1:]) for name, figures in spent.items()},
        "rebuild": _rebuild(root, rounds, environment),
        "bytes": weights(site),
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, ...]:
    """Seconds, seconds of processor time, and MB that all its processes hold at the most."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with most_held(process.pid) as most:
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, used.ru_utime + used.ru_stime, most[0]


def _middle(figures: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(median(column) for column in zip(*figures, strict=True))


def _rebuild(root: Path, rounds: int, environment: Mapping[str, str]) -> Figures:
    """What `rebuild.py` measures, in a process of its own."""
    command = (sys.executable, str(REBUILD), str(root), str(rounds))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: Figures = json.loads(done.stdout)
    return found


def lines(row: Figures, ten: Mapping[str, Weight]) -> list[str]:
    """The figures of one number of records as rows of a table; weights beside those of `ten`."""
    rows = []
    wall, cpu, _ = row["peer"]
    again = row["rebuild"]
    spent = {**row, "rebuild": again["spent"]}
    for name in ("check", "build", "peer", "rebuild"):
        s, used, most = spent[name]
        rows.append(
            f"{row['records']:>8} {row['pages']:>6} {name:12} {s:>8.2f} {used:>8.2f}"
            f" {s / wall:>7.2f} {used / cpu:>6.2f} {most:>6.0f}"
        )
    return [*rows, HEAD_OF_WEIGHTS, *lines_of_weights(row["bytes"], ten)]


def main() -> None:
    """Measure, print the table, write all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="*", default=[TEN, 0, 1000, 5000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "build/benchmark-of-build.json")
    arguments = parser.parse_args()
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    machine |= {"load": os.getloadavg()[0]}
    machine |= {name: version(name) for name in ("mkdocs", "mkdocs-material")}
    print(machine, HEAD, sep="\n", flush=True)  # noqa: T201
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    found: list[Figures] = []
    ten: Mapping[str, Weight] = {}
    for count in arguments.records:
        with tempfile.TemporaryDirectory() as folder:
            found.append(measured(count, arguments.rounds, Path(folder)))
        ten = found[-1]["bytes"] if count == TEN else ten
        print(*lines(found[-1], ten), sep="\n", flush=True)  # noqa: T201
        value = {"machine": machine, "builds": found}
        arguments.out.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
