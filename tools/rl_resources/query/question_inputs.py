"""What task, weights and hardware of a question decide in an estimate.

Tasks that learn from given answers, as SFT and DPO do, are those of `formula.toml`. They are no RL,
so no record and no report has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import EstimateInputs, of_profile
from rl_resources.estimate.formula import formula
from rl_resources.estimate.frameworks import Profile, unprofiled
from rl_resources.estimate.model import device_inputs
from rl_resources.query.sentences import contradiction
from rl_resources.query.understand import Query
from rl_resources.query.vocabulary import plain, spelled
from rl_resources.text import quoted

OF_ROLLOUTS = {"infer": "rollout engine", "rollout_n": "rollouts per prompt"}
"""What only a task with rollouts can be asked, with its name for people."""


class OfflineTask(NamedTuple):
    """A task without rollouts: the sequences of a sample, and its reference.

    0: it has none, 1: with LoRA it is the model without adapters, 2: it is a model of its own.
    """

    name: str
    sequences: int
    reference: int

    def begin(self, inputs: EstimateInputs) -> None:
        """Take what it decides whatever the framework does. Raises `UnusableInput`."""
        trained = inputs.profile.row.get("offline", (self.name,))
        if inputs.framework and self.name not in trained:
            raise not_trained(inputs.profile, self.name)
        if not inputs.framework:
            inputs.profile = unprofiled("")
        inputs.offline = self.name.lower()
        if not self.reference:
            inputs.lacking = ["log-probs"]
        inputs.is_rl = False
        inputs.assume("has_engine", 0, self._reason)
        inputs.assume("sample_sequences", self.sequences, self._reason)
        if self.reference > 1:
            inputs.assume("base_is_reference", 0, self._reason)

    def finish(self, inputs: EstimateInputs) -> None:
        """Take what it decides where the framework does not, and say what it means."""
        is_adapter = bool(inputs.inputs.get("lora_rank"))
        is_second = self.reference > 1 or (self.reference == 1 and not is_adapter)
        is_computed_before = inputs.inputs.get("has_reference") == 0
        inputs.assume("has_reference", int(is_second), self._reason)
        inputs.assume("reference_offload", 0, self._reason)
        said: Mapping[str, str] = formula()["said"]
        if not inputs.inputs["has_engine"]:
            inputs.notes.append(said["offline"].format(task=self.name))
        if self.sequences > 1:
            inputs.notes.append(said["pairs"])
        has_reference = inputs.inputs["has_reference"]
        is_base = inputs.inputs.get("base_is_reference") or not has_reference
        if has_reference and self.reference > 1:
            inputs.notes.append(said["teacher"])
        elif has_reference and not (is_adapter and is_base):
            inputs.notes.append(said["reference"])
        elif self.reference and is_adapter and not is_computed_before:
            inputs.notes.append(said["own_reference"])

    @property
    def _reason(self) -> str:
        return f"the task is {self.name}"


def not_trained(profile: Profile, task: str) -> UnusableInput:
    """What to raise for a task that a framework does not train."""
    trained: Sequence[str] = profile.row["offline"]
    fix = "Others: --framework trl"
    if trained:
        fix = f"It trains {quoted(trained, 'and')}. {fix}"
    return UnusableInput(f"{profile.title} does not train {task}", fix)


@cache
def _tasks_by_word() -> Mapping[str, OfflineTask]:
    """The tasks by each of their names."""
    found: dict[str, OfflineTask] = {}
    for name, row in formula()["offline"].items():
        task = OfflineTask(name, row["sequences"], row["reference"])
        for word in (name, *row["names"]):
            found[plain(word)] = task
    return found


def _offline_task(word: str) -> tuple[OfflineTask | None, str]:
    """The task of a word, and its adapters where the word ends with them."""
    adapters = next(filter(word.endswith, ("qlora", "lora")), "")
    return _tasks_by_word().get(word.removesuffix(adapters)), adapters


def without_offline(
    words: Mapping[str, str],
) -> tuple[dict[str, str], OfflineTask | None]:
    """The words of a question without its task, if that has no rollouts, and that task.

    Raises `UnusableInput` where another word contradicts it.
    """
    others = dict(words)
    asked = others.pop("task", "")
    task, adapters = _offline_task(plain(asked))
    if task is None:
        task, adapters = _offline_task(spelled(asked))
    if task is None:
        return dict(words), None
    for name, what in OF_ROLLOUTS.items():
        if name in others:
            message = f"{task.name} has no rollouts, so no {what}"
            option = name.replace("_", "-")
            raise UnusableInput(message, f"Leave out --{option}.")
    if adapters and others.setdefault("weights", adapters) == "full":
        raise contradiction(f"full weights and the task {asked} contradict each other")
    return others, task


def offline_of(task: str) -> OfflineTask | None:
    """The task of this name, if it has no rollouts."""
    return without_offline({"task": task})[1]


def generates_itself(infer: str) -> bool:
    """Whether the trained model generates, which takes no share of the GPU beforehand."""
    return infer in formula()["names"]["no_engines"]


def take_defaults(
    query: Query, offline: OfflineTask | None, inputs: EstimateInputs
) -> None:
    """Take what the framework does by default, and what the task decides where it does not."""
    if query.framework:
        of_profile(inputs)
    _assume_engine(query, inputs)
    if offline:
        offline.finish(inputs)


def _assume_engine(query: Query, inputs: EstimateInputs) -> None:
    """Assume a rollout engine for every task of RL, unless it is known whether there is one.

    Without one the trained model generates.
    """
    said = formula()["said"]
    if "has_engine" in inputs.inputs:
        if _generates_by_itself(query, inputs):
            inputs.assume("generates", 1, "no rollout engine")
            if inputs.inputs["generates"] and not query.infer:
                title = inputs.profile.title
                inputs.notes.append(said["generates"].format(framework=title))
    elif query.task:
        inputs.assume("has_engine", 1, f"the task is {query.task}")
        inputs.notes.append(said["engine"])
    else:
        inputs.assume("has_engine", 0, "no task and no engine")
        inputs.notes.append(said["training"])


def _generates_by_itself(query: Query, inputs: EstimateInputs) -> bool:
    """Whether the question says so, or leaves it to a framework that has no engine by default."""
    if query.infer or not query.task or inputs.inputs["has_engine"]:
        return generates_itself(query.infer)
    return any(item.input == "has_engine" for item in inputs.assumed)


def _assume_rank(inputs: EstimateInputs) -> None:
    """Assume the rank that the framework gives to LoRA, otherwise a usual one."""
    profile = inputs.profile
    defaults = profile.defaults({inputs.train, "lora"})
    rank = defaults.get("lora_rank")
    if isinstance(rank, int) and rank:
        inputs.assume("lora_rank", rank, f"what {profile.title} does by default")
    usual = formula()["names"]["usual_rank"]
    inputs.assume("lora_rank", usual, "LoRA of a usual rank")


def take_weights(query: Query, named: str, inputs: EstimateInputs) -> None:
    """What weights, task and a model's name say. Raises `UnusableInput` if they contradict."""
    task = query.task
    weights = _weights(query, named, inputs)
    if weights == "partial":
        raise UnusableInput(
            "partial: no estimate for these weights", "Use full, lora or qlora."
        )
    if weights in {"lora", "qlora"} or task.endswith("-LoRA"):
        _assume_rank(inputs)
    rank = inputs.inputs.get("lora_rank")
    if weights and rank is not None and bool(rank) == (weights == "full"):
        raise contradiction(
            f"{weights} weights and lora_rank {rank:g} contradict each other"
        )
    bits = inputs.inputs.get("quantized")
    if (weights, bits) in {("full", 1), ("qlora", 0)}:
        raise contradiction(
            f"{weights} weights and quantized {bits:g} contradict each other"
        )
    if weights == "qlora":
        inputs.give("quantized", 1)
    elif weights:
        inputs.assume("quantized", 0, f"{weights} weights")
    if weights == "full":
        inputs.give("lora_rank", 0)
    if task:
        inputs.assume("has_critic", int(task.startswith("PPO")), f"the task is {task}")


