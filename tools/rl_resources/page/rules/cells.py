"""Rules about the cells of a page's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rl_resources.check.rule import Mistake, rule
from rl_resources.page.sizes import is_of_another_size, right_heading

if TYPE_CHECKING:
    from rl_resources.page.records import Reading, ReadRow
    from rl_resources.page.value import Cell


@rule()
def page_unknown_tag(reading: Reading) -> Iterator[Mistake]:
    """A tag is one that the records know.

    The tag says what the figures of a row mean.

    Bad: MAX
    Good: MIN
    """
    return reading.told("page-unknown-tag")


@rule()
def page_unknown_model(reading: Reading) -> Iterator[Mistake]:
    """A row's model exists.

    A reader cannot download it, and the row's figures belong to another one.

    Bad: Qwen2-70B
    Good: Qwen2-72B
    """
    return reading.told("page-unknown-model")


@rule("warning")
def page_unlisted_model(reading: Reading) -> Iterator[Mistake]:
    """A row's model is one of the dataset's.

    Only of a model that is listed can size and settings be held to it.

    Bad: a model without a row in records/models.csv
    Good: a model with one
    """
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


@rule("warning")
def page_unknown_task(reading: Reading) -> Iterator[Mistake]:
    """A row's task is one of the dataset's.

    One task under two names is two tasks to everyone who searches.

    Bad: GRPOO
    Good: GRPO
    """
    return reading.told("page-unknown-task")


@rule("warning")
def page_unknown_device(reading: Reading) -> Iterator[Mistake]:
    """A row's device is one of the dataset's.

    Devices of one name may differ in memory, which is what decides.

    Bad: 8*H801
    Good: 8*H800
    """
    return reading.told("page-unknown-device")


@rule("warning")
def page_unknown_backend(reading: Reading) -> Iterator[Mistake]:
    """A row's training backend is one of the dataset's.

    One backend under two names is two backends to everyone who searches.

    Bad: fspd
    Good: fsdp
    """
    return reading.told("page-unknown-backend")


@rule("warning")
def page_unknown_engine(reading: Reading) -> Iterator[Mistake]:
    """A row's rollout engine is one of the dataset's.

    One engine under two names is two engines to everyone who searches.

    Bad: vllmm0.8.3
    Good: vllm0.8.3
    """
    return reading.told("page-unknown-engine")


@rule()
def page_resource(reading: Reading) -> Iterator[Mistake]:
    """Resource is a number of GPUs and their device.

    It is what a reader must have to follow the row.

    Bad: H800
    Good: 2*H800
    """
    return reading.told("page-resource")


@rule("warning")
def page_max_batch(reading: Reading) -> Iterator[Mistake]:
    """MaxBatch is a number of prompts, or blank.

    A figure in words cannot be compared.

    Bad: about 16
    Good: 16
    """
    return reading.told("page-max-batch")


@rule("warning")
def page_infer_version(reading: Reading) -> Iterator[Mistake]:
    """What follows the engine's name is its release.

    A reader installs it by this.

    Bad: vllm0.8.x
    Good: vllm0.8.3
    """
    return reading.told("page-infer-version")


@rule("warning")
def page_contributor(reading: Reading) -> Iterator[Mistake]:
    """A contributor is a public handle.

    It says whom to ask, and nothing else about a person.

    Bad: the name Simon Huang
    Good: SimonHuang
    """
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
