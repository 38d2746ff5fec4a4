"""Rules on what cannot be: less memory than the weights need, a peak above the device's memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rl_resources.check.dataset.broken import Record, records
from rl_resources.check.dataset.tables import RUNS
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot
from rl_resources.memory import device_memory_gb, least_memory_gb, parameters_in_name
from rl_resources.order import number

_PEAKS = ("peak_memory_gb", "peak_train_memory_gb", "peak_rollout_memory_gb")
_DECIDING = ("model", "weights", "memory_optimizations", "gpus", "gpus_maximum", "device")
_DATES = ("tested_on", "read_on", "source_changed_on")


@rule()
def least_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """The devices of a report have room for what its weights need.

    Below the bytes of weights, gradients and optimizer states no run is possible, so the row
    says too few devices, or leaves out what was offloaded.

    Bad: 7 billion parameters, `full`, on `1` x `a100-40g`, with no offload stated
    Good: the same with `parameter-offload; optimizer-offload` as the source has it
    """
    yield from _too_small(snapshot, known=True)


@rule("warning")
def unexplained_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report that does not say what trains has room for full fine-tuning.

    Where it has not, LoRA or offload was left out, and a reader would take it for full
    fine-tuning.

    Bad: 7 billion parameters on `1` x `a100-40g` with empty `weights`
    Good: `lora` as `weights`, as the source's script has it
    """
    yield from _too_small(snapshot, known=False)


def _too_small(snapshot: Snapshot, *, known: bool) -> Iterator[Mistake]:
    for record in records(snapshot, "reports", *_DECIDING):
        weights, saved = record.text("weights"), record.text("memory_optimizations")
        if bool(weights) != known or record.text("outcome") != "ran":
            continue
        parameters = _parameters(snapshot, record)
        gpus = record.number("gpus_maximum") or record.number("gpus")
        own = gpus * _device_memory(snapshot, record)
        least = least_memory_gb(parameters, weights, saved.split("; "))
        if own and least > own:
            yield record.mistake(
                "gpus",
                f": {own:g} GB together, but {parameters:g} billion parameters need "
                f"{least:.0f} GB at the least{'' if known else ' in full fine-tuning'}. "
                "Activations, caches and what the engine reserves come on top.",
                "Say in `weights` and `memory_optimizations` what the source says of LoRA, "
                "quantization and offload, or correct the number of devices.",
            )


def _parameters(snapshot: Snapshot, record: Record) -> float:
    model = snapshot.find("models", record.text("model"))
    known = number(model("parameters_b")) if model else None
    return known or parameters_in_name(record.text("model_as_published")) or 0


def _device_memory(snapshot: Snapshot, record: Record) -> float:
    """Nominal GB of one device; of a name with several sizes (`A100`) the largest; 0 if unknown."""
    sizes = _memory_of_devices(snapshot)
    if key := record.text("device"):
        return sizes.get(key, 0)
    word = record.text("device_as_published").lower()
    family = [size for key, size in sizes.items() if f"{key}-".startswith(f"{word}-")]
    return record.number("device_memory_gb") or max(family, default=0)


@lru_cache(maxsize=1)
def _memory_of_devices(snapshot: Snapshot) -> Mapping[str, float]:
    devices = records(snapshot, "devices")
    return {device.text("device"): device.number("memory_gb") for device in devices}


@rule()
def peak_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """A peak is not above the memory of its device.

    It is the sum of several devices, or another unit.

    Bad: `204` as `peak_memory_gb` on `h100`
    Good: `76.4` as `peak_memory_gb` on `h100`
    """
    for name in _PEAKS:
        for record in _filled(snapshot, name):
            own = device_memory_gb(_device_memory(snapshot, record))
            if own and record.number(name) > own:
                wrong = f" GB (decimal), but its device has {own:.1f} GB (decimal)"
                fix = "Write the peak of one device in decimal GB: GiB times 1.0737."
                yield record.mistake(name, wrong, fix)


def _filled(snapshot: Snapshot, name: str) -> Iterator[Record]:
    """The records and reports with this column filled."""
    for resource in RUNS:
        yield from (record for record in records(snapshot, resource, name) if record.text(name))


@rule()
def future_date(snapshot: Snapshot) -> Iterator[Mistake]:
    # somewhere it is tomorrow already
    """A date is not in the future.

    Nobody has run or read it yet.

    Bad: `2099-01-01` as `tested_on`
    Good: the day of the run
    """
    today = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    for name in _DATES:
        for record in _filled(snapshot, name):
            if record.text(name) > today:
                fix = "Write the day as YYYY-MM-DD, or leave it empty."
                yield record.mistake(name, ", which is in the future", fix)


@rule()
def weights_and_task(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's task says LoRA where its weights do.

    Readers ask by either, and get the same rows.

    Bad: `GRPO` with `lora` as `weights`
    Good: `GRPO-LoRA` with `lora` as `weights`
    """
    for resource in RUNS:
        for record in records(snapshot, resource, "task", "weights"):
            task, weights = record.text("task"), record.text("weights")
            known = f"{task.removesuffix('-LoRA')}-LoRA" in snapshot.keys("tasks")
            lora = weights in {"lora", "qlora"}
            if task and weights and known and lora != task.endswith("-LoRA"):
                fix = "Correct the one that is not as in the source."
                yield record.mistake("weights", f", but its task is `{task}`", fix)
