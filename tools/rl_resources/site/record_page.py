"""The page of each record: does it fit, how to start it, how sure it is; then the evidence.

`record_page.toml` has the settings that decide memory and time, with titles and reasons.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from rl_resources.dataset import Dataset, grouped, moves, script_path
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import Configuration as Asked
from rl_resources.estimate.estimate import Estimate, of_script
from rl_resources.estimate.formula import backends, inputs_by_name
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.query.compatibility import (
    accepted_by,
    architecture_of,
    rejections,
    releases_of,
)
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import size_of
from rl_resources.query.sentences import resource, script, start, sure, tag
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, script_text
from rl_resources.script.settings import Setting, written
from rl_resources.site.api import record_id
from rl_resources.site.environment import Piece, Site
from rl_resources.text import is_web_address, json_text, printable

MOST_RELATED = 3
"""Related configurations of each kind."""
OWN_FIELDS = frozenset({"gpus", "lora_rank", "quantized", "has_engine"})
"""Inputs of the estimate that other fields of its form stand for."""
_ALIKE = ("kind", "tag", "task", "model", "gpus", "device_label")
_URL = re.compile(r"(https://[^\s,;]+)")


def badges(dataset: Dataset) -> dict[str, str]:
    """What runs where and how sure that is, for https://shields.io/badges/endpoint-badge."""
    return {
        f"badges/{row.id}.json": json_text(
            {
                "schemaVersion": 1,
                "label": f"{row.model_label} {row.task}",
                "message": f"{resource(row)} · {tag(row)} · {sure(row)}",
            },
            2,
        )
        for row in configurations(dataset)
        if row.kind == "record"
    }


def pages(site: Site, scripts: Mapping[str, str], repository: Repository) -> dict[str, str]:
    """Every record's page by its path, and one for each id that is gone.

    `scripts` maps the name of a script to its text; raises `KeyError` for a record without one.
    """
    dataset = site.dataset
    by_id = {row.id: row for row in configurations(dataset) if row.kind == "record"}
    script_url = (site.repository and repository.script_url()) or ""
    made = {}
    for record in dataset.records["tuning"]:
        row, path = by_id[record_id(record)], script_path(dataset, record)
        text = scripts[str(record["script"])]
        read = script_text(path, text)
        run = read.run if record["framework"] == FRAMEWORK else None
        made[f"records/{row.id}.md"] = site.page(
            f"records/{row.id}.md",
            "record.md",
            **_facts(dataset, row, record),
            **_settings(run),
            data=[linked(line.text) for line in read.labeled("Data")],
            reward=[linked(line.text) for line in read.labeled("Reward")],
            **estimated(dataset, record, run),
            configuration=row,
            script=text,
            run=run,
            path=path,
            start=start(row),
            script_line=script(row),
            start_downloaded=f"bash {shlex.quote(row.script.rpartition('/')[2])}",
            permalink=script_url.replace("{path}", quote(path)),
        )
    for id_, move in moves(dataset, "tuning").items():
        path = f"records/{id_}.md"
        made[path] = site.page(path, "moved.md", move=move)
    return made


def _facts(dataset: Dataset, row: Configuration, record: Record) -> Mapping[str, Any]:
    name, schema = record["script"], dataset.package.resources["tuning"].schema
    releases, every = releases_of(dataset, name), configurations(dataset)
    return {
        "record": record,
        "schema": schema,
        "fields": [field for field in schema.fields if record[field.name] is not None],
        "failures": failures(every, row),
        "related": related(every, row),
        "trials": dataset.by_script["trials"].get(name, ()),
        "releases": releases,
        "accepted": accepted_by(releases),
        "architecture": architecture_of(releases),
        "linked": linked,
        "rejections": rejections(releases),
        "exemptions": [row for row in dataset.records["exemptions"] if row["record"] == name],
    }


def linked(text: str) -> list[Piece]:
    """A text of a script's header, each URL in it as a link that shows the end of its path."""
    found: list[Piece] = []
    for part in map(str.strip, _URL.split(printable(text))):
        if is_web_address(part):
            found.append(Piece(part.rstrip("/").rpartition("/")[2], part))
        elif part:
            found.append(Piece(part))
    return found


def _settings(run: Run | None) -> Mapping[str, Any]:
    """Those that the script states and those that it leaves to the framework, each by group."""
    found, by_group = explained(run) if run else [], attrgetter("group")
    stated = grouped((item for item in found if item.setting.place), by_group)
    left = grouped((item for item in found if not item.setting.place), by_group)
    return {"settings": [*stated.items()], "defaults": [*left.items()]}


