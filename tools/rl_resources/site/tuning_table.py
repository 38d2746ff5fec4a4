"""The nine-column table of tuning records as values, and in Markdown (GitHub's pipe tables)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from rl_resources.dataset import Dataset, script_path
from rl_resources.devices import devices_of, hardware
from rl_resources.package import Record, text_of
from rl_resources.page.rows import HEADERS

_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#+!|~^$&:@=-]")


class TuningRow(NamedTuple):
    """One record as a reader sees it; every cell is plain text, an empty one is unknown."""

    tag: str
    model: str
    task: str
    resource: str
    max_batch: str
    train: str
    infer: str
    script: str
    contributor: str
    script_path: str
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
        return self.status in {"disputed", "untested"}

    def cells(self) -> tuple[str, ...]:
        """The nine cells in the order of `HEADERS`, in the form of verl's page (`vllm0.8.3`)."""
        doubt = f"({self.status})" if self.in_doubt else ""
        infer = self.infer.replace(" ", "")
        max_batch = f"{self.max_batch} {doubt}".strip()
        return (*self[:4], max_batch, self.train, infer, self.script, self.contributor)

    def url(self, template: str | None, size: str) -> str:
        """The URL of the script by a `--script-url` template, percent-encoded; empty without one.

        Placeholders are `{path}` (from the repository's root), `{script}` and `{size}`.
        """
        parts = {"{path}": self.script_path, "{script}": self.script, "{size}": size.lower()}
        return re.sub(
            r"\{(path|script|size)\}", lambda match: quote(parts[match[0]]), template or ""
        )


def sizes(dataset: Dataset) -> list[str]:
    """The names of the sizes, smallest first."""
    return [str(row["size"]) for row in dataset.records["sizes"]]


def records_of_size(dataset: Dataset, size: str) -> Sequence[Record]:
    """The tuning records whose model belongs to `size`, in canonical order."""
    models = dataset.by_key["models"]
    return [row for row in dataset.records["tuning"] if models[row["model"]]["size"] == size]


def tuning_rows(dataset: Dataset, size: str) -> list[TuningRow]:
    """The same as rows."""
    return [tuning_row(dataset, record) for record in records_of_size(dataset, size)]


def tuning_row(dataset: Dataset, record: Record) -> TuningRow:
    """A record as its row."""
    same = ("tag", "task", "max_batch", "train", "script", "contributor", "status", "notes")
    return TuningRow(
        **{name: text_of(record, name) for name in same},
        model=text_of(record, "model").partition("/")[2],
        resource=hardware(record["gpus"], devices_of(dataset).label(text_of(record, "device"))),
        infer=f"{text_of(record, 'infer')} {text_of(record, 'infer_version')}".strip(),
        script_path=script_path(dataset, record),
    )


def markdown(dataset: Dataset, size: str, script_url: str | None) -> str:
    """A heading and one table; a sentence in place of the table where there is no record."""
    rows = tuning_rows(dataset, size)
    if not rows:
        return f"### {size}\n\nNo record exists yet.\n"
    cells = [_cells(row, row.url(script_url, size)) for row in rows]
    lines = [f"| {' | '.join(line)} |" for line in (HEADERS, ["---"] * len(HEADERS), *cells)]
    notes = [f"- {escape(row.script)}: {escape(row.notes)}" for row in rows if row.disputed]
    return "\n".join([f"### {size}", "", *lines, *([""] if notes else []), *notes, ""])


def _cells(row: TuningRow, url: str) -> list[str]:
    cells = [escape(cell) for cell in row.cells()]
    if url:
        cells[HEADERS.index("Link")] = f"[{escape(row.script)}](<{url}>)"
    return cells


def escape(text: str) -> str:
    """Text that every Markdown renderer shows as it is. Shape: one line in, one line out."""
    return _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", text)
