"""Devices by the words that people use for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.record import items_of

VENDORS = r"\b(?:nvidia|amd|huawei|intel|geforce|tesla|instinct|sxm[0-9]?|per gpu)\b"
"""What says nothing of a device beside its name, in lower case."""

SHORTEST_PART = 4
"""Letters of a name's end that are enough to mean the device."""

MEMORY_LAST = "(.*[^0-9.])([0-9]+) ?g(?:i?b)?[^0-9a-z]*"
MEMORY_FIRST = "([0-9]+) ?g(?:i?b)?[ -]+(.+)"
"""A device and its memory, in lower case: `a6000 48gb`, `40g a100`."""

_VENDORS = re.compile(VENDORS, re.ASCII)
_MEMORY_LAST, _MEMORY_FIRST = re.compile(MEMORY_LAST), re.compile(MEMORY_FIRST)
_BETWEEN = re.compile(r"\s*(?:/|,|\bor\b|\band\b)\s*")


@dataclass(frozen=True, slots=True)
class Hardware:
    """What is known of one accelerator; `memory_gb` is the most that it can have, 0 if unknown."""

    vendor: str = ""
    memory_gb: float = 0


class Devices:
    """The table of devices, asked by key, alias, product name, or any of these with the memory."""

    def __init__(self, dataset: Dataset) -> None:
        self.rows: Mapping[object, Record] = dataset.by_key["devices"]
        self.spelt: dict[str, str] = {}
        self.families: dict[str, list[str]] = {}
        self._meant: dict[str, list[list[str]]] = {}
        for key, row in self.rows.items():
            for text in (key, row["name"], *items_of(row, "aliases")):
                self.spelt.setdefault(_plain(str(text)), str(key))
            stem = _plain(_stem(str(key)))
            self.families.setdefault(stem, []).append(str(key))
            if isinstance(memory := row["memory_gb"], float):
                for end in (f"{memory:g}", f"{memory:g}g"):
                    self.spelt.setdefault(stem + end, str(key))

    def named(self, text: str) -> list[str]:
        """The devices that a person's words can mean: one, several of different memory, or none."""
        if found := self._by_name(text) or self._by_name(_singular(text)):
            return found
        name, memory_gb = with_memory(text)
        return [key for key in self._by_name(name) if self.of(key).memory_gb == memory_gb]

    def _by_name(self, text: str) -> list[str]:
        plain = _plain(text)
        if plain in self.spelt:
            return [self.spelt[plain]]
        if plain in self.families:
            return self.families[plain]
        ends = [str(key) for key in self.rows if _plain(str(key)).endswith(plain)]
        return ends if len(plain) >= SHORTEST_PART else []

    def _family(self, text: str) -> list[str]:
        """All devices that a source's words can mean where it does not say which memory."""
        plain = _plain(text)
        if found := self.families.get(plain):
            return found
        begin = [str(key) for key in self.rows if _plain(str(key)).startswith(plain)]
        return self._by_name(text) or (begin if len(plain) > SHORTEST_PART else [])

    def of(self, device: str) -> Hardware:
        """Vendor and memory of a device by its key; nothing is known of one that has no row."""
        row = self.rows.get(device)
        if row is None:
            return Hardware()
        memory = row["memory_gb"]
        return Hardware(str(row["vendor"] or ""), memory if isinstance(memory, float) else 0)

    def published(self, text: str, memory_gb: float) -> Hardware:
        """What a source's own words tell of an accelerator that has no key.

        Where several devices are meant the largest counts, so that nobody is told that theirs is
        enough when it may have less. Words that mean no device leave the memory open.
        """
        meant = self._all_meant(text)
        known = [self.of(key) for keys in meant for key in keys]
        vendors = {item.vendor for item in known}
        told = all(meant) and all(item.memory_gb for item in known)
        most = max((item.memory_gb for item in known), default=0) if told else 0
        return Hardware(vendors.pop() if len(vendors) == 1 else "", memory_gb or most)

    def possible(self, text: str) -> tuple[str, ...]:
        """The keys of all devices that a source's words can mean."""
        return tuple(key for keys in self._all_meant(text) for key in keys)

    def _all_meant(self, text: str) -> list[list[str]]:
        """For each device that a text names, those that it can mean."""
        if text not in self._meant:
            self._meant[text] = [self._family(part) for part in _BETWEEN.split(text) if part]
        return self._meant[text]


def with_memory(text: str) -> tuple[str, float]:
    """The name and the GB of a device that is told with its memory; else no name and 0."""
    lower = " ".join(text.lower().split())
    if found := _MEMORY_LAST.fullmatch(lower):
        return found[1], float(found[2])
    if found := _MEMORY_FIRST.fullmatch(lower):
        return found[2], float(found[1])
    return "", 0


def _singular(text: str) -> str:
    """`H100` of `H100s`; some names end so themselves, so it is asked second."""
    bare = text.rstrip()
    return bare[:-1] if bare[-1:] in {"s", "S"} else ""


def _stem(key: str) -> str:
    """The key without its memory size: `a100` of `a100-80g`."""
    return re.sub(r"-[0-9]+g$", "", key)


def _plain(text: str) -> str:
    """The text without vendor, punctuation and spelling of the unit: `a10080g` of `A100 80GB`."""
    bare = re.sub(r"[^a-z0-9]", "", _VENDORS.sub("", text.lower()))
    return re.sub(r"(?<=[0-9])gi?b$", "g", bare)
