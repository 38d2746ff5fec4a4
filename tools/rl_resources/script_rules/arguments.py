"""Arguments of a run.

Each setting exists in the framework's configuration, has its type, and is given once.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf

from rl_resources.files import table_beside
from rl_resources.package import number
from rl_resources.rule import Mistake, rule
from rl_resources.script.algorithm import GROUP_ESTIMATORS, KNOWN_ESTIMATORS
from rl_resources.script.backends import (
    CHECKPOINTING,
    ENGINES,
    RECOMPUTATION,
    switched_on,
)
from rl_resources.script.bash.script import Word
from rl_resources.script.framework.composition import Rejection
from rl_resources.script.framework.shipped import shipped, support
from rl_resources.script.framework.syntax import STAND_IN, is_count, parse
from rl_resources.script.launch import Launch, Override
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, ScriptText, value_of
from rl_resources.script_rules.releases import (
    REMOVED,
    RejectedArgument,
    fork,
    meant,
    refused_values,
    rejections,
)
from rl_resources.text import misspelt, nearest, quoted, shown


@rule()
def stray_argument(target: ScriptText) -> Iterator[Mistake]:
    """Every argument of the training program is an override `key=value`.

    Hydra stops at a word that is none; it is left over by a lost quote or a space.

    Bad: `python3 -m verl.trainer.main_ppo trainer.total_epochs= 1`
    Good: `python3 -m verl.trainer.main_ppo trainer.total_epochs=1`
    """
    explained = {item.cause_line for item in target.lost}  # broken_continuation reports those
    seen: set[str] = set()
    for launch in target.of_framework:
        for line, strays in groupby(launch.stray, _line):
            # A no-break space is a mistake of its own.
            words = [stray for stray in strays if "\u00a0" not in (stray.text or "")]
            written = " ".join(map(_written, words))
            if not words or line in explained or written in seen:
                continue
            seen.add(written)
            message = f"`{shown(written)}` is not an override `key=value`"
            fix = "Write no space around `=` or after a backslash; quote a value with spaces."
            yield target.mistake(words[0].place, message, fix)


def _line(word: Word) -> int:
    return word.place.line


def _written(word: Word) -> str:
    if word.place == word.site:
        return word.raw
    return word.text or ""


@rule()
def contradicting_override(target: ScriptText) -> Iterator[Mistake]:
    """No key is set to two values in one command.

    The later one wins and nothing says so; a reader sees the first.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=1 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`

    One in the command after an array replaces on purpose what the array has.
    """
    for first, later in _repeated(target):
        if first.value is None:
            continue
        if later.value is None:
            continue
        old = shown(value_of(first))
        new = shown(value_of(later))
        if old != new:
            here = f"in line {first.place.line}, and `{new}` here, which wins"
            message = f"`{later.key}` is `{old}` {here}"
            yield target.mistake(later.place, message, "Delete one of the two.")


@rule("warning")
def repeated_override(target: ScriptText) -> Iterator[Mistake]:
    """No key is set twice in one command.

    A reader who changes one of the two changes nothing, or makes them contradict.

    Bad: `python3 -m verl.trainer.main_ppo trainer.nnodes=2 trainer.nnodes=2`
    Good: `python3 -m verl.trainer.main_ppo trainer.nnodes=2`
    """
    for first, later in _repeated(target):
        if value_of(first) == value_of(later):
            before = f"in line {first.place.line} already"
            message = f"`{later.key}` is set {before}, to the same value"
            yield target.mistake(later.place, message, "Delete one of the two.")


def _repeated(target: ScriptText) -> Iterator[tuple[Override, Override]]:
    """Overrides of one key that are written in one list: in the command, or in one array."""
    arrays = [item.place for item in target.script.assignments]
    for launch in target.launches:
        seen: dict[object, Override] = {}
        for override in launch.overrides:
            in_command = override.place >= launch.command.place
            written_in = (override.key, in_command, bisect(arrays, override.place))
            first = seen.get(written_in)
            seen[written_in] = override
            if first is None:
                continue
            if first.place == override.place:
                continue
            if not _is_of_a_group(override):
                yield first, override


def _is_of_a_group(override: Override) -> bool:
    """Whether an override chooses one of a group of configurations, or deletes a key."""
    if "~" in override.prefix:
        return True
    return "@" in override.key or "/" in override.key


@rule()
def unknown_key(target: ScriptText) -> Iterator[Mistake]:
    """Every key exists in the framework's configuration.

    Hydra stops at a key that does not exist, before anything runs.

    Bad: `python3 -m verl.trainer.main_ppo trainer.n_gpu_per_node=8`
    Good: `python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`

    What no release ever accepted; `outdated_key` reports what older ones did, and a `+` too many.

    Keys that another choice of backend has are one mistake: the choice is missing, unless words
    that are not known may make it. All that a fork has of its own is one, too.
    """
    own = fork(target)
    if own:
        yield _fork(target, own)
        return
    chosen: set[str] = set()
    for item in rejections(target):
        rejection = item.rejection
        if rejection.kind not in _STOPS or item.is_dated:
            continue
        choice = _other_choice(target, rejection)
        is_unclear = item.launch.unresolved or choice in chosen
        if choice and is_unclear:
            continue
        chosen.add(choice)
        key = shown(rejection.key, 120)
        message = f"`{key}`: {rejection.reason}"
        fix = choice or _key_fix(item)
        yield target.mistake(item.place, message, fix)


_STOPS = ("unknown-key", "existing-key", "group", "no-module")


def _fork(target: ScriptText, own: Sequence[RejectedArgument]) -> Mistake:
    first, *others = dict.fromkeys(item.rejection.key for item in own)
    what = f"`{shown(first, 120)}`"
    if others:
        what = f"{what} and {len(others)} more of its keys"
    names = filter(None, (support(FRAMEWORK).fork(item.rejection.key) for item in own))
    name = next(names, "a fork")
    message = f"no release of {FRAMEWORK} has {what}: the run is of {name}"
    fix = f"Say which in the column `framework`, or write what {FRAMEWORK} has."
    return target.mistake(own[0].place, message, fix)


def _other_choice(target: ScriptText, rejection: Rejection) -> str:
    """The fix where another choice of backend has the key; empty where none has."""
    if rejection.kind != "unknown-key":
        return ""
    engines = target.source.engines
    choice = next((name for name in engines if rejection.key in engines[name].values), "")
    if not choice:
        return ""
    owner = "configuration" if choice.startswith("--") else "engine"
    return f"Add `{choice}`: this key and others like it belong to that {owner}."


def _key_fix(item: RejectedArgument) -> str:
    rejection = item.rejection
    composition = item.composition
    key = rejection.key
    if rejection.kind == "existing-key":
        return "Leave out the `+`."
    if rejection.kind != "unknown-key":
        return f"Write one that {composition.framework} {composition.version} has."
    if key in REMOVED:
        return REMOVED[key]
    known = meant(item)
    if known:
        return f"Did you mean `{known}`?"
    return f"Remove it, or write `+{key}` if other code reads it."


_AS_NUMBERS = {"true": 1, "false": 0}


@rule("warning")
def switch_for_number(target: ScriptText) -> Iterator[Mistake]:
    """A number is written as a number.

    Python takes `False` for 0 and `True` for 1; a reader cannot tell what was meant.

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
            message = f"{said}: Python takes it for {number}"
            fix = f"Write `{number}`, or the number that is meant."
            yield target.mistake(override.origin, message, fix)


@rule()
def value_type(target: ScriptText) -> Iterator[Mistake]:
    """Every value has the type that the framework's configuration has for its key.

    Hydra takes `train_batch_size=abc`; the run fails later, far from the mistake.

    Bad: `python3 -m verl.trainer.main_ppo data.train_batch_size=1k`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=1024`
    """
    for item in rejections(target):
        rejection = item.rejection
        if rejection.kind not in ("type", "syntax"):
            continue
        if rejection.index < 0:
            continue
        override = item.launch.overrides[rejection.index]
        # The value of `key= value`, or of a list with spaces, is a stray argument.
        is_cut_off = override.value == "" or rejection.kind == "syntax"
        if is_cut_off and _has_stray_behind(item.launch, override):
            continue
        yield _wrong_value(target, override, rejection.reason)
    for launch in target.of_framework:
        for override in launch.overrides:
            reason = _broken_list(override)
            if reason and not _has_stray_behind(launch, override):
                yield _wrong_value(target, override, reason)


def _has_stray_behind(launch: Launch, override: Override) -> bool:
    """Whether an argument that is no override comes later on an override's line."""
    for stray in launch.stray:
        same_line = stray.place.line == override.place.line
        if same_line and stray.place > override.place:
            return True
    return False


