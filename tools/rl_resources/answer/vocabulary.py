"""The words that a question may be asked in, as one value that can be published as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rl_resources.answer.hardware import Devices, Hardware
from rl_resources.dataset import Dataset

TAGS = ("MIN", "RECOMMENDED")

SPACE = r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What `str.strip` takes away; other languages take more or less for blank."""

PATTERNS: Mapping[str, str] = {
    "space": SPACE,
    "billions": r"([0-9]+(?:\.[0-9]+)?)(?:b(?:-a[0-9.]+b)?)?",
    "memory": rf"([0-9]+(?:\.[0-9]+)?){SPACE}*(gb|gib|g|mib|mb|tb|)",
    "count": r"[1-9][0-9]{0,6}",
    "between": rf"(?:{SPACE}|[_+-])+",
}
"""How words are read; expressions that Python and JavaScript read alike, in ASCII."""

BILLIONS, MEMORY, COUNT, _BETWEEN = (
    re.compile(PATTERNS[name], re.IGNORECASE | re.ASCII)
    for name in ("billions", "memory", "count", "between")
)


@dataclass(frozen=True, slots=True)
class Size:
    """A section of models. `below` is the number of parameters in 10⁹ at which it ends, if any."""

    name: str
    position: int
    below: float | None


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator; a blank vendor or a memory of 0 is unknown."""

    name: str
    vendor: str
    memory_gb: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words, by key of their table.

    `models` tells the size of each model, `spelt_models` the key by each plain spelling; `tasks`
    the task that trains adapters alone in place of each, blank where there is none; `words` the
    keys of all that is asked by one of a few words. A spelling of a device means one in
    `spelt_devices`, and several of different memory in `families`.
    """

    models: Mapping[str, str]
    spelt_models: Mapping[str, str]
    sizes: Sequence[Size]
    devices: Mapping[str, Device]
    spelt_devices: Mapping[str, str]
    families: Mapping[str, Sequence[str]]
    tasks: Mapping[str, str]
    words: Mapping[str, Sequence[str]]


def vocabulary(dataset: Dataset, devices: Devices) -> Vocabulary:
    """The words of a dataset. `devices` are its own."""
    tasks = {str(key): _adapter_task(dataset, str(key)) for key in dataset.by_key["tasks"]}
    return Vocabulary(
        models={str(key): str(row["size"]) for key, row in dataset.by_key["models"].items()},
        spelt_models=_spelt_models(dataset),
        sizes=_sizes(dataset),
        devices={
            str(key): _device(str(row["name"]), devices.of(str(key)))
            for key, row in devices.rows.items()
        },
        spelt_devices=devices.spelt,
        families=devices.families,
        tasks=tasks,
        words={
            "task": tuple(tasks),
            "train": _backends(dataset, "train"),
            "infer": _backends(dataset, "infer"),
            "tag": TAGS,
        },
    )


def _spelt_models(dataset: Dataset) -> dict[str, str]:
    spelt: dict[str, str] = {}
    for key, row in dataset.by_key["models"].items():
        for name in (str(key), str(row["slug"]), str(key).rpartition("/")[2]):
            spelt.setdefault(plain(name), str(key))
    return spelt


def _sizes(dataset: Dataset) -> list[Size]:
    rows = dataset.records["sizes"]
    ends = [row["below_parameters_b"] for row in rows]
    return [
        Size(str(row["size"]), int(str(row["position"])), None if end is None else float(str(end)))
        for row, end in zip(rows, ends, strict=True)
    ]


def _device(name: str, hardware: Hardware) -> Device:
    return Device(name, hardware.vendor, hardware.memory_gb)


def _adapter_task(dataset: Dataset, task: str) -> str:
    rows = dataset.by_key["tasks"]
    if rows[task]["adapters_only"]:
        return ""
    same = (
        str(key)
        for key, row in rows.items()
        if row["adapters_only"] and row["algorithm"] == rows[task]["algorithm"]
    )
    return next(same, "")


def _backends(dataset: Dataset, role: str) -> tuple[str, ...]:
    rows = dataset.records["backends"]
    return tuple(str(row["backend"]) for row in rows if row["role"] == role)


def plain(text: str) -> str:
    """A word without what people spell in different ways: case, blanks, `_`, `-` and `++`."""
    return _BETWEEN.sub("-", text.strip().lower().replace("++", "-pp"))
