"""The dataset's words in every spelling that a page may use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from rl_resources.dataset import Dataset
from rl_resources.package import Field

Spellings = Mapping[str, tuple[str, ...]]

_MEMORY = re.compile(r"-[0-9]+g$")
_MEMORY_FORMS = tuple(
    f"{before}{{:g}}{unit}{after}"
    for before, after in (("-", ""), (" ", ""), ("(", ")"), (" (", ")"))
    for unit in ("g", "gb")
)
"""How pages add the size of the memory to the name of a device."""


@dataclass(frozen=True)
class Vocabulary:
    """Spellings in lower case, each with the words that it can mean, by kind of word."""

    dataset: Dataset

    @cached_property
    def tags(self) -> Spellings:
        """Tags by themselves."""
        tags = self._field("tag").constraints["enum"]
        return _spellings((tag, tag) for tag in tags)

    @cached_property
    def tasks(self) -> Spellings:
        """Tasks by themselves."""
        return _spellings((task, task) for task in map(str, self.dataset.by_key["tasks"]))

    @cached_property
    def models(self) -> Spellings:
        """Models by id, by name without owner, by slug."""
        ids = [(str(row["model"]), str(row["slug"])) for row in self.dataset.records["models"]]
        return _spellings(
            (spelling, model)
            for model, slug in ids
            for spelling in (model, model.partition("/")[2], slug)
        )

    @cached_property
    def slugs(self) -> Mapping[str, str]:
        """Models by the one spelling that script names use."""
        return {str(row["slug"]): str(row["model"]) for row in self.dataset.records["models"]}

    @cached_property
    def devices(self) -> Spellings:
        """Devices by key, name and aliases."""
        return _spellings(self._device_spellings())

    def _device_spellings(self) -> Iterator[tuple[str, str]]:
        for row in self.dataset.records["devices"]:
            aliases = row["aliases"] if isinstance(row["aliases"], tuple) else ()
            key = str(row["device"])
            stem, memory = _MEMORY.sub("", key), row["memory_gb"]
            forms = _MEMORY_FORMS if isinstance(memory, int | float | Decimal) else ()
            written = (stem + form.format(memory) for form in forms)
            for spelling in (key, str(row["name"]), *aliases, *written):
                yield spelling, key

    @cached_property
    def backends(self) -> Spellings:
        """Training backends by themselves."""
        return self._backends("train")

    @cached_property
    def engines(self) -> Spellings:
        """Rollout engines by themselves."""
        return self._backends("infer")

    def _backends(self, role: str) -> Spellings:
        rows = [row for row in self.dataset.records["backends"] if row["role"] == role]
        return _spellings((str(row["backend"]), str(row["backend"])) for row in rows)

    def matches(self, column: str, text: str) -> bool:
        """Whether `text` has the form that the schema of tuning records wants in `column`."""
        return re.fullmatch(self._field(column).constraints["pattern"], text) is not None

    def _field(self, column: str) -> Field:
        return self.dataset.package.resources["tuning"].schema.field(column)


def _spellings(pairs: Iterable[tuple[str, str]]) -> Spellings:
    found: dict[str, dict[str, None]] = {}
    for spelling, word in pairs:
        found.setdefault(spelling.lower(), {})[word] = None
    return {spelling: tuple(words) for spelling, words in found.items()}
