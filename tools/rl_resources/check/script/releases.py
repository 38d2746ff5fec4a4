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
from rl_resources.check.target import ScriptText
from rl_resources.script.bash import Place
from rl_resources.script.framework import UNKNOWN, Composition
from rl_resources.script.framework.history import history
from rl_resources.script.launch import Launch
from rl_resources.script.override import Override
from rl_resources.words import shown


class Changed(NamedTuple):
    """What a release changed about a setting and where it says so, and what to write `instead`."""

    what: str
    instead: str


_WARMUP = "is deprecated since verl 0.6.0, says verl/workers/config/optimizer.py"
DEPRECATED: Mapping[tuple[str, str], Changed] = {
    ("data.val_batch_size", ""): Changed(
        "is deprecated since verl 0.3.0, says verl/utils/config.py",
        "Remove it: the validation data are then generated as one batch, and the rollout engine "
        "schedules them itself.",
    ),
    ("actor_rollout_ref.actor.optim.warmup_style", ""): Changed(
        _WARMUP, "Write `actor_rollout_ref.actor.optim.lr_scheduler_type`."
    ),
    ("critic.optim.warmup_style", ""): Changed(_WARMUP, "Write `critic.optim.lr_scheduler_type`."),
    ("actor_rollout_ref.rollout.mode", "sync"): Changed(
        "is refused since verl 0.7.0 by verl/workers/config/rollout.py",
        "Remove it, or write `async`.",
    ),
    ("--config-name", "ppo_megatron_trainer"): Changed(
        "is deprecated since verl 0.8.0, says verl/trainer/config/ppo_megatron_trainer.yaml",
        "Remove `--config-name` and `--config-path` and write `model_engine=megatron`.",
    ),
}
"""By key and value; an empty value stands for any."""
REMOVED: Mapping[str, str] = {
    "actor_rollout_ref.actor.megatron.grad_offload": (
        "Remove it: `param_offload` releases the gradients as well."
    ),
    "actor_rollout_ref.ref.megatron.grad_offload": "Remove it: a reference has no gradients.",
    "critic.megatron.grad_offload": "Remove it: `param_offload` releases the gradients as well.",
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
    """One use of a setting that a release treats differently, and the fix."""

    place: Place
    word: str
    fix: str


def _reported(subject: ScriptText, uses: Iterable[_Use], message: str) -> Iterator[Mistake]:
    """All uses as one mistake, at the first; `{}` of the message stands for them with lines."""
    found = sorted({use.place.offset: use for use in uses}.items())
    if found:
        first = found[0][1].place
        words = [_with_line(use, first) for _, use in found]
        fixes = " ".join(dict.fromkeys(use.fix for _, use in found))
        yield subject.mistake(first, message.format(", ".join(words)), fixes)


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

    Keys that are gone are one mistake, and so are keys behind a `+` that they no longer need.
    """
    past = history(subject.framework)
    gone, added = [], []
    for item in rejections(subject):
        if (last := last_release(subject, item)) is not None:
            gone.append((past.releases.index(last), item))
        elif (since := first_release(subject, item[-1])) is not None:
            added.append((since, item))
    if gone:
        last = past.releases[min(index for index, _ in gone)]
        accepts = "them all" if len(gone) > 1 else "it"
        message = f"{subject.framework} {past.releases[-1]} no longer has {{}}; {last} is the last"
        uses = (_gone_use(item, last) for _, item in gone)
        yield from _reported(subject, uses, f"{message} release that accepts {accepts}")
    for since in dict.fromkeys(since for since, _ in added):
        uses = (_plus_use(item) for first, item in added if first == since)
        message = f"{{}}: {subject.framework} has it without `+` since {since}"
        yield from _reported(subject, uses, message)


def _gone_use(rejected: Rejected, last: str) -> _Use:
    launch, _, rejection = rejected
    fix = REMOVED.get(rejection.key, f"Say that the script is for {last} or older, or rewrite it.")
    return _Use(place_of(launch, rejection), rejection.key, fix)


def _plus_use(rejected: Rejected) -> _Use:
    launch, _, rejection = rejected
    fix = "Leave out the `+`, or say that the script is for older releases."
    return _Use(place_of(launch, rejection), f"+{rejection.key}", fix)


@rule("warning")
def total_micro_batch_size(subject: ScriptText) -> Iterator[Mistake]:
    """Micro batch sizes are given per GPU.

    verl composes the total sizes still, but its workers assert since 0.8.0 that the sizes per
    GPU are set: such a run stops before its first step.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size=16`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2`

    Where both are set, `micro_batch_keys` reports it.
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
        f"{subject.framework} {TOTALS_REFUSED_SINCE} and later reject the total {{}} without "
        "the size per GPU"
    )
    yield from _reported(subject, uses, message)


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
    """A script has no setting that the framework calls deprecated, or refuses after composing.

    The next release may reject it; the new setting does the same today.

    Bad: `python3 -m verl.trainer.main_ppo data.val_batch_size=64`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=64`
    """
    by_cause: dict[str, list[_Use]] = {}
    rejected = {place_of(launch, rejection) for launch, _, rejection in rejections(subject)}
    for launch in subject.launches:
        for use, cause in _deprecated(launch) if is_frameworks(subject, launch) else ():
            if use.place not in rejected:
                by_cause.setdefault(cause, []).append(use)
    for cause, uses in by_cause.items():
        yield from _reported(subject, uses, f"{{}} {cause}")


def _is_set(override: Override) -> bool:
    return override.value != "null" and override.prefix != "~"


def _deprecated(launch: Launch) -> Iterator[tuple[_Use, str]]:
    for item in launch.overrides:
        if (known := DEPRECATED.get((item.key, ""))) and _is_set(item):
            yield _Use(item.place, item.key, known.instead), known.what
        if known := DEPRECATED.get((item.key, item.value or "null")):
            yield _Use(item.origin, f"{item.key}={item.value}", known.instead), known.what
    for flag in launch.flags:
        name = (flag.value.text or "") if flag.value else ""
        if known := DEPRECATED.get((f"--{flag.name}", name.removesuffix(".yaml"))):
            yield _Use(flag.place, name, known.instead), known.what
