"""`python -m fuzzing.campaign [TARGET…] --minutes M`: break files until the time is up.

Every example that something is wrong with is kept in the folder that `--keep` names.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from fuzzing.running import wrong
from fuzzing.targets import Target, targets
from sample_tree import plant


def campaign(name: str, target: Target, seconds: float, seed: int, keep: Path) -> int:
    """Try examples of one target for some seconds; how many went wrong, each way once."""
    random, end, tried = Random(seed), time.monotonic() + seconds, 0
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        root = plant(Path(folder) / "dataset")
        while time.monotonic() < end:
            example = target.example(random)
            tried += 1
            for problem in wrong(root, example):
                lines = problem.strip().splitlines()
                where = [line.strip() for line in lines if line.strip().startswith("File ")][-1:]
                way = f"{lines[-1].split(':')[0]} {where}"
                if way in seen:
                    continue
                seen.add(way)
                found = keep / f"{name}-{hashlib.sha256(example.data).hexdigest()[:12]}"
                keep.mkdir(parents=True, exist_ok=True)
                found.write_bytes(example.data)
                print(f"{name} #{tried} {found} as {example.path}\n{problem}\n", flush=True)
    print(f"{name}: {tried} examples, {len(seen)} ways to go wrong (seed {seed})", flush=True)
    return len(seen)


def main() -> int:
    """Exit status 1 where anything went wrong."""
    known = targets()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*known, []], help="default: all")
    parser.add_argument("--minutes", type=float, default=5, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    asked = parser.parse_args()
    found = [
        campaign(name, known[name], asked.minutes * 60, asked.seed, asked.keep.resolve())
        for name in asked.targets or known
    ]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
