"""What the dataset holds and lacks, as text, JSON and CSV for the command."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields

from rl_resources.query.coverage import MOST_WANTED, WANTED_RULE, Cell, Coverage
from rl_resources.words import json_text

_PLACE = ("SIZE", "TASK", "DEVICE")


def as_json(found: Coverage, version: str) -> str:
    """Every cell that anything is known of, what is wanted most, and what no size has."""
    value = {
        "dataset_version": version,
        "cells": [asdict(cell) for cell in found.cells],
        "unplaced_reports": found.unplaced,
        "wanted_rule": WANTED_RULE,
        "wanted": [
            {"size": cell.size, "task": cell.task, "device": cell.device} for cell in found.wanted
        ],
        "missing_tags": [
            {"size": size, "tag": tag} for tag, sizes in found.missing.items() for size in sizes
        ],
    }
    return json_text(value, 1)


def as_csv(found: Coverage) -> str:
    """One line for each cell."""
    text = io.StringIO()
    names = [field.name for field in fields(Cell)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(cell) for cell in found.cells)
    return text.getvalue()


def as_text(found: Coverage) -> str:
    """What there is, what is wanted, and which tags are missing."""
    held = [(*_place(cell), *map(_count, _counts(cell))) for cell in found.cells]
    wanted = [
        (*_place(cell), str(cell.projects), str(cell.all_reports))
        for cell in found.wanted[:MOST_WANTED]
    ]
    lines = [
        *_table([(*_PLACE, "MIN", "RECOMMENDED", "UNTESTED", "REPORTS", "OUT OF MEMORY"), *held]),
        "",
        f"{found.unplaced} more reports leave size, task or device open.",
        "",
        f"Most wanted. {WANTED_RULE}",
        *_table([(*_PLACE, "PROJECTS", "REPORTS"), *wanted]),
        "",
        *(f"No {tag} record: {', '.join(sizes)}" for tag, sizes in found.missing.items()),
    ]
    return "\n".join(lines) + "\n"


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell.size, cell.task, cell.device


def _counts(cell: Cell) -> tuple[int, ...]:
    records = (cell.records_min, cell.records_recommended, cell.untested)
    return (*records, cell.all_reports, cell.out_of_memory)


def _count(count: int) -> str:
    return str(count or "")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
