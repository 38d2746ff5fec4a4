"""The nine-column table of tuning records as values, before any markup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.package import Record


@dataclass(frozen=True, slots=True)
class TuningRow:
    """One record as a reader sees it; every cell is plain text, a blank one is unknown."""

    tag: str
    model: str
    task: str
    resource: str
    max_batch: str
    train: str
    infer: str
    script: str
    script_path: str
    contributor: str
    status: str
    notes: str

    @property
    def record_id(self) -> str:
        """The stable id: the script's name without its ending."""
        return self.script.removesuffix(".sh")

    @property
    def disputed(self) -> bool:
        """Whether published facts about this record contradict each other."""
        return self.status == "disputed"

    @property
    def in_doubt(self) -> bool:
        """Whether a reader must know the status before any figure."""
        return self.disputed or self.status == "untested"

    @property
    def marked_max_batch(self) -> str:
        """The limit as it must stand wherever it is shown: never without its doubt."""
        return f"{self.max_batch} ({self.status})".lstrip() if self.in_doubt else self.max_batch

    def cells(self) -> tuple[str, ...]:
        """The nine cells in the order of `HEADERS`; the link's cell is the script's name."""
        return (
            self.tag,
            self.model,
            self.task,
            self.resource,
            self.marked_max_batch,
            self.train,
            self.infer,
            self.script,
            self.contributor,
        )


def link_target(template: str | None, row: TuningRow, size: str) -> str | None:
    """The address of a row's script by a `--script-url` template, percent-encoded.

    The template's placeholders are `{path}` (from the repository's root), `{script}`, `{size}`.
    """
    if not template:
        return None
    parts = {"{path}": row.script_path, "{script}": row.script, "{size}": size.lower()}
    for placeholder, value in parts.items():
        template = template.replace(placeholder, quote(value))
    return template


def tuning_rows(dataset: Dataset, size: str) -> list[TuningRow]:
    """The records whose model belongs to `size`, in canonical order."""
    return [
        tuning_row(record, script_path(dataset, record))
        for record in records_of_size(dataset, size)
    ]


def records_of_size(dataset: Dataset, size: str) -> Sequence[Record]:
    """The tuning records whose model belongs to `size`, in canonical order."""
    models = dataset.by_key["models"]
    return [row for row in dataset.records["tuning"] if models[row["model"]]["size"] == size]


def tuning_row(record: Mapping[str, object], path: str) -> TuningRow:
    """A record, typed or as text, as its row; what it lacks is unknown. `path` is its script's."""
    cells = {name: "" if value is None else str(value) for name, value in record.items()}
    known = defaultdict(str, cells)
    return TuningRow(
        tag=known["tag"],
        model=known["model"].partition("/")[2],
        task=known["task"],
        resource=f"{known['gpus']}*{known['device'].upper()}",
        max_batch=known["max_batch"],
        train=known["train"],
        infer=known["infer"] + known["infer_version"],
        script=known["script"],
        script_path=path,
        contributor=known["contributor"],
        status=known["status"],
        notes=known["notes"],
    )
