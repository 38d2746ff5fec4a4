"""The words of questions and the sentences of answers, which the finder's page gets as JSON."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import inf
from pathlib import Path
from posixpath import basename
from typing import Any, NamedTuple

from rl_resources import devices
from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, devices_of
from rl_resources.files import environment
from rl_resources.package import items_of, text_of

EITHER = " or "
"""Between the keys that one spelling may mean."""
NO_TAG = "\u2013"
"""In place of the tag of a record that earns none."""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_TABLES = _read("vocabulary.toml")
FIELDS: Mapping[str, str] = _TABLES["fields"]
FILTERS: Mapping[str, Mapping[str, str]] = _TABLES["filters"]
WEIGHTS: Mapping[str, str] = _TABLES["weights"]
ADAPTERS: Mapping[str, str] = _TABLES["adapters"]
UNITS: Mapping[str, Mapping[str, float]] = _TABLES["units"]
PATTERNS: Mapping[str, str] = {**devices.PATTERNS, **_TABLES["patterns"]}
MESSAGES: Mapping[str, str] = _read("messages.toml")

_WORDS: Mapping[str, Mapping[str, str]] = _read("words.toml")
PROJECTS = _WORDS["projects"]
"""Projects, each with the keys of its frameworks; the last is the one that it is built on."""


def pattern(name: str) -> re.Pattern[str]:
    """One of `PATTERNS`."""
    return re.compile(PATTERNS[name], re.IGNORECASE | re.ASCII)


_PUNCTUATION = re.compile(r"[^a-z0-9.]+")
_NOT_BETWEEN_NUMBERS = re.compile(r"(?<![0-9])[-.]+|[-.]+(?![0-9])")
_SIZE_IN_NAME = pattern("size_in_name")
_ACTIVE = pattern("active")
_POINTS = [pattern("point_of_version"), pattern("point_of_size")]


def plain(text: str) -> str:
    """A text without what people spell in different ways: case, spaces, `_`, `-`, `++`.

    Of all punctuation only what keeps two numbers apart is left: `qwen2.5-7binstruct`.
    """
    lower = text.lower().replace("++", "pp")
    return _NOT_BETWEEN_NUMBERS.sub("", _PUNCTUATION.sub("-", lower))


def amount_of(name: str, text: str) -> tuple[float, str]:
    """What a figure with its unit amounts to, and the unit; 0 where the text is none."""
    found = whole_match(name, text)
    if not found:
        return 0, ""
    figure = float(found[1].replace(",", ""))
    unit = found[2].lower()
    return figure * UNITS[name].get(unit, 1), unit


def whole_match(name: str, text: str) -> re.Match[str] | None:
    """The parts of a text that is wholly of a pattern."""
    return pattern(name).fullmatch(" ".join(text.split()))


def with_points(name: str) -> str:
    """A model's name with the points for which some write `_`: `Qwen2_5-1_5B`, not `qwen2_7b`."""
    for point in _POINTS:
        name = point.sub(r"\1.\2", name)
    return name


def billions_in(text: str) -> float:
    """The parameters in 10⁹ that a size or the name of a model states; 0 where it states none."""
    name = pattern("hub").sub("", with_points(text))
    billions, _ = amount_of("billions", name)
    if billions:
        return billions
    return _first_number(_SIZE_IN_NAME, re.sub(r"[\s_-]+", "-", name))


def active_billions_in(name: str) -> float:
    """The active parameters in 10⁹ of a mixture of experts: 3 of `30b-a3b`; 0 of another."""
    return _first_number(_ACTIVE, name)


def _first_number(expression: re.Pattern[str], text: str) -> float:
    for found in expression.finditer(text):
        return float(found[1])
    return 0


def words_of(
    dataset: Dataset, table: str, title: str = "title", role: str = ""
) -> dict[str, str]:
    """The keys of a table with their titles; of backends those of a role."""
    words = {}
    for row in dataset.records[table]:
        if role and row["role"] != role:
            continue
        key, *_ = row.values()
        words[str(key)] = text_of(row, title)
    return words


