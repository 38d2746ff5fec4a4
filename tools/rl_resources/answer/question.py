"""A question about hardware: from the words of a person to keys of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rl_resources.answer.hardware import Devices
from rl_resources.answer.vocabulary import (
    BILLIONS,
    COUNT,
    MEMORY,
    Device,
    plain,
    vocabulary,
)
from rl_resources.answer.wording import COMMAND, number, say
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.words import nearest, shown

MIB_PER_GB = 1024
MOST_GB = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A question as it was asked; `None` leaves open.

    A number as model is a size, and an amount as device is a memory.
    """

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
    return Reader(dataset).understood(words)


class Reader:
    """Reads questions to one dataset.

    `asking` is how one asks, for sentences that say how to ask better.
    """

    def __init__(self, dataset: Dataset, asking: Mapping[str, str] = COMMAND) -> None:
        self.devices = Devices(dataset)
        self.known = vocabulary(dataset, self.devices)
        self.asking = asking

    def understood(self, words: Words) -> Understood:
        """As `understand`."""
        model, size, notes = self._model_and_size(words)
        device, memory = self._device_and_memory(words)
        own = self.known.devices[device] if device else Device("", "", memory)
        notes += _about(device, own, any_number=words.gpus is None)
        task = self._word("task", words.task)
        return Understood(
            Question(
                model=model,
                size=size,
                position=next((item.position for item in self.known.sizes if item.name == size), 0),
                task=task,
                adapter_task=self.known.tasks[task] if task else "",
                gpus=self._gpus(words.gpus),
                device=device,
                vendor=own.vendor,
                memory_gb=own.memory_gb,
                train=self._word("train", words.train),
                infer=self._word("infer", words.infer),
                tag=self._word("tag", words.tag),
            ),
            tuple(notes),
        )

    def _model_and_size(self, words: Words) -> tuple[str, str, list[str]]:
        """Key of the model, name of the size, and what to tell; a number as model is a size."""
        notes: list[str] = []
        asked_size, model = words.size, ""
        if words.model is not None:
            if asked_size is None and BILLIONS.fullmatch(words.model.strip()):
                asked_size = words.model
            else:
                model = self._model(words.model)
        size = self._size(asked_size) if asked_size is not None else ""
        if size and plain(asked_size or "").removesuffix("b") != plain(size).removesuffix("b"):
            notes.append(say("belongs-to", word=shown((asked_size or "").strip()), size=size))
        if model:
            own = self.known.models[model]
            if size and size != own:
                raise UnusableInput(
                    say("other-size", model=model, own=own, size=size),
                    say("leave-out", **self.asking),
                )
            size = own
        return model, size, notes

    def _model(self, text: str) -> str:
        if found := self.known.spelt_models.get(plain(text)):
            return found
        close = nearest(
            text.rpartition("/")[2], [key.rpartition("/")[2] for key in self.known.models]
        )
        sizes = ", ".join(f"`{size.name}`" for size in self.known.sizes)
        by_size = say("ask-by-size", sizes=sizes, **self.asking)
        raise _unknown("model", text, close.sentence() or by_size)

    def _size(self, text: str) -> str:
        names = {size.name.lower(): size.name for size in self.known.sizes}
        lower = text.strip().lower()
        if found := names.get(lower) or names.get(f"{lower}b"):
            return found
        billions = BILLIONS.fullmatch(lower)
        for size in self.known.sizes if billions and float(billions[1]) else ():
            if billions and (size.below is None or float(billions[1]) < size.below):
                return size.name
        raise _unknown("size", text, nearest(text, names.values()).sentence())

    def _device_and_memory(self, words: Words) -> tuple[str, float]:
        """Key of the device and GB of memory, of which one at most is asked."""
        if words.device is not None and words.memory is not None:
            raise UnusableInput(say("device-and-memory"), say("device-has-memory", **self.asking))
        if words.device is not None and not self._is_amount(words.device):
            return self._device(words.device), 0.0
        amount = words.device if words.memory is None else words.memory
        return "", 0.0 if amount is None else self._memory(amount)

    def _is_amount(self, text: str) -> bool:
        """Whether a device is asked by its memory: `80 GB`, or `80` if no device is called so."""
        amount = MEMORY.fullmatch(text.strip())
        return amount is not None and bool(amount[2] or not self.devices.named(text))

    def _device(self, text: str) -> str:
        found = self.devices.named(text)
        if len(found) == 1:
            return found[0]
        if found:
            listed = say("or").join(f"`{key}`" for key in found)
            raise UnusableInput(
                say("several-devices", word=shown(text)), say("did-you-mean", words=listed)
            )
        known = tuple(self.known.devices)
        by_memory = say("ask-by-memory", devices=", ".join(known), **self.asking)
        raise _unknown("device", text, nearest(text, known).sentence() or by_memory)

    def _memory(self, text: str) -> float:
        """GB of one device. Makers call 24 GiB 24 GB, and so do the tables: GiB count as GB."""
        found = MEMORY.fullmatch(text.strip())
        amount = float(found[1]) if found else 0
        if found and found[2].lower() in {"mib", "mb"}:
            amount = -(-amount // MIB_PER_GB)
        if found and found[2].lower() == "tb":
            amount *= 1000
        if not 0 < amount <= MOST_GB:
            raise UnusableInput(
                say("no-memory", word=shown(text)), say("write-memory", **self.asking)
            )
        return amount

    def _gpus(self, text: str | None) -> int:
        if text is None:
            return 0
        if not COUNT.fullmatch(text.strip()):
            raise UnusableInput(say("no-gpus", word=shown(text)), say("write-gpus", **self.asking))
        return int(text)

    def _word(self, kind: str, text: str | None) -> str:
        """The known word that `text` spells, upper and lower case and punctuation regardless."""
        if text is None:
            return ""
        words = self.known.words[kind]
        by_plain = {plain(word): word for word in words}
        if found := by_plain.get(plain(text)):
            return found
        listed = say("known-are", words=", ".join(f"`{word}`" for word in words))
        raise _unknown(kind, text, nearest(text, words).sentence() or listed)


def _about(device: str, own: Device, *, any_number: bool) -> Iterable[str]:
    """How the hardware was understood."""
    memory = number(own.memory_gb)
    if device:
        known = say("known-memory" if own.memory_gb else "unknown-memory", memory=memory)
        yield say("known-device", device=device, name=own.name, memory=known)
    elif own.memory_gb:
        yield say("any-maker", memory=memory)
    if own.memory_gb and any_number:
        yield say("any-gpus")


def _unknown(kind: str, text: str, help_: str) -> UnusableInput:
    return UnusableInput(say("unknown-word", kind=kind, word=shown(text)), help_)
