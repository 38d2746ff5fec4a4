"""What a plan is asked, and what is published about it: runs, claims and failures in one scope.

The settings are those of `estimate/plan.py`, the words those of `plan_question.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from rl_resources.certainty import OUT_OF_MEMORY
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import Number
from rl_resources.estimate.frameworks import VERL, profile, profiles
from rl_resources.estimate.plan import PlanStart, rules
from rl_resources.files import table_beside
from rl_resources.package import Record
from rl_resources.query.configurations import (
    NOT_TEXT_ALONE,
    Configuration,
    configurations,
)
from rl_resources.query.estimate import as_asked, understood
from rl_resources.query.fit import (
    RAN_ON_IT,
    RAN_ON_NO_MORE,
    matches_of,
    no_less,
    ordered,
    size_of,
)
from rl_resources.query.question_inputs import (
    OfflineTask,
    has_adapters_alone,
    without_offline,
)
from rl_resources.query.understand import Query, lengths_in, stated
from rl_resources.query.vocabulary import EITHER, size_class, vocabulary, whole_match
from rl_resources.script.algorithm import ALGORITHMS, GROUP_ESTIMATORS, OwnSettings

_MOST_SOURCES = 3


@cache
def sentences() -> Mapping[str, Any]:
    """The words of plans."""
    return table_beside(__file__)


class KnownRun(NamedTuple):
    """A published run or failure; `mark` says how it differs from what was asked."""

    row: Configuration
    mark: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The run as JSON holds it."""
        found: dict[str, Any] = {"differs": self.mark or None}
        for name in sentences()["columns"]:
            found[name] = getattr(self.row, name) or None
        return found


@dataclass(frozen=True, eq=False)
class PlanQuestion:
    """A question with what was `taken` where it was open; `notes` say how its words were read.

    `query` has only what was asked, besides the task.
    """

    dataset: Dataset
    asked: Mapping[str, str]
    query: Query
    task: str
    weights: str
    lengths: tuple[int, int]
    framework: str
    start: PlanStart
    taken: Sequence[str]
    notes: Sequence[str]

    @property
    def model(self) -> str:
        """The model as it is asked, or its key."""
        return self.start.first.configuration.model

    @property
    def is_named(self) -> bool:
        """Whether runs of the question are of its model, or of any of the size that it asks for."""
        is_size = whole_match("billions", self.model)
        return bool(self.query.model or is_size)

    @property
    def model_row(self) -> Record:
        """The row of the model; only its name where it has none."""
        return self.dataset.by_key["models"].get(
            self.query.model, {"model": self.model}
        )

    @property
    def device_row(self) -> Record:
        """The row of the device; the memory in place of its name where none is asked."""
        for name in self.query.devices:
            return self.dataset.by_key["devices"][name]
        return {
            "name": f"GPU of {self.query.memory_gb:g} GB",
            "vendor": self.query.vendor,
        }

    @cached_property
    def scope(self) -> Sequence[KnownRun]:
        """All that is published of this model and task, best first: of its twins and with LoRA too.

        Those are marked. Without a model it is what is published of text models of the size.
        """
        size, has_experts = size_and_experts(self.dataset, self.start.first)
        wanted = self.query._replace(
            task="",
            weights="",
            experts="mixture" if has_experts else "dense",
            size=self.query.size or size,
        )
        tasks = {"", self.task, *self.query.adapter_tasks}
        found: list[KnownRun] = []
        for row in ordered(
            matches_of(configurations(self.dataset), wanted), self.query
        ):
            is_alike = self.query.model or NOT_TEXT_ALONE.isdisjoint(row.scenario)
            if is_alike and row.task_label in tasks:
                found.append(KnownRun(row, self._mark(row)))
        return sorted(found, key=lambda known: bool(known.mark))

    def _mark(self, row: Configuration) -> str:
        said = sentences()["mark"]
        twin = ""
        if "model" in row.differs:
            twin = said["twin"].format(model=row.model_label)
        adapters = ""
        if row.weights != self.weights:
            adapters = said.get(row.weights, "")
        return ", ".join(filter(None, [twin, adapters]))

    def runs(self, weights: str) -> list[KnownRun]:
        """The runs of these weights that nothing contradicts, on any hardware."""
        found: list[KnownRun] = []
        for known in self.scope:
            row = known.row
            if (
                row.weights == weights
                and row.task
                and row.state == "run"
                and not row.doubtful
            ):
                found.append(known)
        return found

    def ran(self, weights: str) -> list[KnownRun]:
        """Runs of these weights on this hardware or less, the nearest first."""
        runs = self.runs(weights)
        return [known for known in runs if known.row.fit in {RAN_ON_IT, RAN_ON_NO_MORE}]

    @property
    def failed(self) -> list[KnownRun]:
        """What ran out of memory on as much or more, with the weights that are asked."""
        failures = [known for known in self.scope if self._failed_on_as_much(known.row)]
        return sorted(
            failures, key=lambda known: (bool(known.mark), size_of(known.row))
        )

    @property
    def failed_alike(self) -> list[KnownRun]:
        """What ran out of memory on as much, of just the model and the weights that are asked."""
        return [known for known in self.failed if known.row.weights and not known.mark]

    def _failed_on_as_much(self, row: Configuration) -> bool:
        if row.state != OUT_OF_MEMORY or row.weights not in {"", self.weights}:
            return False
        return row.length <= sum(self.lengths) and no_less(self.query, row)

    def ran_on_no_more(self, gb: float) -> list[KnownRun]:
        """Runs of no shorter a context on no more memory in all, whatever the number of GPUs."""
        found: list[KnownRun] = []
        for known in self.runs(self.weights):
            is_long = known.row.length >= sum(self.lengths)
            if is_long and 0 < known.row.total_memory_gb <= gb:
                found.append(known)
        return found

    def least(self, weights: str) -> KnownRun | None:
        """The run of these weights that needed the least memory in all."""
        runs = [known for known in self.runs(weights) if known.row.memory_gb]
        return min(runs, key=lambda known: size_of(known.row), default=None)


