"""The memory of a device, and the minimum that a run takes by arithmetic alone."""

from __future__ import annotations

from collections.abc import Collection

from rl_resources.facts.broken import Record
from rl_resources.package import number
from rl_resources.snapshot import Snapshot

GB_PER_GIB = 1.073741824
"""A device sold with 80 GB has 80 GiB; peaks and sums here are decimal GB."""
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


def device_memory(snapshot: Snapshot, record: Record) -> float:
    """Nominal GB of one device; of a name with several sizes (`A100`) the largest; 0 if unknown."""
    if device := snapshot.row("devices", record.text("device")):
        return number(device["memory_gb"]) or 0
    word, table = record.text("device_as_published").lower(), snapshot.tables["devices"]
    names = zip(table.columns["device"], table.columns["memory_gb"], strict=True)
    family = [number(memory) or 0 for name, memory in names if f"{name}-".startswith(f"{word}-")]
    return record.number("device_memory_gb") or max(family, default=0)
