"""Records and reports in one shape, so that one question can be asked of both.

The shape holds only texts, numbers and lists of texts: it can be published as JSON, and a program
that knows nothing of our tables can ask it the same questions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rl_resources.dataset import Dataset, script_path
from rl_resources.package import Record
from rl_resources.query.age import Ages
from rl_resources.query.conditions import conditions
from rl_resources.query.hardware import Devices, Hardware
from rl_resources.query.series import in_series
from rl_resources.query.vocabulary import projects
from rl_resources.record import items_of, text_of

UNTESTED = "untested"
GUESS = "guess"
UNEXPLAINED = "unexplained"
"""A report whose devices have no room for what it may train; see `exemptions`."""
NO_ROOM = frozenset({"least-memory", "unexplained-memory"})
RUNS = frozenset({"measured-run", "stated-run"})
"""The statements that say that somebody ran it; all others are claims."""


class Configuration(NamedTuple):
    """One record or report. A blank text or a 0 is unknown; memory in GB, lengths in tokens.

    `device` is blank where the source does not tell which one of `possible_devices` it is; then
    `memory_gb` is the most that it can be. `evidence_level` is the status of a record or the
    statement of a report. `series` is shared by reports that differ only in settings: see
    `series.py`.
    `conditions` are the words of what decides memory: see `conditions.py`. `failed_batches` are the
    batches of the record's trials that ran out of memory.
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
    wording: str
    remarks: tuple[str, ...]
    contradicts: tuple[str, ...]
    script: str
    source: str
    notes: str
    series: str = ""

    @property
    def length(self) -> int:
        """The longest prompt and response together, as far as told; 0 if nothing is."""
        return self.max_total_length or self.max_prompt_length + self.max_response_length

    @property
    def total_memory_gb(self) -> float:
        """Memory of all accelerators; 0 if unknown."""
        return self.gpus * self.memory_gb


@lru_cache(maxsize=1)
def configurations(dataset: Dataset) -> tuple[Configuration, ...]:
    """All records and all reports of a dataset."""
    devices, ages = Devices(dataset), Ages(dataset)
    positions: dict[object, int] = {
        row["size"]: _whole(row, "position") for row in dataset.records["sizes"]
    }
    failed: dict[object, list[int]] = {}
    for trial in dataset.records["trials"]:
        if trial["outcome"] != "ran":
            failed.setdefault(trial["script"], []).append(_whole(trial, "batch"))
    records = (
        _of_record(dataset, row, devices, ages, positions, failed)
        for row in dataset.records["tuning"]
    )
    reports = (
        _of_report(dataset, row, devices, ages, positions) for row in dataset.records["reports"]
    )
    return in_series((*records, *reports))


def _of_record(
    dataset: Dataset,
    row: Record,
    devices: Devices,
    ages: Ages,
    positions: dict[object, int],
    failed: dict[object, list[int]],
) -> Configuration:
    size = dataset.by_key["models"][row["model"]]["size"]
    script, device = str(row["script"]), str(row["device"])
    hardware = devices.of(device)
    return Configuration(
        id=script.removesuffix(".sh"),
        kind="record",
        outcome="ran",
        tag=text_of(row, "tag"),
        size=str(size),
        position=positions[size],
        model=str(row["model"]),
        model_label=str(row["model"]),
        task=str(row["task"]),
        task_label=str(row["task"]),
        weights=text_of(row, "weights"),
        scenario=items_of(row, "scenario") if "scenario" in row else (),
        precision=text_of(row, "precision"),
        memory_optimizations=items_of(row, "memory_optimizations"),
        conditions=conditions(dataset, row),
        gpus=_whole(row, "gpus"),
        gpus_maximum=0,
        nodes=_whole(row, "nodes"),
        device=device,
        device_label=device,
        possible_devices=(device,),
        vendor=hardware.vendor,
        memory_gb=hardware.memory_gb,
        frameworks=(text_of(row, "framework"),),
        framework_label=_joined(text_of(row, "framework"), text_of(row, "framework_version")),
        train=text_of(row, "train"),
        infer=text_of(row, "infer"),
        backends_label=_joined(
            text_of(row, "train"), text_of(row, "infer"), text_of(row, "infer_version")
        ),
        max_prompt_length=_whole(row, "max_prompt_length"),
        max_response_length=_whole(row, "max_response_length"),
        max_total_length=0,
        rollout_n=_whole(row, "rollout_n"),
        batch=_whole(row, "max_batch"),
        batch_unit="prompts" if row["max_batch"] else "",
        failed_batches=tuple(sorted(failed.get(row["script"], ()))),
        peak_memory_gb=_number(row, "peak_memory_gb"),
        host_memory_gb=_number(row, "host_memory_gb"),
        step_seconds=_number(row, "step_seconds"),
        statement=text_of(row, "statement") or ("stated-run" if row["status"] != UNTESTED else ""),
        out_of_memory_on="",
        evidence_level=GUESS if row["statement"] == GUESS else str(row["status"]),
        evidence_kind="",
        wording="",
        remarks=tuple(ages.remarks(row)),
        contradicts=(),
        script=script_path(dataset, row),
        source=text_of(row, "source"),
        notes=text_of(row, "notes"),
    )


