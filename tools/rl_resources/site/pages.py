"""The pages of sizes, reports and tables, the front page, data and code examples.

Records in, Markdown text out. Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the
URL `/sizes/7b/` can take the same files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from rl_resources.dataset import Dataset, grouped
from rl_resources.package import Record, items_of
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
    recorded,
)
from rl_resources.query.coverage import HEADLINES, headline
from rl_resources.query.vocabulary import (
    FILTERS,
    WEIGHTS,
    Words,
    words_of,
    words_of_filters,
)
from rl_resources.site import finder, metadata, recipes
from rl_resources.site.api import record_id
from rl_resources.site.environment import (
    UNKNOWN_SIZE,
    Site,
    anchor,
    place,
    reports_url,
    slug,
)
from rl_resources.site.tuning_table import cells, records_of_size

if TYPE_CHECKING:
    from rl_resources.site.downloads import Download

VENDOR_HOSTS = ("amd.com", "hiascend.com", "huawei.com", "nvidia.com")
"""Of the sources of a device's figures, those of its vendor."""


def pages(site: Site, files: Sequence[Download] = ()) -> dict[str, str]:
    """All pages here by path; `files` are the downloads that the page of the data lists."""
    return {
        "index.md": _front(site),
        **_reports(site),
        **_records(site),
        "models.md": _rows_page(site, "models", "size"),
        "devices.md": _rows_page(site, "devices", "vendor"),
        "recipes.md": site.page("recipes.md", recipes=recipes.recipes(site.dataset, site.at)),
        "data.md": data_page(site, files),
    }


def _front(site: Site) -> str:
    """The finder's form, and the minimum hardware of each size."""
    rows = configurations(site.dataset)
    smallest = {
        size.name: {WEIGHTS[key]: headline(rows, size.name, key) for key in HEADLINES}
        for size in site.sizes
    }
    return site.page(
        "index.md",
        choices=choices(site, rows),
        filters=FILTERS,
        least=smallest,
        data=finder.PATH,
        modules=finder.MODULES,
    )


def choices(site: Site, rows: Sequence[Configuration]) -> Mapping[str, list[tuple[str, str]]]:
    """Words with their titles for each field of the form: every device, else those in use."""

    def in_use(name: str, words: Words) -> list[tuple[str, str]]:
        used = {word for row in rows for word in row.words(name)}
        offered = ((word, title) for word, title in words.items() if word in used)
        return [(word, title) for word, title in offered if title is not None]

    sizes = [(size.name, "any model of this size") for size in site.sizes]
    devices = words_of(site.dataset, "devices", "name")
    return {
        "model": sizes + in_use("model", words_of(site.dataset, "models", "size")),
        "device": [(site.devices.label(key), name) for key, name in devices.items()],
        **{name: in_use(name, own) for name, own in words_of_filters(site.dataset).items()},
    }


def _records(site: Site) -> dict[str, str]:
    """All records, the sizes, and the records of each size."""
    rows = {size.name: [*_rows_of_size(site.dataset, size.name)] for size in site.sizes}
    every = [*chain(*rows.values())]
    found = {
        "records/index.md": site.page("records/index.md", "records.md", rows=every),
        "sizes/index.md": site.page("sizes/index.md", "sizes.md"),
    }
    for size in site.sizes:
        path, tabs = f"sizes/{size.name.lower()}.md", recipes.of_size(size.name, site.at)
        found[path] = site.page(path, "size.md", size=size, rows=rows[size.name], tabs=tabs)
    return found


def _rows_of_size(dataset: Dataset, size: str) -> Iterator[Mapping[str, Any]]:
    """Each record of a size with its cells, and the releases that accept its script."""
    known = {row.id: row for row in configurations(dataset)}
    for record in records_of_size(dataset, size):
        yield {
            "record": record,
            "item": known[record_id(record)],
            "cells": cells(dataset, record),
            "accepted": accepted_by(releases_of(dataset, record["script"])),
        }


def _reports(site: Site) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    every = every_configuration(site.dataset)
    known = {item.id: item for item in every if item.kind == "report"}
    rows = [(row, known[str(row["report"])]) for row in site.dataset.records["reports"]]
    # Runs before benchmarks on random tokens, then those with the fewest empty cells.
    rows.sort(key=lambda pair: ("synthetic" in pair[1].scenario, [*pair[0].values()].count(None)))
    sections: dict[str, list[tuple[Record, Configuration]]] = {}
    for name in (*(size.name for size in site.sizes), UNKNOWN_SIZE):
        if of_size := [pair for pair in rows if (pair[1].size or UNKNOWN_SIZE) == name]:
            sections[name] = of_size
    shared = {
        "sections": sections,
        "schema": site.dataset.package.resources["reports"].schema,
        "places": {id_: place(item) for id_, item in known.items()},
        "record_places": {f"{item.id}.sh": place(item) for item in every if item.kind == "record"},
        "recorded": recorded(site.dataset),
    }
    tabs = recipes.of_table(site.dataset, "reports", site.at)
    found = {"reports.md": site.page("reports.md", **shared, tabs=tabs)}
    for name in sections:
        path = f"{reports_url(name).removesuffix('/')}.md"
        only = None if name == UNKNOWN_SIZE else name
        tabs = recipes.of_table(site.dataset, "reports", site.at, only)
        found[path] = site.page(path, "reports-of-size.md", **shared, section=name, tabs=tabs)
    return found


def _rows_page(site: Site, table: str, group: str) -> str:
    """A page with all rows of a table, in sections, with the columns that any row of one fills."""
    schema = site.dataset.package.resources[table].schema
    every = site.dataset.records[table]
    fields = [field for field in schema.fields if field.name != group]
    sections = [
        (title, [f for f in fields if any(row[f.name] is not None for row in rows)], rows)
        for title, rows in grouped(every, lambda row: str(row[group])).items()
    ]
    tabs = recipes.of_table(site.dataset, table, site.at)
    key = schema.primary_key[0]
    runs: dict[str, Counter[tuple[str, str]]] = {str(row[key]): Counter() for row in every}
    for item in every_configuration(site.dataset):
        if (named := getattr(item, key)) in runs and item.size:
            runs[named][item.kind, item.size] += 1
    return site.page(
        f"{table}.md",
        "rows.md",
        sections=sections,
        tabs=tabs,
        table=table,
        schema=schema,
        anchor=anchor,
        slug=slug,
        runs=runs,
        name=lambda row: (
            site.devices.label(row[key]) if key == "device" else row[key].rpartition("/")[2]
        ),
        page_of=_page_of,
    )


def _page_of(row: Record) -> str:
    """The page of a model on Hugging Face; of a device the first source of its vendor."""
    if "model" in row:
        return f"https://huggingface.co/{quote(str(row['model']))}"
    sources = items_of(row, "source")
    return next((url for url in sources if urlsplit(url).netloc.endswith(VENDOR_HOSTS)), "")


def data_page(site: Site, files: Sequence[Download]) -> str:
    """The page of the downloads and of what every column means."""
    csv = {item.table: item.content for item in files if item.format == "CSV"}
    folder = f"{site.site_url or '../'}downloads/"
    croissant = metadata.croissant(site.dataset.package, csv, folder)
    return site.page(
        "data.md",
        formats=[(name, list(found)) for name, found in groupby(files, attrgetter("format"))],
        structured={name: value for name, value in croissant.items() if name != "recordSet"},
    )
