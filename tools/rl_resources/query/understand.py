"""A question about hardware: from a person's words to keys of the tables.

`site/assets/javascripts/finder/understand.js` does the same with the same `Vocabulary`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rl_resources.errors import UnusableInput
from rl_resources.query.hardware import Device
from rl_resources.query.messages import say
from rl_resources.query.vocabulary import (
    EITHER,
    FILTERS,
    Vocabulary,
    pattern,
    plain,
    task_name,
    task_words,
    tidy,
)
from rl_resources.words import nearest, shown

MOST = {"gpus": 9_999_999, "memory": 10_000, "memory_without_unit": 512, "length": 999_999_999}
"""The largest number that each field takes; in place of a device a number is at most 512 GB."""

HINTS: Mapping[str, str] = {
    "gpus": "Write a number of GPUs, for example `8` or `2x8`.",
    "device": "Give a device, for example `h100`, or its memory, for example `80 GB`.",
    "memory": "Write GB of one device, for example `80`.",
    "model": "Give a model, for example `Qwen2.5-7B-Instruct`, or a size, for example `7B`.",
    "size": "Give a size, for example `7B`.",
    "length": "Write tokens, for example `16K` or `2048+16384`.",
}
"""What to write instead of a word that is not known."""

NOT_RL = {
    "sft": "Supervised fine-tuning is not covered, only RL, for example `GRPO`.",
    "dpo": "DPO trains on fixed preferences without rollouts; only online RL is covered, "
    "for example `GRPO`.",
}
ANY_TASK = frozenset({"rlhf", "rlvr", "rl"})

_BILLIONS, _MEMORY, _COUNT, _LENGTH = map(pattern, ("billions", "memory", "count", "length"))
_COUNT_DEVICE, _DEVICE_COUNT = pattern("count_device"), pattern("device_count")
_HUB, _SIZE_IN_NAME = pattern("hub"), pattern("size_in_name")
_BILLIONS_OF = {"m": 0.001, "t": 1000.0}
_GIGABYTES_OF = {"mib": 1 / 1024, "mb": 1 / 1024, "tb": 1000.0}
_TOKENS_OF = {"k": 1000, "m": 1_000_000}

Tokens = Mapping[str, str]
"""The words of a question by field: `gpus`, `device`, `memory`, and others of `Query`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question in keys of the tables. An empty text or a 0 leaves open.

    With a model its size and the size's `position` are always there. `device` names every key that
    a device's name may mean: `a100-40g or a100-80g`. `vendor` and `memory_gb` are those of the
    smallest of them, or the memory was asked and the vendor is open. `adapter_task` is the same
    algorithm with LoRA, where there is one and it was not asked. `length` is the minimum context in
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


def understand(known: Vocabulary, tokens: Tokens) -> tuple[Query, tuple[str, ...]]:
    """The question in keys, and what a person must know of how it was read.

    Raises `UnusableInput` with the nearest known words.
    """
    return _Reader(known, tokens).query()


