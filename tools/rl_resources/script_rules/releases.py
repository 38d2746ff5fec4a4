"""Settings of other releases.

Settings are written as the framework's newest release accepts them.

A script of last year is not wrong because a later release renamed a key: with the release of its
time it does what it says. So these are warnings, one for each cause, that name the releases. The
tables are what verl itself says of its keys, where, and from which release on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rl_resources.rule import Mistake, rule
from rl_resources.script.backends import ACTOR, ROLLOUT
from rl_resources.script.bash.script import Place
from rl_resources.script.framework import Composition, Rejection
from rl_resources.script.framework.shipped import history
from rl_resources.script.launch import Launch
from rl_resources.script.run import REFERENCE, Run
from rl_resources.script.script_text import ScriptText
from rl_resources.script.settings import Setting
from rl_resources.script_rules.variables import lacks_dollar
from rl_resources.text import shown


class Rejected(NamedTuple):
    """An argument of a launch that the framework's configuration rejects."""

    launch: Launch
    composition: Composition
    rejection: Rejection

    @property
    def place(self) -> Place:
        """Where it is written."""
        index = self.rejection.index
        return self.launch.overrides[index].place if index >= 0 else self.launch.command.place

    @property
    def release(self) -> str | None:
        """The last release that accepts it, or the first that rejects its `+`, if any does."""
        past, key = history(self.composition.framework), self.rejection.key
        match self.rejection.kind:
            case "no-module":
                return past.modules.get(key)
            case "unknown-key":
                return past.last_with(key)
            case "existing-key":
                return past.since.get(key)
        return None


def is_frameworks(target: ScriptText, launch: Launch) -> bool:
    """Whether a launch starts a module of the framework, and not somebody's own."""
    return launch.module.partition(".")[0] == target.framework


def rejections(target: ScriptText) -> Iterator[Rejected]:
    """What is rejected; not what a lost `$` explains, nor programs of somebody else."""
    for launch, composition in target.composed:
        known = not composition.problem and is_frameworks(target, launch)
        for rejection in composition.rejected if known else ():
            explained = rejection.kind != "unknown-key" and rejection.index >= 0
            if not explained or not lacks_dollar(target, launch.overrides[rejection.index]):
                yield Rejected(launch, composition, rejection)


_UTILS, _OPTIMIZER = "verl/utils/config.py", "verl/workers/config/optimizer.py"
_MEGATRON = "verl/trainer/config/ppo_megatron_trainer.yaml"
DEPRECATED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("data.val_batch_size", ""): (
        f"is deprecated since verl 0.3.0, says {_UTILS}",
        "Remove it: the rollout engine schedules the validation data itself.",
    ),
    ("actor_rollout_ref.actor.optim.warmup_style", ""): (
        f"is deprecated since verl 0.6.0, says {_OPTIMIZER}",
        "Write `actor_rollout_ref.actor.optim.lr_scheduler_type`.",
    ),
    ("critic.optim.warmup_style", ""): (
        f"is deprecated since verl 0.6.0, says {_OPTIMIZER}",
        "Write `critic.optim.lr_scheduler_type`.",
    ),
    ("actor_rollout_ref.rollout.mode", "sync"): (
        "is refused since verl 0.7.0 by verl/workers/config/rollout.py",
        "Remove it, or write `async`.",
    ),
    ("--config-name", "ppo_megatron_trainer"): (
        f"is deprecated since verl 0.8.0, says {_MEGATRON}",
        "For verl 0.8.0 and later write `model_engine=megatron` in place of `--config-name` and"
        " `--config-path`.",
    ),
}
"""What a release changed about a key or a key's value, where it says so, and what to write."""
REMOVED: Mapping[str, str] = {
    "actor_rollout_ref.actor.megatron.grad_offload": (
        "Remove it: `param_offload` releases the gradients as well."
    ),
    "actor_rollout_ref.ref.megatron.grad_offload": "Remove it: a reference has no gradients.",
    "critic.megatron.grad_offload": "Remove it: `param_offload` releases the gradients as well.",
    "critic.model.fsdp_config.param_offload": "Write `critic.fsdp.param_offload`.",
    "critic.model.fsdp_config.optimizer_offload": "Write `critic.fsdp.optimizer_offload`.",
    "trainer.val_generations_to_log_to_wandb": "Write `trainer.log_val_generations`.",
}


class _Use(NamedTuple):
    """One use of a setting that a release treats differently, and the fix.

    All uses with one message are one mistake: `{}` in it becomes their words.
    """

    place: Place
    word: str
    message: str
    fix: str


def _reported(target: ScriptText, uses: Iterable[_Use]) -> Iterator[Mistake]:
    """Each message once, at its first use."""
    by_message: dict[str, dict[Place, _Use]] = {}
    for use in uses:
        by_message.setdefault(use.message, {})[use.place] = use
    for message, found in by_message.items():
        first = min(found)
        words = ", ".join(_with_line(found[place], first) for place in sorted(found))
        fixes = " ".join(dict.fromkeys(found[place].fix for place in sorted(found)))
        yield target.mistake(first, message.format(words), fixes)


def _with_line(use: _Use, first: Place) -> str:
    word = f"`{shown(use.word, 120)}`"
    return word if use.place.line == first.line else f"{word} (line {use.place.line})"


