"""The page of each size with its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rl_resources.dataset import Dataset
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.query.configurations import configurations
from rl_resources.site import recipes
from rl_resources.site.site import Site, Size
from rl_resources.site.tuning_table import tuning_rows


def pages(
    dataset: Dataset, repository_url: str | None, site_url: str | None = None
) -> dict[str, str]:
    """The pages by path; the parameters are those of `site.pages`."""
    site = Site(dataset, repository_url)
    at = site_url or recipes.LOCAL
    conditions = {row.id: row.conditions for row in configurations(dataset)}
    return {size.path: _page(site, dataset, size, conditions, at) for size in site.sizes}


def _page(
    site: Site, dataset: Dataset, size: Size, conditions: Mapping[str, Sequence[str]], at: str
) -> str:
    rows = tuning_rows(dataset, size.name)
    return site.page(
        size.path,
        "size.md",
        size=size,
        rows=rows,
        accepted={row.script: accepted_by(releases_of(dataset, row.script)) for row in rows},
        conditions={row.record_id: conditions[row.record_id] for row in rows},
        reports_of_size=sum(row["size"] == size.name for row in dataset.records["reports"]),
        named=_named(dataset, size.name),
        tabs=recipes.of_size(size.name, at),
    )


def _named(dataset: Dataset, size: str) -> dict[str, list[str]]:
    """The words that can be asked of a size: models without their owner, devices."""
    rows = [row for row in configurations(dataset) if row.size == size]
    models = {row.model.rpartition("/")[2] for row in rows if row.model}
    return {
        "model": sorted(models, key=lambda name: (name.lower(), name)),
        "device": sorted({row.device for row in rows if row.device}),
    }
