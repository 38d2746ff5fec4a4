"""What the dataset holds and lacks, as tables for pages and as text and JSON for the command."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from rl_resources.dataset import Dataset
from rl_resources.query.coverage import WANTED_RULE, Cell, Coverage
from rl_resources.words import json_text

MOST_WANTED = 12


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device of one task: a cell for each size, blank counts where nothing is known."""

    device: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class TaskTable:
    """What is known of one task, for the devices of which anything is known."""

    task: str
    title: str
    rows: tuple[DeviceRow, ...]


def sizes_of(dataset: Dataset) -> list[str]:
    """The names of all sections in their order."""
    return [str(row["size"]) for row in dataset.records["sizes"]]


def task_tables(dataset: Dataset, found: Coverage) -> list[TaskTable]:
    """One table a task, the best covered first."""
    held = {(cell.size, cell.task, cell.device): cell for cell in found.cells}
    weights: dict[str, int] = {}
    for cell in found.cells:
        weights[cell.task] = weights.get(cell.task, 0) + 10 * cell.records + cell.all_reports
    tables = []
    for task in sorted(weights, key=lambda name: -weights[name]):
        names = {cell.device for cell in found.cells if cell.task == task}
        devices = [name for name in map(str, dataset.by_key["devices"]) if name in names]
        rows = [
            DeviceRow(
                device,
                tuple(
                    held.get((size, task, device), Cell(size, task, device))
                    for size in sizes_of(dataset)
                ),
            )
            for device in devices
        ]
        title = str(dataset.by_key["tasks"].get(task, {}).get("title", task))
        tables.append(TaskTable(task, title, tuple(rows)))
    return tables


def as_json(dataset: Dataset, found: Coverage) -> str:
    """Every cell that anything is known of, what is wanted most, and what no size has."""
    value = {
        "dataset_version": dataset.version,
        "cells": [asdict(cell) for cell in found.cells],
        "unplaced_reports": found.unplaced,
        "wanted_rule": WANTED_RULE,
        "wanted": [
            {"size": cell.size, "task": cell.task, "device": cell.device} for cell in found.wanted
        ],
        "missing_tags": [
            {"size": size, "tag": tag} for size, tag in found.missing_tags(sizes_of(dataset))
        ],
    }
    return json_text(value, 1)


def as_csv(found: Coverage) -> str:
    """One line a cell."""
    text = io.StringIO()
    names = [field.name for field in fields(Cell)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(cell) for cell in found.cells)
    return text.getvalue()


def as_text(dataset: Dataset, found: Coverage) -> str:
    """Three tables for a terminal: what there is, what is wanted, which tags are missing."""
    held = [
        (
            *_place(cell),
            _records(cell),
            _reports(cell),
            _blank(cell.out_of_memory),
        )
        for cell in found.cells
    ]
    wanted = [
        (*_place(cell), str(cell.projects), str(cell.all_reports))
        for cell in found.wanted[:MOST_WANTED]
    ]
    missing: dict[str, list[str]] = {}
    for size, tag in found.missing_tags(sizes_of(dataset)):
        missing.setdefault(tag, []).append(size)
    place = ("SIZE", "TASK", "DEVICE")
    lines = [
        *_table([(*place, "RECORDS", "REPORTS", "OUT OF MEMORY"), *held]),
        "",
        f"{found.unplaced} more reports leave size, task or device open.",
        "",
        f"Most wanted. {WANTED_RULE}",
        *_table([(*place, "PROJECTS", "REPORTS"), *wanted]),
        "",
        *(f"No {tag} record: {', '.join(sizes)}" for tag, sizes in missing.items()),
    ]
    return "\n".join(lines) + "\n"


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell.size, cell.task, cell.device


def _tags(minimum: int, recommended: int) -> str:
    named = ((minimum, "MIN"), (recommended, "RECOMMENDED"))
    return ", ".join(f"{count} {tag}" for count, tag in named if count)


def _records(cell: Cell) -> str:
    tested = _tags(cell.records_min, cell.records_recommended)
    return ", ".join(filter(None, [tested, f"{cell.untested} untested" if cell.untested else ""]))


def _reports(cell: Cell) -> str:
    tagged = _tags(cell.reports_min, cell.reports_recommended)
    return f"{cell.all_reports} ({tagged})" if tagged else _blank(cell.all_reports)


def _blank(count: int) -> str:
    return str(count) if count else ""


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
