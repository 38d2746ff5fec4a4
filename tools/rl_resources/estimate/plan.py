"""The two settings of a plan: MIN, the fewest GPUs with all that saves memory, and RECOMMENDED,
what costs the least time of all that fits.

What both begin with and the order of what is tried are in `plan.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from rl_resources.estimate.estimate import GB, Estimate
from rl_resources.estimate.formula import (
    ENGINE_SIZE,
    Number,
    formula,
    parallel_sizes,
)
from rl_resources.estimate.search import (
    Combination,
    Turn,
    fits,
    is_divided,
    lacking_memory,
    sized,
    sufficient,
    with_engine_sized,
    with_training_sized,
)
from rl_resources.estimate.time import step_time
from rl_resources.files import table_beside

_ALONE = "transformers"
"""The training backend that has the whole model on each GPU."""
_OF_DEVICE = ("device_gb", "corrects_errors", "bf16_tflops")
"""The inputs of a GPU that decide what fits it and its host."""
MIN = "MIN"
RECOMMENDED = "RECOMMENDED"


@cache
def rules() -> Mapping[str, Any]:
    """The file."""
    return table_beside(__file__)


@dataclass(frozen=True)
class PlanStart:
    """What a plan begins with: the same question for each training backend that may be taken.

    Those of a group are alike, and a group is tried before the next one. `host_gb` is the host
    memory of a node, 0 where nobody says it. The `others` are those of frameworks that are tried
    where nothing fits with this one.
    """

    groups: Sequence[Sequence[Estimate]]
    host_gb: float = 0
    others: Sequence[PlanStart] = ()

    @property
    def first(self) -> Estimate:
        """The question with the training backend that is the most usual."""
        return self.groups[0][0]

    @property
    def every(self) -> Sequence[PlanStart]:
        """This one and the others."""
        return [self, *self.others]

    @property
    def trains_alone(self) -> bool:
        """Whether one of the training backends shards nothing."""
        return any(group[0].configuration.train == _ALONE for group in self.groups)

    @property
    def shards_nothing(self) -> bool:
        """Whether all of the training backends have the whole model on each GPU."""
        return all(group[0].configuration.train == _ALONE for group in self.groups)

    def groups_on(self, gpus: int) -> Sequence[Sequence[Estimate]]:
        """The groups on so many GPUs: what only shards has no use for one, if another trains it."""
        if gpus > 1 or not self.trains_alone:
            return self.groups
        several: Sequence[str] = rules()["search"]["several"]
        return [
            group
            for group in self.groups
            if group[0].configuration.train not in several
        ]

    @property
    def engine_gb(self) -> float:
        """What the weights of a rollout engine take of all GPUs, 0 without one on these GPUs."""
        values = self.first.values
        has_own = values["has_engine"] and not values["engine_shares_weights"]
        return has_own * values["engine_weight_bytes"] * values["parameters"] / GB

    def room_gb(self, found: Estimate) -> float:
        """The host memory of a node: what was said, else what is usual for its GPUs."""
        return self.host_gb or usual_host_gb(found)

    def holds(self, found: Estimate) -> bool:
        """Whether it fits the GPUs and the host memory of a node."""
        return self.has_room(found) and divides(found) and fits(found)

    def has_room(self, found: Estimate) -> bool:
        """Whether it fits the host memory of a node, wholly where that was said.

        Unified memory has been counted as that of the GPU.
        """
        if found.values["unified_memory"]:
            return True
        needed = found.host_memory_gb
        if self.host_gb:
            _, needed = found.host_interval_gb
        return needed <= self.room_gb(found)

    def surely_holds(self, found: Estimate) -> bool:
        """Whether what fits does so with the whole interval of host memory, said or usual."""
        _, most = found.host_interval_gb
        return bool(found.values["unified_memory"]) or most <= self.room_gb(found)


def usual_host_gb(found: Estimate) -> float:
    """The host memory that a node with such GPUs usually has."""
    usual = rules()["usual"]
    of_gpu: float = usual["host_gb_per_gpu"]
    if found.values.get("bf16_tflops", 0) >= usual["fast_tflops"]:
        of_gpu = usual["host_gb_per_fast_gpu"]
    return of_gpu * found.values["local_gpus"]


def host_word(found: Estimate) -> str:
    """The name of the sentence that says that host memory decides; empty where it does not.

    Where the GPU has room it may do so by the upper end of its interval alone.
    """
    usual_gb = usual_host_gb(found)
    _, most = found.host_interval_gb
    if most <= usual_gb or found.is_impossible or found.values["unified_memory"]:
        return ""
    is_short = found.host_memory_gb > usual_gb
    if fits(found):
        return "host_decides" if is_short else "host_may"
    return "host_too" if is_short else ""


def divides(found: Estimate) -> bool:
    """Whether GPUs, heads, layers and experts are divided evenly, and a batch holds a sequence."""
    inputs = found.configuration.inputs
    for parts, whole in rules()["divides"]:
        if inputs[whole] % inputs[parts]:
            return False  # the inputs alone show it: to evaluate all terms takes longer
    groups = inputs["kv_heads"]
    for name in (ENGINE_SIZE, "tensor_parallel"):
        if groups % inputs[name] and inputs[name] % groups:
            return False
    if not is_divided(found):
        return False
    values = found.values
    batches = (values["max_tokens"], values["log_prob_max_tokens"])
    return not any(0 < batch < values["sequence_length"] for batch in batches)


def gpus_per_node(found: Estimate, gpus: int) -> int:
    """The GPUs of a node: the largest number that divides them all, or one with its CPU.

    It is at most what was said, otherwise 8.
    """
    if found.values["unified_memory"]:
        return 1
    part = int(found.values["gpus_per_node"])
    while gpus % part:
        part -= 1
    return part


def begun(found: Estimate, name: str, gpus: int) -> Estimate:
    """An estimate on so many GPUs with the settings of a table of the file, `fast` or `saving`.

    The longest sequences that one GPU computes at once are tokens where verl fills micro batches
    up, elsewhere sequences.
    """
    asked = found.configuration
    of_backend = rules()[f"{name}_of"]
    inputs: dict[str, Number] = rules()[name] | of_backend.get(asked.train, {})
    longest = inputs.pop("longest")
    inputs["gpus"] = gpus
    # A plan writes the precision, so it is no longer open.
    inputs["parameter_bytes"] = found.values["parameter_bytes"]
    inputs["gpus_per_node"] = gpus_per_node(found, gpus)
    if asked.profile.is_verl:
        tokens = longest * found.values["sequence_length"]
        inputs["max_tokens"] = tokens
        inputs["log_prob_max_tokens"] = tokens
    else:
        inputs["micro_batch"] = longest
    possible = {key: value for key, value in inputs.items() if _is_possible(found, key)}
    return _whole(found).with_inputs(**possible)


def _whole(found: Estimate) -> Estimate:
    """That of a plan, with no parallel size that nobody gave: others may not divide these GPUs."""
    before = found.configuration
    inputs = dict(before.inputs)
    for item in before.assumed:
        if item.input in {ENGINE_SIZE, *parallel_sizes()[0]}:
            inputs[item.input] = 1
    return Estimate(replace(before, inputs=inputs, is_planned=True))


def _is_possible(found: Estimate, name: str) -> bool:
    """Whether an input is no setting, or one that the framework has; no critic, none of it."""
    if name.startswith("critic") and not found.values["has_critic"]:
        return False
    if name == "layered_summon" and not found.values["lora_rank"]:
        return False
    asked = found.configuration
    only = rules()["only"].get(name, asked.train)
    if asked.profile.is_verl and asked.train != only:
        return False
    for knob in formula()["knob"]:
        if knob["input"] == name:
            if knob.get("on_host") and found.values["unified_memory"]:
                return False
            return bool(asked.written(knob, knob.get("value", 1)))
    return True


def smallest(
    start: PlanStart, counts: Iterable[int], *, rare: bool = True
) -> Estimate | None:
    """MIN: the first number of GPUs that all that saves memory makes it fit on.

    It is that of the first framework that has one. Without `rare` none of the settings that hardly
    any published run has.
    """
    for one in start.every:
        found = _smallest(one, counts, rare=rare)
        if found:
            return found
    return None


def _smallest(
    start: PlanStart, counts: Iterable[int], *, rare: bool = True
) -> Estimate | None:
    """That of one framework; on more GPUs what shards nothing needs as much of each."""
    if start.shards_nothing:
        counts = islice(counts, 1)
    for gpus in counts:
        if gpus * start.first.device_gb < start.engine_gb:
            continue
        for found in _trainable(start, gpus, rare=rare):
            fitting = _with_smaller_engine(start, found)
            if fitting:
                return fitting
    return None


def smallest_after(start: PlanStart, on_less: Estimate | None) -> Estimate | None:
    """MIN on any number of GPUs, given that of a device with less memory.

    That fits this one too, if its nodes have the host memory.
    """
    if on_less:
        values = start.first.values
        device = {name: values.get(name, 0) for name in _OF_DEVICE}
        on_less = on_less.with_inputs(**device)
        if start.has_room(on_less):
            counts = counts_up_to(int(on_less.values["gpus"]))
            return smallest(start, counts, rare=False) or on_less
    return smallest(start, counts_up_to(0), rare=False)


def host_decides(start: PlanStart, least: Estimate | None) -> bool:
    """Whether the next smaller number of GPUs would do, had a node more host memory."""
    every = counts_up_to(0)
    if least:
        gpus = least.values["gpus"]
        every = [count for count in every if count < gpus]
    if not every:
        return False
    for one in start.every:
        for found in _trainable(one, max(every), rare=True):
            if divides(found) and fits(found):
                return True
    return False


def _with_smaller_engine(start: PlanStart, found: Estimate) -> Estimate | None:
    """What fits, if need be with a smaller engine; `None` where training alone does not."""
    if start.holds(found):
        return found
    _, high = found.interval_gb
    if high > found.device_gb or found.values["undivided"]:
        return None
    if not start.has_room(_with_nothing_offloaded(found)):
        return None
    for combination in _fitting_from(start, found):
        return combination.estimate
    return None


def _with_nothing_offloaded(found: Estimate) -> Estimate:
    """With what loading alone takes of host memory, which hardly any setting lowers."""
    for name in rules()["search"]["offload"]:
        found = found.with_inputs(**{name: 0})
    return found


def _fitting_from(start: PlanStart, found: Estimate) -> Iterator[Combination]:
    """The combinations of settings that fit, the cheapest first, none of them rare."""
    return sufficient(found, lambda one: start.holds(one), _unturned(found))


def most_saving(start: PlanStart, gpus: int) -> Estimate:
    """What lacks the least memory on so many GPUs, whether or not it fits."""
    saving: list[Estimate] = []
    for one in start.every:
        saving += _saving(one, gpus, rare=True)
    return min((sized(found, is_possible=divides) for found in saving), key=_lacking)


def _lacking(found: Estimate) -> tuple[bool, bool, float]:
    lack = found.deciding.high_gb - found.device_gb
    return not divides(found), not found.rollout_fits, lack


def _trainable(start: PlanStart, gpus: int, *, rare: bool) -> Iterator[Estimate]:
    """What saves memory and has room to train, at the parallel sizes that suit."""
    for found in _saving(start, gpus, rare=rare):
        training = with_training_sized(found, (), divides)
        if not lacking_memory(training):
            yield with_engine_sized(training, (), divides)


def _saving(start: PlanStart, gpus: int, *, rare: bool) -> Iterator[Estimate]:
    """What saves memory on so many GPUs, the tag's settings alone before those with more."""
    for level in rules()["further"]:
        for found in _saving_by(start, gpus, level["inputs"]):
            if rare or not rare_settings(found):
                yield found


