"""Rules about the arguments of the training program, held to the framework's configuration.

`DEPRECATED`, `REFUSED_VALUES` and `TOTALS` are what verl itself says of its keys, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

from rl_resources.check.content import mistake
from rl_resources.check.registry import Mistake, rule
from rl_resources.check.subject import ScriptText
from rl_resources.check.undollared import is_undollared
from rl_resources.script.framework import (
    UNKNOWN,
    Composition,
    Rejection,
    compose_launch,
    shipped,
)
from rl_resources.script.launch import Launch, Override, Stray
from rl_resources.script.shell import Place
from rl_resources.words import shown


class Deprecated(NamedTuple):
    """A setting that the framework still takes; `instead` does the same."""

    instead: str
    said_in: str


DEPRECATED: Mapping[str, Deprecated] = {
    "data.val_batch_size": Deprecated(
        "Take it away: the validation data are then generated as one batch, and the rollout "
        "engine schedules them itself.",
        "verl/utils/config.py",
    ),
    "actor_rollout_ref.actor.optim.warmup_style": Deprecated(
        "Write `actor_rollout_ref.actor.optim.lr_scheduler_type`.",
        "verl/workers/config/optimizer.py",
    ),
    "critic.optim.warmup_style": Deprecated(
        "Write `critic.optim.lr_scheduler_type`.", "verl/workers/config/optimizer.py"
    ),
}
DEPRECATED_CONFIGURATIONS: Mapping[str, Deprecated] = {
    "ppo_megatron_trainer": Deprecated(
        "Take `--config-name` and `--config-path` away and write `model_engine=megatron`.",
        "verl/trainer/config/ppo_megatron_trainer.yaml",
    ),
}


class Total(NamedTuple):
    """A batch size over all GPUs; the framework reads only that `per_gpu`.

    It is read where every key of `unless` is false, and one of `used_with` is true if there are
    any.
    """

    per_gpu: str
    unless: str
    used_with: tuple[str, ...]
    said_in: str


_ASSERTED = "verl/workers/engine_workers.py"
TOTALS: Mapping[str, Total] = {
    "actor_rollout_ref.actor.ppo_micro_batch_size": Total(
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        "actor_rollout_ref.actor.use_dynamic_bsz",
        (),
        _ASSERTED,
    ),
    "actor_rollout_ref.rollout.log_prob_micro_batch_size": Total(
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
        "actor_rollout_ref.actor.use_dynamic_bsz",
        (),
        _ASSERTED,
    ),
    "actor_rollout_ref.ref.log_prob_micro_batch_size": Total(
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
        "actor_rollout_ref.ref.log_prob_use_dynamic_bsz",
        ("actor_rollout_ref.actor.use_kl_loss", "algorithm.use_kl_in_reward"),
        _ASSERTED,
    ),
}
REFUSED_VALUES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("actor_rollout_ref.rollout.mode", "sync"): (
        "Take it away, or write `async`.",
        "verl/workers/config/rollout.py",
    ),
}
REMOVED: Mapping[str, str] = {
    "actor_rollout_ref.actor.megatron.grad_offload": (
        "Take it away: `param_offload` releases the gradients as well."
    ),
    "actor_rollout_ref.ref.megatron.grad_offload": "Take it away: a reference has no gradients.",
    "critic.megatron.grad_offload": "Take it away: `param_offload` releases the gradients as well.",
    "trainer.val_generations_to_log_to_wandb": "Write `trainer.log_val_generations`.",
}


@lru_cache(maxsize=64)
def _composed(subject: ScriptText) -> tuple[tuple[Launch, Composition], ...]:
    """Every launch with the configuration that follows from it."""
    known = shipped(subject.framework)
    return tuple((launch, compose_launch(known, launch)) for launch in subject.launches)


def _is_frameworks(subject: ScriptText, launch: Launch) -> bool:
    return launch.module.partition(".")[0] == subject.framework


def _once(mistakes: Iterator[Mistake]) -> Iterator[Mistake]:
    """Each place once, also where several launches share it."""
    told: set[tuple[int, int]] = set()
    for found in mistakes:
        if (found.line, found.column) not in told:
            told.add((found.line, found.column))
            yield found


@rule(
    summary="Every argument of the training program is an override `key=value`.",
    reason="Hydra stops at a word that is none; it is left over by a lost quote or a blank.",
    bad="`python3 -m verl.trainer.main_ppo trainer.total_epochs= 1`",
    good="`python3 -m verl.trainer.main_ppo trainer.total_epochs=1`",
)
def stray_argument(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        _stray_mistake(subject, launch, stray)
        for launch in subject.launches
        if _is_frameworks(subject, launch)
        for stray in launch.stray
        if not _is_before_lost(subject, stray)
    )


def _is_before_lost(subject: ScriptText, stray: Stray) -> bool:
    """Whether it is the escaped blank that cut off a lost line."""
    blank = not (stray.value.text or "x").strip()
    return blank and any(item.cause_line == stray.place.line for item in subject.lost)


def _stray_mistake(subject: ScriptText, launch: Launch, stray: Stray) -> Mistake:
    text = stray.value.text or ""
    if stray.raw.startswith("\\") and not text.strip():
        message = "a blank after the backslash makes an argument of its own"
        return mistake(subject, stray.place, message, "Delete what follows the backslash.")
    message = f"`{shown(stray.raw)}` is no override"
    before = [
        item
        for item in launch.overrides
        if item.place.line == stray.place.line and item.place.offset < stray.place.offset
    ]
    if before and before[-1].value == "":
        mend = f"Take away the blank after `{before[-1].key}=`."
    elif text.startswith("-"):
        mend = "Take it away: the program knows no such option."
    else:
        mend = "Write it as `key=value`, in quotes where the value holds blanks."
    return mistake(subject, stray.place, message, mend)


@rule(
    summary="No key is set to two values in one command.",
    reason="The later one wins and nothing says so; a reader sees the first.",
    bad="`python3 -m verl.trainer.main_ppo trainer.nnodes=1 trainer.nnodes=2`",
    good="`python3 -m verl.trainer.main_ppo trainer.nnodes=2`",
)
def contradicting_override(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        mistake(
            subject,
            later.place,
            f"`{later.key}` is `{_value(first)}` in line {first.line} and `{_value(later)}` here, "
            "which wins",
            f"Delete one of the two; today the run uses `{_value(later)}`.",
        )
        for first, later in _repeated(subject)
        if _value(first) != _value(later)
    )


@rule(
    summary="No key is set twice in one command.",
    reason="Whoever changes one of the two changes nothing, or makes them contradict.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo trainer.nnodes=2 trainer.nnodes=2`",
    good="`python3 -m verl.trainer.main_ppo trainer.nnodes=2`",
)
def repeated_override(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        mistake(
            subject,
            later.place,
            f"`{later.key}` is set in line {first.line} already, to the same value",
            "Delete one of the two.",
        )
        for first, later in _repeated(subject)
        if _value(first) == _value(later)
    )


def _value(override: Override) -> str:
    return shown(override.content.shown) if override.content else ""


def _repeated(subject: ScriptText) -> Iterator[tuple[Override, Override]]:
    """Overrides of one key that are written in one list: in the command, or in one array."""
    for launch in subject.launches:
        seen: dict[str, Override] = {}
        for override in launch.overrides:
            first = seen.get(override.key)
            seen[override.key] = override
            group = "@" in override.key or "/" in override.key or "~" in override.prefix
            if first is None or group or first.place == override.place:
                continue
            if _list_of(subject, launch, first) == _list_of(subject, launch, override):
                yield first, override


def _list_of(subject: ScriptText, launch: Launch, override: Override) -> Place:
    """Where the list begins that an override is written in.

    One that stands in the command after an array replaces on purpose what the array holds.
    """
    at = override.place.offset
    for item in subject.script.assignments:
        if item.place.offset <= at < item.place.offset + len(item.raw):
            return item.place
    return launch.command.place


@rule(
    summary="Every key exists in the framework's configuration.",
    reason="Hydra stops at a key that does not exist, before anything runs.",
    bad="`python3 -m verl.trainer.main_ppo trainer.n_gpu_per_node=8`",
    good="`python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8`",
)
def unknown_key(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        mistake(
            subject,
            _place_of(launch, rejection),
            f"`{shown(rejection.key, 120)}`: {_reason(rejection)}",
            _key_mend(subject, rejection, composition),
        )
        for launch, composition, rejection in _rejections(subject)
        if rejection.kind in ("unknown-key", "existing-key", "group", "reference", "no-module")
    )


def _reason(rejection: Rejection) -> str:
    return rejection.reason.partition("; the nearest is")[0]


def _rejections(subject: ScriptText) -> Iterator[tuple[Launch, Composition, Rejection]]:
    """What is not taken; not what a lost `$` explains, nor programs of somebody else."""
    for launch, composition in _composed(subject):
        known = not composition.problem and _is_frameworks(subject, launch)
        for rejection in composition.rejected if known else ():
            if rejection.index >= 0:
                override = launch.overrides[rejection.index]
                if rejection.kind != "unknown-key" and is_undollared(subject, override):
                    continue
            yield launch, composition, rejection


def _place_of(launch: Launch, rejection: Rejection) -> Place:
    if rejection.index < 0:
        return launch.command.place
    return launch.overrides[rejection.index].place


def _key_mend(subject: ScriptText, rejection: Rejection, composition: Composition) -> str:
    key = rejection.key
    if rejection.kind == "existing-key":
        return f"Write `{key}` without `+`."
    if rejection.kind in ("group", "reference", "no-module"):
        return f"Write one that {composition.framework} {composition.version} has."
    if key in REMOVED:
        return REMOVED[key]
    known = shipped(subject.framework)
    for choice in known.choices:
        base = known.base(choice)
        if choice != "dp" and (key in base.values or key in base.nodes):
            return f"Add `{known.group}={choice}`: the key belongs to that engine."
    close = get_close_matches(key, [*composition.values, *composition.nodes], 1, 0.85)
    if close:
        return f"Did you mean `{close[0]}`?"
    return f"Take it away, or write `+{key}` if other code reads it."


@rule(
    summary="Every value has the type that the framework's configuration has for its key.",
    reason="Hydra takes `train_batch_size=abc`; the run fails later, far from the mistake.",
    bad="`python3 -m verl.trainer.main_ppo data.train_batch_size=1k`",
    good="`python3 -m verl.trainer.main_ppo data.train_batch_size=1024`",
)
def value_type(subject: ScriptText) -> Iterator[Mistake]:
    for launch, _, rejection in _rejections(subject):
        if rejection.kind in ("type", "syntax", "sweep") and rejection.index >= 0:
            override = launch.overrides[rejection.index]
            if override.value == "" and _is_followed_by_stray(launch, override):
                continue
            message = f"`{shown(override.key, 120)}`: {shown(rejection.reason, 200)}"
            mend = f"Mend the value `{_value(override)}`."
            yield mistake(subject, override.origin, message, mend)


def _is_followed_by_stray(launch: Launch, override: Override) -> bool:
    return any(
        item.place.line == override.place.line and item.place.offset > override.place.offset
        for item in launch.stray
    )


@rule(
    summary="Micro batch sizes are given per GPU.",
    reason="verl still composes the total sizes, but its workers assert that the sizes per GPU are "
    "set: such a run stops before its first step.",
    bad="`python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size=16`",
    good="`python3 -m verl.trainer.main_ppo "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2`",
)
def total_micro_batch_size(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        mistake(
            subject,
            override.place,
            f"`{override.key}` is a total: {total.said_in} of {composition.framework} "
            f"{composition.version} needs the size per GPU",
            _total_mend(total, composition),
        )
        for launch, composition in _composed(subject)
        for override in launch.overrides
        if (total := TOTALS.get(override.key)) is not None
        and override.value not in (None, "null")
        and _is_read(total, composition)
    )


def _is_read(total: Total, composition: Composition) -> bool:
    if _setting(composition, total.unless) is not False:
        return False
    used = [_setting(composition, key) for key in total.used_with]
    return not used or True in used


def _setting(composition: Composition, key: str) -> Any:
    try:
        return composition.value(key)
    except KeyError:
        return UNKNOWN


def _total_mend(total: Total, composition: Composition) -> str:
    if _setting(composition, total.per_gpu) not in (None, UNKNOWN):
        return f"Take it away: `{total.per_gpu}` is set as well, and verl refuses both."
    return (
        f"Write `{total.per_gpu}`: the total divided by the GPUs, times the sequence parallel size."
    )


@rule(
    summary="A script does not use settings that the framework calls deprecated.",
    reason="The next release may refuse them; the new setting does the same today.",
    severity="warning",
    bad="`python3 -m verl.trainer.main_ppo data.val_batch_size=64`",
    good="`python3 -m verl.trainer.main_ppo data.train_batch_size=64`",
)
def deprecated_key(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(_deprecated(subject))


def _deprecated(subject: ScriptText) -> Iterator[Mistake]:
    for launch in subject.launches:
        if not _is_frameworks(subject, launch):
            continue
        for override in launch.overrides:
            known = DEPRECATED.get(override.key)
            if known is not None and override.value != "null" and override.prefix != "~":
                message = f"`{override.key}` is deprecated, says {known.said_in}"
                yield mistake(subject, override.place, message, known.instead)
        for flag in launch.flags:
            name = (flag.value.text or "") if flag.value else ""
            known = DEPRECATED_CONFIGURATIONS.get(name.removesuffix(".yaml"))
            if known is not None and flag.name == "config-name":
                message = f"the configuration `{name}` is deprecated, says {known.said_in}"
                yield mistake(subject, flag.place, message, known.instead)


@rule(
    summary="No value is one that the framework has ceased to take.",
    reason="The configuration composes, then the framework raises an error.",
    bad="`python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.mode=sync`",
    good="`python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.mode=async`",
)
def refused_value(subject: ScriptText) -> Iterator[Mistake]:
    yield from _once(
        mistake(
            subject,
            override.origin,
            f"`{override.key}={override.value}` is refused by {known[1]}",
            known[0],
        )
        for launch in subject.launches
        if _is_frameworks(subject, launch)
        for override in launch.overrides
        if (known := REFUSED_VALUES.get((override.key, override.value or ""))) is not None
    )
