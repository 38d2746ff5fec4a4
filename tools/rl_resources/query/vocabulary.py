"""The words of questions, and how they are read; the page reads them with this module, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import inf
from posixpath import basename
from typing import Any, NamedTuple

from rl_resources import devices
from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, devices_of
from rl_resources.files import table_beside
from rl_resources.package import items_of, text_of

EITHER = " or "
"""Between the keys that one spelling may mean."""
TABLES = table_beside(__file__)
FIELDS: Mapping[str, str] = TABLES["fields"]
FILTERS: Mapping[str, Mapping[str, str]] = TABLES["filters"]
WEIGHTS: Mapping[str, str] = TABLES["weights"]
ADAPTERS: Mapping[str, str] = TABLES["adapters"]
PROJECTS: Mapping[str, str] = TABLES["projects"]
"""Projects, each with the keys of its frameworks; the last is the one that it is built on."""

PREFERENCE: Mapping[str, Sequence[str]] = TABLES["preference"]
_UNITS: Mapping[str, Mapping[str, float]] = TABLES["units"]
_NUMERALS: Mapping[str, str] = TABLES["numerals"]
_PATTERNS: Mapping[str, str] = {**devices.PATTERNS, **TABLES["patterns"]}
_FLAGS = re.IGNORECASE | re.ASCII
_PUNCTUATION = re.compile(r"[^a-z0-9.\u4e00-\u9fff]+")
_NOT_BETWEEN_NUMBERS = re.compile(r"(?<![0-9])[-.]+|[-.]+(?![0-9])")
_BETWEEN_PARTS = re.compile(r"[\s_-]+")


def pattern(name: str) -> re.Pattern[str]:
    """One of the patterns of `vocabulary.toml` or `devices.toml`."""
    return re.compile(_PATTERNS[name], _FLAGS)


def plain(text: str) -> str:
    """A text without what people spell in different ways: case, spaces, `_`, `-`, `++`.

    Of all punctuation only what keeps two numbers apart is left: `qwen2.5-7binstruct`.
    """
    without_plus = re.sub("[+][+]", "pp", text.lower())
    hyphenated = re.sub(_PUNCTUATION, "-", without_plus)
    return re.sub(_NOT_BETWEEN_NUMBERS, "", hyphenated)


def spelled(text: str) -> str:
    """A word of a question, plainly, without an end that only says that something trains."""
    return plain(re.sub(pattern("training"), "", text))


def with_figures(text: str) -> str:
    """A number of GPUs in figures: `8卡` for `八卡`."""
    for numeral, figure in _NUMERALS.items():
        text = re.sub(f"{numeral}(?=[卡张块个机台])", figure, text)
    return text


def whole_match(name: str, text: str) -> re.Match[str] | None:
    """The parts of a text that is wholly of a pattern."""
    spaced = re.sub(r"\s+", " ", text.strip())
    return re.fullmatch(pattern(name), spaced)


def amount_of(name: str, text: str) -> tuple[float, str]:
    """What a figure with its unit amounts to, and the unit; 0 where the text is none."""
    found = whole_match(name, text)
    if not found:
        return 0, ""
    unit = found[2].lower()
    figure = float(re.sub(",", "", found[1]))
    return figure * _UNITS[name].get(unit, 1), unit


def without_owner(key: str) -> str:
    """The name of a model without whose it is, any other key as it is."""
    return basename(key)


def with_points(name: str) -> str:
    """A model's name with the points for which some write `_`: `Qwen2_5-1_5B`, not `qwen2_7b`."""
    for point in ("point_of_version", "point_of_size"):
        name = re.sub(pattern(point), r"\1.\2", name)
    return name


def without_hub(name: str) -> str:
    """A model's name without the address of Hugging Face, and without Chinese words."""
    return re.sub(pattern("hub"), "", name)


def billions_in(text: str) -> float:
    """The parameters in 10⁹ that a size or the name of a model states; 0 where it states none."""
    name = without_hub(with_points(text))
    billions, _ = amount_of("billions", name)
    return billions or _number_of("size_in_name", name)


def active_billions_in(name: str) -> float:
    """The active parameters in 10⁹ of a mixture of experts: 3 of `30b-a3b`; 0 of another."""
    return _number_of("active", name)


def _number_of(name: str, text: str) -> float:
    """The number of a pattern in a text, whatever is between its parts; 0 without any."""
    hyphenated = re.sub(_BETWEEN_PARTS, "-", text)
    found = re.search(pattern(name), hyphenated)
    if not found:
        return 0
    return float(found[1])


def beginnings(name: str) -> Iterator[str]:
    """The name with fewer and fewer parts at its end, as long as the size is in it."""
    parts = name.split("-")
    for dropped in range(len(parts)):
        beginning = "-".join(parts[: len(parts) - dropped])
        if not _number_of("size_in_name", beginning):
            return
        yield beginning


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
        """What people may write for a field: its keys, also projects and sizes."""
        if field == "device":
            keys = chain.from_iterable(self.devices.spellings.values())
            return list(dict.fromkeys(keys))
        meanings = EITHER.join(self.spellings.get(field, {}).values())
        meant = dict.fromkeys(meanings.split(EITHER))
        names = list(map(without_owner, meant))
        if field == "framework":
            names += self.projects.values()
        if field == "model":
            names += [size.name for size in self.sizes]
        return list(filter(None, names))


