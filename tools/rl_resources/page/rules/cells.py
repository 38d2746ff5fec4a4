"""Rules about the cells of a page's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.registry import Mistake, rule
from rl_resources.page.sizes import is_of_another_size, right_heading

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow
    from rl_resources.page.value import Cell


@rule(
    summary="A tag is one that the records know.",
    reason="The tag says what the figures of a row mean.",
    bad="MAX",
    good="MIN",
)
def page_unknown_tag(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-tag")


@rule(
    summary="A row's model exists.",
    reason="A reader cannot download it, and the row's figures belong to another one.",
    bad="Qwen2-70B",
    good="Qwen2-72B",
)
def page_unknown_model(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-model")


@rule(
    summary="A row's model is one of the dataset's.",
    reason="Only of a model that is listed can size and settings be held to it.",
    bad="a model without a row in records/models.csv",
    good="a model with one",
    severity="warning",
)
def page_unlisted_model(reading: Reading) -> Iterator[Mistake]:
    told = {
        row.cells["Model"].line
        for row in reading.rows
        if any(
            row.text("Model") in message for message in reading.contradicted.get(row.row.line, ())
        )
    }
    told |= {row.cells["Model"].line for row in reading.rows if _is_misplaced(reading, row)}
    return (item for item in reading.told("page-unlisted-model") if item.line not in told)


def _is_misplaced(reading: Reading, row: ReadRow) -> bool:
    """Whether a row's model is of another size than its section, or than its script's name."""
    return right_heading(reading, row) is not None or is_of_another_size(row)


@rule(
    summary="A row's task is one of the dataset's.",
    reason="One task under two names is two tasks to everyone who searches.",
    bad="GRPOO",
    good="GRPO",
    severity="warning",
)
def page_unknown_task(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-task")


@rule(
    summary="A row's device is one of the dataset's.",
    reason="Devices of one name may differ in memory, which is what decides.",
    bad="8*H801",
    good="8*H800",
    severity="warning",
)
def page_unknown_device(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-device")


@rule(
    summary="A row's training backend is one of the dataset's.",
    reason="One backend under two names is two backends to everyone who searches.",
    bad="fspd",
    good="fsdp",
    severity="warning",
)
def page_unknown_backend(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-backend")


@rule(
    summary="A row's rollout engine is one of the dataset's.",
    reason="One engine under two names is two engines to everyone who searches.",
    bad="vllmm0.8.3",
    good="vllm0.8.3",
    severity="warning",
)
def page_unknown_engine(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-unknown-engine")


@rule(
    summary="Resource is a number of GPUs and their device.",
    reason="It is what a reader must have to follow the row.",
    bad="H800",
    good="2*H800",
)
def page_resource(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-resource")


@rule(
    summary="MaxBatch is a number of prompts, or blank.",
    reason="A figure in words cannot be compared.",
    bad="about 16",
    good="16",
    severity="warning",
)
def page_max_batch(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-max-batch")


@rule(
    summary="What follows the engine's name is its release.",
    reason="A reader installs it by this.",
    bad="vllm0.8.x",
    good="vllm0.8.3",
    severity="warning",
)
def page_infer_version(reading: Reading) -> Iterator[Mistake]:
    return reading.told("page-infer-version")


@rule(
    summary="A contributor is a public handle.",
    reason="It says whom to ask, and nothing else about a person.",
    bad="the name Simon Huang",
    good="SimonHuang",
    severity="warning",
)
def page_contributor(reading: Reading) -> Iterator[Mistake]:
    yield from reading.told("page-contributor")
    if any(row.text("Contributor") for row in reading.rows):
        for row in reading.rows:
            cell = row.cells.get("Contributor")
            if cell is not None and not _written(reading, cell):
                message, mend = "the row names no contributor", "Write who ran it."
                yield reading.mistake(cell, message, mend)


def _written(reading: Reading, cell: Cell) -> str:
    """The cell's text, or its `\\`, which says that nothing is known."""
    return cell.text.strip() or reading.page.lines[cell.line - 1][cell.column - 1 :].strip(" -*+")
