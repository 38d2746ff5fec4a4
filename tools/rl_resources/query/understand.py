"""A question about hardware: from a person's words to keys of the tables.

The page has this module too, as `site/javascript.py` writes it in JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, prod
from operator import attrgetter
from typing import Any, NamedTuple

from rl_resources.devices import Device, stated_gigabytes, vendor_in
from rl_resources.query import sentences
from rl_resources.query.vocabulary import (
    EITHER,
    FILTERS,
    Vocabulary,
    active_billions_in,
    amount_of,
    billions_in,
    pattern,
    plain,
    size_class,
    spelled,
    whole_match,
    with_figures,
    with_points,
    without_hub,
    without_owner,
)
from rl_resources.text import figure, only, shown

_MOST_GIGABYTES = 512
"""No device has more. A larger number in place of a device is part of its name: `5090`."""
_LEAST_BILLIONS = 0.001
_MOST_BILLIONS = 100_000
"""Of parameters. No language model has fewer or more."""

Tokens = Mapping[str, str]
"""The words of a question by field: `gpus`, `device`, `memory`, `precision`, others of `Query`."""


class Query(NamedTuple):
    """A question in keys of the tables. An empty text or a 0 leaves open.

    With a model its size and the size's `position` are always there. `device` names every key that
    a device's name may mean: `a100-40g or a100-80g`. `vendor` and `memory_gb` are those of the
    smallest of them, or the memory was asked and the vendor is open. `adapter_task` is the same
    algorithm with LoRA, where there is one and it was not asked. `length` is the minimum context in
    tokens. `parameters_b` is the number that a size states, in 10⁹, where no known model is asked.
    `architecture` is the first model of the same layers and widths, `project` the name of a
    project whose own runs come first, `experts` is `dense` or `mixture`. A word of `FILTERS` may be
    several keys; `framework_label` has the names of frameworks as they write them.
    """

    model: str = ""
    architecture: str = ""
    experts: str = ""
    size: str = ""
    position: int = 0
    parameters_b: float = 0
    task: str = ""
    adapter_task: str = ""
    weights: str = ""
    scenario: str = ""
    gpus: int = 0
    gpus_per_node: int = 0
    device: str = ""
    vendor: str = ""
    memory_gb: float = 0
    lacks: Sequence[str] = ()
    length: int = 0
    host_memory_gb: float = 0
    project: str = ""
    framework: str = ""
    framework_label: str = ""
    train: str = ""
    infer: str = ""
    tag: str = ""

    @property
    def devices(self) -> tuple[str, ...]:
        """The keys of all devices that `device` may mean."""
        return tuple(filter(None, self.device.split(EITHER)))

    @property
    def adapter_tasks(self) -> tuple[str, ...]:
        """The tasks of `adapter_task`."""
        return tuple(filter(None, self.adapter_task.split(EITHER)))

    def asked(self, *fields: str) -> dict[str, Any]:
        """What is asked of these fields; none that is left open."""
        return {name: getattr(self, name) for name in fields if getattr(self, name)}


def stated(tokens: Tokens) -> dict[str, str]:
    """The words of a question that are not empty."""
    return {name: text.strip() for name, text in tokens.items() if text.strip()}


def understand(known: Vocabulary, tokens: Tokens) -> tuple[Query, list[str]]:
    """The question in keys, and what a person must know of how it was read.

    Raises `UnusableInput` with the nearest known words.
    """
    words = stated(tokens)
    for one, other in (("device", "memory"), ("model", "size")):
        if one in words and other in words:
            raise sentences.contradiction(f"a {one} and a {other} are both asked")
    if "memory" in words:
        words["device"] = words.pop("memory")
        if _gigabytes("memory", words["device"]) > _MOST_GIGABYTES:
            raise sentences.refusal("no-memory", "memory", words["device"])
    if "size" in words:
        words["model"] = words.pop("size")
    task = spelled(words.get("task", ""))
    if task in known.spellings["weights"]:
        words.setdefault("weights", words.pop("task"))
    elif task.endswith("qlora"):
        words["task"] = task.removesuffix("qlora")
        words.setdefault("weights", "qlora")
    notes: list[str] = []
    framework = spelled(words.get("framework", ""))
    backend = known.spellings["train"].get(framework, "")
    if backend and framework not in known.spellings["framework"]:
        text = words.pop("framework")
        if "train" not in words:
            words["train"] = backend
            meaning = f"--train {backend}"
            notes.append(sentences.say("read-as", text=shown(text), meaning=meaning))
    reader = Reader(known, words, notes)
    return reader.in_keys(), reader.notes


@dataclass(frozen=True)
class Reader:
    """The words of a question that is read, with the notes that this makes."""

    known: Vocabulary
    words: Tokens
    notes: list[str]

    def in_keys(self) -> Query:
        """The question in keys."""
        models, size = self._model(self._text("model"))
        # Several models of the same layers and widths are one architecture.
        known = self.known
        architecture = only({known.architectures.get(key, key) for key in models})
        parameters_b = 0.0
        if not models:
            parameters_b = billions_in(self._text("model"))
        experts = known.experts.get(architecture, "")
        if active_billions_in(self._text("model")):
            experts = "mixture"
        factors, device = self._gpus_and_device(self._text("device"))
        devices, smallest = self._devices(device)
        words = {name: self._word(name) for name in FILTERS}
        if words["weights"].endswith("lora"):
            words["task"] = self._with_adapters(words["task"]) or words["task"]
        framework_label = self._framework_label(words["framework"])
        positions = {item.name: item.position for item in known.sizes}
        lengths = lengths_in(self._text("length"))
        return Query(
            model=only(models),
            architecture=architecture,
            experts=experts,
            size=size,
            position=positions.get(size, 0),
            parameters_b=parameters_b,
            adapter_task=self._with_adapters(words["task"]),
            gpus=_product(factors),
            gpus_per_node=_product(factors[1:]),
            device=EITHER.join(devices),
            vendor=smallest.vendor,
            memory_gb=smallest.memory_gb,
            lacks=smallest.lacks,
            length=sum(lengths),
            host_memory_gb=_gigabytes("host_memory", self._text("host_memory")),
            project=self._project(framework_label),
            framework_label=framework_label,
            **words,
        )

    def _text(self, field: str) -> str:
        return self.words.get(field, "")

    def _note(self, name: str, text: str, **words: object) -> None:
        self.notes.append(sentences.say(name, text=shown(text), **words))

    def _word(self, field: str) -> str:
        """The known word of a field, whatever its case and punctuation."""
        text = self._text(field)
        if not text:
            return ""
        meaning = self.known.spellings[field].get(spelled(text), "")
        if not meaning:
            raise sentences.unreadable(self.known, field, text)
        if EITHER in meaning and field == "task":
            self._note("read-as", text, meaning=meaning)
        return meaning

    def _with_adapters(self, tasks: str) -> str:
        """The tasks that are these algorithms with LoRA."""
        found = [self.known.tasks.get(task, "") for task in tasks.split(EITHER)]
        return EITHER.join(filter(None, found))

    def _project(self, framework: str) -> str:
        """The project that was asked in place of a framework; a note names its framework."""
        text = self._text("framework")
        project = self.known.projects.get(spelled(text), "")
        if project:
            keys = framework.split(EITHER)
            self._note("project", text, base=keys[len(keys) - 1])
        return project

    def _framework_label(self, frameworks: str) -> str:
        """These frameworks as they write themselves."""
        names = self.known.frameworks
        return EITHER.join([names.get(key, key) for key in frameworks.split(EITHER)])

    def _model(self, text: str) -> tuple[list[str], str]:
        """Keys of the models that may be meant, and the name of their size.

        None where only the size is known: a number as model, or the number in its name.
        """
        if not text:
            return [], ""
        billions, _ = amount_of("billions", text)
        if billions > _MOST_BILLIONS or 0 < billions < _LEAST_BILLIONS:
            raise sentences.unreadable(self.known, "model", text)
        if billions:
            size = size_class(self.known.sizes, billions)
            if billions != billions_in(size):
                self._note("in-size", text, meaning=size)
            return [], size
        spellings = self.known.spellings["model"]
        name = without_hub(text)
        if plain(name) not in spellings:
            name = with_points(name)
        spelled = plain(name)
        if spelled not in spellings:
            spelled = plain(without_owner(name))  # the same model by another owner
        meaning = spellings.get(spelled, "")
        keys = meaning.split(EITHER)
        size = only({self.known.models.get(key, "") for key in keys})
        if not size:
            return [], self._size_in_name(text)
        if plain(name) not in {plain(keys[0]), plain(without_owner(keys[0]))}:
            self._note("read-as", text, meaning=meaning)
        return keys, size

    def _size_in_name(self, text: str) -> str:
        """The size that the name of a model states, which is not known itself."""
        billions = billions_in(text)
        if not billions:
            raise sentences.unreadable(self.known, "model", text)
        size = size_class(self.known.sizes, billions)
        self._note("by-size", text, size=size)
        return size

    def _gpus_and_device(self, text: str) -> tuple[list[int], str]:
        """The factors of the GPUs, also those of `8xH100`, and the device without them."""
        factors = _gpu_factors(self._text("gpus"))
        number, device = self._counted(with_figures(text))
        counted = _gpu_factors(number)
        if factors and counted and prod(factors) != prod(counted):
            message = sentences.say("two-counts", text=shown(text))
            raise sentences.contradiction(message)
        return factors or counted, device

    def _counted(self, text: str) -> tuple[str, str]:
        """The number and the rest of `8xH100`; no number where the whole is a device."""
        if self.known.devices.named(text):
            return "", text
        found = whole_match("device_count", text)
        if found and self._means_a_device(found[1]):
            return found[2], found[1]
        found = whole_match("count_device", text)
        if found and self._means_a_device(found[2]):
            return found[1], found[2]
        # `7800 XT 16GB` is a card; `8x Z90 80GB` are eight, though nobody knows them.
        if found and len(found[1]) < 3 and stated_gigabytes(found[2]):
            return found[1], found[2]
        return "", text

    def _means_a_device(self, text: str) -> bool:
        """Whether it names one, or states its memory with a unit."""
        _, unit = amount_of("memory", text)
        if unit or self.known.devices.named(text):
            return True
        return stated_gigabytes(text) > 0 and bool(vendor_in(text))

    def _devices(self, text: str) -> tuple[Sequence[str], Device]:
        """Keys of the device with the smallest of them, or what is known of one without a key.

        That is GB of any device: `80 GB`, `Z90 80GB`, or `80` where none is called so; or vendor
        and memory: `A4500 20GB`.
        """
        if not text:
            return [], Device()
        for reason in ("shared", "no_gpu"):
            if re.search(pattern(reason), text):
                raise sentences.refusal(reason, "device", text)
        keys = self.known.devices.named(text)
        amount, unit = amount_of("memory", text)
        if 0 < amount <= _MOST_GIGABYTES and (unit or not keys):
            return [], self._any_of(amount, unit)
        if keys and not unit:
            devices = [self.known.devices.known[key] for key in keys]
            self._note_devices(text, devices)
            return keys, min(devices, key=attrgetter("memory_gb"))
        memory_gb = stated_gigabytes(text)
        if unit or not memory_gb:
            raise sentences.unreadable(self.known, "device", text)
        vendor = vendor_in(text)
        memory = figure(memory_gb)
        if vendor:
            self._note("unlisted", text, vendor=vendor, memory=memory)
            for label in self.known.devices.like(text, memory_gb)[:1]:
                self._note("near-device", text, label=label)
            return [], Device(vendor, memory_gb)
        self._note("read-as", text, meaning=f"{memory} GB")
        return [], self._any_of(memory_gb, unit)

    def _any_of(self, amount: float, unit: str) -> Device:
        """Any device of so many GB."""
        if unit in {"mib", "mb"}:
            amount = ceil(amount)
        self._note("any-vendor", "", memory=figure(amount))
        return Device(memory_gb=amount)

    def _note_devices(self, text: str, devices: Sequence[Device]) -> None:
        """Note which devices are meant, and what the label of a single one does not say.

        That one has no BF16 is no matter of a run in FP16.
        """
        needs_bf16 = self._text("precision") != "fp16"
        if len(devices) > 1:
            labels = sentences.either([device.label for device in devices])
            self._note("read-as", text, meaning=labels)
            if needs_bf16 and all("bf16" in device.lacks for device in devices):
                self._note("no-bf16", text)
            return
        said: list[str] = []
        for name, words in devices[0].notes:
            if needs_bf16 or name != "device-no-bf16":
                said.append(sentences.say(name, **words))
        if said:
            self.notes.append(" ".join(said))


def gpus_in(text: str) -> int:
    """A number of GPUs: `16`, `2x8`, `8 GPUs`; 0 where none is asked."""
    return _product(_gpu_factors(text))


def _product(factors: Sequence[int]) -> int:
    """Of these numbers, 0 where there are none."""
    if factors:
        return prod(factors)
    return 0


def _gpu_factors(text: str) -> list[int]:
    """Of `2x8` the nodes and the GPUs of each; empty where none is asked."""
    if not text:
        return []
    found = whole_match("count", with_figures(text))
    if not found:
        raise sentences.refusal("unknown-gpus", "gpus", text)
    return [int(number) for number in re.findall("[0-9]+", found[1])]


def _gigabytes(field: str, text: str) -> float:
    """GB of memory; 0 where none are asked."""
    amount, _ = amount_of("memory", text)
    if text and not amount:
        raise sentences.refusal(f"unknown-{field}", field, text)
    return amount


def lengths_in(text: str) -> list[int]:
    """Tokens of each part of a context: of `2048+16K`. Raises `UnusableInput`."""
    lengths: list[int] = []
    if not text:
        return lengths
    for part in re.sub(pattern("between_lengths"), "+", text).split("+"):
        amount, _ = amount_of("length", part)
        if not amount:
            raise sentences.refusal("unknown", "length", text)
        lengths.append(floor(amount + 0.5))
    return lengths
