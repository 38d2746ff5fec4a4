"""The page of what the dataset holds and lacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from urllib.parse import urlencode

from rl_resources.dataset import Dataset
from rl_resources.query.coverage import WANTED_RULE, Cell, coverage
from rl_resources.site.charts import coverage_map
from rl_resources.site.coverage import MOST_WANTED, task_tables
from rl_resources.site.site import Site, address
from rl_resources.urls import is_web_address

PATH = "coverage.md"


def pages(dataset: Dataset, repository_url: str | None) -> dict[str, str]:
    """The page of what there is and what is missing."""
    site = Site(dataset, repository_url)
    found = coverage(dataset)
    missing: dict[str, list[str]] = {}
    for size, tag in found.missing_tags(size.name for size in site.sizes):
        missing.setdefault(tag, []).append(size)
    return {
        PATH: site.page(
            PATH,
            coverage_map=coverage_map(dataset),
            wanted=found.wanted[:MOST_WANTED],
            wanted_rule=WANTED_RULE,
            missing=missing,
            unplaced=found.unplaced,
            tables=task_tables(dataset, found),
            start=_starts(site.repository),
        )
    }


@cache
def _starts(repository: str) -> Callable[[Cell], str]:
    # One value for the page, so that it is seen to be made of the same.
    return partial(_start_of_contribution, repository)


def _start_of_contribution(repository: str, cell: Cell) -> str:
    """Where a record of a cell begins: the form of the repository, filled in, or our own page."""
    known = {"task": cell.task, "device": cell.device}
    if is_web_address(repository):
        return f"{repository}/issues/new?{urlencode({'template': 'record.yml', **known})}"
    return f"{address(PATH, 'contributing/')}?{urlencode({'size': cell.size, **known})}"
