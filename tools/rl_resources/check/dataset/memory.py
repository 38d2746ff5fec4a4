"""Rules on what cannot be: less memory than the weights need, a peak above the device's memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from rl_resources.check.dataset.broken import broken_keys
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.memory import device_memory_gb, least_memory_gb, parameters_in_name
from rl_resources.order import number

_PEAKS = ("peak_memory_gb", "peak_train_memory_gb", "peak_rollout_memory_gb")
_DECIDING = ("model", "weights", "memory_optimizations", "gpus", "gpus_maximum", "device")
_DATES = ("tested_on", "read_on", "source_changed_on")
_PLACEHOLDERS = frozenset(
    {"your-handle", "yourhandle", "your-name", "handle", "username", "user", "contributor", "name"}
    | {"todo", "tbd", "me", "someone", "nobody", "anonymous", "unknown", "none", "example", "xxx"}
)
_ON_TOP = "Activations, caches and what the engine reserves come on top."


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
    table = snapshot.tables["reports"]
    for row in range(len(table.rows)):
        if bool(table.cell(row, "weights")) != known or table.cell(row, "outcome") != "ran":
            continue
        own, words = _memory(snapshot, table, row), table.cell(row, "memory_optimizations")
        parameters = _parameters(snapshot, table, row)
        weights = table.cell(row, "weights")
        least = least_memory_gb(parameters, weights, words.split("; "))
        if own and least > own and not _is_broken(snapshot, table, row, _DECIDING):
            what = f"{parameters:g} billion parameters"
            yield table.mistake(
                row,
                "gpus",
                f"gpus of {table.label(row)} are {table.cell(row, 'gpus')} devices of "
                f"{own:g} GB together, but {what} need {least:.0f} GB at the least"
                f"{'' if known else ' in full fine-tuning'}. {_ON_TOP}",
                "Say in `weights` and `memory_optimizations` what the source says of LoRA, "
                "quantization and offload, or correct the number of devices.",
            )


def _is_broken(snapshot: Snapshot, table: Table, row: int, names: Iterable[str]) -> bool:
    """Whether another rule reports one of these cells."""
    return any((table.path, row, name) in broken_keys(snapshot) for name in names)


def _parameters(snapshot: Snapshot, table: Table, row: int) -> float:
    model = snapshot.keys("models").get(table.cell(row, "model"))
    told = snapshot.tables["models"].cell(model, "parameters_b") if model is not None else ""
    return number(told) or parameters_in_name(table.cell(row, "model_as_published")) or 0


def _memory(snapshot: Snapshot, table: Table, row: int) -> float:
    """Memory of all devices in nominal GB, of a range the most; 0 if unknown."""
    gpus = number(table.cell(row, "gpus_maximum")) or number(table.cell(row, "gpus")) or 0
    return gpus * _of_one(snapshot, table, row)


def _of_one(snapshot: Snapshot, table: Table, row: int) -> float:
    """Nominal GB of one device; of a name with several sizes (`A100`) the largest; 0 if unknown."""
    devices, known = snapshot.tables["devices"], snapshot.keys("devices")
    if key := table.cell(row, "device"):
        place = known.get(key)
        return number(devices.cell(place, "memory_gb")) or 0 if place is not None else 0
    word = table.cell(row, "device_as_published").lower()
    family = [place for key, place in known.items() if key == word or key.startswith(f"{word}-")]
    sizes = [number(devices.cell(place, "memory_gb")) or 0 for place in family]
    return number(table.cell(row, "device_memory_gb")) or max(sizes, default=0)


@rule()
def peak_memory(snapshot: Snapshot) -> Iterator[Mistake]:
    """A peak is not above the memory of its device.

    It is the sum of several devices, or another unit.

    Bad: `204` as `peak_memory_gb` on `h100`
    Good: `76.4` as `peak_memory_gb` on `h100`
    """
    for table in (snapshot.tables[name] for name in ("tuning", "reports")):
        for name in _PEAKS:
            for row, cell in enumerate(table.columns.get(name, ())):
                own = device_memory_gb(_of_one(snapshot, table, row))
                if own and (number(cell) or 0) > own:
                    yield table.mistake(
                        row,
                        name,
                        f"{name} of {table.label(row)} is {cell} GB (decimal), but its device has "
                        f"{own:.1f} GB (decimal)",
                        "Write the peak of one device in decimal GB: GiB times 1.0737.",
                    )


@rule()
def future_date(snapshot: Snapshot) -> Iterator[Mistake]:
    # somewhere it is tomorrow already
    """A date is not in the future.

    Nobody has run or read it yet.

    Bad: `2099-01-01` as `tested_on`
    Good: the day of the run
    """
    today = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    for table in (snapshot.tables[name] for name in ("tuning", "reports")):
        for name in _DATES:
            for row, cell in enumerate(table.columns.get(name, ())):
                if cell > today and (table.path, row, name) not in broken_keys(snapshot):
                    yield table.mistake(
                        row,
                        name,
                        f"{name} of {table.label(row)} is `{cell}`, which is in the future",
                        "Write the day as YYYY-MM-DD, or leave it empty.",
                    )


@rule()
def placeholder_contributor(snapshot: Snapshot) -> Iterator[Mistake]:
    """The contributor of a reported record is somebody.

    A placeholder cannot be asked about the run.

    Bad: `your-handle` as `contributor` of a `reported` record
    Good: your public handle
    """
    table = snapshot.tables["tuning"]
    for row, cell in enumerate(table.columns.get("contributor", ())):
        if cell.lower() in _PLACEHOLDERS and table.cell(row, "status") != "untested":
            yield table.mistake(
                row,
                "contributor",
                f"contributor of {table.label(row)} is `{cell}`, which is a placeholder",
                "Write your public handle, or leave it empty where the record has a source.",
            )


@rule()
def weights_and_task(snapshot: Snapshot) -> Iterator[Mistake]:
    """A report's task says LoRA where its weights do.

    Readers ask by either, and get the same rows.

    Bad: `GRPO` beside `lora` as `weights`
    Good: `GRPO-LoRA` beside `lora` as `weights`
    """
    for table in (snapshot.tables[name] for name in ("tuning", "reports")):
        for row, weights in enumerate(table.columns.get("weights", ())):
            task = table.cell(row, "task")
            if f"{task.removesuffix('-LoRA')}-LoRA" not in snapshot.keys("tasks"):
                continue  # no task for LoRA with this algorithm
            if _is_broken(snapshot, table, row, ("task", "weights")):
                continue
            if task and weights and (weights in {"lora", "qlora"}) != task.endswith("-LoRA"):
                yield table.mistake(
                    row,
                    "weights",
                    f"weights of {table.label(row)} are `{weights}`, but its task is `{task}`",
                    "Correct the one that is not as in the source.",
                )
