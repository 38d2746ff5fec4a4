"""What a plan is asked, and what is published about it: runs, claims and failures in one scope.

The settings are those of `estimate/plan.py`, the words those of `plan_question.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from rl_resources.certainty import OUT_OF_MEMORY
from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.errors import UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import Number, backends
from rl_resources.estimate.frameworks import VERL, Profile, profile, profiles
from rl_resources.estimate.plan import PlanStart, rules
from rl_resources.files import table_beside
from rl_resources.package import Record
from rl_resources.query.configurations import Configuration, configurations
from rl_resources.query.estimate import as_asked, other_model, understood
from rl_resources.query.fit import (
    RAN_ON_IT,
    RAN_ON_NO_MORE,
    matches_of,
    no_less,
    of_fits,
    ordered,
    same_vendor,
    size_of,
)
from rl_resources.query.question_inputs import (
    OfflineTask,
    has_adapters_alone,
    without_offline,
)
from rl_resources.query.sentences import NO_TASK, contradiction, say
from rl_resources.query.understand import Query, lengths_in, stated
from rl_resources.query.vocabulary import (
    ADAPTERS,
    EITHER,
    WEIGHTS,
    size_class,
    vocabulary,
    whole_match,
    without_owner,
)
from rl_resources.script.algorithm import ALGORITHMS, GROUP_ESTIMATORS, OwnSettings


@cache
def sentences() -> Mapping[str, Any]:
    """The words of plans."""
    return table_beside(__file__)


def run_as_dict(row: Configuration) -> dict[str, Any]:
    """A published run or failure as JSON holds it."""
    known = {name: getattr(row, name) or None for name in sentences()["columns"]}
    return {"differs": ", ".join(row.differs) or None, **known}


@dataclass(frozen=True)
class PlanQuestion:
    """A question with what was `taken` where it was open; `notes` say how its words were read.

    `query` has only what was asked, besides the task and the size. Where the name of a device
    leaves its memory open, it is the one with the least; `larger` are the keys of the others.
    """

    dataset: Dataset
    words: Mapping[str, str]
    query: Query
    task: str
    weights: str
    lengths: tuple[int, int]
    start: PlanStart
    taken: Sequence[str]
    notes: Sequence[str]
    larger: Sequence[str]

    @property
    def model(self) -> str:
        """The model as it is asked, or its key."""
        return self.start.first.configuration.model

    @property
    def is_named(self) -> bool:
        """Whether runs of the question are of its model, or of any of the size that it asks for."""
        is_size = whole_match("billions", self.words["model"])
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

    def assumed(self, found: Iterable[Estimate]) -> list[str]:
        """What was taken where it was open, and the frameworks whose settings were found."""
        named = self.query.framework
        titles: list[str] = []
        for one in found:
            own = one.configuration.profile
            is_asked = own.name in named.split(EITHER)
            if not is_asked and own.title not in titles:
                titles.append(own.title)
        if not titles or (titles == [profile(VERL).title] and not named):
            return [*self.taken]
        taken = " or ".join(titles)
        sentence = sentences()["usual_framework"].format(framework=taken)
        if named:
            sentence = sentences()["no_profile"].format(framework=named, taken=taken)
        return [*self.taken, sentence]

    @cached_property
    def scope(self) -> list[Configuration]:
        """All that is published of this model and task, best first: of its twins and with LoRA too.

        What `differs` is said in words. Without a model it is what is published of text models
        near the size.
        """
        experts = "dense"
        if self.start.first.values["experts"]:
            experts = "mixture"
        wanted = self.query._replace(task="", weights="", experts=experts)
        tasks = {"", NO_TASK, self.task, *self.query.adapter_tasks}
        matching = matches_of(configurations(self.dataset), wanted)
        found: list[Configuration] = []
        for row in ordered(matching, self.query):
            is_alike = self.query.model or row.is_text_alone
            is_near = "size" not in row.differs
            if is_alike and is_near and row.task_label in tasks:
                found.append(row._replace(differs=self._differences(row)))
        return sorted(found, key=lambda row: bool(row.differs))

    def _differences(self, row: Configuration) -> tuple[str, ...]:
        """In what a published run differs from what was asked, in words."""
        words: list[str] = []
        if "model" in row.differs:
            words.append(say("twin", model=without_owner(row.model)))
        if row.weights != self.weights and row.weights in ADAPTERS:
            words.append(say(f"with-{row.weights}"))
        return tuple(words)

    def runs(self, weights: str) -> list[Configuration]:
        """The runs of these weights that nothing contradicts, on any hardware."""
        alike = [row for row in self.scope if row.weights == weights and row.task]
        return [row for row in alike if row.state == "run" and not row.doubtful]

    def ran(self, weights: str) -> list[Configuration]:
        """Runs of these weights on this hardware or less, the nearest first."""
        return of_fits(self.runs(weights), RAN_ON_IT, RAN_ON_NO_MORE)

    @property
    def failed(self) -> list[Configuration]:
        """What ran out of memory on as much or more, with the weights that are asked."""
        found = [row for row in self.scope if self._failed_on_as_much(row)]
        return sorted(found, key=lambda row: (bool(row.differs), size_of(row)))

    @property
    def failed_alike(self) -> list[Configuration]:
        """What ran out of memory on as much, of just the model and the weights that are asked."""
        return [row for row in self.failed if row.weights and not row.differs]

    def _failed_on_as_much(self, row: Configuration) -> bool:
        if row.state != OUT_OF_MEMORY or row.weights not in {"", self.weights}:
            return False
        named = EITHER.join([self.query.device, *self.larger])
        asked = self.query._replace(device=named)
        return row.length <= sum(self.lengths) and no_less(asked, row)

    def ran_on_no_more(self, gb: float) -> list[Configuration]:
        """Runs of no shorter a context on no more memory in all, whatever the number of GPUs.

        On another vendor's software they say little.
        """
        found: list[Configuration] = []
        for row in self.runs(self.weights):
            is_long = row.length >= sum(self.lengths)
            is_small = 0 < row.total_memory_gb <= gb
            if is_long and is_small and same_vendor(self.query, row):
                found.append(row)
        return found

    def least(self, weights: str) -> Configuration | None:
        """The run of these weights that needed the least memory in all, of the asked vendor."""
        known = [row for row in self.runs(weights) if row.memory_gb]
        runs = [row for row in known if same_vendor(self.query, row)]
        return min(runs, key=size_of, default=None)


def ask_plan(dataset: Dataset, asked: Mapping[str, str]) -> PlanQuestion:
    """Read a question and take what is usual where it is open.

    Raises `UnusableInput` for what cannot be read, or contradicts itself.
    """
    words = stated(asked)
    if "model" not in words:
        raise UnusableInput(sentences()["no_model"], sentences()["no_model_help"])
    words, offline = without_offline(words)
    read, _ = understood(dataset, words)
    words["weights"] = _weights_of_plan(read, words["model"])
    _refuse_weights(read, words["weights"])
    frameworks = _frameworks(read, words["weights"], offline)
    if not offline:
        words |= _usual_rollouts(read, frameworks[0])
    query, notes = understood(dataset, words)
    least, *larger = _by_memory(dataset, query) or [""]
    if larger:
        words["device"] = least
        words.setdefault("gpus", str(query.gpus or ""))
    query = query._replace(weights=read.weights, infer=read.infer, device=least)
    task = query.task
    if offline:
        task = offline.name
        words["task"] = task
    lengths = lengths_of(words.get("length", ""))
    start = _start(dataset, words, query, lengths, frameworks)
    size, _ = size_and_experts(dataset, start.first)
    query = query._replace(size=query.size or size)
    computed = start.first.configuration.model
    if not query.model and other_model(words["model"], computed):
        notes = [*notes, sentences()["computed_as"].format(model=computed)]
    return PlanQuestion(
        dataset=dataset,
        words=asked,
        query=query,
        task=task,
        weights=words["weights"],
        lengths=lengths,
        start=start,
        taken=list(_taken(read, words, lengths, start.first)),
        notes=notes,
        larger=larger,
    )


def _by_memory(dataset: Dataset, query: Query) -> list[str]:
    """The keys of the devices that are asked, the least memory first."""
    known = devices_of(dataset).known
    return sorted(query.devices, key=lambda key: known[key].memory_gb)


def _taken(
    read: Query, words: Mapping[str, str], lengths: tuple[int, int], found: Estimate
) -> Iterator[str]:
    """What is taken where the question is open, in words."""
    said = sentences()
    if not found.configuration.offline:
        for name in ("task", "infer"):
            if words[name] != getattr(read, name):
                yield words[name]
    if has_adapters_alone(read, words["model"]):
        yield said["four_bits"]
    if not read.length:
        yield "{} + {} tokens".format(*lengths)
    if read.vendor and not read.memory_gb:
        gb = found.values["device_gb"]
        yield said["usual_memory"].format(gb=gb, vendor=read.vendor)


def _weights_of_plan(query: Query, named: str) -> str:
    """What trains, in full unless something says otherwise. Raises `UnusableInput`."""
    is_adapter = query.task.endswith("-LoRA")
    if is_adapter and query.weights == "full":
        task = query.task
        raise contradiction(f"full weights and the task {task} contradict each other")
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


def trains_weights(query: Query, weights: str) -> bool:
    """Whether the framework that is asked trains them, as far as that is known of itself."""
    name, *_ = query.framework.split(EITHER)
    if weights == "partial":  # no plan has it, whatever the framework
        return True
    return name not in profiles() or profile(name).trains_weights(weights)


def _refuse_weights(query: Query, weights: str) -> None:
    """Raise `UnusableInput` for weights that the framework that is asked does not train."""
    if not trains_weights(query, weights):
        said = sentences()
        message = said["no_weights"].format(
            framework=query.framework_label, weights=WEIGHTS[weights]
        )
        raise UnusableInput(message, said["no_weights_help"])


def _frameworks(
    query: Query, weights: str, offline: OfflineTask | None
) -> Sequence[str]:
    """The framework that is asked, if it has a profile, otherwise those that are usual.

    Raises `UnusableInput` for a task without rollouts in verl, whose scripts are those of RL.
    """
    named = query.framework.split(EITHER)
    found = next((name for name in named if name in profiles()), "")
    if offline and found == VERL:
        message = sentences()["no_offline"].format(task=offline.name)
        raise UnusableInput(message, sentences()["no_offline_help"])
    if found:
        return [found]
    kind = "rollouts"
    if weights == "qlora":
        kind = "qlora"
    elif offline and query.experts == "mixture":
        kind = "offline_experts"
    elif offline:
        kind = "offline"
    usual: Sequence[str] = rules()["frameworks"][kind]
    able = [
        name
        for name in (*usual, *profiles())
        if _trains(profile(name), query.train, weights, offline)
    ]
    able_and_usual = [name for name in able if name in usual]
    if able_and_usual:
        return able_and_usual
    return able[:1] or usual[:1]  # what cannot train it says so itself


def _trains(
    own: Profile, train: str, weights: str, offline: OfflineTask | None
) -> bool:
    """Whether a framework trains the task and weights, with the training backend that is asked."""
    if not own.trains_weights(weights):
        return False
    has_task = own.trains_rl
    if offline:
        has_task = offline.name in own.row.get("offline", [offline.name])
    backend = own.row.get("called", {}).get(train, train)
    return has_task and (not train or backend in own.trains)


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


def settings_of_lengths(lengths: tuple[int, int]) -> list[str]:
    """The settings of a context."""
    prompt, response = lengths
    return [f"prompt_length={prompt}", f"response_length={response}"]


def _start(
    dataset: Dataset,
    words: Mapping[str, str],
    query: Query,
    lengths: tuple[int, int],
    frameworks: Sequence[str],
) -> PlanStart:
    """Where the plan begins, with each of the frameworks."""
    starts: list[PlanStart] = []
    for framework in frameworks:
        words = {**words, "framework": framework}
        groups = _groups(dataset, words, query, lengths)
        starts.append(PlanStart(groups, query.host_memory_gb))
    first, *others = starts
    return replace(first, others=others)


def _groups(
    dataset: Dataset, words: Mapping[str, str], query: Query, lengths: tuple[int, int]
) -> list[list[Estimate]]:
    """The estimate with each training backend that may be taken; GPUs are filled in later."""
    framework = words["framework"]
    is_verl = framework == VERL
    gpus = words.get("gpus", "")
    if not query.gpus:
        gpus = "8"
    words = {**words, "gpus": gpus}
    if is_verl:
        words["framework"] = ""
    if not query.memory_gb and not query.vendor:
        words["memory"] = "80"
    sets = settings_of_lengths(lengths)

    def with_backend(train: str) -> Estimate:
        found = as_asked(dataset, {**words, "train": train}, sets)
        if is_verl:
            return _as_verl(found, query)
        return found

    if query.train:
        return [[with_backend(query.train)]]
    if not is_verl:
        every = map(with_backend, profile(framework).trains)
        return [[found] for found in sorted(every, key=_splits_no_experts)]
    kind = "lora"
    if words["weights"] == "full":
        kind = "full"
        if with_backend("fsdp").values["experts"]:
            kind = "experts"
    groups: Sequence[Sequence[str]] = rules()["search"][kind]
    return [list(map(with_backend, group)) for group in groups]


def _splits_no_experts(found: Estimate) -> bool:
    """Whether it is of a mixture of experts, and the training backend does not split these."""
    splits = backends()[found.configuration.train].get("splits", 0)
    return bool(found.values["experts"]) and not splits


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
