"""An estimate: what a GPU holds in each phase, its peak with an interval, and a verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, sqrt
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rl_resources.estimate.configuration import Assumed, EstimateInputs, of_run
from rl_resources.estimate.formula import (
    RESERVED,
    Number,
    backends,
    evaluate,
    formula,
    peaks,
    plausible,
    rounded,
)
from rl_resources.estimate.frameworks import VERL

if TYPE_CHECKING:
    from rl_resources.package import Record
    from rl_resources.script.run import Run

GB = 1e9
ROLLOUT = "rollout"
TRAINED = "lora_rank"
"""The input that says what trains."""
OTHERS = ("loading", ROLLOUT)
"""The phases that do not train."""
NOT_ALLOCATED = ("context", "fragmentation", "rollout engine")
"""Components that PyTorch's counters of the process that trains do not see."""


class Moment(NamedTuple):
    """What one GPU holds at one moment of a phase: GB (10⁹ bytes), by the `terms` of components."""

    phase: str
    name: str
    peak_gb: float
    terms: Mapping[str, str]
    values: Mapping[str, Number]

    @property
    def components(self) -> dict[str, float]:
        """The GB of each component that takes any."""
        held: dict[str, float] = {}
        for title, term in self.terms.items():
            size = self.values[term]
            if size:
                held[title] = size / GB
        return held

    def held_gb(self, titles: Sequence[str]) -> float:
        """What components with these titles hold of it."""
        held = self.components
        return sum(held.get(title, 0) for title in titles)

    def as_dict(self) -> dict[str, Any]:
        """The moment as JSON holds it."""
        return {
            "moment": self.name,
            "peak_gb": self.peak_gb,
            "components": self.components,
        }


class Need(NamedTuple):
    """What a phase needs: its largest moment, and its interval."""

    moment: Moment
    low_gb: float
    high_gb: float

    def as_dict(self) -> dict[str, Any]:
        """The need as JSON holds it."""
        return {
            "phase": self.moment.phase,
            "peak_gb": self.moment.peak_gb,
            "interval_gb": [self.low_gb, self.high_gb],
        }


class Doubt(NamedTuple):
    """The factors by which other usual values of an input would change the peak of training.

    `saving` is the value that has the smallest factor.
    """

    least: float
    most: float
    saving: Number

    @property
    def spread(self) -> float:
        """How much the input decides."""
        return self.most - self.least

    def as_text(self) -> str:
        """The factors in a sentence."""
        least = f"{self.least - 1:+z.0%}"
        most = f"{self.most - 1:+z.0%}"
        return f"other usual values change the peak by {least} to {most}"


_NO_DOUBT = Doubt(1.0, 1.0, 0)