def _saving_by(
    start: PlanStart, gpus: int, inputs: Mapping[str, Number]
) -> Iterator[Estimate]:
    """What saves memory with those of these inputs too that a training backend has, if any."""
    for group in start.groups_on(gpus):
        for found in group:
            own = {
                name: value
                for name, value in inputs.items()
                if _is_possible(found, name)
            }
            if own or not inputs:
                saving = begun(found, "saving", gpus)
                yield saving.with_inputs(**own)


def rare_inputs(found: Estimate) -> Sequence[str]:
    """The settings that hardly any published run of the framework has, as far as that is known."""
    if not found.configuration.profile.is_verl:
        return ()
    rare: Sequence[str] = rules()["search"]["rare"]
    return rare


def _unturned(found: Estimate) -> Sequence[str]:
    """The inputs that a search leaves as they are."""
    return [*rules()["search"]["never"], *rare_inputs(found)]


def rare_settings(found: Estimate) -> list[str]:
    """The rare settings that are on, as the framework writes them."""
    on = dict(turned_on(found))
    return [on[name].setting for name in on if name in rare_inputs(found)]


def is_offloaded(found: Estimate) -> bool:
    """Whether something moves to host memory."""
    return any(found.values[name] for name in rules()["search"]["offload"])


def turned_on(found: Estimate) -> Iterator[tuple[str, Turn]]:
    """The switches that save memory and are on, by input, as the framework writes them."""
    for knob in formula()["knob"]:
        name = knob["input"]
        value = found.values[name]
        if "from" not in knob or "cost" not in knob or value != knob["value"]:
            continue
        setting = found.configuration.written(knob, value)
        if setting:
            yield name, Turn(setting, str(knob["price"]), 0)