def models_begun(known: Vocabulary, named: str) -> Iterator[str]:
    """The models that the longest part of a name with a size can mean, then shorter ones.

    None where all of the name is a size.
    """
    name = re.sub(_BETWEEN_PARTS, "-", without_owner(with_points(named)).lower())
    if whole_match("billions", name):
        return
    spellings = known.spellings["model"]
    for beginning in beginnings(name):
        yield from filter(None, spellings.get(plain(beginning), "").split(EITHER))


@lru_cache(maxsize=1)
def vocabulary(dataset: Dataset) -> Vocabulary:
    """The words of a dataset."""
    models = _models(dataset)
    spellings: dict[str, Mapping[str, str]] = {}
    for name, words in words_of_filters(dataset).items():
        own = {word: word for word in words}
        spellings[name] = _plainly(own) | _plainly(TABLES["spellings"].get(name, {}))
    spellings["framework"] = {**spellings["framework"], **_plainly(PROJECTS)}
    spellings["model"] = _spellings_of_models(dataset, models)
    return Vocabulary(
        spellings=spellings,
        models=models,
        architectures=architectures(dataset),
        experts={model: experts_of(dataset, model) for model in models},
        projects={plain(project): project for project in PROJECTS},
        frameworks=words_of(dataset, "frameworks"),
        sizes=tuple(map(_size_class, dataset.records["sizes"])),
        devices=devices_of(dataset),
        tasks=_with_adapters(dataset),
    )


def words_of(
    dataset: Dataset, table: str, title: str = "title", role: str = ""
) -> dict[str, str]:
    """The keys of a table with their titles; of backends those of a role."""
    rows = dataset.by_key[table].items()
    return {
        str(key): text_of(row, title)
        for key, row in rows
        if row.get("role", role) == role
    }


def words_of_filters(dataset: Dataset) -> dict[str, Mapping[str, str]]:
    """All that each of `FILTERS` may be, each word with its title in a list of the page."""
    reports = dataset.package.resources["reports"].schema
    return {
        "task": words_of(dataset, "tasks"),
        "weights": WEIGHTS,
        "scenario": dict.fromkeys(reports.field("scenario").item_words, ""),
        "framework": words_of(dataset, "frameworks"),
        "train": words_of(dataset, "backends", "title", "train"),
        "infer": words_of(dataset, "backends", "title", "infer"),
        "tag": {"MIN": "", "RECOMMENDED": ""},
    }


def _plainly(words: Mapping[str, str]) -> dict[str, str]:
    """The same meanings by their plain spellings."""
    return {spelled(word): meaning for word, meaning in words.items()}


def _size_class(row: Mapping[str, Any]) -> SizeClass:
    return SizeClass(row["size"], row["position"], row["below_parameters_b"])


def _with_adapters(dataset: Dataset) -> dict[str, str]:
    """The same algorithm with LoRA for each task; empty where there is none."""
    rows = dataset.records["tasks"]
    adapters: dict[str, str] = {}
    for row in rows:
        if row["adapters_only"]:
            adapters[text_of(row, "algorithm")] = text_of(row, "task")
    found: dict[str, str] = {}
    for row in rows:
        found[text_of(row, "task")] = adapters.get(text_of(row, "algorithm"), "")
    return found | dict.fromkeys(adapters.values(), "")


_WIDTHS: Sequence[str] = TABLES["architecture"]["widths"]
_OTHER_FORM = re.compile(TABLES["architecture"]["other_form"], re.ASCII)


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
            form = _OTHER_FORM.findall(key)
            widths = [row[name] for name in _WIDTHS]
            found[key] = firsts.setdefault((*form, *widths), key)
    return found


def experts_of(dataset: Dataset, model: str) -> str:
    """`mixture` or `dense`, of a model that the table lacks by its name; empty if unknown."""
    row = dataset.by_key["models"].get(model, {})
    is_mixture = row.get("active_parameters_b") or row.get("experts")
    if is_mixture or active_billions_in(model):
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
    published: dict[str, str] = {}
    own_names: dict[str, str] = {}
    for name in models:
        if name in dataset.by_key["models"]:
            continue
        published[plain(name)] = name
        if _HUB_ID.fullmatch(name):
            own_names[plain(without_owner(name))] = name
    exact: dict[str, str] = {}
    begun: dict[str, list[str]] = {}
    for row in dataset.records["models"]:
        key = text_of(row, "model")
        for spelling in _whole_names(row):
            exact.setdefault(spelling, key)
        for spelling in _begun_names(key):
            begun.setdefault(spelling, []).append(key)
    either = {spelling: EITHER.join(keys) for spelling, keys in begun.items()}
    found = own_names | published | either | exact
    # `7b` is any model of the size, also where a name begins with it or a source has no other.
    return {name: found[name] for name in found if not whole_match("billions", name)}


def _whole_names(row: Mapping[str, Any]) -> Iterator[str]:
    """What a model is called, plainly: with its size too, where its name has none."""
    key = text_of(row, "model")
    name = without_owner(key)
    sized = f"{name} {row['size']}"
    for text in (key, text_of(row, "slug"), name, sized, *items_of(row, "aliases")):
        yield plain(text)


def _begun_names(key: str) -> Iterable[str]:
    """The beginnings of a model's name, plainly, also without the organization in front of it."""
    owner, _, name = key.lower().rpartition("/")
    organization, _, _ = owner.partition("-")
    short = name.removeprefix(f"{organization}-")
    every = (*beginnings(name), *beginnings(short))
    return dict.fromkeys(map(plain, every))