@rule("warning")
def outdated_key(target: ScriptText) -> Iterator[Mistake]:
    """A script's settings are those of the framework's newest release.

    A reader who installs the framework today cannot start it: the settings are of older releases.

    Bad: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.grad_offload=True`
    Good: `python3 -m verl.trainer.main_ppo model_engine=megatron
        actor_rollout_ref.actor.megatron.param_offload=True`

    Keys that are gone are one mistake, and so are keys behind a `+` that they no longer need.
    """
    releases, exempt = history(target.framework).releases, target.or_exempt("outdated-key")
    older = f"Write it for {releases[-1]}{exempt}."
    found = [(item, release) for item in rejections(target) if (release := item.release)]
    added = [(item, since) for item, since in found if item.rejection.kind == "existing-key"]
    gone = [(item, last) for item, last in found if item.rejection.kind != "existing-key"]
    last = min((last for _, last in gone), key=releases.index, default="")
    accepts = f"{last} is the last release that accepts {'them all' if len(gone) > 1 else 'it'}"
    lacks = f"{target.framework} {releases[-1]} no longer has {{}}; {accepts}"
    uses = [
        _Use(item.place, item.rejection.key, lacks, REMOVED.get(item.rejection.key, older))
        for item, _ in gone
    ]
    for item, since in added:
        message = f"{{}}: {target.framework} has it without `+` since {since}"
        fix = f"Leave out the `+`{exempt}."
        uses.append(_Use(item.place, f"+{item.rejection.key}", message, fix))
    yield from _reported(target, uses)


@rule("warning")
def total_micro_batch_size(target: ScriptText) -> Iterator[Mistake]:
    """Micro batch sizes are given per GPU.

    verl composes the total sizes still, but its workers assert since 0.8.0 that the sizes per
    GPU are set: such a run stops before its first step. Of a critic the total is taken for the
    size per GPU as well, and since 0.5.0 a run with both stops.

    Bad: `python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size=16`
    Good: `python3 -m verl.trainer.main_ppo
        actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2`

    Where both are set, `micro_batch_keys` reports it.
    """
    # verl/workers/engine_workers.py `ActorRolloutRefWorker.init_model`; before it an alternative
    message = f"{target.framework} 0.8.0 and later reject the total {{}} without the size per GPU"
    # verl/trainer/config/critic/critic.yaml; verl/workers/config/critic.py `CriticConfig`
    taken = f"{target.framework} 0.5.0 and later take the total {{}} for the size per GPU as well"
    taken = f"{taken}, so that both are set, which they reject"
    fix = "Write each with `_per_gpu`: the total divided by the number of data-parallel ranks."
    uses = (
        _Use(total.place, total.key, message if each.value is None else taken, fix)
        for launch, composition in target.composed
        for total, each, dynamic in micro_batches(Run(launch, composition))
        if total.place and total.number is not None and dynamic.flag is False
        if each.value is None or is_inherited(each, total)
    )
    yield from _reported(target, uses)


def micro_batches(run: Run) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Each micro batch of a run: its size over all GPUs, the size per GPU, and what makes it
    dynamic, so that neither is read: verl/workers/engine_workers.py `init_model`.
    """
    actor = f"{ACTOR}.use_dynamic_bsz"
    keys = {f"{ACTOR}.ppo_micro_batch_size": actor, f"{ROLLOUT}.log_prob_micro_batch_size": actor}
    if run.uses_reference:
        own = f"{REFERENCE}.log_prob_use_dynamic_bsz"
        keys[f"{REFERENCE}.log_prob_micro_batch_size"] = own
    if run.estimator.text == "gae":
        keys["critic.ppo_micro_batch_size"] = "critic.use_dynamic_bsz"
    for key, dynamic in keys.items():
        yield run.setting(key), run.setting(f"{key}_per_gpu"), run.setting(dynamic)


def is_inherited(each: Setting, total: Setting) -> bool:
    """Whether a size per GPU is the total, which the configuration takes for it: the critic's."""
    return not each.place and each.value == total.value


@rule("warning")
def deprecated_key(target: ScriptText) -> Iterator[Mistake]:
    """A script has no setting that the framework calls deprecated, or refuses after composing.

    The next release may reject it; the new setting does the same today.

    Bad: `python3 -m verl.trainer.main_ppo data.val_batch_size=64`
    Good: `python3 -m verl.trainer.main_ppo data.train_batch_size=64`
    """
    rejected = {item.place for item in rejections(target)}
    launches = (launch for launch in target.launches if is_frameworks(target, launch))
    uses = (use for launch in launches for use in _deprecated(launch))
    yield from _reported(target, (use for use in uses if use.place not in rejected))


def _deprecated(launch: Launch) -> Iterator[_Use]:
    found = []
    for item in launch.overrides:
        found.append((item.key, str(item.value), item.origin, f"{item.key}={item.value}"))
        if item.value != "null" and item.prefix != "~":
            found.append((item.key, "", item.place, item.key))
    for option, flag in launch.flags.items():
        name = flag.text or ""
        found.append((f"--{option}", name.removesuffix(".yaml"), flag.place, name))
    for key, value, place, word in found:
        if known := DEPRECATED.get((key, value)):
            yield _Use(place, word, f"{{}} {known[0]}", known[1])