def backend_of(found: Estimate) -> str:
    """The training backend, of DeepSpeed with its stage: 2 keeps all weights on each GPU."""
    train = found.configuration.train
    if train != "deepspeed":
        return train
    values = found.values
    sharded = values["shards_optimizer"] + values["shards_gradients"]
    return f"{train} ZeRO-{int(sharded + values['shards_parameters'])}"


def fastest(start: PlanStart, gpus: int) -> Estimate | None:
    """RECOMMENDED: of what fits on so many GPUs what takes the shortest step.

    Where no time can be computed it is what has the cheapest settings. What may need more than the
    usual host memory, and what is rare, is taken only where nothing else fits.
    """
    for group in start.groups_on(gpus):
        found = list(_fitting(start, group, gpus))
        if found:
            sure = [one for one in found if start.surely_holds(one.estimate)]
            return min(sure or found, key=_price).estimate
    return _smallest(start, [gpus], rare=False) or _smallest(start, [gpus])


def _fitting(
    start: PlanStart, group: Sequence[Estimate], gpus: int
) -> Iterator[Combination]:
    """The cheapest combinations that fit, of each training backend of a group."""
    most: int = rules()["search"]["compared"]
    for one in group:
        first = sized(begun(one, "fast", gpus), is_possible=divides)
        yield from islice(_fitting_from(start, first), most)


