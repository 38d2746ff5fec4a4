"""The page of each record: does it fit, how to start it, how sure it is; then the evidence."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.git import Repository
from rl_resources.package import Field, Record
from rl_resources.query.compatibility import accepted_by, rejections, releases_of
from rl_resources.query.configurations import configurations
from rl_resources.query.moves import former_ids, moves
from rl_resources.query.related import Neighborhood
from rl_resources.script.explained import Explained, explained
from rl_resources.script.run import MODEL, Run
from rl_resources.script.settings import Setting
from rl_resources.site import recipes
from rl_resources.site.api import SCRIPTS, record_id
from rl_resources.site.environment import Site
from rl_resources.site.tuning_table import tuning_row

SEVERAL_NODES_SOURCE = (
    "https://github.com/volcengine/verl/blob/1113c2c27e9049bc465fc001d695c34a9041c5ca"
    "/docs/start/multinode.rst"
)
"""verl's guide to several nodes: the head and worker commands, and the script run directly."""
BADGE_COLORS = {
    "untested": "51606a",
    "reported": "12405a",
    "reproduced": "0b6b4b",
    "disputed": "a3202c",
}
_EXPECTED = {
    "Model": f"{MODEL}.path",
    "Training data": "data.train_files",
    "Validation data": "data.val_files",
}
_MEANING = re.compile(r"`(?P<word>[\w-]+)`: (?P<meaning>[^`]+?\.)(?= |$)")
_ABOUT_NODES = "Several nodes:"

Runs = Callable[[Record], Run | None]
"""The run that a record's script starts, where that is known."""


def files(site: Site, scripts: Mapping[str, str]) -> dict[str, str]:
    """What record pages offer for download: scripts as they are, and badges."""
    badges = {
        f"badges/{record_id(record)}.json": badge(site.dataset, record)
        for record in site.dataset.records["tuning"]
    }
    return {f"{SCRIPTS}/{name}": text for name, text in scripts.items()} | badges


