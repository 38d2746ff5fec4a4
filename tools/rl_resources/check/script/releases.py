"""Settings that releases of the framework treat differently.

A script of last year is not wrong because a later release renamed a key: whoever runs it with the
release of its time gets what it says. So these are warnings, one for each cause, that name the
releases. The tables are what verl itself says of its keys, where, and from which release on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rl_resources.check.rule import Mistake, rule
from rl_resources.check.script.composing import (
    Rejected,
    first_release,
    is_frameworks,
    last_release,
    place_of,
    rejections,
    value_of,
)
from rl_resources.check.subject import ScriptText
from rl_resources.script.bash import Place
from rl_resources.script.framework import UNKNOWN, Composition
from rl_resources.script.framework.history import history
from rl_resources.script.launch import Launch
from rl_resources.words import shown


class Changed(NamedTuple):
    """What a release changed about a setting, and what to write `instead`."""

    since: str
    said_in: str
    instead: str


DEPRECATED: Mapping[str, Changed] = {
    "data.val_batch_size": Changed(
        "0.3.0",
        "verl/utils/config.py",
        "Take it away: the validation data are then generated as one batch, and the rollout "
        "engine schedules them itself.",
    ),
    "actor_rollout_ref.actor.optim.warmup_style": Changed(
        "0.6.0",
        "verl/workers/config/optimizer.py",
        "Write `actor_rollout_ref.actor.optim.lr_scheduler_type`.",
    ),
    "critic.optim.warmup_style": Changed(
        "0.6.0",
        "verl/workers/config/optimizer.py",
        "Write `critic.optim.lr_scheduler_type`.",
    ),
}
DEPRECATED_CONFIGURATIONS: Mapping[str, Changed] = {
    "ppo_megatron_trainer": Changed(
        "0.8.0",
        "verl/trainer/config/ppo_megatron_trainer.yaml",
        "Take `--config-name` and `--config-path` away and write `model_engine=megatron`.",
    ),
}
REFUSED_VALUES: Mapping[tuple[str, str], Changed] = {
    ("actor_rollout_ref.rollout.mode", "sync"): Changed(
        "0.7.0", "verl/workers/config/rollout.py", "Take it away, or write `async`."
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


class Total(NamedTuple):
    """When a batch size over all GPUs is read.

    That is where the key `unless` is false, and one of `used_with` is true if there are any.
    """

    unless: str
    used_with: tuple[str, ...] = ()


_ACTOR, _REF = "actor_rollout_ref.actor", "actor_rollout_ref.ref"
TOTALS: Mapping[str, Total] = {
    f"{_ACTOR}.ppo_micro_batch_size": Total(f"{_ACTOR}.use_dynamic_bsz"),
    "actor_rollout_ref.rollout.log_prob_micro_batch_size": Total(f"{_ACTOR}.use_dynamic_bsz"),
    f"{_REF}.log_prob_micro_batch_size": Total(
        f"{_REF}.log_prob_use_dynamic_bsz",
        (f"{_ACTOR}.use_kl_loss", "algorithm.use_kl_in_reward"),
    ),
}
TOTALS_REFUSED_SINCE = "0.8.0"
"""verl/workers/engine_workers.py `ActorRolloutRefWorker.init_model`; before it an alternative."""


class _Use(NamedTuple):
    """One use of a setting that a release treats differently, and the mend."""

    place: Place
    word: str
    mend: str


def _told(subject: ScriptText, uses: Iterable[_Use], message: str) -> Iterator[Mistake]:
    """All uses as one mistake, at the first; `{}` of the message stands for them with lines."""
    found = sorted({use.place.offset: use for use in uses}.items())
    if found:
        first = found[0][1].place
        words = [_with_line(use, first) for _, use in found]
        mends = " ".join(dict.fromkeys(use.mend for _, use in found))
        yield subject.mistake(first, message.format(", ".join(words)), mends)


def _with_line(use: _Use, first: Place) -> str:
    word = f"`{shown(use.word, 120)}`"
    return word if use.place.line == first.line else f"{word} (line {use.place.line})"


@rule("warning")
def outdated_key(subject: ScriptText) -> Iterator[Mistake]:
    """A script's settings are those of the framework's newest release.

    Whoever installs the framework today cannot start it: the settings are of older releases.

    Bad: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.grad_offload=True`
    Good: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.param_offload=True`
    """
    by_last: dict[str, list[Rejected]] = {}
    for item in rejections(subject):
        if (last := last_release(subject, item)) is not None:
            by_last.setdefault(last, []).append(item)
    if by_last:
        past = history(subject.framework)
        first_gone, newest = min(by_last, key=past.releases.index), past.releases[-1]
        uses = (_gone_use(item, first_gone) for items in by_last.values() for item in items)
        message = (
            f"{subject.framework} {newest} has {{}} no more; {first_gone} is the last release that "
            f"takes {'all of them' if sum(map(len, by_last.values())) > 1 else 'it'}"
        )
        yield from _told(subject, uses, message)


def _gone_use(rejected: Rejected, last: str) -> _Use:
    launch, _, rejection = rejected
    mend = REMOVED.get(rejection.key, f"Say that the script is for {last} or older, or rewrite it.")
    return _Use(place_of(launch, rejection), rejection.key, mend)


@rule("warning")
def outdated_plus(subject: ScriptText) -> Iterator[Mistake]:
    """No `+` stands before a key that the framework's newest release has itself.

    Hydra stops at it: a `+` adds what is not there.

    Bad: `python3 -m verl.trainer.main_ppo +actor_rollout_ref.model.lora_rank=32`
    Good: `python3 -m verl.trainer.main_ppo actor_rollout_ref.model.lora_rank=32`
    """
    by_first: dict[str, list[_Use]] = {}
    for launch, _, rejection in rejections(subject):
        if (since := first_release(subject, rejection)) is not None:
            mend = "Leave out the `+`, or say that the script is for older releases."
            use = _Use(place_of(launch, rejection), f"+{rejection.key}", mend)
            by_first.setdefault(since, []).append(use)
    for since, uses in by_first.items():
        message = f"{{}}: {subject.framework} has it without `+` since {since}"
        yield from _told(subject, uses, message)


@rule("warning")
def total_micro_batch_size(subject: ScriptText) -> Iterator[Mistake]:
    """Micro batch sizes are given per GPU.

    verl composes the total sizes still, but its workers assert since 0.8.0 that the sizes per
    GPU are set: such a run stops before its first step.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size=16`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2`

    Where both are set, `micro_batch_keys` tells.
    """
    uses = (
        _Use(
            override.place,
            override.key,
            "Write each with `_per_gpu`: the total divided by the GPUs, times the sequence "
            "parallel size.",
        )
        for launch, composition in subject.composed
        for override in launch.overrides
        if override.value not in (None, "null") and _is_read(override.key, composition)
    )
    message = (
        f"{subject.framework} {TOTALS_REFUSED_SINCE} and later do not take the total {{}} without "
        "the size per GPU"
    )
    yield from _told(subject, uses, message)


def _is_read(key: str, composition: Composition) -> bool:
    total = TOTALS.get(key)
    if total is None or value_of(composition, total.unless) is not False:
        return False
    if value_of(composition, f"{key}_per_gpu") not in (None, UNKNOWN):
        return False
    used = [value_of(composition, other) for other in total.used_with]
    return not used or True in used


@rule("warning")
def deprecated_key(subject: ScriptText) -> Iterator[Mistake]:
    """A script does not use settings that the framework calls deprecated.

    The next release may refuse them; the new setting does the same today.

    Bad: `python3 -m verl.trainer.main_ppo data.val_batch_size=64`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=64`
    """
    by_cause: dict[Changed, list[_Use]] = {}
    refused = {place_of(launch, rejection) for launch, _, rejection in rejections(subject)}
    for place, word, known in _deprecated(subject):
        if place not in refused:
            by_cause.setdefault(known, []).append(_Use(place, word, known.instead))
    for known, uses in by_cause.items():
        message = f"{{}} is deprecated since {subject.framework} {known.since}, says"
        yield from _told(subject, uses, f"{message} {known.said_in}")


def _deprecated(subject: ScriptText) -> Iterator[tuple[Place, str, Changed]]:
    for launch in subject.launches:
        if is_frameworks(subject, launch):
            yield from _deprecated_of(launch)


def _deprecated_of(launch: Launch) -> Iterator[tuple[Place, str, Changed]]:
    for override in launch.overrides:
        known = DEPRECATED.get(override.key)
        if known is not None and override.value != "null" and override.prefix != "~":
            yield override.place, override.key, known
    for flag in launch.flags:
        name = (flag.value.text or "") if flag.value else ""
        known = DEPRECATED_CONFIGURATIONS.get(name.removesuffix(".yaml"))
        if known is not None and flag.name == "config-name":
            yield flag.place, name, known


@rule("warning")
def refused_value(subject: ScriptText) -> Iterator[Mistake]:
    """No value is one that the framework has ceased to take.

    The configuration composes, then the framework raises an error.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.mode=sync`
    Good: `python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.mode=async`
    """
    for cause, known in REFUSED_VALUES.items():
        uses = (
            _Use(override.origin, f"{override.key}={override.value}", known.instead)
            for launch in subject.launches
            if is_frameworks(subject, launch)
            for override in launch.overrides
            if (override.key, override.value) == cause
        )
        message = f"{{}} is refused since {subject.framework} {known.since} by {known.said_in}"
        yield from _told(subject, uses, message)
