"""The page of each record: does it fit, how to start it, how sure it is; then the evidence.

`record_page.toml` has the settings that decide memory and time, with titles and reasons.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from rl_resources.dataset import Dataset, grouped, script_path
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import EstimateInputs
from rl_resources.estimate.estimate import Estimate, of_script
from rl_resources.estimate.formula import backends, formula, inputs_by_name
from rl_resources.files import table_beside
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.query.compatibility import (
    accepted_by,
    architecture_of,
    rejected_settings,
    releases_of,
)
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.fit import size_of
from rl_resources.query.sentences import resource, script, start, sure, tag
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, script_text
from rl_resources.script.settings import Setting, written
from rl_resources.site.api import record_id
from rl_resources.site.environment import Piece, Site
from rl_resources.site.run_pages import moved_pages
from rl_resources.text import is_web_address, json_text, printable

MOST_RELATED = 3
"""Related configurations of each kind."""
OWN_FIELDS = frozenset({"gpus", "lora_rank", "quantized", "has_engine"})
"""Inputs of the estimate that other fields of its form stand for."""
_FROM_FIELDS = OWN_FIELDS | {"device_gb"}
_ALIKE = ("kind", "tag", "task", "model", "gpus", "device_label")
_URL = re.compile(r"(https://[^\s,;]+)")


def badges(dataset: Dataset) -> dict[str, str]:
    """What runs where and how sure that is, for https://shields.io/badges/endpoint-badge."""
    found: dict[str, str] = {}
    for row in records_by_id(dataset).values():
        badge = {
            "schemaVersion": 1,
            "label": f"{row.model_label} {row.task}",
            "message": f"{resource(row)} · {tag(row)} · {sure(row)}",
        }
        found[f"badges/{row.id}.json"] = json_text(badge, 2)
    return found


def records_by_id(dataset: Dataset) -> dict[str, Configuration]:
    """The records, without reports."""
    return {row.id: row for row in configurations(dataset) if row.kind == "record"}


def pages(
    site: Site, scripts: Mapping[str, str], repository: Repository
) -> dict[str, str]:
    """Every record's page by its path, and one for each id that is gone.

    `scripts` maps the name of a script to its text; raises `KeyError` for a record without one.
    """
    dataset = site.dataset
    every = configurations(dataset)
    script_url = ""
    if site.repository:
        script_url = repository.script_url() or ""
    by_id = records_by_id(dataset)
    made: dict[str, str] = {}
    for record in dataset.records["tuning"]:
        row = by_id[record_id(record)]
        text = scripts[str(record["script"])]
        failed = failures(every, row)
        near = related(every, row)
        others = {"failures": failed, "related": near}
        make = partial(_page, site, row, text, script_url, **others)
        facts = (site.facts[row.id], text, script_url, repr(others))
        made[_path(row)] = site.once(facts, make)
    return made | moved_pages(site, "tuning", "records")


def _path(row: Configuration) -> str:
    return f"records/{row.id}.md"


def _page(
    site: Site, row: Configuration, text: str, script_url: str, **others: object
) -> str:
    """The page of a record; without a `script_url` it links to no line of the script."""
    dataset = site.dataset
    record = dataset.by_key["tuning"][f"{row.id}.sh"]
    path = script_path(dataset, record)
    return site.page(
        _path(row),
        "record.md",
        **_facts(dataset, record),
        **_script_facts(dataset, record, path, text),
        **others,
        configuration=row,
        start=start(row),
        script_line=script(row),
        start_downloaded=f"bash {shlex.quote(row.script.rpartition('/')[2])}",
        permalink=script_url.replace("{path}", quote(path)),
    )


def _script_facts(
    dataset: Dataset, record: Record, path: str, text: str
) -> Mapping[str, Any]:
    read = script_text(path, text, str(record["framework"] or FRAMEWORK))
    run = read.run if record["framework"] == FRAMEWORK else None
    return {
        "script": text,
        "path": path,
        "run": run,
        "data": [linked(line.text) for line in read.labeled("Data")],
        "reward": [linked(line.text) for line in read.labeled("Reward")],
        **_settings(run),
        **estimated(dataset, record, run),
    }


