"""The words that a question may be asked in, as one value that can be published as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.package import Record
from rl_resources.query.hardware import Devices, Hardware

TAGS = ("MIN", "RECOMMENDED")
WEIGHTS = ("full", "lora", "qlora", "partial")
ALIASES: Mapping[str, Mapping[str, str]] = {
    "weights": {"4-bit": "qlora", "4bit": "qlora", "peft": "lora", "adapters": "lora"},
    "scenario": {
        **dict.fromkeys(("multi-turn", "multiturn", "agent", "tools", "search"), "agentic"),
        **dict.fromkeys(("vlm", "vl", "vision", "video", "audio", "omni"), "multimodal"),
        **dict.fromkeys(("swe", "code-agent"), "agentic"),
        "vla": "robotics",
    },
    "framework": {"swift": "ms-swift", "nemo": "nemo-rl"},
}
"""Other words that people use, as `plain` spells them."""

SPACE = r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What `str.strip` takes away; other languages take more or less for blank."""

_TIMES = "(?: ?(?:nodes? ?)?(?:[x*\u00d7\u5361\u5f20]|of) ?)"
_COUNT = "[1-9][0-9]{0,6}"
_COUNTS = f"({_COUNT}(?:{_TIMES}{_COUNT})*)"
_NO_UNIT = "(?!(?:gi?b?|mi?b|tb)(?:[^a-z]|$))"

PATTERNS: Mapping[str, str] = {
    "space": SPACE,
    "billions": r"([0-9]+(?:\.[0-9]+)?) ?(m|t|b|)(?:-a[0-9.]+b)?",
    "memory": r"([0-9]+(?:\.[0-9]+)?) ?(gb|gib|g|mib|mb|tb|)(?: v?ram)?",
    "count": f"{_COUNTS} ?(?:[gn]pus?|cards?|\u5361)?",
    "many": f"{_COUNTS}(?:{_TIMES}| (?=[a-z]){_NO_UNIT})(.+)",
    "many-last": f"(.+?){_TIMES}({_COUNT})",
    "times": _TIMES,
    "length": r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:\.[0-9]+)?) ?(k|m|)(?: ?tok(?:en)?s?)?",
    "between": rf"(?:{SPACE}|[_+-])+",
    "no-figures": "(?<![0-9])-|-(?![0-9])",
    "named-size": r"(.+)-([0-9]+(?:\.[0-9]+)?b)",
    "hub": "^(?:https?://)?(?:www[.])?(?:huggingface|hf)[.]co/",
    "adapters": "^(?:q?lora|peft)$",
    "said-of-tasks": "^(?:with|w|full|training|fine|tuning|finetuning)$",
    "beside": "[().,/]",
    "size-in-name": r"(?<![0-9.x*\u00d7])(?<!-a)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])",
}
"""How words are read; expressions that Python and JavaScript read alike.

They read words that `tidy` has been at. `\u00d7` is the multiplication sign, `\u5361` and
`\u5f20` are what Chinese counts cards by.
"""


def _read(name: str) -> re.Pattern[str]:
    return re.compile(PATTERNS[name], re.IGNORECASE | re.ASCII)


BILLIONS, MEMORY, COUNT = _read("billions"), _read("memory"), _read("count")
MANY, MANY_LAST, TIMES = _read("many"), _read("many-last"), _read("times")
LENGTH = _read("length")
NAMED_SIZE, SIZE_IN_NAME = _read("named-size"), _read("size-in-name")
HUB, BESIDE = _read("hub"), _read("beside")
_BETWEEN, _NO_FIGURES = _read("between"), _read("no-figures")
_ADAPTERS, _SAID_OF_TASKS = _read("adapters"), _read("said-of-tasks")


@dataclass(frozen=True, slots=True)
class Size:
    """A section of models. `below` is the number of parameters in 10⁹ at which it ends, if any."""

    name: str
    position: int
    below: float | None


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator; a blank vendor or a memory of 0 is unknown."""

    name: str
    vendor: str
    memory_gb: float
    bf16: bool = True


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words, by key of their table.

    `models` tells the size of each model, `spelt_models` the key by each spelling, `begun_models`
    the keys by the beginning of a name that has the size in it (`qwen3-vl8b`); `tasks` the task
    that trains adapters alone in place of each, blank where there is none; `words` the keys of all
    that is asked by one of a few words. A spelling of a device means one in `spelt_devices`, and
    several of different memory in `families`. `aliases` are other words for those of `words`.
    """

    models: Mapping[str, str]
    spelt_models: Mapping[str, str]
    begun_models: Mapping[str, Sequence[str]]
    sizes: Sequence[Size]
    devices: Mapping[str, Device]
    spelt_devices: Mapping[str, str]
    families: Mapping[str, Sequence[str]]
    tasks: Mapping[str, str]
    words: Mapping[str, Sequence[str]]
    aliases: Mapping[str, Mapping[str, str]]


