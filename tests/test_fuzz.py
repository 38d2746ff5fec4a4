"""Broken files through the real commands: no traceback, no hang, a finding or a complaint.

The same examples every time, few of each kind; `make fuzz` breaks files for as long as it is let.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzzing.running import COMPLAINT, FINDING, MOST_MEMORY_BYTES, wrong
from fuzzing.targets import targets, write
from sample_tree import plant

TARGETS = targets()
EXAMPLES = {"table": 12, "schema": 30, "descriptor": 40, "page": 6, "log": 30, "records": 20}
FEWER = 5


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("fuzz") / "dataset")


@pytest.mark.parametrize("name", TARGETS)
def test_a_broken_file_is_told_and_breaks_nothing(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzzing.running.MOST_MEMORY_BYTES", sys.maxsize)
    random = Random(20261121)
    for _ in range(EXAMPLES.get(name, FEWER)):
        example = TARGETS[name].example(random)
        assert wrong(root, example) == [], f"{example.path}: {example.data[:2000]!r}"


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_without_sense_are_refused_in_a_process_of_one_gigabyte(
    name: str, root: Path
) -> None:
    path, _ = TARGETS[name].seeds[0]
    noise = Random(name).randbytes(300_000).replace(b"\n", b"")
    example = TARGETS[name].made(path, noise)
    held = (root / path).read_bytes() if (root / path).exists() else None
    write(root, example)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))

    done = subprocess.run(
        [sys.executable, "-m", "rl_resources", *example.commands[0], "--root", "."],
        cwd=root,
        capture_output=True,
        text=True,
        preexec_fn=limited,
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        check=False,
    )
    if held is None:
        (root / path).unlink()
    else:
        (root / path).write_bytes(held)
    told = done.stdout + done.stderr
    assert done.returncode in (1, 2), told
    assert FINDING.search(told) or COMPLAINT.search(told)
    assert "Traceback" not in told