def _of_report(
    dataset: Dataset, row: Record, devices: Devices, ages: Ages, positions: dict[object, int]
) -> Configuration:
    device, published = text_of(row, "device"), text_of(row, "device_as_published")
    hardware = (
        devices.of(device)
        if device
        else devices.published(published, _number(row, "device_memory_gb"))
    )
    if not hardware.memory_gb:
        hardware = Hardware(hardware.vendor, _number(row, "device_memory_gb"))
    batch = "batch" if row["batch"] else "prompts_per_step"
    unit = text_of(row, "batch_unit") if row["batch"] else "prompts"
    return Configuration(
        id=str(row["report"]),
        kind="report",
        outcome=str(row["outcome"]),
        tag=text_of(row, "tag"),
        size=text_of(row, "size"),
        position=positions.get(row["size"], 0),
        model=text_of(row, "model") or text_of(row, "model_as_published"),
        model_label=text_of(row, "model") or text_of(row, "model_as_published"),
        task=text_of(row, "task"),
        task_label=text_of(row, "task") or text_of(row, "task_as_published"),
        weights=text_of(row, "weights"),
        scenario=items_of(row, "scenario") if "scenario" in row else (),
        precision=text_of(row, "precision"),
        memory_optimizations=items_of(row, "memory_optimizations"),
        conditions=conditions(dataset, row),
        gpus=_whole(row, "gpus"),
        gpus_maximum=_whole(row, "gpus_maximum"),
        nodes=_whole(row, "nodes"),
        device=device,
        device_label=device or published,
        possible_devices=(device,) if device else devices.possible(published),
        vendor=hardware.vendor,
        memory_gb=hardware.memory_gb,
        frameworks=_frameworks(row),
        framework_label=_joined(
            text_of(row, "framework_as_published"), text_of(row, "framework_version")
        ),
        train=text_of(row, "train"),
        infer=text_of(row, "infer"),
        backends_label=_joined(
            text_of(row, "train") or text_of(row, "train_as_published"),
            text_of(row, "infer") or text_of(row, "infer_as_published"),
            text_of(row, "infer_version"),
        ),
        max_prompt_length=_whole(row, "max_prompt_length"),
        max_response_length=_whole(row, "max_response_length"),
        max_total_length=_whole(row, "max_total_length"),
        rollout_n=_whole(row, "rollout_n"),
        batch=_whole(row, batch),
        batch_unit=unit if row[batch] else "",
        failed_batches=(),
        peak_memory_gb=_number(row, "peak_memory_gb"),
        host_memory_gb=_number(row, "host_memory_gb"),
        step_seconds=_number(row, "step_seconds"),
        statement=str(row["statement"]),
        out_of_memory_on=text_of(row, "out_of_memory_on"),
        evidence_level=UNEXPLAINED
        if row["report"] in _without_room(dataset)
        else str(row["statement"]),
        evidence_kind=str(row["evidence_kind"]),
        wording=text_of(row, "requirement_wording"),
        remarks=tuple(ages.remarks(row)),
        contradicts=items_of(row, "contradicts"),
        script="",
        source=str(row["source_url"]),
        notes=text_of(row, "notes"),
    )


def _without_room(dataset: Dataset) -> set[object]:
    """The reports that are exempt from a rule on the least memory."""
    return {row["record"] for row in dataset.records["exemptions"] if row["rule"] in NO_ROOM}


def _frameworks(row: Record) -> tuple[str, ...]:
    """The key of the framework, and the projects that its published name names."""
    named = projects(text_of(row, "framework_as_published"))
    return tuple(filter(None, dict.fromkeys((text_of(row, "framework"), *named))))


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _whole(row: Record, name: str) -> int:
    value = row[name]
    return value if isinstance(value, int) else 0


def _number(row: Record, name: str) -> float:
    value = row[name]
    return float(value) if isinstance(value, int | float) else 0
