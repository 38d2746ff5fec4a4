"""The page of each record: does it fit, how is it started, how sure is it; then the evidence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.git import Repository
from rl_resources.package import Field, Record
from rl_resources.query.age import Ages
from rl_resources.query.compatibility import accepted_by, rejections, releases_of
from rl_resources.query.configurations import configurations
from rl_resources.query.moves import former_ids, moves
from rl_resources.query.related import Neighborhood
from rl_resources.script.explained import Explained, explained
from rl_resources.script.run import Run
from rl_resources.site import badge, recipes, starting
from rl_resources.site.api import SCRIPTS, record_id
from rl_resources.site.site import Fact, Site, facts
from rl_resources.site.tuning_table import tuning_row

EVIDENCE = ("contributor", "tested_on", "evidence", "source", "status")
RELATED = {
    "less-hardware": "The same with less hardware",
    "other-tag": "Under the other tag",
    "other-task": "The same model, another task",
    "same-device": "The same size on this device",
    "next-size": "One size up on this hardware",
}
_MEANING = re.compile(r"`(?P<word>[\w-]+)`: (?P<meaning>[^`]+?\.)(?= |$)")


@dataclass(frozen=True, slots=True)
class Told:
    """What a page tells of the run that a script starts."""

    settings: tuple[Explained, ...]
    expected: tuple[starting.Expected, ...]
    passes_arguments: bool


def told(run: Run, script: str) -> Told:
    """What is told of a run by the text of its script."""
    expected = starting.expected(run, script)
    return Told(tuple(explained(run)), tuple(expected), run.launch.passes_arguments)


@dataclass(frozen=True, slots=True)
class Rung:
    """One batch size that was tried; `share` is its part of the largest, 0 to 100."""

    batch: int
    order: int
    ran: bool
    share: int


Tells = Callable[[Record], Told | None]
"""What is told of a record's run, where that is known."""


def path_of(record: Record) -> str:
    """Where the page of a record lies below the folder of pages."""
    return f"records/{record_id(record)}.md"


def pages(
    dataset: Dataset,
    scripts: Mapping[str, str],
    told: Tells,
    repository: Repository,
    site_url: str | None = None,
) -> dict[str, str]:
    """Every record's page by its path, and one for each id that is gone."""
    made = RecordPages(dataset, scripts, told, repository, site_url)
    found = {path_of(record): made.page(record) for record in dataset.records["tuning"]}
    return found | moved(dataset, repository)


def moved(dataset: Dataset, repository: Repository) -> dict[str, str]:
    """A page by its path for each id that is gone."""
    site = Site(dataset, repository.url)
    found = {f"records/{move.id}.md": move for move in moves(dataset, "tuning")}
    return {path: site.page(path, "moved.md", move=move) for path, move in found.items()}


def files(dataset: Dataset, scripts: Mapping[str, str]) -> dict[str, str]:
    """What record pages offer for download: scripts as they are, and badges."""
    return {f"{SCRIPTS}/{name}": text for name, text in scripts.items()} | badge.files(dataset)


