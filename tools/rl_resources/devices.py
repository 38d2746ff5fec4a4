"""Devices by the words that people use for them; the page reads them with this module, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.files import table_beside
from rl_resources.package import Record, items_of, text_of

_TABLE = table_beside(__file__)
PATTERNS: Mapping[str, str] = _TABLE["patterns"]
"""How words for devices are read, in lower case; Python and JavaScript read all alike."""
_VENDORS: Mapping[str, str] = _TABLE["vendors"]
"""What says the vendor of a device that the table lacks, in lower case; the first one counts."""

_VENDOR = re.compile(PATTERNS["vendor"], re.ASCII)
_GIGABYTES = re.compile(PATTERNS["gigabytes"], re.ASCII)
_PUNCTUATION = re.compile(r"[^a-z0-9]")
_WRITTEN_GIGABYTES = re.compile(r"\((?P<bracketed>\d+) ?GB?\)|\b(?P<bare>\d+)GB?\b")
_NUMBERED = re.compile(r"[a-z]*[0-9][a-z0-9]*", re.ASCII)
_OR = re.compile(r"\s*(?:/|,|\bor\b|\band\b)\s*")
_VARIANTS: Mapping[str, Sequence[str]] = _TABLE["variants"]
_CAPITALS: Mapping[str, str] = _TABLE["capitals"]
_SHORTEST_BEGINNING = 5
_SHORTEST_WORD = 4
_FIRST_WITH: Mapping[str, float] = _TABLE["first_with"]
"""NVIDIA's compute capability from which on there is a precision."""


class Device(NamedTuple):
    """What is known of one device; `memory_gb` is the most that it can have, 0 if unknown.

    `label` is its name for people; `notes` are the messages that say what it leaves out, by name,
    each with its words; `lacks` has the precisions that it is known not to have.
    """

    vendor: str = ""
    memory_gb: float = 0
    label: str = ""
    notes: Sequence[tuple[str, Mapping[str, str]]] = ()
    lacks: Sequence[str] = ()


class Meant(NamedTuple):
    """What a source's words for a device mean: the devices, and what is known of all of them.

    Without `keys` the table lacks it. A `variant` has the name of a device in the table, but other
    memory or another form, so it is not that device.
    """

    keys: Sequence[str]
    vendor: str
    memory_gb: float
    variant: bool = False