def vocabulary(dataset: Dataset, devices: Devices) -> Vocabulary:
    """The words of a dataset. `devices` are its own."""
    tasks = {str(key): _adapter_task(dataset, str(key)) for key in dataset.by_key["tasks"]}
    published = {
        str(row["model_as_published"]): str(row["size"])
        for row in dataset.records["reports"]
        if not row["model"] and row["size"]
    }
    begun = _begun_models(map(str, dataset.by_key["models"]))
    published = {name: size for name, size in published.items() if model_name(name) not in begun}
    return Vocabulary(
        models=published
        | {str(key): str(row["size"]) for key, row in dataset.by_key["models"].items()},
        spelt_models={model_name(name): name for name in published} | _spelt_models(dataset),
        begun_models=begun,
        sizes=_sizes(dataset),
        devices={str(key): _device(row, devices.of(str(key))) for key, row in devices.rows.items()},
        spelt_devices=devices.spelt,
        families=devices.families,
        tasks=tasks,
        words={
            "task": tuple(tasks),
            "weights": WEIGHTS,
            "scenario": dataset.package.resources["reports"].schema.field("scenario").item_words,
            "framework": _frameworks(dataset),
            "train": _backends(dataset, "train"),
            "infer": _backends(dataset, "infer"),
            "tag": TAGS,
        },
        aliases=ALIASES,
    )


def _spelt_models(dataset: Dataset) -> dict[str, str]:
    spelt: dict[str, str] = {}
    for key, row in dataset.by_key["models"].items():
        for name in (str(key), str(row["slug"]), str(key).rpartition("/")[2]):
            spelt.setdefault(model_name(name), str(key))
    return spelt


def _begun_models(models: Iterable[str]) -> dict[str, list[str]]:
    begun: dict[str, list[str]] = {}
    for key in models:
        owner, _, name = key.rpartition("/")
        whole = plain(name)
        for start in (whole, whole.removeprefix(f"{plain(owner).partition('-')[0]}-")):
            for beginning in _beginnings(start):
                keys = begun.setdefault(model_name(beginning), [])
                keys += [key] if key not in keys else []
    return begun


def _beginnings(name: str) -> Iterator[str]:
    """The name with fewer and fewer parts at its end, as long as the size is in it."""
    parts = name.split("-")
    for end in range(len(parts), 0, -1):
        beginning = "-".join(parts[:end])
        if not SIZE_IN_NAME.search(beginning):
            return
        yield beginning


def _sizes(dataset: Dataset) -> list[Size]:
    rows = dataset.records["sizes"]
    ends = [row["below_parameters_b"] for row in rows]
    return [
        Size(str(row["size"]), int(str(row["position"])), None if end is None else float(str(end)))
        for row, end in zip(rows, ends, strict=True)
    ]


def _device(row: Record, hardware: Hardware) -> Device:
    """NVIDIA's compute capability has BF16 from 8.0 on."""
    capability = re.fullmatch(r"[0-9]+\.[0-9]", str(row["architecture"] or ""))
    bf16 = not capability or float(capability[0]) >= 8
    return Device(str(row["name"]), hardware.vendor, hardware.memory_gb, bf16)


def _adapter_task(dataset: Dataset, task: str) -> str:
    rows = dataset.by_key["tasks"]
    if rows[task]["adapters_only"]:
        return ""
    same = (
        str(key)
        for key, row in rows.items()
        if row["adapters_only"] and row["algorithm"] == rows[task]["algorithm"]
    )
    return next(same, "")


def _frameworks(dataset: Dataset) -> tuple[str, ...]:
    """The frameworks of the table, and the projects that reports name."""
    names = [str(key) for key in dataset.by_key["frameworks"]]
    spelt = {plain(name) for name in names}
    for row in dataset.records["reports"]:
        for name in projects(str(row["framework_as_published"])):
            if plain(name) not in spelt:
                spelt.add(plain(name))
                names.append(name)
    return tuple(names)


def projects(published: str) -> tuple[str, ...]:
    """The projects that a source names: `verl` and `Search-R1` of `verl (Search-R1)`."""
    parts = (part.strip() for part in re.split(r"[(),;/]", published))
    return tuple(part for part in parts if re.fullmatch(r"(?!.*-based$)[A-Za-z][\w.+-]*", part))


def _backends(dataset: Dataset, role: str) -> tuple[str, ...]:
    rows = dataset.records["backends"]
    return tuple(str(row["backend"]) for row in rows if row["role"] == role)


def tidy(text: str) -> str:
    """A word with one blank for any number of them, and none around it."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """A word without what people spell in different ways: case, blanks, `_`, `-` and `++`."""
    return _BETWEEN.sub("-", text.strip().lower().replace("++", "-pp"))


def task_name(text: str) -> str:
    """A task as `plain`, without what is only said of it, adapters last: `grpo-lora`."""
    parts = [part for part in plain(BESIDE.sub(" ", text)).split("-") if part]
    adapters = any(map(_ADAPTERS.match, parts))
    kept = [part for part in parts if not (_ADAPTERS.match(part) or _SAID_OF_TASKS.match(part))]
    return "-".join([*kept, "lora"] if adapters else kept)


def model_name(text: str) -> str:
    """A model's name as `plain`, of its `-` only those that keep two numbers apart."""
    return _NO_FIGURES.sub("", plain(text))
