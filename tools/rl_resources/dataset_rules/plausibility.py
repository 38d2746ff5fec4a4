"""Plausibility.

Devices have enough memory for what they train, no peak is above a device's memory, and no date is
in the future.

The minimum memory of a run is arithmetic alone, below which a statement cannot be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rl_resources.facts import TableRow, records, runs
from rl_resources.facts.models import (
    GB_PER_GIB,
    device_memory,
    devices_memory,
    minimum_memory_gb,
    parameters_in_name,
)
from rl_resources.package import number
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot

_DECIDING = (
    "model",
    "weights",
    "memory_optimizations",
    "gpus",
    "gpus_maximum",
    "device",
)


@rule("warning", exemptable=True)
def minimum_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """The devices of a report have enough memory for what it trains, or for full fine-tuning if it
    does not say.

    No run fits in less memory than its weights, gradients and optimizer states take. Either the
    device count is too low, or the row omits LoRA or offload.

    Bad: 7 billion parameters, `full`, on `1` x `a100-40g`, with no offload stated
    Good: the same with `parameter-offload; optimizer-offload` as the source has it
    """
    for record in records(snapshot, "reports", *_DECIDING, "outcome"):
        if record.text("outcome") != "ran":
            continue
        parameters = _parameters(snapshot, record)
        weights = record.text("weights")
        own = devices_memory(snapshot, record)
        minimum = minimum_memory_gb(
            parameters, weights, record.text("memory_optimizations").split("; ")
        )
        if 0 < own < minimum:
            yield record.mistake(
                "gpus",
                f": {own:g} GB together, but {parameters:g} billion parameters need at least "
                f"{minimum:.0f} GB with `{weights or 'full'}` as weights",
                "Fill `weights` and `memory_optimizations` as the source states them, "
                "or fix `gpus`.",
            )


def _parameters(snapshot: Snapshot, record: TableRow) -> float:
    """The parameters in billions of a report's model, from its row or its published name."""
    known = number(snapshot.row("models", record.text("model")).get("parameters_b", ""))
    return known or parameters_in_name(record.text("model_as_published"))


@rule(exemptable=True)
def peak_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """Peak memory is not above the memory of the device.

    The figure is the sum over several devices, or has another unit.

    Bad: `204` as `peak_memory_gb` on `h100`
    Good: `76.4` as `peak_memory_gb` on `h100`
    """
    for name in ("peak_memory_gb", "peak_train_memory_gb", "peak_rollout_memory_gb"):
        for record in runs(snapshot, name):
            own = device_memory(snapshot, record) * GB_PER_GIB
            if 0 < own < record.number(name):
                yield record.mistake(
                    name,
                    f" GB (decimal), but its device has {own:.1f} GB (decimal)",
                    "Write the peak of one device in decimal GB: GiB times 1.0737.",
                )


@rule()
def future_date(snapshot: Snapshot) -> Iterator[Mistake]:
    """No date is in the future.

    Nobody can have run or read it yet.

    Bad: `2099-01-01` as `tested_on`
    Good: the day of the run
    """
    tomorrow = datetime.now(UTC) + timedelta(days=1)  # somewhere it is that day already
    latest = tomorrow.date().isoformat()
    for name in ("tested_on", "read_on", "source_changed_on"):
        for record in runs(snapshot, name):
            if record.text(name) > latest:
                yield record.mistake(
                    name,
                    ", which is in the future",
                    "Write the actual date, or leave it empty.",
                )


@rule(follows=["name-against-row"])
def weights_and_task(snapshot: Snapshot) -> Iterator[Mistake]:
    """A task is called LoRA if and only if its weights are LoRA or QLoRA.

    Readers filter by either, and must get the same rows.

    Bad: `GRPO` with `lora` as `weights`
    Good: `GRPO-LoRA` with `lora` as `weights`
    """
    for record in runs(snapshot, "task", "weights"):
        task = record.text("task")
        weights = record.text("weights")
        has_lora_variant = (
            f"{task.removesuffix('-LoRA')}-LoRA" in snapshot.tables["tasks"].keys
        )
        of_lora = weights in {"lora", "qlora"}
        if weights and has_lora_variant and task.endswith("-LoRA") != of_lora:
            yield record.mistake(
                "weights",
                f", but its task is `{task}`",
                "Correct the one that differs from the source.",
                [record.place("task")],
            )
