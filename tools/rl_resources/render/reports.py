"""The pages of what others have published, one a size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.render import recipes
from rl_resources.render.report_table import HEADERS, ReportRow, report_rows
from rl_resources.render.site import Site, page_url, slug


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one size; the last section holds those whose size is not known."""

    name: str
    rows: Sequence[ReportRow]

    @property
    def path(self) -> str:
        """Its page, relative to the folder of pages."""
        return f"reports/{slug(self.name)}.md"

    @property
    def url(self) -> str:
        """Its page, relative to the root of the site."""
        return page_url(self.path)

    @property
    def failed(self) -> int:
        """How many ran out of memory."""
        return sum(row.failed for row in self.rows)


def pages(
    dataset: Dataset, repository_url: str | None, site_url: str | None = None
) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    site = Site(dataset, repository_url)
    sections = [Reports(size.name, report_rows(dataset, size.name)) for size in site.sizes]
    sections.append(Reports("Unknown size", report_rows(dataset, None)))
    sections = [section for section in sections if section.rows]
    places = {row.id: f"{item.url}#{row.id}" for item in sections for row in item.rows}
    schema = dataset.package.resources["reports"].schema
    columns = [
        {
            "field": schema.fields[schema.index(name)],
            "counts": Counter(str(row[name]) for row in dataset.records["reports"]),
        }
        for name in ("basis", "evidence_kind")
    ]
    at = site_url or recipes.LOCAL
    tabs = recipes.of_table(dataset, "reports", at)
    found = {"reports.md": site.page("reports.md", sections=sections, columns=columns, tabs=tabs)}
    sizes = {size.name: size for size in site.sizes}
    for section in sections:
        found[section.path] = site.page(
            section.path,
            "reports-of-size.md",
            name=section.name,
            size=sizes.get(section.name),
            rows=section.rows,
            report_headers=HEADERS,
            sections=sections,
            places=places,
            tabs=recipes.of_table(
                dataset, "reports", at, section.name if section.name in sizes else None
            ),
        )
    return found
