"""The script of a record that nobody has run: `script.sh.jinja` with what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.contribute import start_values
from rl_resources.contribute.start_values import Cluster, Shape
from rl_resources.package import Record
from rl_resources.script.algorithm import GROUP_ESTIMATORS
from rl_resources.script.backends import BACKENDS, SAME_BACKEND
from rl_resources.script.framework import Shipped
from rl_resources.script.run import ACTOR, ROLLOUT

if TYPE_CHECKING:
    from jinja2 import Template

FRAMEWORK = "verl"
PROMPT_TOKENS = 1024
RESPONSE_TOKENS = 1024
GROUP = 5
SHARE_OF_ENGINE = {"MIN": 0.6, "RECOMMENDED": 0.4}
TEMPLATE = Path(__file__).parent / "script.sh.jinja"


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

ADAPTERS_TRAIN = ("fsdp", "fsdp2", "megatron")
ADAPTERS_INFER = ("sglang", "vllm")
"""Backends with low-rank adapters: verl's documentation, advance/ppo_lora, of February 2026."""

_VENDORS = {"mindspeed": "Huawei", "vllm-ascend": "Huawei", "trtllm": "NVIDIA"}
"""Backends that run on the accelerators of one vendor alone."""


@dataclass(frozen=True)
class Configuration:
    """What a script is asked for: rows of the tables, the tag and the GPUs."""

    model: Record
    task: Record
    device: Record
    train: Record
    infer: Record
    tag: str
    cluster: Cluster

    @property
    def strategy(self) -> str:
        """The framework's word for the training backend."""
        return _framework_word(self.train)

    @property
    def engine(self) -> str:
        """The framework's word for the rollout engine."""
        return _framework_word(self.infer)

    @property
    def algorithm(self) -> Algorithm:
        """How the framework is asked for the algorithm."""
        return ALGORITHMS[str(self.task["algorithm"])]

    @property
    def rollout_n(self) -> int:
        """Rollouts per prompt."""
        return GROUP if self.algorithm.estimator in GROUP_ESTIMATORS else 1


def _framework_word(backend: Record) -> str:
    word = str(backend["backend"])
    return SAME_BACKEND.get(word, word)


def strategies(known: Shipped) -> Mapping[str, str]:
    """The training backends of a release, each with the choice of `model_engine` that brings it."""
    found = {str(it.value(f"{ACTOR}.strategy")): name for name, it in known.choices.items()}
    return found | ({"fsdp2": found["fsdp"]} if "fsdp" in found else {})


def engines(known: Shipped) -> tuple[str, ...]:
    """The rollout engines of a release: those that it has settings of their own for."""
    found = next(iter(known.choices.values())).value(f"{ROLLOUT}.engine_kwargs")
    return tuple(map(str, found))


def refusals(wanted: Configuration, known: Shipped) -> Iterator[str]:
    """Why the framework cannot do what is asked for, each reason a sentence with what it can do."""
    release, task = f"{known.framework} {known.version}", wanted.task
    train, infer = wanted.train["backend"], wanted.infer["backend"]
    if task["algorithm"] not in ALGORITHMS:
        possible, name = ", ".join(ALGORITHMS), task["algorithm"]
        yield f"no settings alone make {release} run {name}; known are those of {possible}"
    for does, backend, word, offered in (
        ("train", train, wanted.strategy, strategies(known)),
        ("generate", infer, wanted.engine, engines(known)),
    ):
        if word not in offered:
            possible = ", ".join(sorted(offered))
            yield f"{release} does not {does} with {backend}; it offers {possible}"
        if (vendor := _VENDORS.get(str(backend))) not in {None, wanted.device["vendor"]}:
            yield f"{backend} is for accelerators of {vendor}, not for {wanted.device['name']}"
    for done, word, able in (
        ("trained", wanted.strategy, ADAPTERS_TRAIN),
        ("loaded", wanted.engine, ADAPTERS_INFER),
    ):
        if task["adapters_only"] and word not in able:
            yield f"adapters cannot be {done} by {word} in {release}, only by {', '.join(able)}"


def script_text(wanted: Configuration, known: Shipped, name: str) -> str:
    """The script of a configuration that the framework offers; `name` is its stem."""
    choice, share = strategies(known)[wanted.strategy], SHARE_OF_ENGINE[wanted.tag]
    shape = start_values.shape_of(wanted.model)
    batch, mini_batch = start_values.batch_of(wanted.cluster.gpus)
    return _template().render(
        vars(wanted),
        algorithm=wanted.algorithm,
        batch=batch,
        choice="" if choice == next(iter(known.choices)) else f" {known.group}={choice}",
        engine=wanted.engine,
        engine_share=share,
        engine_size=start_values.engine_size(shape, wanted.cluster, share),
        has_critic=wanted.algorithm.estimator == "gae",
        mini_batch=mini_batch,
        name=name,
        parallel=parallel_sizes(wanted, shape),
        prompt_tokens=PROMPT_TOKENS,
        release=f"{known.framework} {known.version}",
        response_tokens=RESPONSE_TOKENS,
        rollout_n=wanted.rollout_n,
        section=BACKENDS[wanted.strategy].section,
        strategy=wanted.strategy,
        variable=lambda key: key.upper().replace("_MODEL_", "_"),
    )


def parallel_sizes(wanted: Configuration, shape: Shape) -> dict[str, str]:
    """The parallel sizes of the training backend, by their keys in its section."""
    found: dict[str, str] = {}
    if wanted.strategy == "megatron":
        offload = wanted.tag == "MIN"
        tensor, pipeline = start_values.megatron_sizes(shape, wanted.cluster, offload=offload)
        found["tensor_model_parallel_size"] = str(tensor)
        found["pipeline_model_parallel_size"] = str(pipeline)
    if wanted.strategy == "torchtitan":
        found["data_parallel_shard_size"] = "$((NNODES * GPUS_PER_NODE))"
    if shape.experts and (key := BACKENDS[wanted.strategy].expert_parallel):
        found[key] = str(start_values.expert_parallel(shape, wanted.cluster))
    return found


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 (it writes bash, not HTML)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
