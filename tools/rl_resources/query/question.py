"""A question about hardware: from the words of a person to keys of the tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.query.hardware import Devices, with_memory
from rl_resources.query.vocabulary import (
    BESIDE,
    BILLIONS,
    COUNT,
    HUB,
    LENGTH,
    MANY,
    MANY_LAST,
    MEMORY,
    NAMED_SIZE,
    SIZE_IN_NAME,
    TIMES,
    Device,
    model_name,
    plain,
    task_name,
    tidy,
    vocabulary,
)
from rl_resources.query.wording import COMMAND, number, say
from rl_resources.words import nearest, shown

MIB_PER_GB = 1024
MOST_GB = 10_000
MOST_GB_UNSAID = 512
"""The most that a number without a unit means as memory in place of a device."""

MOST_GPUS = 9_999_999
MOST_TOKENS = 999_999_999
EITHER = " or "

_SCALES = {"m": 0.001, "t": 1000.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A question as it was asked; `None` leaves open.

    A number as model is a size, an amount as device is a memory, and a device may be told with its
    number: `8xH100`. The length is that of prompt and response together: `16K`, `2048 + 16384`.
    """

    model: str | None = None
    size: str | None = None
    task: str | None = None
    weights: str | None = None
    scenario: str | None = None
    gpus: str | None = None
    device: str | None = None
    memory: str | None = None
    length: str | None = None
    framework: str | None = None
    train: str | None = None
    infer: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question in keys of the tables. A blank text or a 0 leaves open.

    With a model its size and the size's `position` are always there. `device` names every key that
    a device's name may mean: `a100-40g or a100-80g`. `vendor` and `memory_gb` are those of the
    smallest of them, or the memory was asked and the vendor is open. `adapter_task` is the same
    algorithm with LoRA, where there is one and it was not asked. `length` is the least context in
    tokens.
    """

    model: str = ""
    size: str = ""
    position: int = 0
    task: str = ""
    adapter_task: str = ""
    weights: str = ""
    scenario: str = ""
    gpus: int = 0
    device: str = ""
    vendor: str = ""
    memory_gb: float = 0
    length: int = 0
    framework: str = ""
    train: str = ""
    infer: str = ""
    tag: str = ""

    @property
    def devices(self) -> tuple[str, ...]:
        """The keys of all devices that `device` may mean."""
        return tuple(self.device.split(EITHER)) if self.device else ()


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
        gpus, devices, memory = self._hardware(words)
        device = EITHER.join(devices)
        all_own = [self.known.devices[key] for key in devices] or [Device("", "", memory)]
        own = min(all_own, key=lambda item: item.memory_gb)
        if len(devices) > 1:
            amounts = EITHER.join(number(item.memory_gb) for item in all_own)
            notes.append(say("several-devices", word=device, memory=amounts))
        else:
            notes += _about(device, own, any_number=not gpus)
        length = 0 if words.length is None else self._length(words.length)
        if length:
            notes.append(say("asked-length", length=length))
        task, weights, told = self._task(words)
        notes += told
        return Understood(
            Question(
                model=model,
                size=size,
                position=next((item.position for item in self.known.sizes if item.name == size), 0),
                task=task,
                adapter_task=self.known.tasks[task] if task else "",
                weights=weights,
                scenario=self._word("scenario", words.scenario),
                gpus=gpus,
                device=device,
                vendor=own.vendor,
                memory_gb=own.memory_gb,
                length=length,
                framework=self._word("framework", words.framework),
                train=self._word("train", words.train),
                infer=self._word("infer", words.infer),
                tag=self._word("tag", words.tag),
            ),
            tuple(notes),
        )

    def _model_and_size(self, words: Words) -> tuple[str, str, list[str]]:
        """Key of the model, name of the size, and what to tell; a number as model is a size."""
        notes: list[str] = []
        asked_size, model, by_size = words.size, "", ""
        told: list[str] = []
        if words.model is not None:
            if asked_size is None and BILLIONS.fullmatch(tidy(words.model)):
                asked_size = words.model
            else:
                model, by_size, told = self._model(words.model)
                if model and model_name(words.model) not in self.known.spelt_models:
                    told = [say("read-as", word=shown(words.model.strip()), model=model)]
        size = self._size(asked_size) if asked_size is not None else ""
        if size and plain(asked_size or "").removesuffix("b") != plain(size).removesuffix("b"):
            notes.append(say("belongs-to", word=shown((asked_size or "").strip()), size=size))
        notes += told
        if model:
            own = self.known.models[model]
            if size and size != own:
                raise UnusableInput(
                    say("other-size", model=model, own=own, size=size),
                    say("leave-out", **self.asking),
                )
            size = own
        return model, by_size or size, notes

    def _model(self, text: str) -> tuple[str, str, list[str]]:
        """Key of the model, else the size that its name tells, and what to tell of it."""
        text = HUB.sub("", text.strip())
        found = self._models_called(text)
        if len(found) == 1:
            return found[0], "", []
        sizes = {self.known.models[key] for key in found}
        if len(sizes) == 1:
            size, names = sizes.pop(), EITHER.join(key.rpartition("/")[2] for key in found)
            return "", size, [say("several-models", word=shown(text), models=names, size=size)]
        told = SIZE_IN_NAME.search(plain(text))
        if told and (size := self._section(float(told[1]))):
            note = say("model-by-size", word=shown(text), size=size)
            close = self._close_models(text, size)
            return "", size, [f"{note} {close}".strip()]
        raise _unknown("model", text, self._other_than_model(text))

    def _close_models(self, text: str, size: str) -> str:
        names = (key.rpartition("/")[2] for key, own in self.known.models.items() if own == size)
        return nearest(text.rpartition("/")[2], names).sentence()

    def _models_called(self, text: str) -> Sequence[str]:
        """The models of a name, of a name with the size behind it, or of a name's beginning."""
        spelt, named = self.known.spelt_models, NAMED_SIZE.fullmatch(plain(text))
        if found := spelt.get(model_name(text)):
            return [found]
        key = spelt.get(model_name(named[1])) if named else None
        if named and key and self._section(float(named[2][:-1])) == self.known.models[key]:
            return [key]
        return self.known.begun_models.get(model_name(text), ())

    def _other_than_model(self, text: str) -> str:
        """What to ask in place of an unknown model whose name tells no size."""
        names = [key.rpartition("/")[2] for key in self.known.models]
        close = nearest(text.rpartition("/")[2], names).sentence()
        sizes = ", ".join(f"`{size.name}`" for size in self.known.sizes)
        return close or say("ask-by-size", sizes=sizes, **self.asking)

    def _size(self, text: str) -> str:
        names = {size.name.lower(): size.name for size in self.known.sizes}
        lower = tidy(text).lower()
        if found := names.get(lower) or names.get(f"{lower}b"):
            return found
        told = BILLIONS.fullmatch(lower)
        if told and (section := self._section(float(told[1]) * _SCALES.get(told[2], 1))):
            return section
        raise _unknown("size", text, nearest(text, names.values()).sentence())

    def _section(self, billions: float) -> str:
        """The size that so many parameters, in 10⁹, belong to; blank for none."""
        ends = (size for size in self.known.sizes if size.below is None or billions < size.below)
        return next(ends).name if billions else ""

    def _hardware(self, words: Words) -> tuple[int, Sequence[str], float]:
        """Number, keys of the device and GB of memory, of which one at most is asked."""
        if words.device is not None and words.memory is not None:
            raise UnusableInput(say("device-and-memory"), say("device-has-memory", **self.asking))
        gpus = 0 if words.gpus is None else self._gpus(words.gpus)
        if words.device is None:
            return gpus, (), 0.0 if words.memory is None else self._memory(words.memory)
        count, name = self._counted(words.device)
        if gpus and count and gpus != count:
            both = {"gpus": shown(words.gpus or ""), "device": shown(words.device)}
            raise UnusableInput(say("two-counts", **both), say("one-count"))
        if self._is_amount(name):
            return gpus or count, (), self._memory(name)
        return gpus or count, self._device(name), 0.0

    def _counted(self, text: str) -> tuple[int, str]:
        """The number and the rest of `8xH100`; 0 and the whole text without a number."""
        if not self.devices.named(text):
            for pattern, number_at, name_at in ((MANY_LAST, 2, 1), (MANY, 1, 2)):
                found = pattern.fullmatch(tidy(text))
                if found and self._is_hardware(found[name_at]):
                    return self._gpus(found[number_at]), found[name_at]
        return 0, text

    def _is_hardware(self, text: str) -> bool:
        amount = MEMORY.fullmatch(tidy(text))
        return bool(amount and amount[2]) or bool(self.devices.named(text))

    def _is_amount(self, text: str) -> bool:
        """Whether a device is asked by its memory: `80 GB`, or `80` if no device is called so.

        A number that is too large is part of a device's name: `5090`.
        """
        amount = MEMORY.fullmatch(tidy(text))
        if not amount or amount[2]:
            return bool(amount)
        return float(amount[1]) <= MOST_GB_UNSAID and not self.devices.named(text)

    def _device(self, text: str) -> Sequence[str]:
        if found := self.devices.named(text):
            return found
        raise _unknown("device", text, self._other_than_device(text))

    def _other_than_device(self, text: str) -> str:
        """What to ask in place of a device that is not known."""
        known = tuple(self.known.devices)
        close, (_, memory_gb) = nearest(text, known).sentence(), with_memory(text)
        if 0 < memory_gb <= MOST_GB:
            own = say("by-own-memory", own_memory=number(memory_gb), **self.asking)
            return " ".join(filter(None, (close, own)))
        if close:
            return f"{close} {say('else-by-memory', **self.asking)}"
        return say("ask-by-memory", devices=", ".join(known), **self.asking)

    def _memory(self, text: str) -> float:
        """GB of one device. Makers call 24 GiB 24 GB, and so do the tables: GiB count as GB."""
        found = MEMORY.fullmatch(tidy(text))
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

    def _gpus(self, text: str) -> int:
        """A number of accelerators: `16`, `2x8`, `8 GPUs`."""
        found = COUNT.fullmatch(tidy(text))
        gpus = math.prod(map(int, TIMES.split(found[1]))) if found else 0
        if not 0 < gpus <= MOST_GPUS:
            raise UnusableInput(say("no-gpus", word=shown(text)), say("write-gpus", **self.asking))
        return gpus

    def _length(self, text: str) -> int:
        """Tokens of prompt and response together. K is a thousand, so that 16,000 are 16K too."""
        told = [LENGTH.fullmatch(tidy(part)) for part in text.split("+")]
        tokens = sum(_tokens(found[1], found[2]) for found in told if found)
        if not all(told) or not 0 < tokens <= MOST_TOKENS:
            raise UnusableInput(
                say("no-length", word=shown(text)), say("write-length", **self.asking)
            )
        return tokens

    def _task(self, words: Words) -> tuple[str, str, list[str]]:
        """Task, weights and what to tell; `LoRA`, `QLoRA` and `full` as a task are weights."""
        weights = self._word("weights", words.weights)
        text = words.task or ""
        parts = plain(BESIDE.sub(" ", text)).split("-")
        out = next((word for word in ("sft", "dpo") if word in parts), "")
        if out and not self._known(text, "task"):
            raise UnusableInput(say(f"no-{out}", word=shown(text)), say("ask-a-task"))
        said = next((word for word in ("qlora", "lora", "full") if word in parts), "")
        if plain(text) in {"rlhf", "rlvr", "rl"}:
            return "", weights, [say("any-task", word=shown(text))]
        if words.task is None or task_name(text) == "lora" or (said and not task_name(text)):
            return "", weights or said or ("lora" if text else ""), []
        if said in {"qlora", "full"}:
            weights = weights or said
        begun = self._begun_task(text)
        variant = begun and begun != self._known(text, "task")
        notes = [say("variant-of", word=shown(text), known=begun)] if variant else []
        task = begun or self._word("task", text)
        adapter = self.known.tasks[task] if weights in {"lora", "qlora"} else ""
        return adapter or task, weights, notes

    def _begun_task(self, text: str) -> str:
        """The known task that a variant's name begins with: `PPO` of `PPO-Lag`."""
        name = task_name(text)
        begun = [
            word for word in self.known.words["task"] if name.startswith(f"{task_name(word)}-")
        ]
        return self._known(text, "task") or max(begun, key=len, default="")

    def _known(self, text: str, kind: str) -> str:
        name = task_name if kind == "task" else plain
        known = {name(word): word for word in self.known.words[kind]}
        return known.get(name(text)) or self.known.aliases.get(kind, {}).get(plain(text), "")

    def _word(self, kind: str, text: str | None) -> str:
        """The known word that `text` spells, upper and lower case and punctuation regardless."""
        if text is None:
            return ""
        if found := self._known(text, kind):
            return found
        words = self.known.words[kind]
        listed = say("known-are", words=", ".join(f"`{word}`" for word in words))
        raise _unknown(kind, text, nearest(text, words).sentence() or listed)


def _tokens(figure: str, unit: str) -> int:
    thousands = {"k": 1000, "m": 1_000_000}.get(unit.lower(), 1)
    return math.floor(float(figure.replace(",", "")) * thousands + 0.5)


def _about(device: str, own: Device, *, any_number: bool) -> Iterable[str]:
    """How the hardware was understood."""
    memory = number(own.memory_gb)
    if device:
        known = say("known-memory" if own.memory_gb else "unknown-memory", memory=memory)
        yield say("known-device", device=device, name=own.name, memory=known)
        if not own.bf16:
            yield say("no-bf16")
    elif own.memory_gb:
        yield say("any-maker", memory=memory)
    if own.memory_gb and any_number:
        yield say("any-gpus")


def _unknown(kind: str, text: str, help_: str) -> UnusableInput:
    return UnusableInput(say("unknown-word", kind=kind, word=shown(text)), help_)