def ask_plan(dataset: Dataset, asked: Mapping[str, str]) -> PlanQuestion:
    """Read a question and take what is usual where it is open.

    Raises `UnusableInput` for what cannot be read, or contradicts itself.
    """
    words = stated(asked)
    if "model" not in words:
        raise UnusableInput(sentences()["no_model"], sentences()["no_model_help"])
    words, offline = without_offline(words)
    read, _ = understood(dataset, words)
    words["weights"] = _weights(read, words["model"])
    framework = _framework(read, words["weights"], offline)
    if offline is None:
        words |= _usual_rollouts(read, framework)
    assumed = [
        name for name in ("task", "infer") if words.get(name, "") != getattr(read, name)
    ]
    taken = [words[name] for name in assumed]
    if has_adapters_alone(read, words["model"]):
        taken.append(sentences()["four_bits"])
    lengths = lengths_of(words.get("length", ""))
    if not read.length:
        taken.append("{} + {} tokens".format(*lengths))
    query, notes = understood(dataset, words)
    query = query._replace(weights=read.weights, infer=read.infer)
    task = query.task
    if offline:
        task = offline.name
        words["task"] = task
    if not framework:
        framework = _usual_framework(words["weights"], offline)
        title = profile(framework).title
        taken.append(
            sentences()["no_profile"].format(framework=read.framework, taken=title)
        )
    elif framework != VERL and not read.framework:
        title = profile(framework).title
        taken.append(sentences()["usual_framework"].format(framework=title))
    words["framework"] = framework
    starts = _starts(dataset, words, query, lengths)
    if query.vendor and not query.memory_gb:
        gb = starts[0][0].values["device_gb"]
        taken.append(sentences()["least_memory"].format(gb=gb, vendor=query.vendor))
    return PlanQuestion(
        dataset=dataset,
        asked=asked,
        query=query,
        task=task,
        weights=words["weights"],
        lengths=lengths,
        framework=framework,
        start=PlanStart(starts, query.host_memory_gb),
        taken=taken,
        notes=notes,
    )


