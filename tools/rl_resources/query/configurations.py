"""Records and reports in one shape, so that one question can be asked of both.

What decides the memory of a run goes with every answer, in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, get_type_hints

from rl_resources.certainty import (
    DISPUTED,
    GUESS,
    MEASURED,
    NOT_RUN,
    OUT_OF_MEMORY,
    REPRODUCED,
    RUNS,
    certainty,
    in_words,
    marks,
    statement_of,
)
from rl_resources.dataset import Dataset, grouped, script_path
from rl_resources.devices import Device, Meant, device_label, devices_of, written
from rl_resources.facts.comparison import same_runs
from rl_resources.files import table_beside
from rl_resources.package import Record, Value, items_of, text_of
from rl_resources.query.sentences import pieces
from rl_resources.query.vocabulary import architectures, billions_in, experts_of

NOT_TEXT_ALONE = frozenset(
    {"multimodal", "image-generation", "video-generation", "robotics"}
)
"""Scenarios whose memory is not that of a run on text."""


class Conditions(Sequence[str]):
    """Weights, precision, offload, context, micro batch and certainty, in words.

    They are put into words where somebody reads them: a question shows few rows.
    """

    def __init__(self, *given: object) -> None:
        self._given = given

    @cached_property
    def _words(self) -> Sequence[str]:
        return pieces("conditions", *self._given)

    def __repr__(self) -> str:
        """All that the words say."""
        return repr(self._given)

    def __getitem__(self, index: Any) -> Any:
        return self._words[index]

    def __len__(self) -> int:
        return len(self._words)


class Configuration(NamedTuple):
    """One record or report. An empty text or a 0 is unknown; memory in GB, lengths in tokens.

    `device` is empty where the source does not say which one of `possible_devices` it is; then
    `memory_gb` is the most that it can be unless the source states it (`memory_stated`). A
    `variant` has the name of a known device, but other memory or another form. `certainty` is a
    word of the scale, `marks` are what stands beside it. `no_room` marks a report whose devices
    have no room for what it may train (see `exemptions`). `series` is shared by reports that differ
    only in settings. `conditions` are the words of what decides memory. `fit` is how it fits the
    hardware of the question that it answers, `differs` in what it is not just what was asked: see
    `find.py`. `architecture` is the first model of the same layers and widths, `experts` is
    `mixture` or `dense` where it is known, `pools` says which roles have GPUs of their own.
    """

    id: str
    kind: str
    outcome: str
    tag: str
    size: str
    position: int
    parameters_b: float
    model: str
    architecture: str
    experts: str
    model_label: str
    task: str
    task_label: str
    weights: str
    scenario: tuple[str, ...]
    precision: str
    memory_optimizations: tuple[str, ...]
    conditions: Conditions
    gpus: int
    gpus_maximum: int
    nodes: int
    pools: str
    device: str
    device_label: str
    possible_devices: tuple[str, ...]
    variant: bool
    vendor: str
    memory_gb: float
    memory_stated: bool
    framework: str
    framework_label: str
    train: str
    infer: str
    backends_label: str
    max_prompt_length: int
    max_response_length: int
    max_total_length: int
    rollout_n: int
    batch: int
    batch_unit: str
    peak_memory_gb: float
    host_memory_gb: float
    step_seconds: float
    step_seconds_statistic: str
    tokens_per_second_per_gpu: float
    statement: str
    certainty: str
    marks: tuple[str, ...]
    tested_on: str
    no_room: bool
    out_of_memory_on: str
    evidence_kind: str
    requirement_wording: str
    age: str
    contradicts: tuple[str, ...]
    script: str
    source: str
    notes: str
    series: str = ""
    fit: str = ""
    differs: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """The longest prompt and response together, as far as known; 0 if nothing is."""
        return (
            self.max_total_length or self.max_prompt_length + self.max_response_length
        )

    @property
    def total_memory_gb(self) -> float:
        """Memory of all devices; 0 if unknown."""
        return self.gpus * self.memory_gb

    @property
    def is_text_alone(self) -> bool:
        """Whether its memory is that of a run on text."""
        return NOT_TEXT_ALONE.isdisjoint(self.scenario)

    @property
    def state(self) -> str:
        """`out-of-memory`, `no-answer`, `claim` or `run`."""
        if self.outcome != "ran":
            return OUT_OF_MEMORY
        if self.certainty == NOT_RUN or self.no_room:
            return "no-answer"
        if self.statement == GUESS:
            return "no-answer"
        if self.statement in RUNS:
            return "run"
        return "claim"

    @property
    def doubtful(self) -> bool:
        """Whether it is disputed: by its own note, or by another report."""
        return DISPUTED in self.marks

    def words(self, field: str) -> tuple[str, ...]:
        """The words of a question that this configuration matches; none where it is unknown."""
        value = getattr(self, field)
        if isinstance(value, tuple):
            return value
        return (value,)


@lru_cache(maxsize=1)
def configurations(dataset: Dataset) -> tuple[Configuration, ...]:
    """Each run once, as a record or else as a report, in the order that no question changes."""
    also_records = recorded(dataset)
    return tuple(
        row for row in every_configuration(dataset) if row.id not in also_records
    )


@lru_cache(maxsize=1)
def every_configuration(dataset: Dataset) -> tuple[Configuration, ...]:
    """All records and all reports of a dataset, in the order of `configurations`."""
    return in_series(configurations_of(dataset, rows_of_runs(dataset)))


def rows_of_runs(dataset: Dataset) -> Sequence[Record]:
    """All records, then all reports."""
    return (*dataset.records["tuning"], *dataset.records["reports"])


def configurations_of(dataset: Dataset, rows: Iterable[Record]) -> list[Configuration]:
    """These records and reports, in the order of `configurations`."""
    found = [_configuration(dataset, row) for row in rows]
    return sorted(found, key=_order)


@lru_cache(maxsize=1)
def recorded(dataset: Dataset) -> Mapping[str, str]:
    """The reports of a run that is a record as well, each with the record's script."""
    pairs = same_runs(dataset.records["tuning"], dataset.records["reports"], text_of)
    return {
        text_of(report, "report"): text_of(record, "script") for record, report in pairs
    }