@dataclass(frozen=True)
class Estimate:
    """The estimate for a configuration. GB are 10⁹ bytes of one GPU."""

    configuration: EstimateInputs

    @cached_property
    def values(self) -> Mapping[str, Number]:
        """Every term of the formula by its name."""
        return evaluate(self.configuration.inputs)

    @cached_property
    def moments(self) -> Sequence[Moment]:
        """What every moment holds; none of the rollout where no engine shares the GPUs."""
        lacking = [*self.configuration.lacking]
        if not self.values["has_engine"]:
            lacking.append(ROLLOUT)
        found: list[Moment] = []
        for row, held in zip(formula()["moment"], peaks(self.values), strict=True):
            phase = row["phase"]
            if phase not in lacking:
                terms = row["components"]
                moment = Moment(phase, row["name"], held / GB, terms, self.values)
                found.append(moment)
        return found

    @cached_property
    def phases(self) -> Mapping[str, Moment]:
        """The largest moment of each phase."""
        largest: dict[str, Moment] = {}
        for moment in self.moments:
            before = largest.setdefault(moment.phase, moment)
            if moment.peak_gb > before.peak_gb:
                largest[moment.phase] = moment
        return largest

    @cached_property
    def training(self) -> Moment:
        """The largest moment of the phases that train."""
        largest = self.phases.values()
        training = (moment for moment in largest if moment.phase not in OTHERS)
        return max(training, key=attrgetter("peak_gb"))

    @property
    def peak_gb(self) -> float:
        """The peak of training."""
        return self.training.peak_gb

    @property
    def tokens_known(self) -> bool:
        """Whether the tokens of a micro batch are known, not only the longest sequence."""
        return bool(self.values["fill"] or self.values["max_tokens"])

    @cached_property
    def usual_gb(self) -> float:
        """The peak of training, with usual lengths where only the longest sequence is known."""
        if self.tokens_known:
            return self.peak_gb
        return self.with_inputs(fill=self.values["mean_fill"]).peak_gb

    @cached_property
    def usual(self) -> Mapping[str, Sequence[float]]:
        """The least and the most that is usual of what a question may leave open."""
        trained = "full"
        if self.values["lora_rank"]:
            trained = "lora"
        found = dict(plausible(f"{self.configuration.train} {trained}"))
        for name, values in self.configuration.earlier.items():
            if name in self.values:  # it decides more than the time
                found[name] = sorted({*values, self.values[name]})
        return found

    @cached_property
    def doubts(self) -> Mapping[str, Doubt]:
        """What other usual values of what was assumed would do to the peak of training."""
        found: dict[str, Doubt] = {}
        for item in self.configuration.assumed:
            values = self.usual.get(item.input, ())
            if not values or not self.configuration.leaves_open(item):
                continue
            if item.value == 0 and min(values) > 0:
                continue  # of another kind, as a rank of 0 is no LoRA
            ratios = [self._ratio(item.input, value) for value in values]
            least = min(ratios)
            saving = values[ratios.index(least)]
            found[item.input] = Doubt(min(1.0, least), max(1.0, *ratios), saving)
        return found

    def _ratio(self, name: str, value: Number) -> float:
        """By which factor another value of an input changes the peak of training."""
        if value == self.values[name]:
            return 1.0
        return self.with_inputs(**{name: value}).peak_gb / self.peak_gb

    @property
    def _saving(self) -> float:
        """By which factor the peak is lower where all that was assumed is what saves memory."""
        least: dict[str, Number] = {}
        for name, doubt in self.doubts.items():
            if doubt.least < 1:
                least[name] = doubt.saving
        return min(1.0, self.with_inputs(**least).peak_gb / self.peak_gb)

    @cached_property
    def factors(self) -> tuple[float, float]:
        """Of the peak of training: between them nine of ten measured peaks lie.

        What is assumed adds to the error of the arithmetic as independent errors add up. Who lacks
        memory saves on all of it, so what saves counts together.
        """
        sure = [least for least, _ in self._sure_factors]
        lower = exp(-_together([*sure, self._saving]))
        upper = self.upper_factor([doubt.most for doubt in self.doubts.values()])
        return lower, upper

    @property
    def _sure_factors(self) -> Iterator[tuple[float, float]]:
        """Those of the arithmetic, and of a framework's defaults or other layers that are taken.

        The latter as far as the peak is not reserved by an engine.
        """
        yield self.known_factors
        asked = self.configuration
        taken = []
        if asked.framework and not (asked.is_script or asked.is_planned):
            taken.append("framework")
        if any(item.input == "layers" for item in asked.assumed):
            taken.append("layers")
        share = 1 - self.training.held_gb(RESERVED) / self.peak_gb
        for name in taken:
            least, most = formula()["interval"][name]
            lower = 1 + (least - 1) * share
            upper = 1 + (most - 1) * share
            yield lower, upper

    @property
    def known_factors(self) -> tuple[float, float]:
        """The same where nothing that decides is assumed."""
        known = "longest"
        if self.tokens_known:
            known = "tokens"
        low, high = formula()["interval"][known]
        return low, high

    def upper_factor(self, open_factors: Iterable[float] = ()) -> float:
        """The upper one with what is open, which takes time, or without."""
        sure = [most for _, most in self._sure_factors]
        return exp(_together([*sure, *open_factors]))

    @property
    def interval_gb(self) -> tuple[float, float]:
        """Where the measured peak of training lies in nine of ten cases."""
        low, high = self.factors
        return self.usual_gb * low, self.peak_gb * high

    @cached_property
    def allocated_gb(self) -> tuple[float, float]:
        """What PyTorch says that the process which trains allocated, at least and at most.

        In a release that nobody named the engine may be in that process.
        """
        place = "engine_in_process"
        least = self.values["counted_engine"]
        most = least
        if place in self.doubts and self.configuration.may_be_earlier(place):
            most = self.with_inputs(**{place: 1}).values["counted_engine"]
        own = self.peak_gb - self.training.held_gb(NOT_ALLOCATED)
        return own + least / GB, own + most / GB

    def need_of(self, phase: str) -> Need:
        """What a phase needs that does not train; what the engine reserves is exact."""
        moment = self.phases.get(phase) or Moment(phase, "", 0.0, {}, {})
        low, high = self.known_factors
        reserved = moment.held_gb(RESERVED)
        others = moment.peak_gb - reserved
        low_gb = reserved + others * low
        high_gb = reserved + others * high
        return Need(moment, low_gb, high_gb)

    @cached_property
    def deciding(self) -> Need:
        """What the phase needs that needs most, by the upper ends of the intervals."""
        found = Need(self.training, *self.interval_gb)
        for phase in OTHERS:
            need = self.need_of(phase)
            if need.high_gb > found.high_gb:
                found = need
        return found

    @property
    def device_gb(self) -> float:
        """What a run can use of one GPU, 0 where its memory is not known."""
        return self.values["device_bytes"] / GB

    @property
    def engine_starts(self) -> bool:
        """Whether the engine may have room for the cache of one sequence."""
        return self._holds_sequence("most_kv_tokens")

    @property
    def cache_fits(self) -> bool:
        """Whether the engine has room for the cache of one sequence, also with its work space."""
        return self._holds_sequence("kv_tokens")

    def _holds_sequence(self, tokens: str) -> bool:
        return (
            ROLLOUT not in self.phases
            or self.values[tokens] >= self.values["sequence_length"]
        )

    @cached_property
    def rollout_fits(self) -> bool:
        """Whether the engine starts, and the interval of rollouts has a part with room for it.

        What nobody said of offload may be so that there is, or no engine on these GPUs: frameworks
        other than verl have engines on GPUs of their own too.
        """
        if self.engine_starts and self.need_of(ROLLOUT).low_gb <= self.device_gb:
            return True
        asked = self.configuration
        open_inputs = {item.input for item in asked.assumed}
        if asked.is_script:
            open_inputs.discard("gpu_memory_utilization")
        if "gpu_memory_utilization" not in open_inputs:
            open_inputs.discard("has_engine")
        if asked.framework in {"", VERL}:
            open_inputs.discard("engine_gpus")
        is_shared = asked.framework and "engine_shares_rest" not in asked.earlier
        if is_shared or asked.is_script:
            open_inputs.discard("engine_shares_rest")
        least = _only(formula()["least"]["rollout"], open_inputs)
        return bool(least) and self.with_inputs(**least).rollout_fits

    @cached_property
    def floor_gb(self) -> float:
        """What such a run needs at least, if what nobody said is what saves most.

        That is LoRA on 4 bits where nobody said what trains. What a script leaves to its framework
        is known.
        """
        asked = self.configuration
        saving: dict[str, Number] = {}
        for name, value in formula()["least"].get(asked.train, {}).items():
            saving[name] = self.values.get(value, value)
        unsaid: set[str] = set()
        for item in asked.assumed:
            if asked.is_script and not asked.leaves_open(item):
                continue
            unsaid.add(item.input)
            if item.input == "lora_rank" and not item.value:
                saving |= formula()["least"]["weights"]
        return self.with_inputs(**_only(saving, unsaid)).values["floor"] / GB

    @property
    def is_impossible(self) -> bool:
        """Whether the GPU is smaller than the floor, or too small for the rollouts."""
        if not self.rollout_fits:
            return True
        # Any other floor takes time, and is no higher.
        is_small = self.values["floor"] / GB > self.device_gb
        return is_small and self.floor_gb > self.device_gb

    @property
    def verdict(self) -> str:
        """Whether all phases fit the GPU, one of the words of the file."""
        room = self.device_gb
        if self.is_impossible:
            return "cannot fit"
        highest_gb = max(moment.peak_gb for moment in self.phases.values())
        if highest_gb > room or not self.engine_starts:
            return "unlikely"
        # Doubts, which take time, make it no better.
        without_doubts_gb = self.peak_gb * self.upper_factor()
        if not self.cache_fits or without_doubts_gb > room:
            return "tight"
        if self.deciding.high_gb > room:
            return "tight"
        return "fits"

    @property
    def fits_as_planned(self) -> bool:
        """Whether it fits with just these settings, as a plan writes them."""
        settings = replace(self.configuration, assumed=[], is_planned=True)
        return Estimate(settings).verdict == "fits"

    @property
    def reason(self) -> str:
        """Why this verdict, as a sentence."""
        said: Mapping[str, str] = formula()["said"]
        if not self.engine_starts:
            return said["no_cache"]
        if not self.rollout_fits:
            return said["no_room"].format(moment=self.phases[ROLLOUT].name)
        if self.verdict == "tight" and self.fits_as_planned:
            return said["just_these"]
        sentence: str = formula()["verdicts"][self.verdict]
        return sentence

    @property
    def decisive(self) -> list[tuple[Assumed, str]]:
        """What was assumed and decides, the most first: what trains, and why it is taken; then
        what other values would change.
        """
        found: list[tuple[Assumed, str]] = []
        for item in self.configuration.assumed:
            doubt = self.doubts.get(item.input, _NO_DOUBT)
            if item.input == TRAINED or "derived: " in item.reason:
                found.append((item, item.reason))
            elif doubt.spread >= formula()["search"]["decides"]:
                found.append((item, doubt.as_text()))

        def decides(item: tuple[Assumed, str]) -> tuple[bool, float]:
            assumed, _ = item
            spread = self.doubts.get(assumed.input, _NO_DOUBT).spread
            return assumed.input == TRAINED, spread

        return sorted(found, key=decides, reverse=True)

    @property
    def unsure(self) -> list[str]:
        """What was assumed and may make the peak higher, the most first."""
        doubts = self.doubts
        least = 1 + formula()["search"]["decides"]
        found = [name for name in doubts if doubts[name].most >= least]
        return sorted(found, key=lambda name: -doubts[name].most)

    @property
    def weights(self) -> str:
        """What trains: `full`, `lora` or `qlora`."""
        if self.values["quantized"]:
            return "qlora"
        if self.values["lora_rank"]:
            return "lora"
        return "full"

    @property
    def host_memory_gb(self) -> float:
        """The peak in host memory of one node: processes, loading, what is offloaded, the batch."""
        return self.values["host_peak"] / GB

    @property
    def host_interval_gb(self) -> tuple[float, float]:
        """Where the measured peak of host memory lies in nine of ten cases."""
        loading = "host"
        if self.values["loads_per_process"] and self.values["local_gpus"] > 1:
            loading = "host_of_each"
        low, high = formula()["interval"][loading]
        return self.host_memory_gb * low, self.host_memory_gb * high

    def assuming(self, values: Mapping[str, Number], why: str) -> Estimate:
        """The same question with other values of what was assumed, and why."""
        before = self.configuration
        assumed: list[Assumed] = []
        for item in before.assumed:
            if item.input not in values:
                assumed.append(item)
                continue
            value = values[item.input]
            if value == item.value and not before.leaves_open(item):
                assumed.append(item)  # what the framework does by default
                continue
            reason = f"{item.reason}, {why}"
            if value != item.value:
                reason = f"instead of {item.value}, {reason}"
            # The items of the page say too whether they are open.
            assumed.append(item._replace(value=value, reason=reason))
        inputs = {**before.inputs, **values}
        return Estimate(replace(before, inputs=inputs, assumed=assumed))

    def with_inputs(self, **inputs: Number) -> Estimate:
        """The same question with other inputs, which are no longer assumed."""
        before = self.configuration
        assumed = [item for item in before.assumed if item.input not in inputs]
        together = {**before.inputs, **inputs}
        return Estimate(replace(before, inputs=together, assumed=assumed))

    def as_dict(self) -> dict[str, Any]:
        """The estimate as JSON holds it, without its knobs."""
        kv_cache_tokens = None
        if ROLLOUT in self.phases:
            kv_cache_tokens = int(self.values["kv_tokens"])
        figures: dict[str, Any] = {
            "peak_gb": self.peak_gb,
            "interval_gb": list(self.interval_gb),
            "device_gb": self.device_gb,
            "floor_gb": self.floor_gb,
            "verdict": self.verdict,
            "reason": self.reason,
            "deciding": self.deciding.as_dict(),
            "phases": {
                phase: moment.as_dict() for phase, moment in self.phases.items()
            },
            "components": self.training.components,
            "allocated_gb": list(self.allocated_gb),
            "host_memory_gb": self.host_memory_gb,
            "host_interval_gb": list(self.host_interval_gb),
            "kv_cache_tokens": kv_cache_tokens,
        }
        asked = {
            "inputs": dict(self.configuration.inputs),
            "assumed": [item._asdict() for item in self.configuration.assumed],
        }
        figures = rounded(figures, 2)
        return figures | asked


def of_script(
    run: Run, gpus: Number, memory_gb: Number, model: Record
) -> Estimate | None:
    """The estimate of what a script starts; `None` for a training backend without defaults.

    Raises `UnusableInput` where a figure is missing.
    """
    train = str(run.train_backend.text)
    if train not in backends():
        return None
    inputs = EstimateInputs(
        train, run.infer_backend.text or "", framework=VERL, is_script=True
    )
    inputs.give("gpus", gpus)
    inputs.give("device_gb", memory_gb)
    of_run(run, inputs)
    inputs.complete(model)
    return Estimate(inputs)


def _together(factors: Iterable[float]) -> float:
    """How far independent errors are off together, as a logarithm."""
    return sqrt(sum(log(factor) ** 2 for factor in factors))


def _only(values: Mapping[str, Number], names: Collection[str]) -> dict[str, Number]:
    return {name: value for name, value in values.items() if name in names}
