"""The seconds of a step: the terms of `time.toml`, on the inputs and the terms of the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from rl_resources.estimate import SPEEDS
from rl_resources.estimate.configuration import Assumed
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import TIME, Number, computed, formula, rounded

PHASES: Mapping[str, str] = {
    "generation": "generation_seconds",
    "log-probs": "log_prob_seconds",
    "update": "update_seconds",
    "other": "other_seconds",
}
"""The phases of a step, with their terms."""
_MEAN_LENGTHS = ("mean_response_length", "mean_total_length")
LENGTHS = (*_MEAN_LENGTHS, "response_length")


class Range(NamedTuple):
    """A figure with its 90 % interval."""

    middle: float
    low: float
    high: float

    def times(self, factor: float) -> Range:
        """The same in another unit."""
        return Range(self.middle * factor, self.low * factor, self.high * factor)


class StepTime(NamedTuple):
    """An estimated step: its seconds, those of its phases, and its tokens.

    With `overlaps` it generates while it trains, so a step is shorter than its phases together.
    `gpus` counts those that train and those that only generate.
    """

    seconds: Range
    phases: Mapping[str, float]
    overlaps: bool
    tokens: float
    gpus: Number
    assumed: tuple[Assumed, ...]

    @property
    def tokens_per_second_per_gpu(self) -> Range:
        """The tokens of prompts and responses."""
        of_a_gpu = self.tokens / self.gpus
        return Range(
            of_a_gpu / self.seconds.middle,
            of_a_gpu / self.seconds.high,
            of_a_gpu / self.seconds.low,
        )

    def gpu_hours(self, steps: float) -> Range:
        """What so many steps take."""
        hours = steps * self.gpus / 3600
        return self.seconds.times(hours)

    def as_dict(self) -> dict[str, Any]:
        """The step as JSON holds it."""
        rate = self.tokens_per_second_per_gpu
        figures: dict[str, Any] = {
            "seconds": self.seconds.middle,
            "interval_seconds": [self.seconds.low, self.seconds.high],
            "phases": dict(self.phases),
            "overlaps": self.overlaps,
            "tokens_per_second_per_gpu": rate.middle,
            "interval_tokens_per_second_per_gpu": [rate.low, rate.high],
        }
        figures = rounded(figures, 1)
        figures["assumed"] = [item._asdict() for item in self.assumed]
        return figures


def lacking(estimate: Estimate) -> list[str]:
    """What a step time needs and nobody gave, in words."""
    if estimate.configuration.offline:
        return [formula()["said"]["no_rollouts"]]
    time = formula()["time"]
    said: Mapping[str, str] = time["said"]
    infer = _engine(estimate)
    found: list[str] = []
    if not infer:
        found.append(said["no_engine"])
    elif infer not in time["engine"]:
        found.append(said["unknown_engine"].format(infer=infer))
    for name, words in time["needed"].items():
        if not _is_given(estimate, name):
            found.append(words)
    if not _is_any_given(estimate, LENGTHS):
        found.append(said["no_length"])
    return found


def _engine(estimate: Estimate) -> str:
    """What generates: without a rollout engine it is the model that is trained."""
    infer = estimate.configuration.infer
    if not infer and estimate.values["generates"]:
        return "hf"
    return infer


def _is_any_given(estimate: Estimate, names: Iterable[str]) -> bool:
    return any(_is_given(estimate, name) for name in names)


def _is_given(estimate: Estimate, name: str) -> bool:
    """Whether the question, the script or the script's framework says an input."""
    configuration = estimate.configuration
    if not configuration.inputs.get(name):
        return False
    if name in SPEEDS:
        return True
    for item in configuration.assumed:
        if item.input == name:
            return configuration.is_script and "default" in item.reason
    return True


def step_time(estimate: Estimate) -> StepTime | None:
    """The time of a step; `None` where something is `lacking`."""
    if lacking(estimate):
        return None
    values = evaluate_time(time_values(estimate))
    phases = {phase: values[term] for phase, term in PHASES.items()}
    return StepTime(
        seconds=_seconds(values),
        phases=phases,
        overlaps=values["steps_off_policy"] > 0,
        tokens=values["trained_tokens"],
        gpus=values["gpus"] + values["rollout_gpus"],
        assumed=tuple(_assumed(estimate, values["usual_response"])),
    )


def _seconds(values: Mapping[str, Number]) -> Range:
    """The step with its interval, which is wider where no mean length is known."""
    known = "longest"
    if values["mean_response_length"] + values["mean_total_length"] > 0:
        known = "known"
    low, high = formula()["time"]["interval"][known]
    middle = values["seconds"]
    return Range(middle, middle * low, middle * high)


def _assumed(estimate: Estimate, usual_response: Number) -> Iterator[Assumed]:
    """What the time assumes beyond the estimate of the memory."""
    inputs = estimate.configuration.inputs
    infer = _engine(estimate)
    unsaid = [name for name in _nothing_given() if name not in inputs]
    for name, value in formula()["time"]["engine"][infer].items():
        if name in unsaid:
            yield Assumed(name, value, f"what {infer} does by default")
    for name in ("rollout_gpus", "steps_off_policy"):
        if name in unsaid:
            yield Assumed(name, 0, "not given")
    if not _knows_micro_batch(estimate):
        yield Assumed(
            "max_tokens", constants()["usual_tokens"], "no micro batch is given"
        )
    if not _is_any_given(estimate, _MEAN_LENGTHS):
        reason = "usual with this longest response"
        yield Assumed("mean_response_length", round(usual_response), reason)


def _knows_micro_batch(estimate: Estimate) -> bool:
    return _is_any_given(estimate, ("micro_batch", "max_tokens"))


@cache
def _nothing_given() -> Mapping[str, Number]:
    """The inputs that only the time has, as 0."""
    return {item["name"]: 0 for item in formula()["time"]["input"]}


@cache
def constants() -> Mapping[str, Number]:
    """The constants of `time.toml` by name."""
    return {item["name"]: item["value"] for item in formula()["time"]["constant"]}


def time_values(estimate: Estimate) -> Mapping[str, Number]:
    """What the terms of a time are evaluated on; an input that nobody gave is 0."""
    configuration = estimate.configuration
    return {
        **_nothing_given(),
        **formula()["time"]["engine"][_engine(estimate)],
        "is_fused": formula()["time"]["fused"].get(configuration.train, 0),
        "micro_known": _knows_micro_batch(estimate),
        "share_known": _is_given(estimate, "gpu_memory_utilization"),
        **estimate.values,
    }


def evaluate_time(values: Mapping[str, Number]) -> dict[str, Number]:
    """The terms of `time.toml` on those of the memory and the inputs of a time."""
    return computed(TIME, {**constants(), **values})
