"""The pages that list runs: those of each model, device and framework, with the fewest GPUs.

A model's page is that of its architecture, with all models of the same layers and widths. A run has
the same row in every table two directories deep, so it is rendered once. `run_pages.toml` has the
columns of these tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from operator import attrgetter
from typing import NamedTuple

import polars as pl

from rl_resources.dataset import grouped, moves
from rl_resources.estimate.frameworks import VERL, profiles
from rl_resources.estimate.plan import rules
from rl_resources.package import Record, Value, text_of
from rl_resources.query.compatibility import accepted_by, releases_of
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    every_configuration,
    recorded,
)
from rl_resources.query.coverage import HEADLINES, NO_TEXT
from rl_resources.query.find import folded
from rl_resources.query.vocabulary import WEIGHTS, architectures
from rl_resources.site.environment import TABLES, Site, labelled, place

FEWEST = "benchmarks/fewest.csv"
"""The fewest GPUs by arithmetic, which a checkout has and no wheel."""
MOST_REPORTS = 100
"""On one page, besides those of running out of memory."""
TYPICAL_GB = 80
"""The memory of the GPUs by which a framework's page estimates."""
_DEEP = "reports/7b.md"
"""As deep as all pages with runs but one."""
COLUMNS: Sequence[str] = TABLES["columns"]


class Thing(NamedTuple):
    """A model, device or framework with its runs; of a model all variants, the best known first.

    `key` is that of its row, of a model that of its architecture.
    """

    table: str
    key: str
    title: str
    rows: Sequence[Record]
    runs: Sequence[Configuration]

    def count(self, *states: str) -> int:
        """How many of its runs are in one of these states."""
        return sum(row.state in states for row in self.runs)

    @property
    def records(self) -> int:
        """How many of its runs have a script here."""
        return sum(row.kind == "record" for row in self.runs)


def pages(site: Site, html: Mapping[str, str]) -> dict[str, str]:
    """The lists of models, devices and frameworks, and a page for each; `html` has rows of runs."""
    arithmetic = arithmetic_of(site)
    found: dict[str, str] = {}
    for table in ("models", "devices", "frameworks"):
        found |= moved_pages(site, table, table)
        every = list(things(site, table))
        schema = site.package.resources[table].schema
        shared = {
            "table": table,
            "schema": schema,
            "about": TABLES[table],
            "usual": rules()["usual"],
            "frameworks": rules()["frameworks"],
            "fewest": fewest_run,
        }
        index = f"{table}/index.md"
        found[index] = site.page(index, "things.md", things=every, **shared)
        for thing in every:
            path = f"{site.thing(table, thing.key).strip('/')}.md"
            runs = _shown(thing.runs)
            make = partial(
                site.page,
                path,
                "thing.md",
                thing=thing,
                by_size=grouped(filter(_is_of_text, thing.runs), attrgetter("size")),
                weights={name: WEIGHTS[name] for name in HEADLINES},
                arithmetic=arithmetic,
                memory=_memory_of(thing, arithmetic),
                runs=runs,
                html=html,
                is_profiled=thing.key in profiles(),
                **shared,
            )
            rows = tuple(html[run.id] for run in runs)
            facts = (path, rows, *(site.facts[run.id] for run in thing.runs))
            found[path] = site.once(facts, make)
            found |= _other_addresses(site, thing)
    return found


def _other_addresses(site: Site, thing: Thing) -> dict[str, str]:
    """Each variant of a model leads by its own name to the page of its architecture."""
    found: dict[str, str] = {}
    for row in thing.rows:
        url = site.thing(thing.table, _key(row))
        if "#" in url:
            path = f"{thing.table}/{row['slug']}/index.html"
            found[path] = site.page(path, "other_address", to=f"../../{url}")
    return found


def moved_pages(site: Site, table: str, folder: str) -> dict[str, str]:
    """A page in `folder` for each id of a table that is gone: it says why, and where to."""
    found: dict[str, str] = {}
    for id_, move in moves(site.dataset, table).items():
        name = id_
        if table == "models":
            name = id_.rpartition("/")[2].lower()
        path = f"{folder}/{name}.md"
        found[path] = site.page(
            path, "moved.md", move=move, table=table, kind=folder[:-1]
        )
    return found


def _key(row: Record) -> str:
    """The first cell of a row, which is its key."""
    return str(next(iter(row.values())))