def _wrong_value(target: ScriptText, override: Override, reason: str) -> Mistake:
    key = shown(override.key, 120)
    value = shown(value_of(override))
    message = f"`{key}`: {shown(reason, 200)}"
    fix = f"Fix the value `{value}`."
    return target.mistake(override.origin, message, fix)


def _broken_list(override: Override) -> str:
    """Why Hydra rejects a list or section with a part that is not known; empty if it may not."""
    if override.value is not None:
        return ""
    if override.content is None:
        return ""
    texts = [part.text for part in override.content.parts]
    if not texts:
        return ""
    begin = texts[0] or ""
    if not begin.startswith(("[", "{")):
        return ""
    known = [STAND_IN if text is None else text for text in texts]
    try:
        parse("".join(known))
    except ValueError as error:
        return str(error).replace(STAND_IN, "…")
    return ""


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
    """A value is one that the framework accepts.

    The run stops at a share above 1, a size of 0 or a misspelt word.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=60`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.rollout.gpu_memory_utilization=0.6`
    """
    for launch in target.of_framework:
        for override in launch.overrides:
            value = shown(value_of(override))
            said = f"`{override.key}` is `{value}`"
            beyond = _beyond_bounds(override)
            if beyond:
                message = f"{said}, which is {beyond}"
                yield target.mistake(override.origin, message, "Fix the number.")
            elif _is_misspelt(override):
                message = f"{said}, which {FRAMEWORK} does not know"
                known = _WORDS[override.key]
                near = nearest(_word(override), known)
                yield target.mistake(override.origin, message, near.sentence())
    yield from refused_values(target)


