"""The page of each size with its records; a size of many records has several pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rl_resources.answer.compatibility import accepted_by, releases_of
from rl_resources.answer.configurations import configurations
from rl_resources.answer.find import answers
from rl_resources.answer.question import Question
from rl_resources.dataset import Dataset
from rl_resources.order import in_turn
from rl_resources.render import recipes
from rl_resources.render.parts import ROWS, parted
from rl_resources.render.site import Site, Size
from rl_resources.render.tuning_table import TuningRow, tuning_rows


def pages(
    dataset: Dataset, repository_url: str | None, site_url: str | None = None
) -> dict[str, str]:
    """The pages by path; the parameters are those of `site.pages`."""
    site = Site(dataset, repository_url)
    at = site_url or recipes.LOCAL
    return {path: text for size in site.sizes for path, text in _of_size(site, dataset, size, at)}


def _of_size(site: Site, dataset: Dataset, size: Size, at: str) -> Iterator[tuple[str, str]]:
    told = sum(row["size"] == size.name for row in dataset.records["reports"])
    conditions = {row.id: row.conditions for row in configurations(dataset)}
    for part in parted(size.path, ordered_rows(dataset, size.name), ROWS):
        accepted = {row.script: accepted_by(releases_of(dataset, row.script)) for row in part.items}
        yield (
            part.path,
            site.page(
                part.path,
                "size.md",
                size=size,
                part=part,
                accepted=accepted,
                conditions=conditions,
                reports_of_size=told,
                named=_named(dataset, size.name),
                tabs=recipes.of_size(size.name, at),
            ),
        )


def ordered_rows(dataset: Dataset, size: str) -> list[TuningRow]:
    """The records of a size in canonical order, or, of more than one page, the best first."""
    rows = tuning_rows(dataset, size)
    return rows if len(rows) <= ROWS else best_first(dataset, size, rows)


def best_first(dataset: Dataset, size: str, rows: Sequence[TuningRow]) -> list[TuningRow]:
    """The best of each task and tag, then the second best of each, and so on.

    What is better is what the finder tells first. What nobody has run comes last.
    """
    records = (item for item in configurations(dataset) if item.kind == "record")
    found = answers(records, Question(size=size))
    others = {row.record_id: row for row in rows}
    ran = [others.pop(item.configuration.id) for item in found]
    return [*in_turn(ran, lambda row: (row.task, row.tag)), *others.values()]


def _named(dataset: Dataset, size: str) -> dict[str, list[str]]:
    """The words that can be asked of a size: models without their owner, devices."""
    rows = [row for row in configurations(dataset) if row.size == size]
    models = {row.model.rpartition("/")[2] for row in rows if row.model}
    return {
        "model": sorted(models, key=lambda name: (name.lower(), name)),
        "device": sorted({row.device for row in rows if row.device}),
    }
