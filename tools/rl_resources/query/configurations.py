"""Records and reports in one shape, so that one question can be asked of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, get_type_hints

from rl_resources.dataset import Dataset, script_path
from rl_resources.package import Record, items_of, text_of
from rl_resources.query.age import Ages
from rl_resources.query.conditions import conditions
from rl_resources.query.hardware import Device, Devices, device_label
from rl_resources.query.vocabulary import projects

UNTESTED, GUESS, UNEXPLAINED = "untested", "guess", "unexplained"
"""Evidence levels of what nobody says to run: a record without a run, a source's guess, a report
whose devices have no room for what it may train (see `exemptions`)."""
NOT_RUN = frozenset({UNTESTED, GUESS, UNEXPLAINED})
NO_ROOM = frozenset({"least-memory", "unexplained-memory"})
RUNS = frozenset({"measured-run", "stated-run"})
"""The statements that say that somebody ran it; all others are claims."""


class Configuration(NamedTuple):
    """One record or report. An empty text or a 0 is unknown; memory in GB, lengths in tokens.

    `device` is empty where the source does not say which one of `possible_devices` it is; then
    `memory_gb` is the most that it can be. `evidence_level` is the status of a record or the
    statement of a report. `series` is shared by reports that differ only in settings.
    `conditions` are the words of what decides memory: see `conditions.py`.
    `failed_batches` are the batches of the record's trials that ran out of memory.
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
    frameworks: tuple[str, ...]
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
    failed_batches: tuple[int, ...]
    peak_memory_gb: float
    host_memory_gb: float
    step_seconds: float
    statement: str
    out_of_memory_on: str
    evidence_level: str
    evidence_kind: str
    requirement_wording: str
    remarks: tuple[str, ...]
    contradicts: tuple[str, ...]
    script: str
    source: str
    notes: str
    series: str = ""

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
        value = getattr(self, "frameworks" if field == "framework" else field)
        return value if isinstance(value, tuple) else (value,)


@lru_cache(maxsize=1)
def configurations(dataset: Dataset) -> tuple[Configuration, ...]:
    """All records and all reports of a dataset, in the order that no question changes."""
    make = _Configurations(dataset)
    rows = [make.of(row) for name in ("tuning", "reports") for row in dataset.records[name]]
    return in_series(sorted(rows, key=_order))


BY_ITSELF = (
    "runs before benchmarks on random tokens",
    "what trains is known first",
    "recent before old",
    "reproduced or measured first",
    "longer context first",
    "by id",
)
"""The order of configurations of which a question prefers none, in words."""


def _order(row: Configuration) -> tuple[object, ...]:
    return (
        "synthetic" in row.scenario,
        not row.weights,
        bool(row.remarks),
        row.evidence_level not in {"reproduced", "measured-run"},
        -row.length,
        row.id,
    )


