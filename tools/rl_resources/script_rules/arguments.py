"""Arguments of a run.

Every setting exists in the framework's configuration, has its type, and is set once.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from operator import attrgetter

from rl_resources.files import table_beside
from rl_resources.package import number
from rl_resources.rule import Mistake, rule
from rl_resources.script.algorithm import GROUP_ESTIMATORS, KNOWN_ESTIMATORS
from rl_resources.script.backends import ENGINES
from rl_resources.script.bash.script import Place, Word
from rl_resources.script.framework.composition import Rejection
from rl_resources.script.framework.shipped import shipped
from rl_resources.script.framework.syntax import is_count
from rl_resources.script.launch import Launch, Override
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, ScriptText, value_of
from rl_resources.script_rules.releases import (
    RejectedArgument,
    fork,
    fork_name,
    meant,
    refused_values,
    rejections,
)
from rl_resources.text import misspelt, nearest, shown

_TABLE = table_beside(__file__)


@rule()
def stray_argument(target: ScriptText) -> Iterator[Mistake]:
    """Every argument of the training program is an override `key=value`.

    Hydra stops at any other word; a lost quote or a space leaves one behind.

    Bad: `python3 -m verl.trainer.main_ppo trainer.total_epochs= 1`
    Good: `python3 -m verl.trainer.main_ppo trainer.total_epochs=1`
    """
    # The rule `broken_continuation` reports those.
    explained = {item.cause_line for item in target.broken_continuations}
    seen: set[str] = set()
    for launch in target.of_framework:
        for line, strays in groupby(launch.stray, attrgetter("place.line")):
            # A no-break space is a mistake of its own.
            words = [stray for stray in strays if "\u00a0" not in (stray.text or "")]
            written = " ".join(map(_written, words))
            if not words or line in explained or written in seen:
                continue
            seen.add(written)
            yield target.mistake(
                words[0].place,
                f"`{shown(written)}` is not an override `key=value`",
                "Write no space around `=` or after a backslash; quote a value with spaces.",
            )


def _written(word: Word) -> str:
    if word.place == word.site:
        return word.raw
    return word.text or ""


@rule()
def contradicting_override(target: ScriptText) -> Iterator[Mistake]:
    """No key has two values in one command.

    The last value wins silently, but readers see the first.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`

    One in the command after an array replaces on purpose what the array has.
    """
    for first, later in _repeated(target):
        if first.value is None or later.value in (None, first.value):
            continue
        yield target.mistake(
            later.place,
            f"`{later.key}` is `{shown(first.value)}` in line {first.place.line}, "
            f"and `{shown(later.value)}` here, which wins",
            "Delete one of the two.",
        )


@rule("warning")
def repeated_override(target: ScriptText) -> Iterator[Mistake]:
    """No key is set twice in one command.

    Changing one of the two has no effect, or makes them contradict.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=2 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`
    """
    for first, later in _repeated(target):
        if value_of(first) == value_of(later):
            yield target.mistake(
                later.place,
                f"`{later.key}` is set in line {first.place.line} already, to the same value",
                "Delete one of the two.",
            )


def _repeated(target: ScriptText) -> Iterator[tuple[Override, Override]]:
    """Overrides of the same key in one list: in the command, or in one array."""
    arrays = [item.place for item in target.script.assignments]
    for launch in target.launches:
        seen: dict[object, Override] = {}
        for override in launch.overrides:
            in_command = override.place >= launch.command.place
            written_in = (override.key, in_command, bisect(arrays, override.place))
            first = seen.get(written_in)
            seen[written_in] = override
            if first is None or first.place == override.place:
                continue
            if not _OF_A_GROUP.search(override.prefix + override.key):
                yield first, override


_OF_A_GROUP = re.compile(r"[~@/]")
"""In an override that chooses one of a group of configurations, or deletes a key."""


@rule()
def unknown_key(target: ScriptText) -> Iterator[Mistake]:
    """Every key exists in the configuration of the framework.

    Hydra stops at an unknown key before anything runs.

    Bad: `python3 -m verl.trainer.main_ppo trainer.n_gpu_per_node=8`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`

    What no release ever accepted; `outdated_key` reports what older ones did, and a `+` too many.

    Keys that another choice of backend has are one mistake: the choice is missing, unless words
    that are not known may make it. All that a fork has of its own is one, too.
    """
    own = fork(target)
    if own:
        if target.ours:  # another page tells its readers
            yield _fork(target, own)
        return
    chosen: set[str] = set()
    for item in rejections(target):
        rejection = item.rejection
        if rejection.kind not in _STOPS or item.is_dated:
            continue
        choice = _other_choice(target, rejection)
        if choice and (item.launch.unresolved or choice in chosen):
            continue
        chosen.add(choice)
        yield target.mistake(
            item.place,
            f"`{shown(rejection.key, 120)}`: {rejection.reason}",
            choice or _key_fix(item),
        )


_STOPS = ("unknown-key", "existing-key", "group", "no-module")


def _fork(target: ScriptText, own: Sequence[RejectedArgument]) -> Mistake:
    first, *others = dict.fromkeys(item.rejection.key for item in own)
    what = f"`{shown(first, 120)}`"
    if others:
        what = f"{what} and {len(others)} more of its keys"
    return target.mistake(
        own[0].place,
        f"no release of {FRAMEWORK} has {what}: the run is of {fork_name(own)}",
        f"Name it in the column `framework`, or use settings of {FRAMEWORK}.",
    )


def _other_choice(target: ScriptText, rejection: Rejection) -> str:
    """The fix if another choice of backend has the key; otherwise empty."""
    if rejection.kind != "unknown-key":
        return ""
    for choice, engine in target.source.engines.items():
        if choice and rejection.key in engine.values:
            owner = "configuration" if choice.startswith("--") else "engine"
            return (
                f"Add `{choice}`: this key and others like it belong to that {owner}."
            )
    return ""


def _key_fix(item: RejectedArgument) -> str:
    key = item.rejection.key
    match item.rejection.kind:
        case "existing-key":
            return "Leave out the `+`."
        case "group" | "no-module":
            return f"Write one that {item.composition.framework} {item.composition.version} has."
    known = meant(item)
    if known:
        return f"Did you mean `{known}`?"
    return f"Remove it, or write `+{key}` if other code reads it."


_NEEDS: Mapping[str, str] = _TABLE["needs"]
"""Settings that are read only where a switch is on."""


@rule("warning", follows=["unknown-key"])
def ineffective_setting(target: ScriptText) -> Iterator[Mistake]:
    """Every setting has an effect.

    Changing it does nothing, and plans that rely on it are wrong.

    Bad: `python3 -m verl.trainer.main_ppo algorithm.kl_ctrl.kl_coef=0.01
        algorithm.use_kl_in_reward=False`
    Good: `python3 -m verl.trainer.main_ppo algorithm.kl_ctrl.kl_coef=0.01
        algorithm.use_kl_in_reward=True`

    Only where the script itself turns the switch off: older releases lack it, and arguments may
    turn it on. A coefficient of 0 says that there is none. verl/trainer/ppo/v1/trainer_base.py
    `__init__` and verl/workers/utils/losses.py `ppo_loss` read the switches.
    """
    run = target.training
    if run is None:
        return
    for key, switch in _NEEDS.items():
        setting = run.setting(key)
        # A coefficient that is not known, or 0, does not ask for its switch.
        is_asked = setting.known and setting.value
        if setting.place and is_asked and _is_turned_off(run, switch):
            yield target.mistake(
                setting.place,
                f"`{key}` has no effect, because `{switch}` is off",
                f"Delete it, or set `{switch}=True`.",
            )


def _is_turned_off(run: Run, switch: str) -> bool:
    """Whether the script itself turns a switch off for good."""
    setting = run.setting(switch)
    is_set = setting.place and not run.may_change(switch)
    return bool(is_set) and setting.flag is False


_AS_NUMBERS = {"true": 1, "false": 0}


@rule("warning")
def switch_for_number(target: ScriptText) -> Iterator[Mistake]:
    """Numbers are written as numbers.

    Python reads `False` as 0 and `True` as 1; readers cannot tell what was meant.

    Bad: `python3 -m verl.trainer.main_ppo trainer.test_freq=False`
    Good: `python3 -m verl.trainer.main_ppo trainer.test_freq=-1`
    """
    usual = shipped(FRAMEWORK).engines[""].values
    for launch in target.of_framework:
        for override in launch.overrides:
            default = usual.get(override.key)
            number = _AS_NUMBERS.get((override.value or "").lower())
            if number is not None and is_count(default):
                yield target.mistake(
                    override.origin,
                    f"`{override.key}` is `{override.value}` where the default is `{default}`: "
                    f"Python reads it as {number}",
                    f"Write `{number}`, or the number that is meant.",
                )


@rule()
def value_type(target: ScriptText) -> Iterator[Mistake]:
    """Every value has the type that the framework's configuration has for its key.

    Hydra accepts `train_batch_size=abc`; the run fails later, far from the mistake.

    Bad: `python3 -m verl.trainer.main_ppo data.train_batch_size=1k`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=1024`
    """
    seen: set[Place] = set()
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
        if override.origin in seen:  # of a variable that several keys have
            continue
        seen.add(override.origin)
        yield target.mistake(
            override.origin,
            f"`{shown(override.key, 120)}`: {shown(rejection.reason, 200)}",
            f"Fix the value `{shown(value_of(override))}`.",
        )


def _has_stray_behind(launch: Launch, override: Override) -> bool:
    """Whether a stray argument follows on the line of an override."""
    place = override.place
    return any(
        stray.place.line == place.line and stray.place > place for stray in launch.stray
    )


_WORDS: Mapping[str, Collection[str]] = {
    "algorithm.adv_estimator": KNOWN_ESTIMATORS | GROUP_ESTIMATORS,
    **_TABLE["words"],
}


def bounds(
    key: str, otherwise: tuple[float, float] = (-inf, inf)
) -> tuple[float, float]:
    """The least and the largest value of a setting; `otherwise` if none are known."""
    for engine in ENGINES.values():
        if key == engine.utilization:
            return 0.01, 1
        if key == engine.tensor_parallel:
            return 1, inf
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
            wrong = _beyond_bounds(override)
            fix = "Fix the number."
            if _is_misspelt(override):
                wrong = f"which {FRAMEWORK} does not know"
                fix = nearest(_word(override), _WORDS[override.key]).sentence()
            if wrong:
                said = f"`{override.key}` is `{shown(value_of(override))}`"
                yield target.mistake(override.origin, f"{said}, {wrong}", fix)
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
    if not known or word in known or "," in word:  # a comma is another rule's
        return False
    return word.lower() in known or misspelt(word, known)