class _Reader:
    def __init__(self, known: Vocabulary, tokens: Tokens) -> None:
        self._known = known
        self._tokens = {name: text for name, text in tokens.items() if text.strip()}
        self._notes: list[str] = []

    def query(self) -> tuple[Query, tuple[str, ...]]:
        model, size = self._model_and_size()
        gpus, devices, memory = self._hardware()
        own = [self._known.devices.known[key] for key in devices] or [Device("", memory)]
        smallest = min(own, key=lambda item: item.memory_gb)
        length = self._length()
        task, weights = self._task_and_weights()
        query = Query(
            model=model,
            size=size,
            position=next((item.position for item in self._known.sizes if item.name == size), 0),
            task=task,
            adapter_task=self._known.tasks[task] if task else "",
            weights=weights,
            gpus=gpus,
            device=EITHER.join(devices),
            vendor=smallest.vendor,
            memory_gb=smallest.memory_gb,
            length=length,
            **{name: self._word(name) for name in FILTERS if name not in {"task", "weights"}},
        )
        return query, tuple(self._notes)

    def _model_and_size(self) -> tuple[str, str]:
        """Key of the model and name of the size; a number as model is a size."""
        text, asked = self._tokens.get("model", ""), self._tokens.get("size", "")
        if text and not asked and _BILLIONS.fullmatch(tidy(text)):
            text, asked = "", text
        size = self._size(asked) if asked else ""
        model, own = self._model(text) if text else ("", "")
        return model, own or size

    def _size(self, text: str) -> str:
        found = _BILLIONS.fullmatch(tidy(text))
        billions = float(found[1]) * _BILLIONS_OF.get(found[2].lower(), 1) if found else 0
        size = self._size_of(billions) or self._unknown("size", text)
        if plain(text).removesuffix("b") != plain(size).removesuffix("b"):
            self._note("read-as", text, meaning=size)
        return size

    def _size_of(self, billions: float) -> str:
        """The size that so many parameters, in 10⁹, belong to; empty for none."""
        ends = (size for size in self._known.sizes if size.below is None or billions < size.below)
        return next(ends).name if billions else ""

    def _model(self, text: str) -> tuple[str, str]:
        """Key of the model, empty where several are meant or only the size is known; the size."""
        name = _HUB.sub("", text.strip())
        meaning = self._known.spellings["model"].get(plain(name), "")
        keys = meaning.split(EITHER)
        sizes = {self._known.models.get(key, "") for key in keys}
        if meaning and len(sizes) == 1:
            if plain(name) not in {plain(keys[0]), plain(keys[0].rpartition("/")[2])}:
                self._note("read-as", text, meaning=meaning)
            return (meaning if len(keys) == 1 else ""), sizes.pop()
        found = _SIZE_IN_NAME.search(re.sub(r"[\s_-]+", "-", name))
        size = self._size_of(float(found[1])) if found else ""
        if not size:
            self._unknown("model", text)
        self._note("by-size", text, size=size)
        return "", size

    def _hardware(self) -> tuple[int, list[str], float]:
        """Number of GPUs, keys of the device, and GB of memory; a device has its own memory."""
        text, memory = self._tokens.get("device", ""), self._tokens.get("memory", "")
        if text and memory:
            raise UnusableInput("a device and a memory are both asked", "Leave one of them out.")
        gpus = self._count("gpus", self._tokens["gpus"]) if self._tokens.get("gpus") else 0
        count, name = self._counted(text) if text else (0, "")
        if gpus and count and gpus != count:
            raise UnusableInput(say("two-counts", text=shown(text)), "Leave one of them out.")
        gpus = gpus or count
        devices: list[str] = []
        if memory or self._is_amount(name):
            amount = self._memory("memory" if memory else "device", memory or name)
            self._notes.append(say("any-vendor", memory=f"{amount:g}"))
        else:
            amount, devices = 0, self._devices(name) if name else []
        if not gpus and (amount or devices):
            self._notes.append(say("any-gpus"))
        return gpus, devices, amount

    def _counted(self, text: str) -> tuple[int, str]:
        """The number and the rest of `8xH100`; 0 and the text without a number."""
        if not self._known.devices.named(text):
            for expression, count_at, name_at in ((_DEVICE_COUNT, 2, 1), (_COUNT_DEVICE, 1, 2)):
                found = expression.fullmatch(tidy(text))
                if found and self._is_hardware(found[name_at]):
                    return self._count("device", found[count_at]), found[name_at]
        return 0, text

    def _is_hardware(self, text: str) -> bool:
        amount = _MEMORY.fullmatch(tidy(text))
        return bool(amount and amount[2]) or bool(self._known.devices.named(text))

    def _is_amount(self, text: str) -> bool:
        """Whether a device is asked by its memory: `80 GB`, or `80` where no device is called so.

        A number that is too large is part of a device's name: `5090`.
        """
        amount = _MEMORY.fullmatch(tidy(text))
        if not amount or amount[2]:
            return bool(amount)
        return float(amount[1]) <= MOST["memory_without_unit"] and not self._known.devices.named(
            text
        )

    def _devices(self, text: str) -> list[str]:
        found = self._known.devices.named(text) or [self._unknown("device", text)]
        if len(found) == 1:
            self._notes.append(self._known.devices.known[found[0]].note)
        else:
            self._note("read-as", text, meaning=EITHER.join(found))
        return found

    def _memory(self, field: str, text: str) -> float:
        """GB of one device. Makers call 24 GiB 24 GB, and so do the tables: GiB count as GB."""
        found = _MEMORY.fullmatch(tidy(text))
        scale = _GIGABYTES_OF.get(found[2].lower(), 1) if found else 0
        amount = float(found[1]) * scale if found else 0
        amount = math.ceil(amount) if scale < 1 else amount
        if not 0 < amount <= MOST["memory"]:
            self._unknown(field, text)
        return amount

    def _count(self, field: str, text: str) -> int:
        """A number of GPUs: `16`, `2x8`, `8 GPUs`."""
        found = _COUNT.fullmatch(tidy(text))
        gpus = math.prod(map(int, re.findall("[0-9]+", found[1]))) if found else 0
        if not 0 < gpus <= MOST["gpus"]:
            self._unknown(field, text)
        return gpus

    def _length(self) -> int:
        """Tokens of prompt and response together. K is a thousand, so that 16,000 are 16K too."""
        text = self._tokens.get("length", "")
        if not text:
            return 0
        parts = [_LENGTH.fullmatch(tidy(part)) for part in text.split("+")]
        tokens = sum(_tokens(found[1], found[2]) for found in parts if found)
        if not all(parts) or not 0 < tokens <= MOST["length"]:
            self._unknown("length", text)
        self._notes.append(say("length", length=tokens))
        return tokens

    def _task_and_weights(self) -> tuple[str, str]:
        """`LoRA`, `QLoRA` and `full` as a task are weights."""
        weights, text = self._word("weights"), self._tokens.get("task", "")
        if not text:
            return "", weights
        words, name = task_words(text), task_name(text)
        said = next((word for word in ("qlora", "lora", "full") if word in words), "")
        if " ".join(words) in ANY_TASK:
            self._note("any-task", text)
            return "", weights
        if name in {"", "lora"} and (said or name):
            return "", weights or said or name
        task = self._task(text, name)
        if said in {"qlora", "full"}:
            weights = weights or said
        adapter_task = self._known.tasks[task] if weights in {"lora", "qlora"} else ""
        return adapter_task or task, weights

    def _task(self, text: str, name: str) -> str:
        """The task of a name, or of the beginning of a variant's name: `PPO` of `PPO-Lag`."""
        spellings = self._known.spellings["task"]
        if name in spellings:
            return spellings[name]
        if not_rl := next((word for word in NOT_RL if word in task_words(text)), ""):
            raise UnusableInput(say("unknown", field="task", text=shown(text)), NOT_RL[not_rl])
        begun = [start for start in spellings if name.startswith(f"{start}-")]
        task = spellings[max(begun, key=len)] if begun else self._unknown("task", text)
        self._note("read-as", text, meaning=task)
        return task

    def _word(self, field: str) -> str:
        """The known word of a field, whatever its case and punctuation."""
        text = self._tokens.get(field, "")
        if not text:
            return ""
        return self._known.spellings[field].get(plain(text)) or self._unknown(field, text)

    def _note(self, name: str, text: str, **words: str) -> None:
        self._notes.append(say(name, text=shown(text.strip()), **words))

    def _unknown(self, field: str, text: str) -> str:
        """Raise `UnusableInput` with the nearest known words, or an example."""
        known = self._known.known(field) if field in self._known.spellings else []
        names = [key.rpartition("/")[2] for key in known]
        near = nearest(text.rpartition("/")[2], names).sentence()
        listed = f"Known are {', '.join(f'`{name}`' for name in names)}."
        help_ = " ".join(filter(None, (near, HINTS.get(field, "" if near else listed))))
        raise UnusableInput(say("unknown", field=field, text=shown(text)), help_)


def _tokens(figure: str, unit: str) -> int:
    return math.floor(float(figure.replace(",", "")) * _TOKENS_OF.get(unit.lower(), 1) + 0.5)
