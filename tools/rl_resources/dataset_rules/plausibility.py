"""Plausibility.

The devices have room for what trains, no peak is above a device's memory, and no date is in the
future.

The minimum memory of a run is arithmetic alone, below which a statement cannot be right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

from rl_resources.dataset_rules.broken import Record, records, runs
from rl_resources.dataset_rules.scripts import word_of_name
from rl_resources.package import number
from rl_resources.rule import Mistake, rule
from rl_resources.snapshot import Snapshot

GB_PER_GIB = 1.073741824
"""A device sold with 80 GB has 80 GiB; peaks and sums here are decimal GB."""

SIZE_IN_NAME = re.compile(
    r"(?<![0-9.x])(?<!-a)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])(?!-[0-9]+e)", re.IGNORECASE
)
"""Not what is active of a mixture of experts: `-a3b`, `8x7b`, `17b-16e`."""
_NO_GRADIENT = {"gradient-offload", "parameter-offload", "optimizer-offload"}
"""An optimizer that steps on the CPU takes the gradients there as they come (ZeRO-Offload)."""
_SMALL_MOMENTS = {"bf16-optimizer": 4.0, "fp16-optimizer": 4.0, "8-bit-optimizer": 2.0}
_BASE = {"4-bit-base": 0.5, "8-bit-base": 1.0, "fp8-training": 1.0, "fp4-training": 0.5}
_ENGINE = {"fp8-rollout": 1.0, "int8-rollout": 1.0, "fp4-rollout": 0.5, "int4-rollout": 0.5}
_ENGINE |= _BASE


def minimum_memory_gb(parameters_b: float, weights: str, saved: Collection[str]) -> float:
    """The minimum memory over all devices together, in decimal GB.

    `parameters_b` are all parameters in 10⁹ (of a mixture of experts all experts), `weights` what
    trains, `saved` words of the table `memory_optimizations`. Unknown `weights` count as `full`.

    Of each parameter that trains, bf16 weight 2 bytes, gradient 2, fp32 copy 4 and Adam's moments
    2 x 4: 16 bytes (ZeRO, arXiv:1910.02054, section 3.1). Moments of 16 bits and no fp32 copy take
    4 instead of 12, of 8 bits 2 (arXiv:2110.02861). Of a frozen one the weight: 2 bytes, 1 in 8
    bits, 0.5 in 4 bits (QLoRA, arXiv:2305.14314). What is offloaded takes none, but the rollout
    engine needs every weight once in its own precision, so it is the larger of the two.
    Activations, logits, caches, a reference model and a critic come on top and are not counted; a
    caller who compares it with nominal GB, 7 % less than the device has, leaves them at least that.
    """
    saved = set(saved)
    saved |= {"4-bit-base"} if weights == "qlora" else set()
    everything = bool(saved & {"cpu-offload", "disk-offload"})
    weight = min((_BASE[word] for word in saved & _BASE.keys()), default=2.0)
    weight = 0.0 if everything or "parameter-offload" in saved else weight
    gradient = 0.0 if everything or saved & _NO_GRADIENT else 2.0
    moments = min((_SMALL_MOMENTS[word] for word in saved & _SMALL_MOMENTS.keys()), default=12.0)
    moments = 0.0 if everything or "optimizer-offload" in saved else moments
    training = weight if weights in {"lora", "qlora", "partial"} else weight + gradient + moments
    engine = min((_ENGINE[word] for word in saved & _ENGINE.keys()), default=2.0)
    engine = 0.0 if "disk-offload" in saved else engine
    return parameters_b * max(training, engine)


def parameters_in_name(name: str) -> float:
    """The billions of parameters in a model's name, 0 if it has none."""
    found = SIZE_IN_NAME.search(name)
    return float(found[1]) if found else 0


_DECIDING = ("model", "weights", "memory_optimizations", "gpus", "gpus_maximum", "device")


