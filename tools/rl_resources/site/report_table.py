"""Reports as a reader sees them, before any markup: never to be mistaken for a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from rl_resources.dataset import Dataset
from rl_resources.package import Record, TableSchema
from rl_resources.query.age import Ages
from rl_resources.query.conditions import conditions
from rl_resources.record import items_of, text_of
from rl_resources.urls import is_web_address

HEADERS = (
    "Model",
    "Task",
    "Resource",
    "Conditions",
    "Batch",
    "Backends",
    "Memory, speed",
    "Source",
)

_FIGURES: Mapping[str, str] = {
    "peak_memory_gb": "peak",
    "peak_train_memory_gb": "peak in training",
    "peak_rollout_memory_gb": "peak in generation",
    "host_memory_gb": "host",
    "step_seconds": "step",
    "tokens_per_second_per_gpu": "",
}
_SETTINGS = ("parallelism", "memory_optimizations", "gpu_memory_utilization", "framework_version")


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report as text; a blank cell is unknown. `details` are title and text of the rest."""

    id: str
    size: str
    tag: str
    wording: str
    outcome: str
    model: str
    task: str
    resource: str
    conditions: tuple[str, ...]
    batch: str
    backends: str
    figures: str
    source: str
    source_url: str
    kind: str
    contradicts: tuple[str, ...]
    remarks: tuple[str, ...]
    details: tuple[tuple[str, str], ...]

    @property
    def failed(self) -> bool:
        """Whether the run ran out of memory."""
        return self.outcome == "out-of-memory"


def report_rows(dataset: Dataset, size: str | None) -> list[ReportRow]:
    """The reports of one size, in file order; of `None` those whose size is not known."""
    ages = Ages(dataset)
    schema = dataset.package.resources["reports"].schema
    rows = [row for row in dataset.records["reports"] if row["size"] == size]
    return [_row(schema, row, ages, conditions(dataset, row)) for row in rows]


def _row(schema: TableSchema, row: Record, ages: Ages, conditions: tuple[str, ...]) -> ReportRow:
    return ReportRow(
        id=str(row["report"]),
        size=text_of(row, "size"),
        tag=text_of(row, "tag"),
        wording=text_of(row, "requirement_wording"),
        outcome=str(row["outcome"]),
        model=text_of(row, "model") or text_of(row, "model_as_published"),
        task=text_of(row, "task") or text_of(row, "task_as_published"),
        resource=_resource(row),
        conditions=conditions,
        batch=_batch(row),
        backends=_backends(row),
        figures=_figures(schema, row),
        source=source_name(row),
        source_url=str(row["source_url"]),
        kind=str(row["evidence_kind"]).replace("-", " "),
        contradicts=items_of(row, "contradicts"),
        remarks=tuple(ages.remarks(row)),
        details=tuple(_details(schema, row)),
    )


def source_name(row: Record) -> str:
    """Who published a report: a repository, a thread, or a host."""
    return text_of(row, "source_repo") or _thread(str(row["source_url"]))


def _thread(url: str) -> str:
    """A thread as GitHub writes it: `owner/name#12`; elsewhere the host."""
    if not is_web_address(url):
        return url
    parts = urlsplit(url)
    owner, _, rest = parts.path.strip("/").partition("/")
    name, _, number = rest.partition("/")
    is_thread = number.partition("/")[0] in {"issues", "pull", "discussions"}
    return f"{owner}/{name}#{number.rpartition('/')[2]}" if is_thread else parts.netloc


def _resource(row: Record) -> str:
    most = f" to {row['gpus_maximum']}" if row["gpus_maximum"] else ""
    device = text_of(row, "device") or text_of(row, "device_as_published")
    if row["device"] is None and row["device_memory_gb"]:
        device = f"{device} ({row['device_memory_gb']:g} GB)".lstrip()
    return f"{row['gpus']}{most} x {device or 'device not named'}"


def _batch(row: Record) -> str:
    size = f"{row['batch']} {_unit(row)}" if row["batch"] else ""
    prompts = row["prompts_per_step"]
    if not size and prompts:
        size = f"{prompts} prompts"
    group = f"{row['rollout_n']} responses each" if row["rollout_n"] else ""
    return ", ".join(filter(None, (size, group)))


def _unit(row: Record) -> str:
    unit = str(row["batch_unit"] or "unstated")
    words = {"per-device": "per device", "unstated": "(unit not stated)"}
    return words.get(unit, unit)


def _backends(row: Record) -> str:
    names = (
        text_of(row, "framework") or text_of(row, "framework_as_published"),
        text_of(row, "train") or text_of(row, "train_as_published"),
        " ".join(
            filter(
                None,
                (
                    text_of(row, "infer") or text_of(row, "infer_as_published"),
                    text_of(row, "infer_version"),
                ),
            )
        ),
    )
    return " · ".join(filter(None, names))


def _figures(schema: TableSchema, row: Record) -> str:
    found = [
        f"{word} {row[name]:g} {schema.fields[schema.index(name)].unit}".strip()
        for name, word in _FIGURES.items()
        if isinstance(row[name], int | float)
    ]
    return "; ".join([*found, *filter(None, [text_of(row, "speed_as_published")])])


def _details(schema: TableSchema, row: Record) -> list[tuple[str, str]]:
    """What the columns of the table leave out, under the titles of the schema."""
    published = [
        (name, row[f"{name}_as_published"])
        for name in ("model", "task", "device", "train", "infer")
        if row[name] is not None and row[f"{name}_as_published"] not in {None, row[name]}
    ]
    found = [(f"{schema.fields[schema.index(n)].title} as published", str(v)) for n, v in published]
    for name in _SETTINGS:
        if row[name] is not None:
            field = schema.fields[schema.index(name)]
            found.append((field.title, field.write(row[name])))
    return found + ([("Note", str(row["notes"]))] if row["notes"] else [])