class Devices(NamedTuple):
    """The table of devices, asked by key, alias, product name, or any of these with the memory.

    `spellings` are the keys by each spelling: one, or several of different memory; `families` those
    by a name without its memory.
    """

    known: Mapping[str, Device]
    spellings: Mapping[str, list[str]]
    families: Mapping[str, list[str]]

    def named(self, text: str) -> list[str]:
        """The devices that a person's words can mean: one, several of different memory, or none."""
        name = device_name(text)
        for spelling in (name, name.removesuffix("s")):
            if spelling in self.spellings:
                return self.spellings[spelling]
        stated_gb = stated_gigabytes(text)
        if not stated_gb:
            return []
        bare_name = device_name(re.sub(_GIGABYTES, " ", text.lower()))
        return self.of_memory(self.spellings.get(bare_name, []), stated_gb)

    def of_memory(self, keys: Iterable[str], memory_gb: float) -> list[str]:
        """Those of the devices that have just this memory."""
        return [key for key in keys if self.known[key].memory_gb == memory_gb]

    def like(self, text: str, memory_gb: float) -> list[str]:
        """The labels of the devices of this memory whose name begins as that of a text.

        Either may be the longer one: `H100 80 GB` for `H10 80GB`.
        """
        name = device_name(re.sub(_GIGABYTES, " ", text.lower()))
        found: list[str] = []
        for known, keys in self.spellings.items():
            if name and (known.startswith(name) or name.startswith(known)):
                found += self.of_memory(keys, memory_gb)
        return [self.known[key].label for key in found]

    def label(self, key: str) -> str:
        """The name of a device for people, also of one that the table lacks: `A100 80 GB`."""
        if key in self.known:
            return self.known[key].label
        return device_label(key)

    def middle_gb(self, vendor: str) -> float:
        """The middle memory of a vendor's devices whose memory is known."""
        own = [one.memory_gb for one in self.known.values() if one.vendor == vendor]
        known = sorted(filter(None, own))
        if not known:
            return 0
        return known[len(known) // 2]

    def published(self, text: str, stated_gb: float = 0) -> Meant:
        """The devices that a source's words can mean, with the memory that it states, if any.

        Without a stated memory the largest counts, so that a smaller device is never said to be
        enough.
        """
        names = filter(None, _OR.split(text))
        families = list(map(self._family, names))
        keys = list(chain.from_iterable(families))
        if not stated_gb:
            sizes = [self.known[key].memory_gb for key in keys]
            if not all(families) or not all(sizes):
                sizes = []
            return Meant(keys, self._vendor(keys, text), max(sizes, default=0))
        named = keys or self._named_within(text)
        vendor = self._vendor(named, text)
        same = named
        if len(families) == 1:
            same = self.of_memory(named, stated_gb)
        is_variant = bool(named) and not (keys and same)
        return Meant(same or named, vendor, stated_gb, is_variant)

    def _vendor(self, keys: Iterable[str], text: str) -> str:
        """That of all these devices; without any that which the words say."""
        vendors = {self.known[key].vendor for key in keys}
        if len(vendors) == 1:
            return vendors.pop()
        if vendors:
            return ""
        return vendor_in(text)

    def _named_within(self, text: str) -> list[str]:
        """The devices whose whole name is a word of a text: of `A800 80GB PCIe` the A800."""
        found: list[str] = []
        without_memory = _GIGABYTES.sub(" ", text.lower())
        for word in _NUMBERED.findall(without_memory):
            found += self.families.get(word) or self.spellings.get(word, [])
        return found

    def _family(self, text: str) -> list[str]:
        """All devices that a source can mean where it does not say which memory."""
        name = device_name(text)
        found = self.families.get(name) or self.named(text)
        if found or len(name) < _SHORTEST_BEGINNING:
            return found
        return [key for key in self.known if device_name(key).startswith(name)]


def with_variants(keys: Sequence[str]) -> list[str]:
    """The devices, and what may be one of them whose variant is not named."""
    found = list(keys)
    for key in keys:
        found += _VARIANTS.get(key, [])
    return found


@lru_cache(maxsize=1)
def devices_of(dataset: Dataset) -> Devices:
    """The devices of a dataset, read once for all its rows."""
    known: dict[str, Device] = {}
    families: dict[str, list[str]] = {}
    exact: dict[str, list[str]] = {}
    endings: dict[str, list[str]] = {}
    for row in dataset.records["devices"]:
        key = text_of(row, "device")
        stem = _without_memory(key)
        device = _device(row)
        known[key] = device
        with_memory = f"{stem}{device.memory_gb:g}"
        aliases = items_of(row, "aliases")
        for text in (key, text_of(row, "name"), device.label, with_memory, *aliases):
            exact.setdefault(device_name(text), [key])
        families.setdefault(device_name(stem), []).append(key)
        for ending in _endings(stem):
            endings.setdefault(device_name(ending), []).append(key)
    endings.pop("", None)
    # A word means the device whose own name it is, otherwise those of that family, otherwise those
    # whose names end so.
    return Devices(known, endings | families | exact, families)


def _endings(stem: str) -> list[str]:
    """The short forms of a name: all but its first part, and a last word such as `orin`."""
    _, _, rest = stem.partition("-")
    _, _, last = stem.rpartition("-")
    if last != rest and last.isalpha() and len(last) >= _SHORTEST_WORD:
        return [rest, last]
    return [rest]


def _device(row: Record) -> Device:
    label = device_label(text_of(row, "device"))
    memory_gb = float(text_of(row, "memory_gb") or 0)
    if memory_gb:
        label = f"{label} {memory_gb:g} GB"
    notes = tuple(_notes(row, label, memory_gb))
    return Device(text_of(row, "vendor"), memory_gb, label, notes, _lacks(row))


def _notes(
    row: Record, label: str, memory_gb: float
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The names of the messages that say what a label leaves out, with their words."""
    name = text_of(row, "name")
    family = device_label(text_of(row, "device"))
    said = {device_name(label), device_name(family)}
    if device_name(name) not in said:
        yield "device-is", {"label": label, "name": name}
    if not memory_gb:
        yield "device-memory", {}
    if "unified" in text_of(row, "memory_type"):
        yield "device-unified", {}
    if "bf16" in _lacks(row):
        yield "device-no-bf16", {"label": label}


def _lacks(row: Record) -> list[str]:
    """The precisions that came with a later architecture of NVIDIA; none where its own is open."""
    architecture = text_of(row, "architecture")
    is_known = re.fullmatch(r"[0-9]+\.[0-9]", architecture)
    if text_of(row, "vendor") != "NVIDIA" or not is_known:
        return []
    own = float(architecture)
    return [precision for precision, first in _FIRST_WITH.items() if own < first]


def stated_gigabytes(text: str) -> float:
    """The memory that the name of a device states: 16 of `RTX 4060 Ti 16GB`; 0 without one."""
    found = re.search(_GIGABYTES, text.lower())
    if found is None:
        return 0
    return float(found[1])


def hardware(gpus: object, device: str) -> str:
    """The one way to write hardware for people: `8 × H100 80 GB`."""
    return f"{gpus} × {device}"


@lru_cache(maxsize=4096)
def device_name(text: str) -> str:
    """The text without vendor, punctuation and spelling of the unit: `a10080g` of `A100 80GB`."""
    without_vendor = re.sub(_VENDOR, "", text.lower())
    with_unit = re.sub(_GIGABYTES, r"\1g", without_vendor)
    return re.sub(_PUNCTUATION, "", with_unit)


def written(text: str) -> str:
    """A source's name of a device with its memory in our spelling: `A800 40 GB` of `A800 (40G)`."""
    return _WRITTEN_GIGABYTES.sub(r"\g<bracketed>\g<bare> GB", text)


def device_label(device: str) -> str:
    """The name for people: `A100 PCIe` of `a100-pcie-80g`."""
    parts = _without_memory(device).split("-")
    return " ".join(_capital(part) for part in parts)


def _capital(part: str) -> str:
    if part in _CAPITALS:
        return _CAPITALS[part]
    if part.isalpha() and len(part) > 3:
        return part.capitalize()
    return part.upper()


def _without_memory(key: str) -> str:
    return re.sub(r"-[0-9]+g$", "", key)


def vendor_in(text: str) -> str:
    """The vendor that the words of a text name; empty if they name none."""
    lower = text.lower()
    for vendor, words in _VENDORS.items():
        if re.search(words, lower, re.ASCII):
            return vendor
    return ""