def badge(dataset: Dataset, record: Record) -> str:
    """What runs where and how sure that is, for https://shields.io/badges/endpoint-badge."""
    row = tuning_row(dataset, record)
    document = {
        "schemaVersion": 1,
        "label": f"{row.model} {row.task}",
        "message": f"{row.resource} · {row.tag} · {row.status}",
        "color": BADGE_COLORS.get(row.status, "2f3b43"),
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def pages(
    site: Site, scripts: Mapping[str, str], runs: Runs, repository: Repository
) -> dict[str, str]:
    """Every record's page by its path, and one for each id that is gone.

    `scripts` maps the name of a script to its text; raises `KeyError` for a record without one.
    """
    pages_of = RecordPages(site, scripts, runs, repository)
    records = {
        f"records/{record_id(row)}.md": pages_of.page(row) for row in site.dataset.records["tuning"]
    }
    gone = {f"records/{move.id}.md": move for move in moves(site.dataset, "tuning")}
    return records | {path: site.page(path, "moved.md", move=move) for path, move in gone.items()}


class RecordPages:
    """The pages of records, each made when it is asked for."""

    def __init__(
        self, site: Site, scripts: Mapping[str, str], runs: Runs, repository: Repository
    ) -> None:
        self._site = site
        self._dataset = site.dataset
        self._scripts = scripts
        self._runs = runs
        self._script_url = (site.repository and repository.script_url()) or ""
        every = configurations(site.dataset)
        self._related = Neighborhood(every)
        self._by_id = {item.id: item for item in every if item.kind == "record"}
        self._fields = site.dataset.package.resources["tuning"].schema.fields
        self._meanings = {
            field.name: _meanings(field)
            for field in self._fields
            if field.name in {"status", "tag"}
        }

    def page(self, record: Record) -> str:
        """The text of one record's page."""
        values = {**self._row(record), **self._script(record)}
        return self._site.page(f"records/{record_id(record)}.md", "record.md", **values)

    def _row(self, record: Record) -> Mapping[str, Any]:
        own = self._by_id[record_id(record)]
        device = self._dataset.by_key["devices"].get(record["device"])
        releases = releases_of(self._dataset, record["script"])
        return {
            "record": record,
            "row": tuning_row(self._dataset, record),
            "configuration": own,
            "size": next(size for size in self._site.sizes if size.name == own.size),
            "device_name": str(device["name"] if device else record["device"]),
            "meanings": {
                name: words.get(str(record[name]), "") for name, words in self._meanings.items()
            },
            "fields": [field for field in self._fields if record[field.name] is not None],
            "ladder": ladder(self._dataset.by_script["trials"].get(record["script"], ())),
            "releases": releases,
            "accepted": accepted_by(releases),
            "rejections": rejections(releases),
            "exemptions": [
                row
                for row in self._dataset.records["exemptions"]
                if row["record"] == record["script"]
            ],
            "former_ids": former_ids(self._dataset, "tuning", own.id),
            "failures": self._related.failures(own),
            "related": self._related.related(own),
        }

    def _script(self, record: Record) -> Mapping[str, Any]:
        name, path = str(record["script"]), script_path(self._dataset, record)
        text, run = self._scripts[name], self._runs(record)
        settings = explained(run) if run else []
        return {
            "path": path,
            "script": text,
            "download": f"{SCRIPTS}/{name}",
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "run": run,
            "settings": _grouped(item for item in settings if item.setting.place),
            "defaults": _grouped(item for item in settings if not item.setting.place),
            "shown": shown,
            "expected": expected(run, text) if run else [],
            "start": command(path),
            "start_downloaded": command(name),
            "cluster_source": SEVERAL_NODES_SOURCE,
            "own_words": own_words(text),
            "permalink": self._script_url.replace("{path}", quote(path)),
            "codes": recipes.of_record(record_id(record), self._site.at),
        }


def _meanings(field: Field) -> Mapping[str, str]:
    """What each word of a column means, as its description says: `word`: meaning."""
    return {match["word"]: match["meaning"] for match in _MEANING.finditer(field.description)}


class Rung(NamedTuple):
    """One batch size that was tried; `share` is its part of the largest, 0 to 100."""

    batch: int
    order: int
    ran: bool
    share: int


def ladder(trials: Sequence[Record]) -> list[Rung]:
    """The batch sizes that were tried, smallest first."""
    tried = [(int(str(row["batch"])), int(str(row["order"])), row["outcome"]) for row in trials]
    largest = max((batch for batch, *_ in tried), default=1)
    return sorted(
        Rung(batch, order, outcome == "ran", round(100 * batch / largest))
        for batch, order, outcome in tried
    )


def _grouped(items: Iterable[Explained]) -> dict[str, list[Explained]]:
    groups: dict[str, list[Explained]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return groups


def shown(item: Explained) -> str:
    """The value of a setting as a reader may write it; empty where there is none to show."""
    value = item.setting.value
    if not item.setting.known:
        return ""
    if value is None:
        return "null"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that must be there before the script starts.

    `value` is empty where it depends on the reader's machine; then `written` is the line that
    defines it. `variables` are those of the environment that replace it.
    """

    title: str
    value: str
    line: int
    written: str
    variables: tuple[str, ...]


def expected(run: Run, script: str) -> list[Expected]:
    """The model and the files that the script names."""
    return list(_expected(run, script.split("\n")))


def _expected(run: Run, lines: list[str]) -> Iterator[Expected]:
    for title, key in _EXPECTED.items():
        setting = run.setting(key)
        if setting.place and setting.origin:
            line = setting.origin.line
            value = str(setting.value) if setting.known else ""
            yield Expected(title, value, line, lines[line - 1].strip(), _variables(run, setting))


def _variables(run: Run, setting: Setting) -> tuple[str, ...]:
    """The environment variables that replace the value."""
    places = {item.place: item for item in run.launch.overrides}
    content = places[setting.place].content if setting.place in places else None
    parts = content.parts if content else ()
    return tuple(dict.fromkeys(part.name for part in parts if part.default and part.name))


def command(path: str) -> str:
    """What starts a script, from the folder that `path` is relative to."""
    return f"bash {shlex.quote(path)}"


def own_words(script: str) -> str:
    """What the script's opening comment says of several nodes; empty where it says nothing."""
    comment = re.match(r"(?:#.*\n)*", script)
    lines = re.findall(r"^#[ \t]?(.*)$", comment[0] if comment else "", re.M)
    for paragraph in "\n".join(line.rstrip() for line in lines).split("\n\n"):
        words = " ".join(paragraph.split())
        if words.startswith(_ABOUT_NODES):
            return words.removeprefix(_ABOUT_NODES).strip()
    return ""
