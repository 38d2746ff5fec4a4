"""One published statement as it was transcribed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FILES = ("verl-family", "other-frameworks")


@dataclass(frozen=True)
class Statement:
    """A row of a facts file. `row` is its own id, or its line number where the file gives none."""

    file: str
    row: str
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The cell's text; empty for a column that this file does not have."""
        return self.cells.get(column, "")

    @property
    def key(self) -> tuple[str, str]:
        """What the ledger calls it."""
        return self.file, self.row

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """All that tells the statement from others: where it stands and what it says.

        How it was read, and the words of whoever transcribed it, are no part of it.
        """
        return tuple(self[column] for column in IDENTIFYING)


IDENTIFYING = (
    *("source_repo", "source_commit", "source_path", "source_line", "evidence_url"),
    *("model", "task", "num_gpus", "nodes", "device", "device_memory_gb", "framework"),
    *("train_backend", "infer_backend", "train_batch_size", "samples_per_prompt"),
    *("max_prompt_length", "max_response_length", "max_total_length", "parallelism"),
    *("script_path", "outcome", "peak_gpu_memory_gb", "throughput", "step_time_s"),
)


def read_statements(folder: Path) -> list[Statement]:
    """All statements of a folder of facts, in the order of `FILES` and their rows."""
    return [statement for file in FILES for statement in _read(folder / f"{file}.csv")]


def _read(path: Path) -> Iterator[Statement]:
    with path.open(encoding="utf-8", newline="") as text:
        for number, cells in enumerate(csv.DictReader(text), 2):
            yield Statement(path.stem, cells.get("row_id") or str(number), cells)