def _order(row: Configuration) -> tuple[object, ...]:
    """Runs before random tokens, what trains known, recent, measured, longer context, by id."""
    return (
        "synthetic" in row.scenario,
        not row.weights,
        bool(row.age),
        row.certainty != MEASURED and REPRODUCED not in row.marks,
        -row.length,
        row.id,
    )


def _configuration(dataset: Dataset, row: Record) -> Configuration:
    """A record or a report; a field that is not a column of its table is derived."""
    cells: dict[str, Any] = {
        name: row.get(name) or empty for name, empty in _EMPTY.items()
    }
    if "script" in row:
        cells |= {
            "id": _text(row, "script").removesuffix(".sh"),
            "kind": "record",
            "outcome": "ran",
            "size": dataset.by_key["models"][row["model"]]["size"],
            "script": script_path(dataset, row),
        }
    else:
        # A tag is earned by the data; the word of a report's source is part of its statement.
        cells |= {"id": row["report"], "kind": "report", "tag": ""}
        cells["source"] = _text(row, "source_url")
    if cells["size"]:
        cells["position"] = dataset.by_key["sizes"][cells["size"]]["position"]
    cells["tested_on"] = str(cells["tested_on"])
    cells["age"] = age_of(dataset, row)
    cells |= _hardware(dataset, row)
    cells |= _evidence(dataset, row)
    cells |= _labels(row)
    cells |= _batch(row)
    model = cells["model"]
    cells["architecture"] = architectures(dataset).get(model, model)
    cells["parameters_b"] = _billions(dataset, model or cells["model_label"])
    cells["experts"] = experts_of(dataset, model or cells["model_label"])
    cells["pools"] = _pools(_text(row, "parallelism"))
    return Configuration(**cells)


def _billions(dataset: Dataset, model: str) -> float:
    """The parameters of a model in 10⁹, of one that the table lacks those of its name."""
    row = dataset.by_key["models"].get(model, {})
    return float(str(row.get("parameters_b") or billions_in(model)))


def _pools(parallelism: str) -> str:
    """The parts that give the GPUs of each role: `2 train + 2 gen GPUs`."""
    return "; ".join(part for part in parallelism.split("; ") if _POOL.search(part))


