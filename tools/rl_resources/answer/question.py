"""A question about hardware: from the words of a person to keys of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rl_resources.answer.hardware import Devices
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.words import nearest, shown

TAGS = ("MIN", "RECOMMENDED")
_BILLIONS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:b(?:-a[0-9.]+b)?)?", re.IGNORECASE)
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(gb|gib|g|mib|mb|tb|)", re.IGNORECASE)
_MIB_PER_GB = 1024
_COUNT = re.compile(r"[1-9][0-9]{0,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A question as it was asked; `None` leaves open."""

    model: str | None = None
    size: str | None = None
    task: str | None = None
    gpus: str | None = None
    device: str | None = None
    memory: str | None = None
    train: str | None = None
    infer: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question in keys of the tables. A blank text or a 0 leaves open.

    With a model its size and the size's `position` are always there. `vendor` and `memory_gb` are
    those of the device, or the memory was asked and the vendor is open. `adapter_task` is the same
    algorithm with adapters alone, where there is one and it was not asked.
    """

    model: str = ""
    size: str = ""
    position: int = 0
    task: str = ""
    adapter_task: str = ""
    gpus: int = 0
    device: str = ""
    vendor: str = ""
    memory_gb: float = 0
    train: str = ""
    infer: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Understood:
    """A question, and what a person must know of how it was understood."""

    question: Question
    notes: tuple[str, ...]


def understand(dataset: Dataset, words: Words) -> Understood:
    """Turn words into keys. Raises `UnusableInput` with the nearest known words."""
    model, size, notes = _model_and_size(dataset, words)
    if words.device is not None and words.memory is not None:
        raise UnusableInput(
            "a device and a memory are both asked",
            "A device has its memory: give --device, or --memory for any device of that memory.",
        )
    device = _device(Devices(dataset), words.device) if words.device is not None else ""
    memory = _memory(words.memory) if words.memory is not None else 0.0
    vendor = ""
    if device:
        hardware = Devices(dataset).of(device)
        vendor, memory = hardware.vendor, hardware.memory_gb
        name = dataset.by_key["devices"][device]["name"]
        known = f"{memory:g} GB each" if memory else "memory not known: only runs on it count"
        notes.append(f"{device} is {name}, {known}.")
    elif memory:
        notes.append(f"Devices of any maker with {memory:g} GB or less count: no device is asked.")
    if memory and words.gpus is None:
        notes.append("Any number of accelerators counts: none is asked.")
    task = _task(dataset, words.task)
    return Understood(
        Question(
            model=model,
            size=size,
            position=_position(dataset, size),
            task=task,
            adapter_task=_adapter_task(dataset, task),
            gpus=_gpus(words.gpus),
            device=device,
            vendor=vendor,
            memory_gb=memory,
            train=_backend(dataset, "train", words.train),
            infer=_backend(dataset, "infer", words.infer),
            tag=_word("tag", words.tag, TAGS),
        ),
        tuple(notes),
    )


def _model_and_size(dataset: Dataset, words: Words) -> tuple[str, str, list[str]]:
    """Key of the model, name of the size, and what to tell; a number as model is a size."""
    notes: list[str] = []
    asked_size, model = words.size, ""
    if words.model is not None:
        billions = _BILLIONS.fullmatch(words.model.strip())
        if billions and asked_size is None:
            asked_size = words.model
        else:
            model = _model(dataset, words.model)
    size = _size(dataset, asked_size) if asked_size is not None else ""
    if size and _plain(asked_size or "").removesuffix("b") != _plain(size).removesuffix("b"):
        notes.append(f"{(asked_size or '').strip()} belongs to the size {size}.")
    if model:
        own = str(dataset.by_key["models"][model]["size"])
        if size and size != own:
            raise UnusableInput(
                f"model {model} is of size {own}, not {size}", "Leave --size out, or --model."
            )
        size = own
    return model, size, notes


def _model(dataset: Dataset, text: str) -> str:
    models = dataset.by_key["models"]
    by_name: dict[str, str] = {}
    for key, row in models.items():
        for name in (str(key), str(row["slug"]), str(key).rpartition("/")[2]):
            by_name.setdefault(_plain(name), str(key))
    if found := by_name.get(_plain(text)):
        return found
    short = {str(key).rpartition("/")[2]: str(key) for key in models}
    close = nearest(text.rpartition("/")[2], short)
    raise _unknown("model", text, close.sentence() or _by_size(dataset))


def _by_size(dataset: Dataset) -> str:
    names = ", ".join(f"`{row['size']}`" for row in dataset.records["sizes"])
    return f"Nothing is known of it; ask by size with --size: {names}."


def _size(dataset: Dataset, text: str) -> str:
    names = {str(row["size"]).lower(): str(row["size"]) for row in dataset.records["sizes"]}
    plain = text.strip().lower()
    if plain in names or f"{plain}b" in names:
        return names.get(plain) or names[f"{plain}b"]
    billions = _BILLIONS.fullmatch(plain)
    for row in dataset.records["sizes"] if billions and float(billions[1]) else ():
        below = row["below_parameters_b"]
        if billions and (below is None or float(billions[1]) < float(str(below))):
            return str(row["size"])
    raise _unknown("size", text, nearest(text, names.values()).sentence())


def _position(dataset: Dataset, size: str) -> int:
    return int(str(dataset.by_key["sizes"][size]["position"])) if size else 0


def _device(devices: Devices, text: str) -> str:
    found = devices.named(text)
    if len(found) == 1:
        return found[0]
    if found:
        listed = " or ".join(f"`{key}`" for key in found)
        raise UnusableInput(
            f"device `{shown(text)}` comes with different memory", f"Did you mean {listed}?"
        )
    known = nearest(text, map(str, devices.rows))
    help_ = known.sentence() or (
        "Ask by memory with --memory; known devices: " + ", ".join(map(str, devices.rows)) + "."
    )
    raise _unknown("device", text, help_)


def _memory(text: str) -> float:
    """GB of one device. Makers call 24 GiB 24 GB, and so do the tables: GiB count as GB."""
    found = _MEMORY.fullmatch(text.strip())
    number = float(found[1]) if found else 0
    if found and found[2].lower() in {"mib", "mb"}:
        number = -(-number // _MIB_PER_GB)
    if found and found[2].lower() == "tb":
        number *= 1000
    if not 0 < number <= 10_000:
        raise UnusableInput(
            f"memory `{shown(text)}` is not an amount of GB", "Write for example `--memory 80`."
        )
    return number


def _gpus(text: str | None) -> int:
    if text is None:
        return 0
    if not _COUNT.fullmatch(text.strip()):
        raise UnusableInput(
            f"gpus `{shown(text)}` is not a number of accelerators from 1",
            "Write for example `--gpus 8`; the device has an option of its own.",
        )
    return int(text)


def _task(dataset: Dataset, text: str | None) -> str:
    return _word("task", text, map(str, dataset.by_key["tasks"]))


def _adapter_task(dataset: Dataset, task: str) -> str:
    rows = dataset.by_key["tasks"]
    if not task or rows[task]["adapters_only"]:
        return ""
    same = (
        str(key)
        for key, row in rows.items()
        if row["adapters_only"] and row["algorithm"] == rows[task]["algorithm"]
    )
    return next(same, "")


def _backend(dataset: Dataset, role: str, text: str | None) -> str:
    known = (str(row["backend"]) for row in dataset.records["backends"] if row["role"] == role)
    return _word(role, text, known)


def _word(kind: str, text: str | None, known: Iterable[str]) -> str:
    """The known word that `text` spells, upper and lower case and punctuation regardless."""
    if text is None:
        return ""
    words = tuple(known)
    by_plain = {_plain(word): word for word in words}
    if found := by_plain.get(_plain(text)):
        return found
    help_ = nearest(text, words).sentence()
    raise _unknown(kind, text, help_ or "Known are " + ", ".join(f"`{w}`" for w in words) + ".")


def _plain(text: str) -> str:
    return re.sub(r"[\s_+-]+", "-", text.strip().lower()).replace("++", "-pp")


def _unknown(kind: str, text: str, help_: str) -> UnusableInput:
    return UnusableInput(f"{kind} `{shown(text)}` is not known", help_)