def _word(override: Override) -> str:
    return (override.value or "").removesuffix("+")


def _beyond_bounds(override: Override) -> str:
    """How a number is out of its bounds; empty for one within them and for a word."""
    value = number(_word(override))
    if value is None:
        return ""
    least, most = bounds(override.key)
    if value < least:
        return f"less than {least:g}"
    if value > most:
        return f"more than {most:g}"
    return ""


def _is_misspelt(override: Override) -> bool:
    """Whether a word is a known one in another case or with a slip."""
    known = _WORDS.get(override.key, ())
    word = _word(override)
    if word in known:
        return False
    if "," in word:  # a comma is another rule's
        return False
    if word.lower() in known:
        return True
    return misspelt(word, known)


@rule("warning", follows=["unknown-key"])
def ineffective_setting(target: ScriptText) -> Iterator[Mistake]:
    """Every setting has an effect.

    A reader who changes it changes nothing, and one who plans with it plans wrongly.

    Bad: `python3 -m verl.trainer.main_ppo algorithm.kl_ctrl.kl_coef=0.01
        algorithm.use_kl_in_reward=False`
    Good: `python3 -m verl.trainer.main_ppo algorithm.kl_ctrl.kl_coef=0.01
        algorithm.use_kl_in_reward=True`

    Only where the script itself turns the switch off: older releases lack it, and arguments may
    turn it on. A coefficient of 0 says that there is none. verl/trainer/ppo/v1/trainer_base.py
    `__init__` and verl/workers/utils/losses.py `ppo_loss` read the switches; of the engines only
    those of FSDP and VeOmni read `enable_gradient_checkpointing`, since 0.5.0.
    """
    run = target.training
    if run is None:
        return
    for key, switch in _TABLE["needs"].items():
        setting = run.setting(key)
        # A coefficient that is not known, or 0, does not ask for its switch.
        if not setting.place or not setting.known:
            continue
        if not setting.value:
            continue
        if _is_turned_off(run, switch):
            message = f"`{key}` has no effect, because `{switch}` is off"
            fix = f"Delete it, or set `{switch}=True`."
            yield target.mistake(setting.place, message, fix)
    place = run.setting(CHECKPOINTING).place
    if not place:
        return
    if run.misses_recomputation:
        message = f"`{CHECKPOINTING}` has no effect on Megatron, which recomputes nothing here"
        switches = quoted(switched_on(RECOMPUTATION))
        fix = f"Write {switches}."
        yield target.mistake(place, message, fix)


def _is_turned_off(run: Run, switch: str) -> bool:
    """Whether the script itself turns a switch off for good."""
    setting = run.setting(switch)
    if not setting.place:
        return False
    if run.may_change(switch):
        return False
    return setting.flag is False