def failures(rows: Iterable[Configuration], record: Configuration) -> list[Configuration]:
    """Runs of the same model and task that ran out of memory on no less hardware."""
    alike = record.model, record.task, "out-of-memory"
    failed = (row for row in rows if (row.model, row.task, row.state) == alike)
    return [row for row in failed if row.gpus >= record.gpus and row.memory_gb >= record.memory_gb]


def related(
    rows: Iterable[Configuration], record: Configuration
) -> Mapping[str, Sequence[Configuration]]:
    """The nearest configurations of each kind, none twice.

    `less-hardware`: same model and task with less memory in all; `other-tag`: same model and task
    under the other tag; `other-task`: same model, another task.
    """
    own = [row for row in rows if row.model == record.model and row.state == "run"]
    same = [row for row in own if row.task == record.task and row.id != record.id]
    less = _nearest(row for row in same if 0 < row.total_memory_gb < record.total_memory_gb)
    tagged = _nearest(row for row in same if row.tag not in {"", record.tag})
    tasks = _nearest((row for row in own if row.task not in {"", record.task}), "task")
    return {
        "less-hardware": less[:MOST_RELATED],
        "other-tag": [row for row in tagged[:1] if row not in less[:MOST_RELATED]],
        "other-task": tasks[:MOST_RELATED],
    }


def _nearest(rows: Iterable[Configuration], *alike: str) -> list[Configuration]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""
    ranked = sorted(rows, key=lambda row: (row.kind != "record", *size_of(row)))
    return [first for first, *_ in grouped(ranked, attrgetter(*alike or _ALIKE)).values()]


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
    return [
        Explained(group, row["title"], setting, _value(run, setting), row["why"])
        for group, rows in _TEXTS.items()
        for row in rows
        if _APPLIES[row.get("when", "")](run)
        and (setting := _setting(run, row["setting"])).key
        and (setting.place or "default" not in row)
    ]


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _setting(run: Run, name: str) -> Setting:
    found: Setting = run.setting(name) if "." in name else getattr(run, name)
    return found


def _value(run: Run, setting: Setting) -> str:
    """The value as a reader may write it, or why there is none to show."""
    if setting.place is None and run.knows_defaults and not setting.known:
        return "not set"
    if not setting.known:
        return "not known without running the script"
    value = setting.value
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else written(value)


def estimated(dataset: Dataset, record: Record, run: Run | None) -> Mapping[str, Any]:
    """What the page of a record shows: the estimate of its script, `None` where there is none."""
    device, found = dataset.by_key["devices"].get(record["device"]), None
    if run and device and device["memory_gb"]:
        sizes = float(str(record["gpus"])), float(str(device["memory_gb"]))
        with suppress(UnusableInput):
            found = of_script(run, *sizes, dataset.by_key["models"][record["model"]])
    if found is None:
        return {"estimate": None}
    assumed = found.configuration.assumed
    return {
        "estimate": found,
        "estimate_query": query_of(found, str(record["device"]), str(record["infer"])),
        "guessed": [item for item in assumed if "not known" in item.reason],
    }


def query_of(estimate: Estimate, device: str, infer: str) -> str:
    """The query of a URL that fills the form with the inputs of a record's estimate."""
    asked = estimate.configuration
    rank, quantized = asked.inputs["lora_rank"], asked.inputs["quantized"]
    words = {
        "model": asked.model,
        "gpus": f"{asked.inputs['gpus']:g}",
        "device": device,
        "weights": "qlora" if quantized else "lora" if rank else "full",
        "lora_rank": f"{rank:g}" if rank else "",
        "train": asked.train,
        "infer": infer if asked.inputs["has_engine"] else "",
        **{name: f"{value:.10g}" for name, value in _others(asked)},
    }
    return f"?{urlencode({name: word for name, word in words.items() if word})}"


def _others(asked: Asked) -> Iterator[tuple[str, float]]:
    """The inputs that the form does not assume; sizes of parallelism it would choose are named."""
    own = backends()[asked.train]
    for name, item in inputs_by_name().items():
        default = own.get(name, item.get("default"))
        value, chosen = asked.inputs[name], name.endswith("_parallel")
        unset = value < item["minimum"]  # a micro batch where batches are filled up by tokens
        if name not in {*OWN_FIELDS, "device_gb"} and not unset and (chosen or value != default):
            yield name, value
