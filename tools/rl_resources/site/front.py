"""The front page with the finder's form, and its answers as plain tables for readers without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.find import ORDER, Answer
from rl_resources.query.minimum import WEIGHTS, by_hardware, headline, minimum
from rl_resources.query.sentences import context
from rl_resources.query.vocabulary import TAGS
from rl_resources.site import finder
from rl_resources.site.site import Site

_MOST_TASKS = 4


def pages(dataset: Dataset, repository_url: str | None) -> dict[str, str]:
    """The two pages by path."""
    site = Site(dataset, repository_url)
    rows = configurations(dataset)
    reports_of = Counter(row.size for row in rows if row.kind == "report")
    front = {
        "choices": choices(dataset, rows),
        "least": _least_by_size(dataset, rows),
        "reports_of": reports_of,
    }
    tables = {
        "tasks": _common_tasks(rows),
        "reports_of": reports_of,
        "by_hardware": [by_hardware(rows, memory) for memory in _memories(rows)],
        "by_size": [(size, minimum(rows, size.name)) for size in site.sizes],
    }
    shown = {"context": context}
    return {
        "index.md": site.page(
            "index.md", **front, **shown, data=finder.PATH, modules=finder.MODULES, order=ORDER
        ),
        "what-fits.md": site.page("what-fits.md", **tables, **shown),
    }


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that may be asked, and what a reader may know it by."""

    word: str
    label: str = ""


def choices(dataset: Dataset, rows: Sequence[Configuration]) -> Mapping[str, list[Choice]]:
    """The words that the form offers: every device, of the rest those that some row holds."""
    keys: Mapping[str, Any] = dataset.by_key
    sizes = [Choice(key, "any model of this size") for key in keys["sizes"]]
    models = [Choice(key, str(row["size"])) for key, row in keys["models"].items()]
    devices = [Choice(key, str(row["name"])) for key, row in keys["devices"].items()]
    roles = {
        role: [
            Choice(str(row["backend"])) for row in keys["backends"].values() if row["role"] == role
        ]
        for role in ("train", "infer")
    }
    offered = {
        "device": devices,
        "model": models,
        "task": [Choice(key, str(row["title"])) for key, row in keys["tasks"].items()],
        **roles,
        "tag": [Choice(tag) for tag in TAGS],
        "weights": [Choice(key, words) for key, words in WEIGHTS.items()],
    }
    held = {name: {getattr(row, name) for row in rows} for name in offered}
    scenarios = {word for row in rows for word in row.scenario}
    offered["scenario"], held["scenario"] = [Choice(word) for word in sorted(scenarios)], scenarios
    frameworks = keys["frameworks"].items()
    offered["framework"] = [Choice(key, str(row["title"])) for key, row in frameworks]
    held["framework"] = {name for row in rows for name in row.frameworks}
    held["device"] = {choice.word for choice in devices}
    known = {
        name: [choice for choice in words if choice.word in held[name]]
        for name, words in offered.items()
    }
    return known | {"model": [*sizes, *known["model"]]}


def _least_by_size(
    dataset: Dataset, rows: Sequence[Configuration]
) -> dict[str, dict[str, Answer | None]]:
    """For each size the run that needs the least hardware, by what trains."""
    sizes = [str(row["size"]) for row in dataset.records["sizes"]]
    return {
        size: {words: headline(rows, size, weights) for weights, words in WEIGHTS.items()}
        for size in sizes
    }


def _common_tasks(rows: Sequence[Configuration]) -> list[str]:
    """The tasks of which most is known."""
    counts = Counter(row.task for row in rows if row.task)
    return [task for task, _ in counts.most_common(_MOST_TASKS)]


def _memories(rows: Sequence[Configuration]) -> list[float]:
    """The memory sizes of the devices that ran something."""
    return sorted({row.memory_gb for row in rows if row.device and row.memory_gb})
