"""Records and reports in one shape, so that one question can be asked of both.

What decides the memory of a run goes with every answer, in words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from math import isclose
from operator import attrgetter
from typing import Any, NamedTuple, get_type_hints

from rl_resources.dataset import Dataset, grouped, script_path
from rl_resources.devices import Device, device_label, devices_of, written
from rl_resources.package import Record, items_of, text_of
from rl_resources.query.vocabulary import WEIGHTS

UNTESTED, GUESS, UNEXPLAINED = "untested", "guess", "unexplained"
"""Evidence levels of what nobody says to run: a record without a run, a source's guess, a report
whose devices have no room for what it may train (see `exemptions`)."""
NOT_RUN = frozenset({UNTESTED, GUESS, UNEXPLAINED})
RUNS = frozenset({"measured-run", "stated-run"})
"""The statements that say that somebody ran it; all others are claims."""


class Configuration(NamedTuple):
    """One record or report. An empty text or a 0 is unknown; memory in GB, lengths in tokens.

    `device` is empty where the source does not say which one of `possible_devices` it is; then
    `memory_gb` is the most that it can be. `evidence_level` is the status of a record or the
    statement of a report. `series` is shared by reports that differ only in settings.
    `conditions` are the words of what decides memory: see the function of that name.
    `fit` is how it fits the hardware of the question that it answers: see `find.py`.
    """

    id: str
    kind: str
    outcome: str
    tag: str
    size: str
    position: int
    model: str
    model_label: str
    task: str
    task_label: str
    weights: str
    scenario: tuple[str, ...]
    precision: str
    memory_optimizations: tuple[str, ...]
    conditions: tuple[str, ...]
    gpus: int
    gpus_maximum: int
    nodes: int
    device: str
    device_label: str
    possible_devices: tuple[str, ...]
    vendor: str
    memory_gb: float
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
    tokens_per_second_per_gpu: float
    statement: str
    out_of_memory_on: str
    evidence_level: str
    evidence_kind: str
    requirement_wording: str
    age: str
    contradicts: tuple[str, ...]
    script: str
    source: str
    notes: str
    series: str = ""
    fit: str = ""

    @property
    def length(self) -> int:
        """The longest prompt and response together, as far as known; 0 if nothing is."""
        return self.max_total_length or self.max_prompt_length + self.max_response_length

    @property
    def total_memory_gb(self) -> float:
        """Memory of all devices; 0 if unknown."""
        return self.gpus * self.memory_gb

    @property
    def state(self) -> str:
        """`out-of-memory`, `not-run`, `claim` or `run`."""
        if self.outcome != "ran":
            return "out-of-memory"
        if self.evidence_level in NOT_RUN:
            return "not-run"
        return "run" if self.statement in RUNS else "claim"

    @property
    def doubtful(self) -> bool:
        """Whether it is disputed, or another report contradicts it."""
        return self.evidence_level == "disputed" or bool(self.contradicts)

    def words(self, field: str) -> tuple[str, ...]:
        """The words of a question that this configuration matches; none where it is unknown."""
        if field == "weights":
            return ("qlora", "lora") if self.weights == "qlora" else (self.weights,)
        value = getattr(self, field)
        return value if isinstance(value, tuple) else (value,)


@lru_cache(maxsize=1)
def configurations(dataset: Dataset) -> tuple[Configuration, ...]:
    """Each run once, as a record or else as a report, in the order that no question changes."""
    also_records = recorded(dataset)
    return tuple(row for row in every_configuration(dataset) if row.id not in also_records)


@lru_cache(maxsize=1)
def every_configuration(dataset: Dataset) -> tuple[Configuration, ...]:
    """All records and all reports of a dataset, in the order of `configurations`."""
    rows = (*dataset.records["tuning"], *dataset.records["reports"])
    return in_series(sorted((_configuration(dataset, row) for row in rows), key=_order))


@lru_cache(maxsize=1)
def recorded(dataset: Dataset) -> Mapping[str, str]:
    """The reports of a run that is a record as well, each with the record's script.

    The same lines of a source are the same run where model, number of GPUs and speed agree, the
    speed within a tenth, as one is a mean, the other a median. Of several, it is the same task.
    """
    places: dict[tuple[object, ...], list[Record]] = {}
    for record in dataset.records["tuning"]:
        for url in f"{record['source'] or ''} {record['evidence'] or ''}".split():
            places.setdefault((url, record["model"], record["gpus"]), []).append(record)
    found = {}
    for row in dataset.records["reports"]:
        near = places.get((row["source_url"], row["model"], row["gpus"]), [])
        if same := [record for record in near if _as_fast(row, record)]:
            best = max(same, key=lambda record: record["task"] == row["task"])
            found[str(row["report"])] = str(best["script"])
    return found


def _as_fast(row: Record, record: Record) -> bool:
    """Whether no speed that both state differs by more than a tenth."""
    stated = [(row[name], record[name]) for name in ("step_seconds", "tokens_per_second_per_gpu")]
    return all(isclose(float(str(a)), float(str(b)), rel_tol=0.1) for a, b in stated if a and b)


def _order(row: Configuration) -> tuple[object, ...]:
    """Runs before random tokens, what trains known, recent, measured, longer context, by id."""
    return (
        "synthetic" in row.scenario,
        not row.weights,
        bool(row.age),
        row.evidence_level not in {"reproduced", "measured-run"},
        -row.length,
        row.id,
    )


def _configuration(dataset: Dataset, row: Record) -> Configuration:
    """A record or a report; a field that is not a column of its table is derived."""
    cells: dict[str, Any] = {name: row.get(name) or empty for name, empty in _EMPTY.items()}
    if "script" in row:
        cells |= {
            "id": _text(row, "script").removesuffix(".sh"),
            "kind": "record",
            "outcome": "ran",
            "scenario": ("multimodal",) if _VISION.search(_text(row, "model")) else (),
            "size": dataset.by_key["models"][row["model"]]["size"],
            "script": script_path(dataset, row),
        }
    else:
        cells |= {"id": row["report"], "kind": "report", "source": _text(row, "source_url")}
    if cells["size"]:
        cells["position"] = dataset.by_key["sizes"][cells["size"]]["position"]
    cells |= _hardware(dataset, row) | _evidence(dataset, row) | _labels(row)
    return Configuration(**cells | {"age": age_of(dataset, row)})


def age_of(dataset: Dataset, row: Record) -> str:
    """What a reader must know of the age of a record or report; empty where it is recent.

    It is measured at the dataset's own version, so that every build says the same.
    """
    year, month, _ = map(int, dataset.version.split("."))
    day = row.get("tested_on") or row.get("source_changed_on")
    is_old = isinstance(day, date) and day < date(year - 1, month, 1)
    return f"older than a year: {day:%Y-%m}" if is_old else ""


def _hardware(dataset: Dataset, row: Record) -> dict[str, Any]:
    devices, published = devices_of(dataset), _text(row, "device_as_published")
    stated = row.get("device_memory_gb") or 0
    if device := _text(row, "device"):
        possible, known = [device], devices.known.get(device, Device())
        memory = known.memory_gb or stated
    else:
        possible, known = devices.published(published)
        memory = stated or known.memory_gb
    name = device or published
    return {
        "device_label": device_label(name) if name in devices.known else written(name),
        "possible_devices": tuple(possible),
        "vendor": known.vendor,
        "memory_gb": memory,
    }


def _evidence(dataset: Dataset, row: Record) -> dict[str, Any]:
    statement = _text(row, "statement")
    level = GUESS if statement == GUESS else _text(row, "status", "statement")
    exemptions = dataset.records["exemptions"]
    no_room = {item["record"] for item in exemptions if item["rule"] == "minimum-memory"}
    if row.get("report") in no_room:
        level = UNEXPLAINED
    return {
        "statement": statement or ("" if level == UNTESTED else "stated-run"),
        "evidence_level": level,
        "conditions": tuple(conditions(dataset, row)),
    }


def _labels(row: Record) -> dict[str, Any]:
    """What a source calls model, task, framework and backends, else their keys; the batch."""
    published = _text(row, "framework_as_published")
    train, infer = (_text(row, name, f"{name}_as_published") for name in ("train", "infer"))
    model = _text(row, "model", "model_as_published")
    batch = next(filter(row.get, ("max_batch", "batch", "prompts_per_step")), "")
    return {
        "model": model,
        "model_label": _OWNER.sub("", model),
        "task_label": _text(row, "task", "task_as_published"),
        "framework_label": _joined(
            published or _text(row, "framework"), _text(row, "framework_version")
        ),
        "backends_label": _joined(train, infer, _text(row, "infer_version")),
        "batch": row[batch] if batch else 0,
        "batch_unit": _text(row, "batch_unit") if batch == "batch" else "prompts" if batch else "",
    }


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _text(row: Record, *columns: str) -> str:
    """The first of several cells that is filled."""
    return next((text_of(row, name) for name in columns if row.get(name) is not None), "")


_VISION = re.compile(r"-VL\b")
"""In the name of a model that reads images, which the script of its record then gives it."""
_OWNER = re.compile(r"^[\w.-]+/(?=[\w.-]+$)", re.ASCII)
_EMPTY = {name: kind() for name, kind in get_type_hints(Configuration).items()}

_SAME = attrgetter(
    *("outcome", "tag", "size", "model_label", "task_label", "gpus", "gpus_maximum", "nodes"),
    *("device_label", "memory_gb", "framework_label", "backends_label", "evidence_level"),
    *("evidence_kind", "requirement_wording", "age", "weights", "precision"),
    *("memory_optimizations", "scenario", "out_of_memory_on", "batch_unit"),
)


def in_series(rows: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The rows, with the id of the first of its series in each that is not alone in its own.

    A benchmark of twenty lengths is twenty reports, of which a reader wants one answer and the span
    of the rest. Reports are of one series where their source is the same document (the same thread,
    or the same state of a repository) and all of `_SAME` is equal. A record stands for itself, and
    so does a report that others contradict.
    """
    alike = [[row.id for row in same] for same in grouped(rows, _identity).values()]
    series = {id_: min(ids) for ids in alike if len(ids) > 1 for id_ in ids}
    return tuple(row._replace(series=series.get(row.id, "")) for row in rows)


