"""The pages of sizes, reports and tables, the front page, data and code examples.

Records in, Markdown text out. Nothing here knows MkDocs: any generator that gives `sizes/7b.md` the
URL `/sizes/7b/` can take the same files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from rl_resources.dataset import grouped
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
    recorded,
)
from rl_resources.query.coverage import HEADLINES, headline
from rl_resources.query.vocabulary import FILTERS, WEIGHTS, Words, words_of
from rl_resources.site import finder, recipes
from rl_resources.site.api import record_id
from rl_resources.site.downloads import Download
from rl_resources.site.environment import UNKNOWN_SIZE, Site, reports_url
from rl_resources.site.tuning_table import cells


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
        **{name: in_use(name, item.words(site.dataset)) for name, item in FILTERS.items()},
    }


def _records(site: Site) -> dict[str, str]:
    """All records, the sizes, and the records of each size."""
    dataset = site.dataset
    known = {row.id: row for row in configurations(dataset)}
    every: list[dict[str, Any]] = [
        {
            "record": record,
            "item": known[record_id(record)],
            "cells": cells(dataset, record),
            "accepted": accepted_by(releases_of(dataset, record["script"])),
        }
        for record in site.records["tuning"]
    ]
    by_size = grouped(every, lambda row: row["item"].size)
    found = {
        "records/index.md": site.page("records/index.md", "records.md", rows=every),
        "sizes/index.md": site.page("sizes/index.md", "sizes.md"),
    }
    for size in site.sizes:
        path, rows = f"sizes/{size.name.lower()}.md", by_size.get(size.name, [])
        tabs = recipes.of_size(size.name, site.at)
        found[path] = site.page(path, "size.md", size=size, rows=rows, tabs=tabs)
    return found


def _reports(site: Site) -> dict[str, str]:
    """The overview, and one page for each size that has reports."""
    by_id = {item.id: item for item in every_configuration(site.dataset)}
    rows = [(row, by_id[str(row["report"])]) for row in site.records["reports"]]
    # Runs before benchmarks on random tokens, then those with the fewest empty cells.
    rows.sort(key=lambda pair: ("synthetic" in pair[1].scenario, [*pair[0].values()].count(None)))
    by_size = grouped(rows, lambda pair: pair[1].size or UNKNOWN_SIZE)
    names = [*(size.name for size in site.sizes), UNKNOWN_SIZE]
    sections = {name: by_size[name] for name in names if name in by_size}
    shared = {
        "sections": sections,
        "schema": site.package.resources["reports"].schema,
        "by_id": by_id,
        "recorded": recorded(site.dataset),
    }
    tabs = recipes.of_table(site.dataset, "reports", site.at)
    found = {"reports.md": site.page("reports.md", **shared, tabs=tabs)}
    for name in sections:
        path = f"{reports_url(name).removesuffix('/')}.md"
        only = "" if name == UNKNOWN_SIZE else name
        tabs = recipes.of_table(site.dataset, "reports", site.at, only)
        found[path] = site.page(path, "reports-of-size.md", **shared, section=name, tabs=tabs)
    return found


def _rows_page(site: Site, table: str, group: str) -> str:
    """A page with all rows of a table, in sections, with the columns that any row of one fills."""
    schema = site.package.resources[table].schema
    every = site.records[table]
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
        runs=runs,
        name=lambda row: (
            site.devices.label(row[key]) if key == "device" else row[key].rpartition("/")[2]
        ),
    )


def data_page(site: Site, files: Sequence[Download]) -> str:
    """The page of the downloads and of what every column means."""
    contents = {item.name: item.content for item in files}
    croissant = json.loads(contents.get("croissant.json", "{}"))
    return site.page(
        "data.md",
        formats=[(name, list(found)) for name, found in groupby(files, attrgetter("format"))],
        structured={name: value for name, value in croissant.items() if name != "recordSet"},
    )
