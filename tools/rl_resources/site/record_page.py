"""The page of each record: does it fit, how to start it, how sure it is; then the evidence.

`record_page.toml` has the settings that decide memory and time, with titles and reasons.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from rl_resources.dataset import Dataset, grouped, moves, script_path
from rl_resources.git import Repository
from rl_resources.package import Field, Record
from rl_resources.query.compatibility import accepted_by, rejections, releases_of
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import size_of
from rl_resources.query.sentences import resource, start
from rl_resources.script.backends import ROLLOUT
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, script_text
from rl_resources.script.settings import Setting, written
from rl_resources.site import estimate_page, recipes
from rl_resources.site.api import record_id
from rl_resources.site.environment import Site
from rl_resources.text import json_text

MOST_RELATED = 3
"""Related configurations of each kind."""
_ALIKE = ("kind", "tag", "task", "model", "gpus", "device_label")
_MEANING = re.compile(r"`(?P<word>[\w-]+)`: (?P<meaning>[^`]+?\.)(?= |$)")


def badges(dataset: Dataset) -> dict[str, str]:
    """What runs where and how sure that is, for https://shields.io/badges/endpoint-badge."""
    return {
        f"badges/{row.id}.json": json_text(
            {
                "schemaVersion": 1,
                "label": f"{row.model_label} {row.task}",
                "message": f"{resource(row)} · {row.tag} · {row.evidence_level}",
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
    dataset, every = site.dataset, configurations(site.dataset)
    by_id = {item.id: item for item in every if item.kind == "record"}
    script_url = (site.repository and repository.script_url()) or ""
    made = {}
    for record in dataset.records["tuning"]:
        id_, path = record_id(record), script_path(dataset, record)
        text = scripts[str(record["script"])]
        run = script_text(path, text).run if record["framework"] == FRAMEWORK else None
        made[f"records/{id_}.md"] = site.page(
            f"records/{id_}.md",
            "record.md",
            **_facts(dataset, record),
            **_script(text, run),
            **estimate_page.of_record(dataset, record, run),
            configuration=by_id[id_],
            failures=failures(every, by_id[id_]),
            related=related(every, by_id[id_]),
            path=path,
            start=start(by_id[id_]),
            start_downloaded=f"bash {shlex.quote(str(record['script']))}",
            codes=recipes.of_record(id_, site.at),
            permalink=script_url.replace("{path}", quote(path)),
        )
    for id_, move in moves(dataset, "tuning").items():
        path = f"records/{id_}.md"
        made[path] = site.page(path, "moved.md", move=move)
    return made


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
    models = (row for row in rows if row.model == record.model and row.id != record.id)
    own = [row for row in models if row.state == "run"]
    same_task = [row for row in own if row.task == record.task]
    less = _nearest(row for row in same_task if 0 < row.total_memory_gb < record.total_memory_gb)
    tagged = _nearest(row for row in same_task if row.tag not in {"", record.tag})
    tasks = _nearest((row for row in own if row.task not in {"", record.task}), "task")
    less = less[:MOST_RELATED]
    return {
        "less-hardware": less,
        "other-tag": [row for row in tagged[:1] if row not in less],
        "other-task": tasks[:MOST_RELATED],
    }


def _nearest(rows: Iterable[Configuration], *alike: str) -> list[Configuration]:
    """Records first, by the memory in all, unknown last; of alike ones the first by id."""
    ranked = sorted(rows, key=lambda row: (row.kind != "record", *size_of(row)))
    return [first for first, *_ in grouped(ranked, attrgetter(*alike or _ALIKE)).values()]


def _facts(dataset: Dataset, record: Record) -> Mapping[str, Any]:
    name, schema = record["script"], dataset.package.resources["tuning"].schema
    releases = releases_of(dataset, name)
    return {
        "record": record,
        "schema": schema,
        "meaning": meaning,
        "fields": [field for field in schema.fields if record[field.name] is not None],
        "trials": dataset.by_script["trials"].get(name, ()),
        "releases": releases,
        "accepted": accepted_by(releases),
        "rejections": rejections(releases),
        "exemptions": [row for row in dataset.records["exemptions"] if row["record"] == name],
    }


def _script(text: str, run: Run | None) -> Mapping[str, Any]:
    settings = explained(run) if run else []
    return {
        "script": text,
        "run": run,
        "settings": _grouped(item for item in settings if item.setting.place),
        "defaults": _grouped(item for item in settings if not item.setting.place),
        "shown": shown,
    }


def meaning(field: Field, word: str) -> str:
    """What a word of a column means, as the column's description says: `word`: meaning."""
    found = {match["word"]: match["meaning"] for match in _MEANING.finditer(field.description)}
    return found.get(word, "")


_LOG_PROBS_DYNAMIC = f"{ROLLOUT}.log_prob_use_dynamic_bsz"
Standing = Literal["script", "default", "absent", "unknown"]

_APPLIES: Mapping[str, Callable[[Run], bool]] = {
    "": lambda run: True,
    "megatron": lambda run: run.trains_with_megatron is True,
    "not megatron": lambda run: run.trains_with_megatron is False,
    "reference": lambda run: run.uses_reference is not False,
    "lora": lambda run: run.lora_rank.number != 0,
    "dynamic": lambda run: run.dynamic_batch.flag is True,
    "counted": lambda run: run.dynamic_batch.flag is not True,
    "log-probs counted": lambda run: run.setting(_LOG_PROBS_DYNAMIC).flag is not True,
}
"""Whether a setting bears on a run, by the word `when` of the table."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting of a run, and why it matters.

    `standing` says where the value comes from: the script, the framework's default, nowhere since
    neither names the key (`absent`), or it is not known without running the script (`unknown`).
    """

    group: str
    title: str
    setting: Setting
    standing: Standing
    why: str


def explained(run: Run) -> list[Explained]:
    """The settings that bear on this run, in the order of the table."""
    return [
        Explained(group, row["title"], setting, _standing(run, setting), row["why"])
        for group, rows in _texts().items()
        for row in rows
        if _APPLIES[row.get("when", "")](run)
        and (setting := _setting(run, row["setting"])).key
        and (setting.place or "default" not in row)
    ]


@cache
def _texts() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _setting(run: Run, name: str) -> Setting:
    found: Setting = run.setting(name) if "." in name else getattr(run, name)
    return found


def _standing(run: Run, setting: Setting) -> Standing:
    if setting.known:
        return "script" if setting.place else "default"
    return "absent" if setting.place is None and run.knows_defaults else "unknown"


def _grouped(items: Iterable[Explained]) -> list[tuple[str, list[Explained]]]:
    return [(name, list(group)) for name, group in groupby(items, attrgetter("group"))]


def shown(item: Explained) -> str:
    """The value of a setting as a reader may write it; empty where there is none to show."""
    value = item.setting.value
    if not item.setting.known:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else written(value)