def has_adapters_alone(query: Query, named: str) -> bool:
    """Whether a model's name says that its base is in 4 bits, which cannot train."""
    four_bits: str = formula()["names"]["four_bits"]
    says_so = re.search(four_bits, named, re.IGNORECASE)
    return bool(says_so) and query.weights in {"", "lora"}


def _weights(query: Query, named: str, inputs: EstimateInputs) -> str:
    """What trains: of a base in 4 bits, by its name or as asked, nothing but adapters."""
    if has_adapters_alone(query, named):
        inputs.notes.append(formula()["said"]["four_bits"])
        return "qlora"
    if inputs.inputs.get("quantized") and not query.weights:
        return "qlora"
    return query.weights


def _take_gpus(query: Query, inputs: EstimateInputs) -> None:
    if query.gpus:
        inputs.give("gpus", query.gpus)
    if query.gpus_per_node:
        inputs.give("gpus_per_node", query.gpus_per_node)


def take_hardware(dataset: Dataset, query: Query, inputs: EstimateInputs) -> None:
    """Take GPUs, memory and speed; of several devices the least that they have."""
    _take_gpus(query, inputs)
    devices = devices_of(dataset)
    named = ", ".join(map(devices.label, query.devices))
    if len(query.devices) > 1:
        inputs.assume("device_gb", query.memory_gb, f"the smallest of {named}")
    elif query.memory_gb:
        inputs.give("device_gb", query.memory_gb)
    elif query.vendor:
        inputs.assume(
            "device_gb",
            devices.middle_gb(query.vendor),
            f"the memory of {named} is not known: that of most of {query.vendor}",
        )
    if "device_gb" not in inputs.inputs:
        raise UnusableInput(
            "the memory of the GPU is not known",
            "Name it, or its GB: --device h100, --memory 80",
        )
    rows = [device_inputs(dataset.by_key["devices"][key]) for key in query.devices]
    if not rows:
        return
    for name in rows[0]:
        slowest = min(row[name] for row in rows)
        if slowest and len(rows) > 1:
            inputs.assume(name, slowest, "the slowest of these devices")
        elif slowest:
            inputs.give(name, slowest)
