"""What the framework of the shipped defaults can be asked for, and why it cannot do the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rl_resources.package import Record
from rl_resources.script.backends import SAME_BACKEND
from rl_resources.script.framework import Shipped
from rl_resources.script.run import ACTOR, ROLLOUT

FRAMEWORK = "verl"


@dataclass(frozen=True)
class Algorithm:
    """How verl is asked for an algorithm, as overrides without their section."""

    estimator: str
    kl_loss: bool = False
    algorithm: Mapping[str, str] = field(default_factory=dict)
    actor: Mapping[str, str] = field(default_factory=dict)


def _clip(low: str, high: str) -> dict[str, str]:
    return {"clip_ratio_low": low, "clip_ratio_high": high}


_TOKEN_MEAN = {"loss_agg_mode": "token-mean"}
_SEQUENCE_MEAN = {"loss_agg_mode": "seq-mean-token-mean"}

ALGORITHMS: Mapping[str, Algorithm] = {
    "PPO": Algorithm("gae"),
    "GRPO": Algorithm("grpo", kl_loss=True),
    "Dr-GRPO": Algorithm(
        "grpo",
        algorithm={"norm_adv_by_std_in_grpo": "False"},
        actor={"loss_agg_mode": "seq-mean-token-sum-norm"},
    ),
    "DAPO": Algorithm(
        "grpo",
        algorithm={"filter_groups.enable": "True", "filter_groups.max_num_gen_batches": "10"},
        actor=_clip("0.2", "0.28") | _TOKEN_MEAN,
    ),
    "GSPO": Algorithm(
        "grpo",
        actor={"policy_loss.loss_mode": "gspo"} | _clip("3e-4", "4e-4") | _SEQUENCE_MEAN,
    ),
    "SAPO": Algorithm("grpo", actor={"policy_loss.loss_mode": "sapo"} | _SEQUENCE_MEAN),
    "CISPO": Algorithm("grpo", actor={"policy_loss.loss_mode": "cispo"} | _TOKEN_MEAN),
    "GMPO": Algorithm("grpo", actor={"policy_loss.loss_mode": "geo_mean"} | _clip("0.4", "0.4")),
    "GPG": Algorithm("gpg", actor={"policy_loss.loss_mode": "gpg"}),
    "RLOO": Algorithm("rloo", kl_loss=True),
    "ReMax": Algorithm("remax", kl_loss=True),
    "REINFORCE-PP": Algorithm("reinforce_plus_plus", kl_loss=True),
    "REINFORCE-PP-Baseline": Algorithm("reinforce_plus_plus_baseline", kl_loss=True),
}
"""By the word of `tasks.algorithm`. Clips are those of the papers that `tasks.link` names."""

ADAPTERS_TRAIN = frozenset({"fsdp", "fsdp2", "megatron"})
ADAPTERS_INFER = frozenset({"vllm", "sglang"})
"""Backends with low-rank adapters: verl's documentation, advance/ppo_lora, of February 2026."""

_VENDORS: Mapping[str, str] = {
    "mindspeed": "Huawei",
    "vllm-ascend": "Huawei",
    "trtllm": "NVIDIA",
}
"""Backends that run on the accelerators of one vendor alone."""


def strategy(train: str) -> str:
    """The framework's word for a training backend."""
    return SAME_BACKEND.get(train, train)


def engine(infer: str) -> str:
    """The framework's word for a rollout engine."""
    return SAME_BACKEND.get(infer, infer)


def strategies(known: Shipped) -> Mapping[str, str]:
    """The training backends of a release, each with the choice of `model_engine` that brings it."""
    found = {str(known.base(name).value(f"{ACTOR}.strategy")): name for name in known.choices}
    return found | ({"fsdp2": found["fsdp"]} if "fsdp" in found else {})


def engines(known: Shipped) -> tuple[str, ...]:
    """The rollout engines of a release: those that it has settings of their own for."""
    return tuple(known.base(next(iter(known.choices))).nodes[f"{ROLLOUT}.engine_kwargs"])


def refusals(known: Shipped, task: Record, device: Record, train: str, infer: str) -> Iterator[str]:
    """Why the framework cannot do what is asked for, each reason a sentence with what it can do."""
    release = f"{known.framework} {known.version}"
    algorithm = str(task["algorithm"])
    if algorithm not in ALGORITHMS:
        offered = ", ".join(ALGORITHMS)
        yield f"no settings alone make {release} run {algorithm}; known are those of {offered}"
    if strategy(train) not in strategies(known):
        offered = ", ".join(sorted(strategies(known)))
        yield f"{release} does not train with {train}; it offers {offered}"
    if engine(infer) not in engines(known):
        offered = ", ".join(sorted(engines(known)))
        yield f"{release} does not generate with {infer}; it offers {offered}"
    for backend in (train, infer):
        vendor = _VENDORS.get(backend)
        if vendor not in {None, device["vendor"]}:
            yield f"{backend} is for accelerators of {vendor}, not for {device['name']}"
    if task["adapters_only"]:
        yield from _without_adapters(release, train, infer)


def _without_adapters(release: str, train: str, infer: str) -> Iterator[str]:
    for backend, offered, done in (
        (strategy(train), ADAPTERS_TRAIN, "trained by"),
        (engine(infer), ADAPTERS_INFER, "loaded by"),
    ):
        if backend not in offered:
            words = ", ".join(sorted(offered))
            yield f"adapters cannot be {done} {backend} in {release}, only by {words}"