def words_of_filters(dataset: Dataset) -> dict[str, Mapping[str, str]]:
    """All that each of `FILTERS` may be, each word with its title in a list of the page."""
    reports = dataset.package.resources["reports"].schema
    return {
        "task": words_of(dataset, "tasks"),
        "weights": WEIGHTS,
        "scenario": dict.fromkeys(reports.field("scenario").item_words, ""),
        "framework": words_of(dataset, "frameworks"),
        "train": words_of(dataset, "backends", role="train"),
        "infer": words_of(dataset, "backends", role="infer"),
        "tag": {"MIN": "", "RECOMMENDED": ""},
    }


def say(name: str, /, **words: object) -> str:
    """The message `name` with its words filled in."""
    return MESSAGES[name].format_map(words)


@cache
def _macros() -> Any:
    templates = environment(Path(__file__).parent)
    words = {**_TABLES, "hardware": devices.hardware}
    return templates.get_template("messages.jinja", globals=words).module


def pieces(name: str, /, *given: object) -> list[str]:
    """The lines of the macro `name` that are not empty."""
    text: str = getattr(_macros(), name)(*given)
    return list(filter(None, text.split("\n")))


class SizeClass(NamedTuple):
    """A section of models. `below` is the number of parameters in 10⁹ at which it ends, if any."""

    name: str
    position: int
    below: float | None


def size_class(sizes: Iterable[SizeClass], billions: float) -> str:
    """The size that so many parameters, in 10⁹, belong to."""
    fitting = (size for size in sizes if billions < (size.below or inf))
    return next(fitting).name


class Vocabulary(NamedTuple):
    """All words. `spellings` has for each field the meaning of each spelling.

    A meaning is a key, or several joined by `EITHER`. `models` has the size of each model,
    `architectures` the first model of the same layers and widths, `experts` whether it is a
    `mixture` of experts or `dense`, `tasks` the same algorithm with LoRA for each task, empty where
    there is none. `projects` and `frameworks` have the names of projects and frameworks as they
    write them.
    """

    spellings: Mapping[str, Mapping[str, str]]
    models: Mapping[str, str]
    architectures: Mapping[str, str]
    experts: Mapping[str, str]
    projects: Mapping[str, str]
    frameworks: Mapping[str, str]
    sizes: tuple[SizeClass, ...]
    devices: Devices
    tasks: Mapping[str, str]

    def written(self, field: str) -> list[str]:
        """What people may write for a field: its keys, of frameworks also the projects."""
        meanings = EITHER.join(self.spellings[field].values())
        keys = dict.fromkeys(meanings.split(EITHER))
        names = list(map(without_owner, keys))
        if field == "framework":
            names += self.projects.values()
        return names


@lru_cache(maxsize=1)
def vocabulary(dataset: Dataset) -> Vocabulary:
    """The words of a dataset."""
    models = _models(dataset)
    spellings: dict[str, dict[str, str]] = {}
    for name, words in words_of_filters(dataset).items():
        own = {word: word for word in words}
        spellings[name] = _plainly(own) | _plainly(_WORDS.get(name, {}))
    spellings["framework"] |= _plainly(PROJECTS)
    spellings["model"] = _spellings_of_models(dataset, models)
    known = devices_of(dataset)
    spellings["device"] = _either(known.spellings)
    return Vocabulary(
        spellings=spellings,
        models=models,
        architectures=architectures(dataset),
        experts={model: experts_of(dataset, model) for model in models},
        projects={plain(project): project for project in PROJECTS},
        frameworks=words_of(dataset, "frameworks"),
        sizes=tuple(map(_size_class, dataset.records["sizes"])),
        devices=known,
        tasks=_with_adapters(dataset),
    )


def _plainly(words: Mapping[str, str]) -> dict[str, str]:
    """The same meanings by their plain spellings."""
    return {plain(word): meaning for word, meaning in words.items()}