def _facts(dataset: Dataset, record: Record) -> Mapping[str, Any]:
    name = record["script"]
    schema = dataset.package.resources["tuning"].schema
    releases = releases_of(dataset, name)
    return {
        "record": record,
        "schema": schema,
        "fields": [field for field in schema.fields if record[field.name] is not None],
        "trials": dataset.by_script["trials"].get(name, ()),
        "releases": releases,
        "accepted": accepted_by(releases),
        "architecture": architecture_of(releases),
        "linked": linked,
        "rejections": rejected_settings(releases),
        "exemptions": [
            row for row in dataset.records["exemptions"] if row["record"] == name
        ],
    }


def linked(text: str) -> list[Piece]:
    """A text of a script's header, each URL in it as a link that shows the end of its path."""
    found: list[Piece] = []
    for split in _URL.split(printable(text)):
        part = split.strip()
        if is_web_address(part):
            end_of_path = part.rstrip("/").rpartition("/")[2]
            found.append(Piece(end_of_path, part))
        elif part:
            found.append(Piece(part))
    return found


def _settings(run: Run | None) -> Mapping[str, Any]:
    """Those that the script states and those that it leaves to the framework, each by group."""
    items = explained(run) if run else []
    stated = [item for item in items if item.setting.place]
    left = [item for item in items if not item.setting.place]
    by_group = attrgetter("group")
    return {
        "settings": list(grouped(stated, by_group).items()),
        "defaults": list(grouped(left, by_group).items()),
    }


def failures(
    rows: Iterable[Configuration], record: Configuration
) -> list[Configuration]:
    """Runs of the same model and task that ran out of memory on no less hardware."""
    found = []
    for row in rows:
        alike = row.model == record.model and row.task == record.task
        no_less = row.gpus >= record.gpus and row.memory_gb >= record.memory_gb
        if alike and no_less and row.state == "out-of-memory":
            found.append(row)
    return found


def related(
    rows: Iterable[Configuration], record: Configuration
) -> Mapping[str, Sequence[Configuration]]:
    """The nearest configurations of each kind, none twice.

    `less-hardware`: same model, task and weights with less memory in all; `other-tag`: same model
    and task under another tag; `other-task`: same model, another task.
    """
    of_model = (row for row in rows if row.model == record.model)
    own = [row for row in of_model if row.state == "run" and row.id != record.id]
    same = [row for row in own if row.task == record.task]
    smaller = [
        row
        for row in same
        if row.weights == record.weights
        and 0 < row.total_memory_gb < record.total_memory_gb
    ]
    less = _nearest(smaller)[:MOST_RELATED]
    tagged = _nearest(row for row in same if row.tag not in {"", record.tag})
    tasks = _nearest((row for row in own if row.task not in {"", record.task}), "task")
    return {
        "less-hardware": less,
        "other-tag": [row for row in tagged[:1] if row not in less],
        "other-task": tasks[:MOST_RELATED],
    }


def _nearest(rows: Iterable[Configuration], *alike: str) -> list[Configuration]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""

    def rank(row: Configuration) -> tuple[object, ...]:
        return row.kind != "record", *size_of(row)

    facts = attrgetter(*alike or _ALIKE)
    series = grouped(sorted(rows, key=rank), facts)
    return [first for first, *_ in series.values()]


_APPLIES: Mapping[str, Callable[[Run], bool]] = {
    "": lambda run: True,
    "megatron": lambda run: run.trains_with_megatron is True,
    "not megatron": lambda run: not run.trains_with_megatron,
    "reference": lambda run: run.uses_reference is not False,
    "lora": lambda run: run.lora_rank.number != 0,
    "dynamic": lambda run: run.dynamic_batch.flag is True,
    "counted": lambda run: run.dynamic_batch.flag is not True,
}
"""Whether a setting bears on a run, by the word `when` of the table."""


class Explained(NamedTuple):
    """One setting of a run, its value as a reader may write it, and why it matters."""

    group: str
    title: str
    setting: Setting
    value: str
    why: str


