"""The memory of a device, and the minimum that a run takes by arithmetic alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from rl_resources.facts.broken import Record
from rl_resources.package import number
from rl_resources.snapshot import Snapshot

GB_PER_GIB = 1.073741824
"""A device sold with 80 GB has 80 GiB; peaks and sums here are decimal GB."""
_OFFLOADS_ALL = {"cpu-offload", "disk-offload"}
_NO_GRADIENT = {"gradient-offload", "parameter-offload", "optimizer-offload"}
"""An optimizer that steps on the CPU takes the gradients there as they come (ZeRO-Offload)."""
_SMALL_MOMENTS = {"bf16-optimizer": 4.0, "fp16-optimizer": 4.0, "8-bit-optimizer": 2.0}
_BASE = {"4-bit-base": 0.5, "8-bit-base": 1.0, "fp8-training": 1.0, "fp4-training": 0.5}
_ENGINE = {
    "fp8-rollout": 1.0,
    "int8-rollout": 1.0,
    "fp4-rollout": 0.5,
    "int4-rollout": 0.5,
    **_BASE,
}


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
    words = set(saved)
    if weights == "qlora":
        words.add("4-bit-base")
    training = _weight_bytes(words)
    if weights not in {"lora", "qlora", "partial"}:
        training += _gradient_bytes(words) + _optimizer_bytes(words)
    return parameters_b * max(training, _engine_bytes(words))


def _weight_bytes(words: Set[str]) -> float:
    """Bytes of each parameter's weight on the devices that train it."""
    if words & _OFFLOADS_ALL or "parameter-offload" in words:
        return 0.0
    return _smallest(_BASE, words, 2.0)


def _gradient_bytes(words: Set[str]) -> float:
    if words & _OFFLOADS_ALL or words & _NO_GRADIENT:
        return 0.0
    return 2.0


def _optimizer_bytes(words: Set[str]) -> float:
    """Bytes of each parameter's fp32 copy and moments."""
    if words & _OFFLOADS_ALL or "optimizer-offload" in words:
        return 0.0
    return _smallest(_SMALL_MOMENTS, words, 12.0)


def _engine_bytes(words: Set[str]) -> float:
    """Bytes of each parameter's weight in the rollout engine."""
    if "disk-offload" in words:
        return 0.0
    return _smallest(_ENGINE, words, 2.0)


def _smallest(bytes_of: Mapping[str, float], words: Set[str], otherwise: float) -> float:
    """The fewest bytes that one of these words stands for."""
    known = words & bytes_of.keys()
    return min((bytes_of[word] for word in known), default=otherwise)


def device_memory(snapshot: Snapshot, record: Record) -> float:
    """Nominal GB of one device; of a name with several sizes (`A100`) the largest; 0 if unknown."""
    device = snapshot.row("devices", record.text("device"))
    if device:
        return number(device["memory_gb"]) or 0
    stated = record.number("device_memory_gb")
    if stated:
        return stated
    devices = snapshot.tables["devices"]
    prefix = record.text("device_as_published").lower() + "-"
    largest = 0.0
    for name, memory in devices.cells(("device", "memory_gb")):
        if f"{name}-".startswith(prefix):
            largest = max(largest, number(memory) or 0)
    return largest
