"""Values of a run's settings: their type, and what framework and engine accept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf

from rl_resources.files import table_beside
from rl_resources.package import number
from rl_resources.rule import Mistake, rule
from rl_resources.script.algorithm import GROUP_ESTIMATORS, KNOWN_ESTIMATORS
from rl_resources.script.backends import ENGINES
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.framework.syntax import is_count
from rl_resources.script.launch import Launch, Override
from rl_resources.script.script_text import FRAMEWORK, ScriptText, value_of
from rl_resources.script_rules.releases import refused_values, rejections
from rl_resources.text import misspelt, nearest, shown

_AS_NUMBERS = {"true": 1, "false": 0}


@rule("warning")
def switch_for_number(target: ScriptText) -> Iterator[Mistake]:
    """Numbers are written as numbers.

    Python reads `False` as 0 and `True` as 1; readers cannot tell what was meant.

    Bad: `python3 -m verl.trainer.main_ppo trainer.test_freq=False`
    Good: `python3 -m verl.trainer.main_ppo trainer.test_freq=-1`
    """
    usual = shipped(FRAMEWORK).engines[""]
    for launch in target.of_framework:
        for override in launch.overrides:
            default = usual.values.get(override.key)
            number = _AS_NUMBERS.get((override.value or "").lower())
            if number is None or not is_count(default):
                continue
            said = f"`{override.key}` is `{override.value}` where the default is `{default}`"
            yield target.mistake(
                override.origin,
                f"{said}: Python reads it as {number}",
                f"Write `{number}`, or the number that is meant.",
            )


@rule()
def value_type(target: ScriptText) -> Iterator[Mistake]:
    """Every value has the type that the framework's configuration has for its key.

    Hydra accepts `train_batch_size=abc`; the run fails later, far from the mistake.

    Bad: `python3 -m verl.trainer.main_ppo data.train_batch_size=1k`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=1024`
    """
    for item in rejections(target):
        rejection = item.rejection
        if rejection.kind not in ("type", "syntax") or rejection.index < 0:
            continue
        # The default of a fork's own key says too little: `memory` may stand for `false`.
        if rejection.kind == "type" and item.is_of_a_fork:
            continue
        override = item.launch.overrides[rejection.index]
        # The value of `key= value`, or of a list with spaces, is a stray argument.
        is_cut_off = override.value == "" or rejection.kind == "syntax"
        if is_cut_off and _has_stray_behind(item.launch, override):
            continue
        yield target.mistake(
            override.origin,
            f"`{shown(override.key, 120)}`: {shown(rejection.reason, 200)}",
            f"Fix the value `{shown(value_of(override))}`.",
        )


def _has_stray_behind(launch: Launch, override: Override) -> bool:
    """Whether a stray argument follows on the line of an override."""
    places = [stray.place for stray in launch.stray]
    line = override.place.line
    return any(place.line == line and place > override.place for place in places)


Bounds = tuple[float, float]
"""The least and the largest value that framework and engine accept."""


_TABLE = table_beside(__file__)


_SHARE = (0.01, 1)


_COUNT = (1, inf)


_WORDS: Mapping[str, Collection[str]] = {
    "algorithm.adv_estimator": KNOWN_ESTIMATORS | GROUP_ESTIMATORS,
    **_TABLE["words"],
}


def bounds(key: str, otherwise: Bounds = (-inf, inf)) -> Bounds:
    """The bounds of a setting; `otherwise` if none are known."""
    for engine in ENGINES.values():
        if key == engine.utilization:
            return _SHARE
        if key == engine.tensor_parallel:
            return _COUNT
    least, most = _TABLE["bounds"].get(key, otherwise)
    return least, most


@rule()
def value_range(target: ScriptText) -> Iterator[Mistake]:
    """The framework accepts every value.

    The run stops at a share above 1, a size of 0 or a misspelled word.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=60`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.rollout.gpu_memory_utilization=0.6`
    """
    for launch in target.of_framework:
        for override in launch.overrides:
            said = f"`{override.key}` is `{shown(value_of(override))}`"
            beyond = _beyond_bounds(override)
            if beyond:
                yield target.mistake(
                    override.origin,
                    f"{said}, {beyond}",
                    "Fix the number.",
                )
            elif _is_misspelt(override):
                near = nearest(_word(override), _WORDS[override.key])
                yield target.mistake(
                    override.origin,
                    f"{said}, which {FRAMEWORK} does not know",
                    near.sentence(),
                )
    yield from refused_values(target)


def _word(override: Override) -> str:
    return (override.value or "").removesuffix("+")


def _beyond_bounds(override: Override) -> str:
    """How a number is out of bounds; empty if it is within them, and for words."""
    value = number(_word(override))
    if value is None:
        return ""
    least, most = bounds(override.key)
    if value < least:
        return f"which is less than {least:g}"
    if value > most:
        return f"which is more than {most:g}"
    return ""


def _is_misspelt(override: Override) -> bool:
    """Whether a word is a known one with a typo or in another case."""
    known = _WORDS.get(override.key, ())
    word = _word(override)
    if word in known or "," in word:  # a comma is another rule's
        return False
    return word.lower() in known or misspelt(word, known)