def age_of(dataset: Dataset, row: Record) -> str:
    """What a reader must know of the age of a record or report; empty where it is recent.

    It is measured at the dataset's own version, so that every build says the same.
    """
    year, month, _ = map(int, dataset.version.split("."))
    a_year_ago = date(year - 1, month, 1)
    day = row.get("tested_on") or row.get("source_changed_on")
    if isinstance(day, date) and day < a_year_ago:
        return f"older than a year: {day:%Y-%m}"
    return ""


def _hardware(dataset: Dataset, row: Record) -> dict[str, Any]:
    devices = devices_of(dataset)
    published = _text(row, "device_as_published")
    stated = float(str(row.get("device_memory_gb") or 0))
    device = _text(row, "device")
    if device:
        known = devices.known.get(device, Device())
        meant = Meant([device], known.vendor, known.memory_gb or stated)
    else:
        meant = devices.published(published, stated)
    name = device or published
    label = written(name)
    if name in devices.known:
        label = device_label(name)
    return {
        "device_label": label,
        "possible_devices": tuple(meant.keys),
        "variant": meant.variant,
        "vendor": meant.vendor,
        "memory_gb": meant.memory_gb,
        "memory_stated": stated > 0,
    }


def _evidence(dataset: Dataset, row: Record) -> dict[str, Any]:
    return {
        "statement": statement_of(row),
        "certainty": certainty(row),
        "marks": marks(row),
        "no_room": row.get("report") in _without_room(dataset),
        "conditions": _conditions(dataset, row),
    }


@lru_cache(maxsize=1)
def _without_room(dataset: Dataset) -> set[Value]:
    """The reports that are exempt from the rule that they must fit their devices."""
    return {
        item["record"]
        for item in dataset.records["exemptions"]
        if item["rule"] == "minimum-memory"
    }


def _conditions(dataset: Dataset, row: Record) -> Conditions:
    model = dataset.by_key["models"].get(row["model"], {})
    known = dataset.by_key["memory_optimizations"]
    savings = [known[word] for word in items_of(row, "memory_optimizations")]
    return Conditions(row, model, savings, in_words(row))


def _labels(row: Record) -> dict[str, Any]:
    """What a source calls model, task, framework and backends, else their keys."""
    labels: dict[str, str] = {}
    for name, parts in _TABLES["labels"].items():
        words = [_text(row, *columns) for columns in parts]
        labels[name] = " ".join(filter(None, words))
    return {**labels, "model_label": _OWNER.sub("", labels["model"])}


def _batch(row: Record) -> dict[str, Any]:
    """The number of a batch, and what it counts."""
    for name in ("max_batch", "batch", "prompts_per_step"):
        if row.get(name):
            unit = "prompts"
            if name == "batch":
                unit = _text(row, "batch_unit")
            return {"batch": row[name], "batch_unit": unit}
    return {"batch": 0, "batch_unit": ""}


def _text(row: Record, *columns: str) -> str:
    """The first of several cells that is filled."""
    filled = (text_of(row, name) for name in columns if row.get(name) is not None)
    return next(filled, "")


_POOL = re.compile(r"\b[0-9]+ (?:or [0-9]+ )?(?:[GN]PUs?|train|gen|actor)\b", re.ASCII)
_OWNER = re.compile(r"^[\w.-]+/(?=[\w.-]+$)", re.ASCII)
_TABLES = table_beside(__file__)
_SAME = attrgetter(*_TABLES["series"]["same"])
_EMPTY = {name: kind() for name, kind in get_type_hints(Configuration).items()}


def in_series(rows: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The rows, with the id of the first of its series in each that is not alone in its own.

    A benchmark of twenty lengths is twenty reports, of which a reader wants one answer and the span
    of the rest. Reports are of one series where their source is the same document (the same thread,
    or the same state of a repository) and all that `configurations.toml` lists is
    equal. A record stands for itself, and so does a report that others contradict.
    """
    series: dict[str, str] = {}
    for alike in grouped(rows, _identity).values():
        ids = [row.id for row in alike]
        if len(ids) > 1:
            series |= dict.fromkeys(ids, min(ids))
    return tuple(row._replace(series=series.get(row.id, "")) for row in rows)


def _identity(row: Configuration) -> tuple[object, ...]:
    if row.kind == "record" or row.contradicts:
        return (row.id,)
    # The thread, or the state of the repository, that the source links.
    url, _, _ = row.source.partition("#")
    repository, blob, path = url.partition("/blob/")
    commit, _, _ = path.partition("/")
    return (repository, blob, commit, *_SAME(row))