def _identity(row: Configuration) -> tuple[object, ...]:
    if row.kind == "record" or row.contradicts:
        return (row.id,)
    # The thread, or the state of the repository, that the source leads into.
    repository, blob, path = row.source.partition("#")[0].partition("/blob/")
    return (repository, blob, path.partition("/")[0], *_SAME(row))


STATEMENTS = {
    "measured-run": "measured run",
    "stated-run": "run stated without a figure",
    "stated-minimum": "minimum stated by the source, no run known",
    "stated-requirement": "required by the source, no run known",
    "recommendation": "recommended by the source, no run known",
    "ci-allocation": "allocated by CI, not a minimum",
    "capability-claim": "listed by the source, no run known",
    "guess": "guess of the source, no run known",
    "": "not run yet",
}


def conditions(dataset: Dataset, row: Record) -> Iterator[str]:
    """Weights, precision, offload, context, micro batch and statement of a record or report.

    Each is always there, with "not stated" where the source does not say it. Parameters of a
    mixture of experts and the scenario are there where they apply.
    """
    weights = text_of(row, "weights")
    rank = row["lora_rank"] if weights in {"lora", "qlora"} else None
    yield WEIGHTS.get(weights, "what trains is not stated") + (f", rank {rank}" if rank else "")
    model = dataset.by_key["models"].get(row["model"])
    if model and model["active_parameters_b"]:
        yield f"{model['parameters_b']:g}B parameters, {model['active_parameters_b']:g}B active"
    for word in items_of(row, "scenario") if "scenario" in row else ():
        yield "one update on random tokens" if word == "synthetic" else word
    known, titles = dataset.by_key["memory_optimizations"], defaultdict(list)
    for word in items_of(row, "memory_optimizations"):
        titles[known[word]["kind"]].append(text_of(known[word], "title"))
    precision = [*filter(None, [text_of(row, "precision")]), *titles["precision"]]
    yield from precision or ["precision not stated"]
    no_offload = "no offload" if "script" in row else "no offload stated"
    yield ", ".join(titles["offload"]) or no_offload
    yield from titles["recompute"]
    yield _context(row)
    micro_batch, tokens = row["micro_batch_per_gpu"], row["max_tokens_per_gpu"]
    stated = f"{tokens} tokens per GPU" if tokens else "micro batch not stated"
    yield f"micro batch {micro_batch}" if micro_batch else stated
    yield STATEMENTS[text_of(row, "statement")]


def _context(row: Record) -> str:
    """The longest prompt and response."""
    if row["max_prompt_length"] or row["max_response_length"]:
        prompt, response = (row[f"max_{part}_length"] or "?" for part in ("prompt", "response"))
        return f"{prompt} + {response} tokens"
    total = row.get("max_total_length")
    return f"{total} tokens in all" if total else "lengths not stated"