@rule("warning", exemptable=True)
def minimum_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """The devices of a report have room for what its weights need, or for full fine-tuning where it
    does not say what trains.

    Below the bytes of weights, gradients and optimizer states no run is possible, so the row
    says too few devices, or leaves out LoRA or what was offloaded.

    Bad: 7 billion parameters, `full`, on `1` x `a100-40g`, with no offload stated
    Good: the same with `parameter-offload; optimizer-offload` as the source has it
    """
    for record in records(snapshot, "reports", *_DECIDING, "outcome"):
        weights, saved = record.text("weights"), record.text("memory_optimizations")
        model = snapshot.row("models", record.text("model"))
        in_name = parameters_in_name(record.text("model_as_published"))
        parameters = number(model.get("parameters_b", "")) or in_name
        gpus = record.number("gpus_maximum") or record.number("gpus")
        own = gpus * _device_memory(snapshot, record)
        least = minimum_memory_gb(parameters, weights, saved.split("; "))
        if record.text("outcome") == "ran" and 0 < own < least:
            need = f"{parameters:g} billion parameters need at least {least:.0f} GB"
            need += f" with `{weights or 'full'}` as weights"
            fix = "Fill `weights` and `memory_optimizations` as the source has them, or fix `gpus`."
            yield record.mistake("gpus", f": {own:g} GB together, but {need}", fix)


def _device_memory(snapshot: Snapshot, record: Record) -> float:
    """Nominal GB of one device; of a name with several sizes (`A100`) the largest; 0 if unknown."""
    if device := snapshot.row("devices", record.text("device")):
        return number(device["memory_gb"]) or 0
    word, table = record.text("device_as_published").lower(), snapshot.tables["devices"]
    names = zip(table.columns["device"], table.columns["memory_gb"], strict=True)
    family = [number(memory) or 0 for name, memory in names if f"{name}-".startswith(f"{word}-")]
    return record.number("device_memory_gb") or max(family, default=0)


@rule(exemptable=True)
def peak_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """A peak is not above the memory of its device.

    It is the sum of several devices, or another unit.

    Bad: `204` as `peak_memory_gb` on `h100`
    Good: `76.4` as `peak_memory_gb` on `h100`
    """
    for name in ("peak_memory_gb", "peak_train_memory_gb", "peak_rollout_memory_gb"):
        for record in runs(snapshot, name):
            peak = record.number(name)
            own = _device_memory(snapshot, record) * GB_PER_GIB if peak else 0
            if 0 < own < peak:
                wrong = f" GB (decimal), but its device has {own:.1f} GB (decimal)"
                fix = "Write the peak of one device in decimal GB: GiB times 1.0737."
                yield record.mistake(name, wrong, fix)


@rule()
def future_date(snapshot: Snapshot) -> Iterator[Mistake]:
    # somewhere it is tomorrow already
    """A date is not in the future.

    Nobody has run or read it yet.

    Bad: `2099-01-01` as `tested_on`
    Good: the day of the run
    """
    today = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    for name in ("tested_on", "read_on", "source_changed_on"):
        for record in runs(snapshot, name):
            if record.text(name) > today:
                fix = "Write the day on which it was, or leave it empty."
                yield record.mistake(name, ", which is in the future", fix)


@rule()
def weights_and_task(snapshot: Snapshot) -> Iterator[Mistake]:
    """A task says LoRA where the weights do.

    Readers ask by either, and get the same rows.

    Bad: `GRPO` with `lora` as `weights`
    Good: `GRPO-LoRA` with `lora` as `weights`
    """
    for record in runs(snapshot, "task", "weights"):
        task, weights = record.text("task"), record.text("weights")
        known = f"{task.removesuffix('-LoRA')}-LoRA" in snapshot.tables["tasks"].keys
        lora = weights in {"lora", "qlora"}
        if word_of_name(snapshot, record.text("script"), "task") not in {"", task}:
            continue  # name_against_row reports the task
        if task and weights and known and lora != task.endswith("-LoRA"):
            fix = "Correct the one that is not as in the source."
            yield record.mistake("weights", f", but its task is `{task}`", fix)