class RecordPages:
    """The pages of records, each made when it is asked for.

    `scripts` maps the name of a script to its text. Raises `KeyError` for a record without a text,
    and `jinja2.TemplateError` for a template that cannot be used.
    """

    def __init__(
        self,
        dataset: Dataset,
        scripts: Mapping[str, str],
        told: Tells,
        repository: Repository,
        site_url: str | None = None,
    ) -> None:
        address = (site_url or "").rstrip("/")
        self._site = Site(dataset, repository.url)
        self._dataset = dataset
        self._scripts = scripts
        self._told = told
        self._file_url = repository.script_url() if self._site.repository else None
        self._at = f"{address}/" if address else recipes.LOCAL
        self._urls = {size.name: size.url for size in self._site.sizes}
        self._ages = Ages(dataset)
        every = configurations(dataset)
        self._near = Neighborhood(every)
        self._by_id = {item.id: item for item in every if item.kind == "record"}
        schema = dataset.package.resources["tuning"].schema
        self._meanings = {
            name: _meanings(schema.fields[schema.index(name)]) for name in ("status", "tag")
        }

    def page(self, record: Record) -> str:
        """The text of one record's page."""
        values = {**self._claim(record), **self._evidence(record), **self._script(record)}
        return self._site.page(path_of(record), "record.md", **values)

    def _claim(self, record: Record) -> Mapping[str, Any]:
        models, devices = (self._dataset.by_key[name] for name in ("models", "devices"))
        size = str(models[record["model"]]["size"])
        device = devices.get(record["device"])
        row = tuning_row(record, script_path(self._dataset, record))
        return {
            "record": record,
            "row": row,
            "size_name": size,
            "records_url": self._urls[size],
            "device_name": str(device["name"] if device else record["device"]),
            "configuration": self._by_id[row.record_id],
            "meanings": {
                name: words.get(str(record[name]), "") for name, words in self._meanings.items()
            },
            "known": [name for name, value in record.items() if value is not None],
            "evidence_columns": EVIDENCE,
        }

    def _evidence(self, record: Record) -> Mapping[str, Any]:
        own = self._by_id[record_id(record)]
        releases = releases_of(self._dataset, record["script"])
        return {
            "facts": [fact for fact in self._facts(record) if fact.field.name != "notes"],
            "ladder": ladder(self._about("trials", record)),
            "releases": releases,
            "accepted": accepted_by(releases),
            "rejections": rejections(releases),
            "exemptions": [
                row
                for row in self._dataset.records["exemptions"]
                if row["record"] == record["script"]
            ],
            "age": self._ages.remarks(record),
            "former_ids": former_ids(self._dataset, "tuning", own.id),
            "failures": self._near.failures(own),
            "related": self._near.related(own),
            "related_titles": RELATED,
        }

    def _about(self, table: str, record: Record) -> Sequence[Record]:
        """The rows of another table that name the record's script."""
        return self._dataset.by_script[table].get(record["script"], ())

    def _facts(self, record: Record) -> list[Fact]:
        return facts(self._dataset, self._dataset.package.resources["tuning"], record)

    def _script(self, record: Record) -> Mapping[str, Any]:
        name = str(record["script"])
        text, run = self._scripts[name], self._told(record)
        path = script_path(self._dataset, record)
        settings = run.settings if run else ()
        start = starting.command(path)
        return {
            "path": path,
            "script": text,
            "download": f"{SCRIPTS}/{name}",
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "run": run,
            "settings": _grouped(item for item in settings if item.setting.place),
            "defaults": _grouped(item for item in settings if not item.setting.place),
            "shown": shown,
            "expected": run.expected if run else (),
            "start": start,
            "start_downloaded": starting.command(name),
            "cluster": starting.cluster(int(str(record["nodes"] or 1)), start),
            "cluster_source": starting.SEVERAL_NODES_SOURCE,
            "own_words": starting.own_words(text),
            "permalink": self._file_url.replace("{path}", quote(path)) if self._file_url else "",
            "codes": recipes.of_record(record_id(record), self._at),
        }


def ladder(trials: Sequence[Record]) -> list[Rung]:
    """The batch sizes that were tried, smallest first."""
    largest = max((_whole(trial["batch"]) for trial in trials), default=1)
    rungs = (
        Rung(
            _whole(trial["batch"]),
            _whole(trial["order"]),
            trial["outcome"] == "ran",
            round(100 * _whole(trial["batch"]) / largest),
        )
        for trial in trials
    )
    return sorted(rungs, key=lambda rung: (rung.batch, rung.order))


def _whole(value: object) -> int:
    return int(str(value))


def _meanings(field: Field) -> Mapping[str, str]:
    """What each word of a column means, as its description says: `word`: meaning."""
    found = _MEANING.finditer(field.description)
    return {match["word"]: match["meaning"] for match in found}


def _grouped(items: Iterable[Explained]) -> dict[str, list[Explained]]:
    groups: dict[str, list[Explained]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return groups


def shown(item: Explained) -> str:
    """The value of a setting as a reader may write it; blank where there is none to show."""
    value = item.setting.value
    if not item.setting.known:
        return ""
    if value is None:
        return "null"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