class _Configurations:
    """What the rows of one dataset have in common."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self._devices, self._ages = dataset, Devices(dataset), Ages(dataset)
        self._failed: dict[object, list[int]] = {}
        for trial in dataset.records["trials"]:
            if trial["outcome"] != "ran":
                self._failed.setdefault(trial["script"], []).append(_whole(trial, "batch"))
        rows = dataset.records["exemptions"]
        self._without_room = {row["record"] for row in rows if row["rule"] in NO_ROOM}

    def of(self, row: Record) -> Configuration:
        """A record or a report; a field that is no column of its table is given here."""
        cells = {name: _READERS[kind](row, name) for name, kind in _FIELDS.items()}
        is_record = "script" in row
        tables = self._dataset.by_key
        size = str(tables["models"][row["model"]]["size"]) if is_record else cells["size"]
        possible, hardware = self._hardware(row)
        batch, unit = _batch(row)
        cells |= {
            "id": _text(row, "script", "report").removesuffix(".sh"),
            "kind": "record" if is_record else "report",
            "outcome": cells["outcome"] or "ran",
            "size": size,
            "position": _whole(tables["sizes"][size], "position") if size else 0,
            "model": _text(row, "model", "model_as_published"),
            "model_label": _text(row, "model", "model_as_published"),
            "task_label": _text(row, "task", "task_as_published"),
            "conditions": conditions(self._dataset, row),
            "device_label": device_label(cells["device"]) or _text(row, "device_as_published"),
            "possible_devices": possible,
            "vendor": hardware.vendor,
            "memory_gb": hardware.memory_gb,
            "frameworks": _frameworks(row),
            "framework_label": _joined(
                row, ("framework_as_published", "framework"), ("framework_version",)
            ),
            "backends_label": _joined(
                row,
                ("train", "train_as_published"),
                ("infer", "infer_as_published"),
                ("infer_version",),
            ),
            "batch": batch,
            "batch_unit": unit,
            "failed_batches": tuple(sorted(self._failed.get(row.get("script"), ()))),
            "statement": cells["statement"] or _statement_of(row),
            "evidence_level": self._evidence_level(row),
            "remarks": tuple(self._ages.remarks(row)),
            "script": script_path(self._dataset, row) if is_record else "",
            "source": _text(row, "source", "source_url"),
        }
        return Configuration(**cells)

    def _hardware(self, row: Record) -> tuple[tuple[str, ...], Device]:
        device, stated = _text(row, "device"), _number(row, "device_memory_gb")
        if device:
            known = self._devices.known.get(device, Device())
            return (device,), Device(known.vendor, known.memory_gb or stated)
        possible, known = self._devices.published(_text(row, "device_as_published"))
        return possible, Device(known.vendor, stated or known.memory_gb)

    def _evidence_level(self, row: Record) -> str:
        if row.get("report") in self._without_room:
            return UNEXPLAINED
        return GUESS if row["statement"] == GUESS else _text(row, "status", "statement")


def _statement_of(record: Record) -> str:
    """What a record without a statement says."""
    return "" if record["status"] == UNTESTED else "stated-run"


def _batch(row: Record) -> tuple[int, str]:
    """The batch and its unit."""
    for column in ("max_batch", "batch", "prompts_per_step"):
        if batch := _whole(row, column):
            return batch, _text(row, "batch_unit") if column == "batch" else "prompts"
    return 0, ""


def _frameworks(row: Record) -> tuple[str, ...]:
    """The key of the framework, and the projects that its published name names."""
    named = projects(_text(row, "framework_as_published"))
    return tuple(filter(None, dict.fromkeys((_text(row, "framework"), *named))))


def _joined(row: Record, *columns: Sequence[str]) -> str:
    """Of each group of columns the first cell that is filled."""
    return " ".join(filter(None, (_text(row, *names) for names in columns)))


def _text(row: Record, *columns: str) -> str:
    """The first of several cells that is filled."""
    return next((text_of(row, name) for name in columns if row.get(name) is not None), "")


def _items(row: Record, name: str) -> tuple[str, ...]:
    return items_of(row, name) if name in row else ()


def _whole(row: Record, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0


def _number(row: Record, name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0


_FIELDS: Mapping[str, type] = get_type_hints(Configuration)
_READERS: Mapping[type, Callable[[Record, str], Any]] = {
    **{str: _text, int: _whole, float: _number},
    **{tuple[str, ...]: _items, tuple[int, ...]: _items},
}

_SAME = attrgetter(
    *("outcome", "tag", "size", "model_label", "task_label", "gpus", "gpus_maximum", "nodes"),
    *("device_label", "memory_gb", "framework_label", "backends_label", "evidence_level"),
    *("evidence_kind", "requirement_wording", "remarks", "weights", "precision"),
    *("memory_optimizations", "scenario", "out_of_memory_on", "batch_unit"),
)


def in_series(rows: Sequence[Configuration]) -> tuple[Configuration, ...]:
    """The rows, with the id of the first of its series in each that is not alone in its own.

    A benchmark of twenty lengths is twenty reports, of which a reader wants one answer and the span
    of the rest. Reports are of one series where their source is the same document (the same thread,
    or the same state of a repository) and all of `_SAME` is equal. A record stands for itself, and
    so does a report that others contradict.
    """
    members: dict[tuple[object, ...], list[str]] = {}
    for row in rows:
        members.setdefault(_identity(row), []).append(row.id)
    series = {id_: min(ids) for ids in members.values() if len(ids) > 1 for id_ in ids}
    return tuple(row._replace(series=series.get(row.id, "")) for row in rows)


def _identity(row: Configuration) -> tuple[object, ...]:
    if row.kind == "record" or row.contradicts:
        return (row.id,)
    return (_document(row.source), *_SAME(row))


def _document(address: str) -> str:
    """The thread, or the state of the repository, that an address leads into."""
    whole = address.partition("#")[0]
    repository, blob, path = whole.partition("/blob/")
    return f"{repository}{blob}{path.partition('/')[0]}"
