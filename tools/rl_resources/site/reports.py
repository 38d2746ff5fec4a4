"""The pages of what others have published, one a size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.site import recipes
from rl_resources.site.report_table import HEADERS, report_rows
from rl_resources.site.site import Site, page_url, slug


@dataclass(frozen=True, slots=True)
class Section:
    """The reports of one size, or those whose size is not known: how many, and how many failed."""

    name: str
    count: int
    failed: int

    @property
    def path(self) -> str:
        """Its page, relative to the folder of pages."""
        return f"reports/{slug(self.name)}.md"

    @property
    def url(self) -> str:
        """Its page, relative to the root of the site."""
        return page_url(self.path)


def pages(
    dataset: Dataset, repository_url: str | None, site_url: str | None = None
) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    site = Site(dataset, repository_url)
    names = {**{size.name: size.name for size in site.sizes}, "Unknown size": None}
    told = {name: report_rows(dataset, size) for name, size in names.items()}
    sections = [
        Section(name, len(rows), sum(row.failed for row in rows))
        for name, rows in told.items()
        if rows
    ]
    places = {row.id: f"{item.url}#{row.id}" for item in sections for row in told[item.name]}
    schema = dataset.package.resources["reports"].schema
    columns = [
        {
            "field": schema.fields[schema.index(name)],
            "counts": Counter(str(row[name]) for row in dataset.records["reports"]),
        }
        for name in ("statement", "evidence_kind")
    ]
    at = site_url or recipes.LOCAL
    tabs = recipes.of_table(dataset, "reports", at)
    found = {"reports.md": site.page("reports.md", sections=sections, columns=columns, tabs=tabs)}
    records_urls = {size.name: size.url for size in site.sizes}
    for section in sections:
        found[section.path] = site.page(
            section.path,
            "reports-of-size.md",
            name=section.name,
            records_url=records_urls.get(section.name, ""),
            rows=told[section.name],
            report_headers=HEADERS,
            sections=sections,
            places={
                other: places[other] for row in told[section.name] for other in row.contradicts
            },
            tabs=recipes.of_table(dataset, "reports", at, names[section.name]),
        )
    return found