def explained(run: Run) -> list[Explained]:
    """The settings that bear on this run, in the order of the table."""
    found: list[Explained] = []
    for group, rows in _TEXTS.items():
        for row in rows:
            applies = _APPLIES[row.get("when", "")]
            if not applies(run):
                continue
            setting = _setting(run, row["setting"])
            said = setting.place or "default" not in row
            if setting.key and said:
                value = _value(run, setting)
                found.append(Explained(group, row["title"], setting, value, row["why"]))
    return found


_TEXTS = table_beside(__file__)


def _setting(run: Run, name: str) -> Setting:
    if "." in name:
        return run.setting(name)
    found: Setting = getattr(run, name)
    return found


def _value(run: Run, setting: Setting) -> str:
    """The value as a reader may write it, or why there is none to show."""
    if setting.place is None and run.knows_defaults and not setting.known:
        return "not set"
    if not setting.known:
        return "not known without running the script"
    if isinstance(setting.value, list | tuple):
        return ", ".join(map(str, setting.value))
    return written(setting.value)


def estimated(dataset: Dataset, record: Record, run: Run | None) -> Mapping[str, Any]:
    """What the page of a record shows: the estimate of its script, `None` where there is none."""
    found = _estimate(dataset, record, run) if run else None
    if found is None:
        return {"estimate": None}
    assumed = found.configuration.assumed
    return {
        "estimate": found,
        "estimate_query": query_of(found, str(record["device"]), str(record["infer"])),
        "guessed": [item for item in assumed if "not known" in item.reason],
    }


def _estimate(dataset: Dataset, record: Record, run: Run) -> Estimate | None:
    device = dataset.by_key["devices"].get(record["device"])
    if not device or not device["memory_gb"]:
        return None
    gpus = float(str(record["gpus"]))
    memory_gb = float(str(device["memory_gb"]))
    model = dataset.by_key["models"][record["model"]]
    try:
        return of_script(run, gpus, memory_gb, model)
    except UnusableInput:
        return None


def query_of(estimate: Estimate, device: str, infer: str) -> str:
    """The query of a URL that fills the form with the inputs of a record's estimate."""
    asked = estimate.configuration
    rank = asked.inputs["lora_rank"]
    words = {
        "model": asked.model,
        "gpus": f"{asked.inputs['gpus']:g}",
        "device": device,
        "weights": estimate.weights,
        "lora_rank": f"{rank:g}" if rank else "",
        "train": asked.train,
        "infer": infer if asked.inputs["has_engine"] else "",
        **{name: f"{value:.10g}" for name, value in _others(estimate)},
    }
    said = {name: word for name, word in words.items() if word}
    return f"?{urlencode(said)}"


def _others(estimate: Estimate) -> Iterator[tuple[str, float]]:
    """The inputs that the form does not assume, and those that it would choose."""
    asked = estimate.configuration
    chosen = {"gpu_memory_utilization"}
    if estimate.peak_gb > estimate.device_gb:
        chosen.update(estimate.usual)
    assumed = _assumed_by_the_form(asked)
    for name, item in inputs_by_name().items():
        value = asked.inputs.get(name)
        if value is None or name in _FROM_FIELDS:
            continue  # of the time alone, or said by other fields
        if value < item["minimum"]:
            continue  # a micro batch where batches are filled up by tokens
        is_assumed = value == assumed.get(name, item.get("default"))
        if not is_assumed or name.endswith("_parallel") or name in chosen:
            yield name, value


def _assumed_by_the_form(asked: EstimateInputs) -> Mapping[str, float]:
    """What the form takes for inputs that nobody gives, where it is not their usual default."""
    found = dict(backends()[asked.train])
    if asked.inputs.get("lora_rank"):
        found |= formula()["train_lora"].get(asked.train, {})
    found |= formula()["of_engine"].get(asked.infer, {})
    if not asked.inputs["has_engine"]:  # then the link names no engine, and no task
        found |= formula()["train_sft"].get(asked.train, {})
    return found