def _price(combination: Combination) -> float:
    """The seconds of a step, otherwise the cost of the settings."""
    step = step_time(combination.estimate)
    if step is None:
        return combination.cost
    return step.seconds.middle


class Settings(NamedTuple):
    """MIN and RECOMMENDED of a question.

    `short` is what lacks the least memory where nothing fits, `more` what fits on more GPUs of this
    device.
    """

    minimum: Estimate | None
    recommended: Estimate | None
    short: Estimate | None = None
    more: Estimate | None = None


def planned(start: PlanStart, gpus: int) -> Settings:
    """The settings on up to so many GPUs, or with 0 on as many as are needed.

    They are those of the first framework that has any.
    """
    for one in start.every:
        found = _planned(one, gpus)
        if found:
            return found
    most = max(counts_up_to(gpus))
    rest = [count for count in counts_up_to(0) if count > most]
    short = most_saving(start, most)
    return Settings(None, None, short, smallest(start, rest, rare=False))


def _planned(start: PlanStart, gpus: int) -> Settings | None:
    """That of one framework; `None` where nothing fits."""
    counts = counts_up_to(gpus)
    minimum = _smallest(start, counts, rare=False) or _smallest(start, counts)
    recommended = fastest(start, gpus) if gpus else _comfortable(start, minimum)
    if minimum and not recommended:  # such as 72 GPUs, which no parallel sizes divide
        recommended = fastest(start, max(counts[:-1])) or minimum
    if recommended:
        return Settings(minimum or recommended, recommended)
    return None


def _comfortable(start: PlanStart, minimum: Estimate | None) -> Estimate | None:
    """Of the GPUs of MIN, and some doublings, the first on which little time is lost."""
    if minimum is None:
        return None
    first: Estimate | None = None
    for factor in rules()["search"]["times"]:
        found = fastest(start, factor * int(minimum.values["gpus"]))
        first = first or found
        if found and not (is_offloaded(found) or rare_settings(found)):
            return found
    return first


def counts_up_to(gpus: int) -> list[int]:
    """The numbers of GPUs that are tried, up to one that is always among them; 0 is no limit."""
    every: Sequence[int] = rules()["search"]["gpus"]
    if not gpus:
        return list(every)
    fewer = [count for count in every if count < gpus]
    return [*fewer, gpus]