def _shown(runs: Sequence[Configuration]) -> list[Configuration]:
    """Records, then the first report of each series, as many as a page holds, then failures."""
    parts = grouped(runs, _part)
    firsts = [series[0] for series in folded(parts.get("report", []))]
    records = parts.get("record", [])
    failures = parts.get("out-of-memory", [])
    return [*records, *firsts[:MOST_REPORTS], *failures]


def _part(row: Configuration) -> str:
    if row.kind == "report" and row.state == "out-of-memory":
        return row.state
    return row.kind


def _is_of_text(row: Configuration) -> bool:
    return NO_TEXT.isdisjoint(row.scenario)


def things(site: Site, table: str) -> Iterator[Thing]:
    """All of a table, in the order of its rows."""
    dataset = site.dataset
    known = architectures(dataset)
    runs = grouped(configurations(dataset), attrgetter(TABLES[table]["group"]))

    def first(row: Record) -> str:
        return known.get(_key(row), _key(row))

    for key, rows in grouped(dataset.records[table], first).items():
        own = runs.get(key, [])
        if table == "models":
            ran = Counter(run.model for run in own)
            rows.sort(key=lambda row: -ran[_key(row)])
        yield Thing(table, key, _title(site, table, rows[0]), rows, own)


def _title(site: Site, table: str, row: Record) -> str:
    """The name for people of a row."""
    if table == "devices":
        return site.devices.label(_key(row))
    if table == "frameworks":
        return text_of(row, "title")
    return _key(row).rpartition("/")[2]


def run_rows(
    site: Site, rows: Iterable[Configuration], page: str = _DEEP
) -> dict[str, str]:
    """The row of each in a table of runs, with links for a page as deep as `page`."""
    dataset = site.dataset
    by_id = {row.id: row for row in every_configuration(dataset)}
    also_records = recorded(dataset)

    def html(item: Configuration, row: Record) -> str:
        accepted = ""
        if item.kind == "record":
            accepted = accepted_by(releases_of(dataset, row["script"]))
        text = site.page(
            page,
            "run",
            item=item,
            row=row,
            accepted=accepted,
            by_id=by_id,
            recorded=also_records,
        )
        return labelled(text, COLUMNS)

    found: dict[str, str] = {}
    for item in rows:
        row = dataset.by_key["reports"].get(item.id)
        if row is None:
            row = dataset.by_key["tuning"][f"{item.id}.sh"]
        others = [place(by_id[other]) for other in item.contradicts if other in by_id]
        facts = (page, site.facts[item.id], *others, also_records.get(item.id))
        found[item.id] = site.once(facts, partial(html, item, row))
    return found


def fewest_run(rows: Iterable[Configuration], weights: str) -> Configuration | None:
    """The undisputed run on the fewest GPUs with the least memory, real ones first."""

    def counts(row: Configuration) -> bool:
        return row.state == "run" and row.weights == weights and not row.doubtful

    def size(row: Configuration) -> tuple[bool, int, float]:
        return "synthetic" in row.scenario, row.gpus, row.total_memory_gb or inf

    return min(filter(counts, rows), key=size, default=None)


Arithmetic = Mapping[tuple[str, str], Mapping[int, int]]
"""By model or size, and weights: the fewest GPUs for each memory in GB, 0 where none suffice."""


def arithmetic_of(site: Site) -> Arithmetic:
    """What `benchmarks/fewest.py` wrote; nothing without its file."""
    path = site.package.root / FEWEST
    if not path.is_file():
        return {}
    found: dict[tuple[str, str], dict[int, int]] = {}
    for row in pl.read_csv(path).to_dicts():
        key = (row.pop("model"), row.pop("weights"))
        found[key] = {int(memory): gpus or 0 for memory, gpus in row.items()}
    return found


def _memory_of(thing: Thing, arithmetic: Arithmetic) -> int:
    """The most memory of an estimate that the GPUs have; 0 where there is none, and of a model."""
    has_gb: Value = thing.rows[0].get("memory_gb")
    if thing.key == VERL:
        has_gb = TYPICAL_GB
    if not isinstance(has_gb, int | float):
        return 0
    by_memory = next(iter(arithmetic.values()), ())
    enough = [memory for memory in by_memory if memory <= has_gb]
    return max(enough, default=0)
