"""What a plan is asked, and what is published about it: runs, claims and failures in one scope.

The settings are those of `estimate/plan.py`, the words those of `plan_sentences.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import Number
from rl_resources.estimate.frameworks import VERL, profiles
from rl_resources.estimate.plan import (
    PlanStart,
    rules,
)
from rl_resources.package import Record, number
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.estimate import config_file, estimate, understood
from rl_resources.query.fit import (
    RAN_ON_IT,
    RAN_ON_NO_MORE,
    fit,
    no_less,
    ordered,
    size_of,
)
from rl_resources.query.understand import Query, understand
from rl_resources.query.vocabulary import pattern, vocabulary
from rl_resources.script.algorithm import ALGORITHMS, GROUP_ESTIMATORS, OwnSettings
from rl_resources.text import shown

_RAN = (RAN_ON_IT, RAN_ON_NO_MORE)
_ARCHITECTURE = ("layers", "hidden_size", "intermediate_size", "experts")
_NO_TEXT = frozenset({"multimodal", "image-generation", "video-generation", "robotics"})
_ADAPTERS = frozenset({"lora", "qlora"})


@cache
def sentences() -> Mapping[str, Any]:
    """The words of plans."""
    path = Path(__file__).with_name("plan_sentences.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


class KnownRun(NamedTuple):
    """A published run or failure; `mark` says how it differs from what was asked."""

    row: Configuration
    mark: str = ""


@dataclass(frozen=True, eq=False)
class PlanQuestion:
    """A question with what was `taken` where it was open; `notes` say how its words were read."""

    dataset: Dataset
    asked: Mapping[str, str]
    query: Query
    model: str
    task: str
    weights: str
    lengths: tuple[int, int]
    framework: str
    start: PlanStart
    taken: Sequence[str]
    notes: Sequence[str]

    @property
    def is_named(self) -> bool:
        """Whether runs of the question are of its model, or of any of the size that it asks for."""
        return bool(self.query.model) or is_size(self.model)

    @property
    def model_row(self) -> Record:
        """The row of the model; only its name where it has none."""
        return self.dataset.by_key["models"].get(self.query.model, {"model": self.model})

    @property
    def device_row(self) -> Record:
        """The row of the device; the memory in place of its name where none is asked."""
        for name in self.query.devices:
            return self.dataset.by_key["devices"][name]
        return {"name": f"GPU of {self.query.memory_gb:g} GB", "vendor": self.query.vendor}

    @cached_property
    def scope(self) -> Sequence[KnownRun]:
        """All that is published of this model and task: of its twins and with LoRA too, marked."""
        found = _in_scope(self)
        return sorted(found, key=lambda known: (bool(known.mark), size_of(known.row)))

    def ran(self, weights: str) -> list[KnownRun]:
        """Runs of these weights on this hardware or less, the nearest first."""
        rows = {known.row.id: known for known in self.scope if is_run(known, weights)}
        fitting = [one.row for one in rows.values() if fit(self.query, one.row) in _RAN]
        fitted = [row._replace(fit=fit(self.query, row)) for row in fitting]
        best = [rows[row.id] for row in ordered(fitted, self.query)]
        return sorted(best, key=lambda known: bool(known.mark))

    @property
    def failed(self) -> list[KnownRun]:
        """What ran out of memory on as much or more, with the weights that are asked."""
        failures = [known for known in self.scope if known.row.state == "out-of-memory"]
        return [known for known in failures if self._is_comparable(known.row)]

    def _is_comparable(self, row: Configuration) -> bool:
        if row.weights not in {"", self.weights} or row.length > sum(self.lengths):
            return False
        return no_less(self.query, row)

    def ran_on_no_more(self, gb: float) -> list[KnownRun]:
        """Runs of no shorter a context on no more memory in all, whatever the number of GPUs."""
        runs = [known for known in self.scope if is_run(known, self.weights)]
        small = [known for known in runs if 0 < known.row.total_memory_gb <= gb]
        return [known for known in small if known.row.length >= sum(self.lengths)]

    def least(self, weights: str) -> KnownRun | None:
        """The run of these weights that needed the least memory in all."""
        runs = [known for known in self.scope if is_run(known, weights) and known.row.memory_gb]
        return min(runs, key=lambda known: size_of(known.row), default=None)


def is_run(known: KnownRun, weights: str) -> bool:
    """Whether it is a run of these weights that nothing contradicts."""
    return known.row.state == "run" and known.row.weights == weights and not known.row.doubtful


def _in_scope(question: PlanQuestion) -> Iterator[KnownRun]:
    """The rows of the same model, of one with the same layers, of the size where no model is."""
    query = question.query
    twins = _twins(question.dataset, query, question.start.first)
    tasks = {"", query.task, query.adapter_task}
    said = sentences()["mark"]
    for row in configurations(question.dataset):
        if row.model not in twins or row.task not in tasks or _NO_TEXT & set(row.scenario):
            continue
        if any(getattr(row, name) != word for name, word in _software(query)):
            continue
        marks: list[str] = []
        if query.model and row.model != query.model:
            marks.append(said["twin"].format(model=row.model_label))
        if row.weights in _ADAPTERS and row.weights != question.weights:
            marks.append(said[row.weights])
        yield KnownRun(row, ", ".join(marks))


def is_size(model: str) -> bool:
    """Whether it is no model, but a size such as 7B."""
    return bool(pattern("billions").fullmatch(model))


def _software(query: Query) -> list[tuple[str, str]]:
    asked = query.asked("framework", "train", "infer")
    return list(asked.items())


def _twins(dataset: Dataset, query: Query, found: Estimate) -> set[str]:
    """The models with the same layers; without a model those of the size, dense or with experts."""
    models = dataset.by_key["models"]
    own = models.get(query.model)
    if own is None:
        has_experts = bool(found.values["experts"])
        alike = [row for row in models.values() if row["size"] == query.size]
        same = [row for row in alike if bool(row["experts"]) == has_experts]
    elif own["layers"]:
        same = [row for row in models.values() if _layers(row) == _layers(own)]
    else:
        same = [own]
    return {str(row["model"]) for row in same}


def _layers(row: Record) -> tuple[object, ...]:
    return tuple(row[name] for name in _ARCHITECTURE)


def ask_plan(dataset: Dataset, asked: Mapping[str, str]) -> PlanQuestion:
    """Read a question and take what is usual where it is open.

    Raises `UnusableInput` for what cannot be read, or contradicts itself.
    """
    words = {name: text.strip() for name, text in asked.items() if text.strip()}
    if "model" not in words:
        raise UnusableInput(sentences()["no_model"], sentences()["no_model_help"])
    host_gb = host_gb_of(words.pop("host_memory", ""))
    taken: list[str] = []
    usual = rules()["usual"]
    for name in ("task", "infer"):
        if name not in words:
            words[name] = usual[name]
            taken.append(f"{name} {usual[name]}")
    query = _read(dataset, words)
    weights = _weights(query)
    lengths = lengths_of(dataset, words.pop("length", ""))
    if not query.length:
        taken.append("{} + {} tokens".format(*lengths))
    framework = query.framework or usual["framework"]
    if "framework" not in words and weights == "qlora":
        framework = usual["framework_of_qlora"]
    if framework not in profiles():
        taken.append(sentences()["no_profile"].format(framework=framework))
        framework = usual["framework"]
    words |= {"weights": weights, "framework": framework}
    groups = _starts(dataset, words, query, lengths)
    start = PlanStart(groups, host_gb)
    model = start.first.configuration.model
    # What is taken narrows no evidence.
    said = {name: "" for name in ("task", "infer") if not asked.get(name, "").strip()}
    narrowed = query._replace(infer="" if "infer" in said else query.infer)
    task = query.task
    notes = _notes(dataset, words)
    return PlanQuestion(
        dataset, asked, narrowed, model, task, weights, lengths, framework, start, taken, notes
    )


def _notes(dataset: Dataset, words: Mapping[str, str]) -> Sequence[str]:
    """How the device was read: which it may be, and that it lacks BF16."""
    named = {name: words[name] for name in ("device", "memory") if name in words}
    try:
        _, notes = understand(vocabulary(dataset), named)
    except UnusableInput:
        return ()
    return notes


def _weights(query: Query) -> str:
    """What trains, in full unless something says otherwise. Raises `UnusableInput`."""
    is_adapter = query.task.endswith("-LoRA")
    if is_adapter and query.weights == "full":
        message = sentences()["contradiction"].format(task=query.task)
        raise UnusableInput(message, sentences()["contradiction_help"])
    if query.weights:
        return query.weights
    return "lora" if is_adapter else "full"


def host_gb_of(text: str) -> float:
    """The host memory of a node, 0 where it is not said. Raises `UnusableInput`."""
    if not text:
        return 0
    gigabytes = number(text)
    if gigabytes is None or gigabytes <= 0:
        message = sentences()["host_memory"].format(text=shown(text))
        raise UnusableInput(message, sentences()["host_memory_help"])
    return gigabytes


def _read(dataset: Dataset, words: Mapping[str, str]) -> Query:
    """The question in keys. Raises `UnusableInput`."""
    gpus = words.get("gpus", "")
    is_whole = number(gpus.removeprefix("-"))
    if gpus and is_whole is not None and not (gpus.isdigit() and int(gpus)):
        message = sentences()["gpus"].format(text=shown(gpus))
        raise UnusableInput(message, sentences()["gpus_help"])
    memory = number(words.get("memory", ""))
    most = max(device.memory_gb for device in devices_of(dataset).known.values())
    if memory and memory > most:
        message = sentences()["memory"].format(gb=memory)
        raise UnusableInput(message, sentences()["memory_help"].format(most=most))
    if config_file(words["model"]):
        words = {name: text for name, text in words.items() if name != "model"}
    return understood(dataset, words)


def lengths_of(dataset: Dataset, text: str) -> tuple[int, int]:
    """The longest prompt and response of a context: `16K`, `2048+16384`."""
    usual = rules()["usual"]
    if not text:
        return usual["prompt_length"], usual["response_length"]
    parts = [understood(dataset, {"length": part}).length for part in text.split("+")]
    if len(parts) > 1:
        return parts[0], sum(parts[1:])
    prompt = min(usual["prompt_length"], parts[0] // 2)
    return prompt, parts[0] - prompt


def _starts(
    dataset: Dataset, words: Mapping[str, str], query: Query, lengths: tuple[int, int]
) -> list[list[Estimate]]:
    """The estimate with each training backend that may be taken; GPUs are filled in later."""
    prompt, response = lengths
    sets = [f"prompt_length={prompt}", f"response_length={response}"]
    words = {**words, "gpus": str(query.gpus or 8)}
    if not query.memory_gb:
        words["memory"] = "80"
    if words["framework"] != VERL:
        return [[estimate(dataset, words, sets)]]

    def of_verl(train: str) -> Estimate:
        named = {**words, "train": train, "framework": ""}
        return _as_verl(estimate(dataset, named, sets), query)

    if query.train:
        return [[of_verl(query.train)]]
    search = rules()["search"]
    kind = "lora"
    if words["weights"] == "full":
        kind = "full"
        if of_verl("fsdp").values["experts"]:
            kind = "experts"
    return [[of_verl(train) for train in group] for group in search[kind]]


def _as_verl(found: Estimate, query: Query) -> Estimate:
    """The estimate with what the script of a plan sets in any case."""
    inputs: dict[str, Number] = dict(rules()["verl"]["inputs"])
    inputs |= of_task(query.task)
    if found.values["lora_rank"]:
        inputs["has_reference"] = 0
    inputs["lora_rank"] = found.values["lora_rank"]
    if found.configuration.train == "megatron":
        inputs["parameter_bytes"] = found.values["parameter_bytes"]
    return found.with_inputs(**inputs)


def of_task(task: str) -> dict[str, Number]:
    """What the algorithm of a task decides in the script of a plan: rollouts and reference."""
    own = ALGORITHMS.get(task.removesuffix("-LoRA"), OwnSettings("grpo"))
    rollouts = 1
    if own.estimator in GROUP_ESTIMATORS:
        rollouts = rules()["usual"]["rollout_n"]
    return {"rollout_n": rollouts, "has_reference": int(own.kl_loss)}
