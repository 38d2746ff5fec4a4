"""Whether a script does what its row's tag promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rl_resources.check.claim.contradiction import at
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.target import Claim
from rl_resources.words import shown


@rule("warning")
def min_saves_memory(claim: Claim) -> Iterator[Mistake]:
    """The script of a MIN row has the memory optimizations on.

    MIN is the least hardware that will do; without them less would do.

    Bad: a MIN row beside `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: a MIN row beside `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`

    Offload of parameters and optimizer, and gradient checkpointing, which Megatron ignores.

    The reference model is not asked about. FSDP always offloads it: verl/workers/fsdp_workers.py
    `_build_model_optimizer`, now verl/workers/engine/fsdp/transformer_impl.py. Megatron's follows
    the actor.
    """
    run = claim.run
    if run is None or claim.text("tag").upper() != "MIN":
        return
    off = [setting for setting in run.memory_savers if setting.flag is False]
    if not off:
        return
    keys = _listed(setting.key for setting in off)
    message = f"tag of {shown(claim.label, 120)} is `MIN`, but the script does not turn on {keys}"
    fix = f"Set {_listed(f'{setting.key}=True' for setting in off)}."
    set_off = [setting for setting in off if setting.place]
    place = at(claim, run, set_off[0]) if set_off else claim.place("tag")
    yield Mistake(*place, message, fix)


@rule("warning")
def recommended_is_fast(claim: Claim) -> Iterator[Mistake]:
    """The script of a RECOMMENDED row does not offload what it trains.

    RECOMMENDED is hardware that need not pay for memory with time.

    Bad: a RECOMMENDED row beside `actor_rollout_ref.actor.fsdp_config.param_offload=True`
    Good: a RECOMMENDED row beside `actor_rollout_ref.actor.fsdp_config.param_offload=False`

    The reference model may be offloaded: it runs once a step.
    """
    run = claim.run
    if run is None or claim.text("tag").upper() != "RECOMMENDED":
        return
    savers = (run.param_offload, run.optimizer_offload, run.offload_policy, run.optimizer_on_host)
    on = [setting for setting in savers if setting.flag]
    if on:
        keys = _listed(setting.key for setting in on)
        message = f"tag of {shown(claim.label, 120)} is `RECOMMENDED`, but the script sets {keys}"
        fix = f"Set {_listed(f'{setting.key}=False' for setting in on)}, or write `MIN`."
        yield Mistake(*at(claim, run, on[0]), message, fix)


def _listed(words: Iterable[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
