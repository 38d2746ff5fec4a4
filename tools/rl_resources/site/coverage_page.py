"""The page of what the dataset holds and lacks."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from rl_resources.dataset import Dataset
from rl_resources.query.coverage import MOST_WANTED, WANTED_RULE, Cell, Coverage, coverage
from rl_resources.site.charts import coverage_map
from rl_resources.site.environment import Site, link
from rl_resources.urls import is_web_address

PATH = "coverage.md"


def pages(dataset: Dataset, repository_url: str | None) -> dict[str, str]:
    """The page of what there is and what is missing."""
    site = Site(dataset, repository_url)
    found = coverage(dataset)
    return {
        PATH: site.page(
            PATH,
            coverage_map=coverage_map(dataset),
            wanted=found.wanted[:MOST_WANTED],
            wanted_rule=WANTED_RULE,
            missing=found.missing,
            unplaced=found.unplaced,
            tables=_tables(dataset, found),
            start=partial(_start_of_contribution, site.repository),
        )
    }


def _tables(dataset: Dataset, found: Coverage) -> list[dict[str, Any]]:
    """For each task a row for each device with a cell for each size, the best covered first."""
    cells = {(cell.size, cell.task, cell.device): cell for cell in found.cells}
    sizes, devices = (
        list(map(str, dataset.by_key["sizes"])),
        list(map(str, dataset.by_key["devices"])),
    )
    weights: dict[str, int] = {}
    for cell in found.cells:
        weights[cell.task] = weights.get(cell.task, 0) + 10 * cell.records + cell.all_reports
    return [
        {
            "task": task,
            "title": dataset.by_key["tasks"][task]["title"],
            "rows": [
                {
                    "device": device,
                    "cells": [
                        cells.get((size, task, device), Cell(size, task, device)) for size in sizes
                    ],
                }
                for device in devices
                if any((size, task, device) in cells for size in sizes)
            ],
        }
        for task in sorted(weights, key=lambda name: -weights[name])
    ]


def _start_of_contribution(repository: str, cell: Cell) -> str:
    """Where a record of a cell begins: the form of the repository, filled in, or our own page."""
    known = {"task": cell.task, "device": cell.device}
    if is_web_address(repository):
        return f"{repository}/issues/new?{urlencode({'template': 'record.yml', **known})}"
    return f"{link(PATH, 'contributing/')}?{urlencode({'size': cell.size, **known})}"