def _either(meanings: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {spelling: EITHER.join(keys) for spelling, keys in meanings.items()}


def without_owner(key: str) -> str:
    """The name of a model without whose it is, any other key as it is."""
    return basename(key)


def _size_class(row: Mapping[str, Any]) -> SizeClass:
    return SizeClass(row["size"], row["position"], row["below_parameters_b"])


def _with_adapters(dataset: Dataset) -> dict[str, str]:
    """The same algorithm with LoRA for each task; empty where there is none."""
    rows = dataset.records["tasks"]
    with_adapters = [row for row in rows if row["adapters_only"]]
    adapters = {
        text_of(row, "algorithm"): text_of(row, "task") for row in with_adapters
    }
    found = {
        text_of(row, "task"): adapters.get(text_of(row, "algorithm"), "")
        for row in rows
    }
    return found | dict.fromkeys(adapters.values(), "")


_WIDTHS: Sequence[str] = _TABLES["architecture"]["widths"]
_OTHER_FORM = re.compile(_TABLES["architecture"]["other_form"], re.ASCII)


@lru_cache(maxsize=1)
def architectures(dataset: Dataset) -> dict[str, str]:
    """For each model with known layers and widths, the first model that has the same.

    A model that also reads images, or whose weights have another precision, has twins of its own
    form alone.
    """
    firsts: dict[tuple[object, ...], str] = {}
    found = {}
    for row in dataset.records["models"]:
        key = text_of(row, "model")
        if row["layers"] and row["hidden_size"]:
            widths = [row[name] for name in _WIDTHS]
            found[key] = firsts.setdefault((*_OTHER_FORM.findall(key), *widths), key)
    return found


def experts_of(dataset: Dataset, model: str) -> str:
    """`mixture` or `dense`, of a model that the table lacks by its name; empty if unknown."""
    row = dataset.by_key["models"].get(model, {})
    if row.get("active_parameters_b") or row.get("experts") or _ACTIVE.search(model):
        return "mixture"
    if row.get("layers"):
        return "dense"
    return ""


def _models(dataset: Dataset) -> dict[str, str]:
    """The size of each model, also of those that only reports name."""
    sizes: dict[str, str] = {}
    for row in dataset.records["reports"]:
        if row["size"] and not row["model"]:
            sizes[text_of(row, "model_as_published")] = text_of(row, "size")
    for row in dataset.records["models"]:
        sizes[text_of(row, "model")] = text_of(row, "size")
    return sizes


_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def _spellings_of_models(dataset: Dataset, models: Iterable[str]) -> dict[str, str]:
    """By whole name, and by the beginnings of a name that have the size in them."""
    exact: dict[str, str] = {}
    begun: dict[str, dict[str, None]] = {}
    for row in dataset.records["models"]:
        key = text_of(row, "model")
        owner, _, name = key.rpartition("/")
        for text in (
            key,
            text_of(row, "slug"),
            name,
            f"{name} {row['size']}",
            *items_of(row, "aliases"),
        ):
            exact.setdefault(plain(text), key)
        organization, _, _ = owner.lower().partition("-")
        whole = name.lower()
        without_organization = whole.removeprefix(f"{organization}-")
        for text in (*beginnings(whole), *beginnings(without_organization)):
            begun.setdefault(plain(text), {})[key] = None
    only_published = {
        name: name for name in models if name not in dataset.by_key["models"]
    }
    own_names = {
        without_owner(name): name for name in only_published if _HUB_ID.fullmatch(name)
    }
    return _plainly(own_names) | _plainly(only_published) | _either(begun) | exact


def beginnings(name: str) -> Iterator[str]:
    """The name with fewer and fewer parts at its end, as long as the size is in it."""
    beginning = name
    while beginning:
        if _SIZE_IN_NAME.search(beginning):
            yield beginning
        beginning, _, _ = beginning.rpartition("-")


def longest_beginning(dataset: Dataset, named: str) -> tuple[str, str]:
    """A name without its owner, and the model that the longest part of it names.

    The model is empty where no part names one, or all of the name is a size.
    """
    name = re.sub(r"[\s_-]+", "-", without_owner(with_points(named)).lower())
    if pattern("billions").fullmatch(name):
        return name, ""
    spellings = vocabulary(dataset).spellings["model"]
    for beginning in beginnings(name):
        for key in spellings.get(plain(beginning), "").split(EITHER):
            if key in dataset.by_key["models"]:
                return name, key
    return name, ""