def _weights(query: Query, named: str) -> str:
    """What trains, in full unless something says otherwise. Raises `UnusableInput`."""
    is_adapter = query.task.endswith("-LoRA")
    if is_adapter and query.weights == "full":
        message = sentences()["contradiction"].format(task=query.task)
        raise UnusableInput(message, sentences()["contradiction_help"])
    if has_adapters_alone(query, named):
        return "qlora"
    if is_adapter:
        return query.weights or "lora"
    return query.weights or "full"


def _usual_rollouts(query: Query, framework: str) -> dict[str, str]:
    """The task and the rollout engine, those that are usual where nobody names one."""
    usual = rules()["usual"]
    engines = [usual["infer_of"].get(name) for name in (framework, query.vendor)]
    return {
        "task": query.task.split(EITHER)[0] or usual["task"],
        "infer": next(filter(None, [query.infer, *engines, usual["infer"]])),
    }


def _framework(query: Query, weights: str, offline: OfflineTask | None) -> str:
    """The framework whose settings are taken; empty where none of those asked has a profile.

    Raises `UnusableInput` for a task without rollouts in verl, whose scripts are those of RL.
    """
    if not query.framework:
        return _usual_framework(weights, offline)
    known = (name for name in query.framework.split(EITHER) if name in profiles())
    found = next(known, "")
    if offline and found == VERL:
        message = sentences()["no_offline"].format(task=offline.name)
        raise UnusableInput(message, sentences()["no_offline_help"])
    return found


def _usual_framework(weights: str, offline: OfflineTask | None) -> str:
    """The framework whose settings are taken where nobody names one."""
    usual = rules()["usual"]
    kind = "framework"
    if weights == "qlora":
        kind = "framework_of_qlora"
    elif offline:
        kind = "framework_of_offline"
    return str(usual[kind])


def lengths_of(text: str) -> tuple[int, int]:
    """The longest prompt and response of a context: `16K`, `2048+16384`."""
    usual = rules()["usual"]
    if not text:
        return usual["prompt_length"], usual["response_length"]
    first, *others = lengths_in(text)
    if others:
        return first, sum(others)
    prompt = min(usual["prompt_length"], first // 2)
    return prompt, first - prompt


def _starts(
    dataset: Dataset, words: Mapping[str, str], query: Query, lengths: tuple[int, int]
) -> list[list[Estimate]]:
    """The estimate with each training backend that may be taken; GPUs are filled in later."""
    prompt, response = lengths
    sets = [f"prompt_length={prompt}", f"response_length={response}"]
    words = {**words, "gpus": str(query.gpus or 8)}
    if not query.memory_gb and not query.vendor:
        words["memory"] = "80"
    if words["framework"] != VERL:
        trains = profile(words["framework"]).trains
        if query.train:
            trains = [query.train]
        return [
            [as_asked(dataset, {**words, "train": train}, sets)] for train in trains
        ]

    def of_verl(train: str) -> Estimate:
        named = {**words, "train": train, "framework": ""}
        return _as_verl(as_asked(dataset, named, sets), query)

    if query.train:
        return [[of_verl(query.train)]]
    kind = "lora"
    if words["weights"] == "full":
        kind = "experts" if of_verl("fsdp").values["experts"] else "full"
    return [list(map(of_verl, group)) for group in rules()["search"][kind]]


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


def size_and_experts(dataset: Dataset, found: Estimate) -> tuple[str, bool]:
    """The size that a model belongs to, and whether it is a mixture of experts."""
    sizes = vocabulary(dataset).sizes
    size = size_class(sizes, found.values["parameters"] / 1e9)
    return size, bool(found.values["experts"])
