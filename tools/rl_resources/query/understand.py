"""A question about hardware: from a person's words to keys of the tables.

`site/assets/javascripts/finder/understand.js` does the same with the same `Vocabulary`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from rl_resources.devices import Device, stated_gigabytes, vendor_in
from rl_resources.errors import UnusableInput
from rl_resources.query.vocabulary import (
    EITHER,
    FIELDS,
    FILTERS,
    MESSAGES,
    Vocabulary,
    active_billions_in,
    amount_of,
    billions_in,
    pattern,
    plain,
    say,
    size_class,
    whole_match,
    with_points,
    without_owner,
)
from rl_resources.text import nearest, only, shown

MOST_GIGABYTES = 512
"""No device has more. A larger number in place of a device is part of its name: `5090`."""


def hint(field: str) -> str:
    """What to write instead of a word that is not known."""
    return f"Write {FIELDS[field]}."


_HUB = pattern("hub")

Tokens = Mapping[str, str]
"""The words of a question by field: `gpus`, `device`, `memory`, and others of `Query`."""


class Query(NamedTuple):
    """A question in keys of the tables. An empty text or a 0 leaves open.

    With a model its size and the size's `position` are always there. `device` names every key that
    a device's name may mean: `a100-40g or a100-80g`. `vendor` and `memory_gb` are those of the
    smallest of them, or the memory was asked and the vendor is open. `adapter_task` is the same
    algorithm with LoRA, where there is one and it was not asked. `length` is the minimum context in
    tokens. `architecture` is the first model of the same layers and widths, `project` the name of a
    project whose own runs come first, `experts` is `dense` or `mixture`. A word of `FILTERS` may be
    several keys; `framework_label` has the names of frameworks as they write them.
    """

    model: str = ""
    architecture: str = ""
    experts: str = ""
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
    lacks_bf16: bool = False
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
        if not self.device:
            return ()
        return tuple(self.device.split(EITHER))

    @property
    def adapter_tasks(self) -> tuple[str, ...]:
        """The tasks of `adapter_task`."""
        return tuple(filter(None, self.adapter_task.split(EITHER)))

    def asked(self, *fields: str) -> dict[str, Any]:
        """What is asked of these fields; none that is left open."""
        values = {name: getattr(self, name) for name in fields}
        return {name: value for name, value in values.items() if value}


def stated(tokens: Tokens) -> dict[str, str]:
    """The words of a question that are not empty."""
    words = {name: text.strip() for name, text in tokens.items()}
    return {name: text for name, text in words.items() if text}


def understand(known: Vocabulary, tokens: Tokens) -> tuple[Query, tuple[str, ...]]:
    """The question in keys, and what a person must know of how it was read.

    Raises `UnusableInput` with the nearest known words.
    """
    words = stated(tokens)
    for one, other in (("device", "memory"), ("model", "size")):
        if one in words and other in words:
            raise contradiction(f"a {one} and a {other} are both asked")
    if "memory" in words:
        words["device"] = _possible_memory(words.pop("memory"))
    words.setdefault("model", words.pop("size", ""))
    task = plain(words.get("task", ""))
    if task in known.spellings["weights"]:
        words.setdefault("weights", words.pop("task"))
    elif task.endswith("qlora"):
        words["task"] = task.removesuffix("qlora")
        words.setdefault("weights", "qlora")
    notes = _take_backend(known, words)
    reader = _Reader(known, words)
    return reader.query(), (*notes, *reader.notes)


def _take_backend(known: Vocabulary, words: dict[str, str]) -> list[str]:
    """Take a training backend that was named as the framework for what it is; a note says so."""
    framework = words.get("framework", "")
    name = plain(framework)
    if name in known.spellings["framework"] or name not in known.spellings["train"]:
        return []
    del words["framework"]
    words.setdefault("train", framework)
    return [say("backend", text=shown(framework))]


def contradiction(message: str) -> UnusableInput:
    """What to raise where two words of a question exclude each other."""
    return UnusableInput(message, "Leave one of them out.")


def _possible_memory(text: str) -> str:
    """The same text. Raises `UnusableInput` where it is no memory, or no GPU has so much."""
    amount, _ = amount_of("memory", text)
    if not amount:
        raise UnusableInput(say("unknown-memory", text=shown(text)), hint("memory"))
    if amount > MOST_GIGABYTES:
        raise UnusableInput(say("no-memory", text=shown(text)), hint("memory"))
    return text


class _Reader:
    def __init__(self, known: Vocabulary, tokens: Tokens) -> None:
        self._known = known
        self._tokens = defaultdict(str, tokens)
        self.notes: list[str] = []

    def query(self) -> Query:
        models, size = self._models_and_size()
        # Several models of the same layers and widths are one architecture.
        architecture = only({self._known.architectures.get(key, key) for key in models})
        gpus, device = self._gpus_and_device()
        devices, smallest = self._devices(device)
        words = {name: self._word(name) for name in FILTERS}
        if words["weights"].endswith("lora"):
            words["task"] = self._with_adapters(words["task"]) or words["task"]
        framework_label = self._framework_label(words["framework"])
        positions = {item.name: item.position for item in self._known.sizes}
        return Query(
            model=only(models),
            architecture=architecture,
            experts=self._experts(architecture),
            size=size,
            position=positions.get(size, 0),
            adapter_task=self._with_adapters(words["task"]),
            gpus=gpus,
            device=EITHER.join(devices),
            vendor=smallest.vendor,
            memory_gb=smallest.memory_gb,
            lacks_bf16=smallest.lacks_bf16,
            length=sum(lengths_in(self._tokens["length"])),
            host_memory_gb=self._host_memory(),
            project=self._project(framework_label),
            framework_label=framework_label,
            **words,
        )

    def _with_adapters(self, tasks: str) -> str:
        """The tasks that are these algorithms with LoRA."""
        found = [self._known.tasks.get(task, "") for task in tasks.split(EITHER)]
        return EITHER.join(filter(None, found))

    def _project(self, framework: str) -> str:
        """The project that was asked in place of a framework; a note names its framework."""
        text = self._tokens["framework"]
        project = self._known.projects.get(plain(text), "")
        if project:
            *_, base = framework.split(EITHER)
            self._note("project", text, base=base)
        return project

    def _framework_label(self, frameworks: str) -> str:
        """These frameworks as they write themselves."""
        names = self._known.frameworks
        return EITHER.join(names.get(key, key) for key in frameworks.split(EITHER))

    def _experts(self, model: str) -> str:
        """Whether a mixture of experts is asked, or a dense model; empty where that is open."""
        if active_billions_in(self._tokens["model"]):
            return "mixture"
        return self._known.experts.get(model, "")

    def _host_memory(self) -> float:
        """GB of host memory."""
        text = self._tokens["host_memory"]
        if not text:
            return 0
        amount, _ = amount_of("memory", text)
        if not amount:
            raise self._unknown("host_memory", text)
        return amount

    def _models_and_size(self) -> tuple[list[str], str]:
        """Keys of the models that may be meant, and the name of their size.

        None where only the size is known: a number as model, or the number in its name.
        """
        text = self._tokens["model"]
        if not text:
            return [], ""
        billions, _ = amount_of("billions", text)
        if billions:
            size = self._size(billions)
            if billions != billions_in(size):
                self._note("in-size", text, meaning=size)
            return [], size
        spellings = self._known.spellings["model"]
        name = _HUB.sub("", text)
        if plain(name) not in spellings:
            name = with_points(name)
        meaning = spellings.get(plain(name), "")
        keys = meaning.split(EITHER)
        sizes = {self._known.models.get(key, "") for key in keys}
        if not meaning or len(sizes) > 1:
            return [], self._size_in_name(text)
        if plain(name) not in {plain(keys[0]), plain(without_owner(keys[0]))}:
            self._note("read-as", text, meaning=meaning)
        return keys, sizes.pop()

    def _size_in_name(self, text: str) -> str:
        """The size that the name of a model states, which is not known itself."""
        billions = billions_in(text)
        if not billions:
            raise self._unknown("model", text)
        size = self._size(billions)
        self._note("by-size", text, size=size)
        return size

    def _size(self, billions: float) -> str:
        return size_class(self._known.sizes, billions)

    def _gpus_and_device(self) -> tuple[int, str]:
        """The number of GPUs, also that of `8xH100`, and the device without it."""
        text = self._tokens["device"]
        gpus = self._count("gpus", self._tokens["gpus"])
        number, device = self._counted(text)
        count = self._count("device", number)
        if gpus and count and gpus != count:
            raise contradiction(say("two-counts", text=shown(text)))
        return gpus or count, device

    def _counted(self, text: str) -> tuple[str, str]:
        """The number and the rest of `8xH100`; no number where the whole is a device."""
        if self._named(text):
            return "", text
        found = whole_match("device_count", text)
        if found and self._means_a_device(found[1]):
            return found[2], found[1]
        found = whole_match("count_device", text)
        if found and self._means_a_device(found[2]):
            return found[1], found[2]
        return "", text

    def _means_a_device(self, text: str) -> bool:
        """Whether it names one, or states its memory with a unit."""
        _, unit = amount_of("memory", text)
        return bool(unit or self._named(text) or _unlisted(text))

    def _devices(self, text: str) -> tuple[list[str], Device]:
        """Keys of the device with the smallest of them, or what is known of one without a key.

        That is GB of any device: `80 GB`, or `80` where none is called so; or the vendor and the
        memory of `A4500 20GB`.
        """
        if not text:
            return [], Device()
        reason = not_covered(text)
        if reason:
            raise UnusableInput(say(reason, text=shown(text)), hint("device"))
        keys = self._named(text)
        amount, unit = amount_of("memory", text)
        if 0 < amount <= MOST_GIGABYTES and (unit or not keys):
            return [], self._any_of(amount, unit)
        if unit:
            raise self._unknown("device", text)
        if not keys:
            return [], self._of_vendor(text)
        devices = [self._known.devices.known[key] for key in keys]
        self._note_devices(text, devices)
        return keys, min(devices, key=attrgetter("memory_gb"))

    def _note_devices(self, text: str, devices: Sequence[Device]) -> None:
        """Note which devices are meant, and what the label of a single one does not say."""
        if len(devices) == 1:
            self.notes += filter(None, [devices[0].note])
            return
        self._note(
            "read-as", text, meaning=EITHER.join(map(attrgetter("label"), devices))
        )
        if all(device.lacks_bf16 for device in devices):
            self._note("no-bf16", text)

    def _of_vendor(self, text: str) -> Device:
        """A device that the table lacks, where its words say its vendor and its memory."""
        unlisted = _unlisted(text)
        if not unlisted:
            raise self._unknown("device", text)
        self._note(
            "unlisted", text, vendor=unlisted.vendor, memory=f"{unlisted.memory_gb:g}"
        )
        return unlisted

    def _any_of(self, amount: float, unit: str) -> Device:
        """Any device of so many GB."""
        gigabytes = amount
        if unit in {"mib", "mb"}:
            gigabytes = math.ceil(amount)
        self._note("any-vendor", memory=f"{gigabytes:g}")
        return Device(memory_gb=gigabytes)

    def _named(self, text: str) -> list[str]:
        if not text:
            return []
        return self._known.devices.named(text)

    def _count(self, field: str, text: str) -> int:
        """A number of GPUs: `16`, `2x8`, `8 GPUs`; 0 where none is asked."""
        if not text:
            return 0
        found = whole_match("count", text)
        if not found:
            raise self._unknown(field, text)
        return math.prod(map(int, re.findall("[0-9]+", found[1])))

    def _word(self, field: str) -> str:
        """The known word of a field, whatever its case and punctuation."""
        text = self._tokens[field]
        if not text:
            return ""
        meaning = self._known.spellings[field].get(plain(text))
        if not meaning:
            raise self._unknown(field, text)
        if EITHER in meaning and field == "task":
            self._note("read-as", text, meaning=meaning)
        return meaning

    def _note(self, name: str, text: str = "", **words: object) -> None:
        self.notes.append(say(name, text=shown(text), **words))

    def _unknown(self, field: str, text: str) -> UnusableInput:
        """What to raise for a word: with the nearest known words and an example."""
        name = f"unknown-{field}"
        if name not in MESSAGES:
            name = "unknown"
        message = say(name, field=field.replace("_", " "), text=shown(text))
        if field not in self._known.spellings:
            return UnusableInput(message, hint(field))
        near = nearest(without_owner(text), self._known.written(field)).sentence()
        fix = f"{near} {hint(field)}"
        return UnusableInput(message, fix.strip())


def not_covered(device: str) -> str:
    """The message that says why no run on a device can count; empty where one can."""
    return next(
        (name for name in ("shared", "no_gpu") if pattern(name).search(device)), ""
    )


def lengths_in(text: str) -> list[int]:
    """Tokens of each part of a context: of `2048+16K`. Raises `UnusableInput`."""
    if not text:
        return []
    lengths: list[int] = []
    for part in pattern("between_lengths").split(text):
        amount, _ = amount_of("length", part)
        if not amount:
            raise UnusableInput(
                say("unknown", field="length", text=shown(text)), hint("length")
            )
        lengths.append(math.floor(amount + 0.5))
    return lengths


def _unlisted(text: str) -> Device | None:
    """A device by the vendor and the memory that its words say; none where they lack one."""
    memory_gb = stated_gigabytes(text)
    vendor = vendor_in(text)
    if memory_gb and vendor:
        return Device(vendor, memory_gb)
    return None
