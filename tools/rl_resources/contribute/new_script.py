"""The script of a record that nobody has run: its settings, and their text in bash."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from rl_resources.contribute import start_values
from rl_resources.contribute.offered import ALGORITHMS, Algorithm, engine, strategies, strategy
from rl_resources.contribute.start_values import Cluster, Shape
from rl_resources.package import Record
from rl_resources.script.algorithm import GROUP_ESTIMATORS
from rl_resources.script.framework import Shipped
from rl_resources.script.run import ACTOR, MODEL, REFERENCE, ROLLOUT
from rl_resources.words import printable

MODULE = "verl.trainer.main_ppo"
PROMPT_TOKENS = 1024
RESPONSE_TOKENS = 1024
GROUP = 5
SEQUENCES_AT_A_TIME = {"MIN": 1, "RECOMMENDED": 4}
LORA_RANK = "32"
WIDTH = 100

Settings = dict[str, str]
"""Values by name or dotted key; a value may read a variable as `${NAME}`."""

_SECTIONS = {"fsdp": "fsdp_config", "fsdp2": "fsdp_config"}
_CRITIC_SECTIONS = {"fsdp": "fsdp", "fsdp2": "fsdp"}
_RECOMPUTE = {
    "recompute_granularity": "full",
    "recompute_method": "uniform",
    "recompute_num_layers": "1",
}
_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_READS_VARIABLE = re.compile(r"\$\{\w+\}")


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
    def saves_memory(self) -> bool:
        """Whether the tag wants every memory optimization that costs time."""
        return self.tag == "MIN"

    @property
    def strategy(self) -> str:
        """The framework's word for the training backend."""
        return strategy(str(self.train["backend"]))

    @property
    def algorithm(self) -> Algorithm:
        """How the framework is asked for the algorithm."""
        return ALGORITHMS[str(self.task["algorithm"])]

    @property
    def rollout_n(self) -> int:
        """Rollouts per prompt."""
        return GROUP if self.algorithm.estimator in GROUP_ESTIMATORS else 1


def script_text(wanted: Configuration, known: Shipped, name: str) -> str:
    """The script of a configuration that the framework offers; `name` is its stem."""
    choice = strategies(known)[wanted.strategy]
    base = known.base(choice)
    writer = _Writer(wanted, {*base.values, *base.nodes})
    arrays = {title: items for title, items in writer.overrides().items() if items}
    chosen = "" if choice == next(iter(known.choices)) else f" {known.group}={choice}"
    release = f"{known.framework} {known.version}"
    lines = [
        "#!/usr/bin/env bash",
        "#",
        *_header(wanted, release),
        "",
        "set -euo pipefail",
        *(line for title, items in writer.variables(name) for line in _variables(title, items)),
        *(line for title, items in arrays.items() for line in _array(title, items)),
        "",
        f"python3 -m {MODULE}{chosen} \\",
        *(f'    "${{{title}[@]}}" \\' for title in arrays),
        '    "$@"',
    ]
    return "\n".join(lines) + "\n"


def _variables(title: str, items: Settings) -> list[str]:
    return ["", f"# {title}", *(f"{name}=${{{name}:-{value}}}" for name, value in items.items())]


def _array(title: str, items: Settings) -> list[str]:
    return ["", f"{title}=(", *(f"    {_override(key, items[key])}" for key in items), ")"]


def _override(key: str, value: str) -> str:
    if _READS_VARIABLE.fullmatch(value):
        return f'{key}="{value}"'
    return f"{key}={value}" if _PLAIN.fullmatch(value) else f"'{key}={value}'"


def _header(wanted: Configuration, release: str) -> Iterable[str]:
    """The facts and remarks above the script, as comments."""
    cluster = wanted.cluster
    nodes = "1 node" if cluster.nodes == 1 else f"{cluster.nodes} nodes of {cluster.per_node}"
    off = "no offload and no recomputation"
    on = "every offload and recompute switch is on" if wanted.saves_memory else off
    facts = {
        "Tag": f"{wanted.tag} ({on})",
        "Model": str(wanted.model["model"]),
        "Task": str(wanted.task["task"]),
        "Hardware": f"{cluster.gpus} x {wanted.device['name']} ({nodes})",
        "Backends": f"{wanted.train['title']} trains, {wanted.infer['title']} generates",
    }
    width = max(map(len, facts)) + 2
    yield from (f"# {f'{label}:':<{width}}{printable(text)}" for label, text in facts.items())
    yield "#"
    yield from _wrapped(
        f"Untested: `rl-resources new` wrote this script for {release}, and nobody has run it yet. "
        "Starting values, to be tuned by trials:"
    )
    for point in (
        "TRAIN_BATCH_SIZE and PPO_MINI_BATCH_SIZE are multiples of the GPUs, no searched limit.",
        "The parallel sizes and GPU_MEMORY_UTILIZATION follow from the size of the model and the "
        "memory of the device by a rule of thumb.",
        "Lengths, learning rates and the data set are common choices for a first run.",
    ):
        yield from _wrapped(f"- {point}", "  ")
    if cluster.nodes > 1:
        yield "#"
        yield from _wrapped(
            f"Several nodes: start a Ray cluster over all {cluster.nodes} nodes first, then this "
            "script once, on the head node."
        )
    yield "#"
    yield from _wrapped(
        "Settings: environment variables of the names below, or more Hydra overrides as arguments."
    )


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=f"# {indent}",
        subsequent_indent=f"# {indent * 2}",
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True)
class _Writer:
    """The sections of one script; `known` are the keys of the release with the chosen backend."""

    wanted: Configuration
    known: set[str]

    @property
    def _cluster(self) -> Cluster:
        return self.wanted.cluster

    @property
    def _adapters(self) -> bool:
        return bool(self.wanted.task["adapters_only"])

    @property
    def _has_critic(self) -> bool:
        return self.wanted.algorithm.estimator == "gae"

    @property
    def _section(self) -> str:
        return _SECTIONS.get(self.wanted.strategy, self.wanted.strategy)

    @cached_property
    def _shape(self) -> Shape:
        return start_values.shape_of(self.wanted.model)

    @cached_property
    def _parallel(self) -> Settings:
        """The parallel sizes of the training backend, by their keys in its section."""
        shape, strategy_ = self._shape, self.wanted.strategy
        expert = str(start_values.expert_parallel(shape, self._cluster))
        if strategy_ == "megatron":
            offload = self.wanted.saves_memory
            split = start_values.megatron_sizes(shape, self._cluster, offload=offload)
            found = {
                "tensor_model_parallel_size": str(split.tensor),
                "pipeline_model_parallel_size": str(split.pipeline),
            }
            return found | ({"expert_model_parallel_size": expert} if shape.experts else {})
        experts = {"expert_parallel_size": expert} if shape.experts else {}
        if strategy_ == "torchtitan":
            return {"data_parallel_shard_size": "$((NNODES * GPUS_PER_NODE))"} | experts
        return experts if strategy_ == "veomni" else {}

    def variables(self, name: str) -> list[tuple[str, Settings]]:
        """Titles of sections, each with the names and defaults of its environment variables."""
        wanted, cluster = self.wanted, self._cluster
        share = start_values.SHARE_OF_ENGINE[wanted.tag]
        engine_size = start_values.engine_size(self._shape, cluster, share)
        batch = start_values.batch_of(cluster.gpus)
        tokens = "MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH"
        if (sequences := SEQUENCES_AT_A_TIME[wanted.tag]) > 1:
            tokens = f"{sequences} * ({tokens})"
        data = {
            "MODEL_PATH": str(wanted.model["model"]),
            "TRAIN_FILES": '"${HOME}/data/gsm8k/train.parquet"',
            "VAL_FILES": '"${HOME}/data/gsm8k/test.parquet"',
        }
        parallel = {
            **{_variable(key): value for key, value in self._parallel.items()},
            "ROLLOUT_TENSOR_PARALLEL_SIZE": str(engine_size),
            "GPU_MEMORY_UTILIZATION": str(share),
        }
        lengths = {
            "TRAIN_BATCH_SIZE": str(batch.step),
            "PPO_MINI_BATCH_SIZE": str(batch.update),
            "MAX_PROMPT_LENGTH": str(PROMPT_TOKENS),
            "MAX_RESPONSE_LENGTH": str(RESPONSE_TOKENS),
            "PPO_MAX_TOKEN_LEN_PER_GPU": f"$(({tokens}))",
            "ROLLOUT_N": str(wanted.rollout_n),
        }
        return [
            ("Model and data", data),
            ("Hardware", {"NNODES": str(cluster.nodes), "GPUS_PER_NODE": str(cluster.per_node)}),
            ("Parallelism and memory", parallel),
            ("Batch and lengths", lengths),
            ("Optimization", self._optimization()),
            ("Run", {"PROJECT_NAME": "rl-resources", "EXPERIMENT_NAME": name}),
        ]

    def _optimization(self) -> Settings:
        lora = {"LORA_RANK": LORA_RANK, "LORA_ALPHA": LORA_RANK}
        return {
            "LEARNING_RATE": "3e-5" if self._adapters else "1e-6",
            **({"CRITIC_LEARNING_RATE": "1e-5"} if self._has_critic else {}),
            **(lora if self._adapters else {}),
            "TOTAL_EPOCHS": "1",
        }

    def overrides(self) -> dict[str, Settings]:
        """Hydra overrides, by the array that holds them."""
        has_reference = self.wanted.algorithm.kl_loss
        return {
            "ALGORITHM": self._algorithm(),
            "DATA": self._data(),
            "MODEL": {f"{MODEL}.path": "${MODEL_PATH}"} | self._model(MODEL),
            "ACTOR": self._actor(),
            "ROLLOUT": self._rollout(),
            "REFERENCE": self._offload(REFERENCE, self._section) if has_reference else {},
            "CRITIC": self._critic() if self._has_critic else {},
            "TRAINER": self._trainer(),
        }

    def _algorithm(self) -> Settings:
        algorithm = self.wanted.algorithm
        settings = {"adv_estimator": algorithm.estimator, "use_kl_in_reward": "False"}
        return _below("algorithm", settings | dict(algorithm.algorithm))

    def _data(self) -> Settings:
        names = ("train_files", "val_files", "train_batch_size")
        lengths = ("max_prompt_length", "max_response_length")
        settings = {name: f"${{{name.upper()}}}" for name in names + lengths}
        return _below("data", settings | {"filter_overlong_prompts": "True", "truncation": "error"})

    def _model(self, section: str) -> Settings:
        """Recomputation and adapters, in the words of a model's section."""
        on = str(self.wanted.saves_memory)
        settings = {"use_remove_padding": "True", "enable_gradient_checkpointing": on}
        if self._section == "fsdp_config":
            settings["enable_activation_offload"] = on
        rank, alpha = "lora_rank", "lora_alpha"
        if self.wanted.strategy == "megatron":
            settings, rank, alpha = {}, "lora.rank", "lora.alpha"
        if self._adapters:
            settings |= {rank: "${LORA_RANK}", alpha: "${LORA_ALPHA}"}
        return self._known(_below(section, settings))

    def _known(self, settings: Settings) -> Settings:
        """The settings that the release has."""
        return {key: value for key, value in settings.items() if key in self.known}

    def _actor(self) -> Settings:
        algorithm = self.wanted.algorithm
        kl_loss = {"kl_loss_coef": "0.001", "kl_loss_type": "low_var_kl"}
        settings = {
            "strategy": self.wanted.strategy,
            "optim.lr": "${LEARNING_RATE}",
            "ppo_mini_batch_size": "${PPO_MINI_BATCH_SIZE}",
            "use_dynamic_bsz": "True",
            "ppo_max_token_len_per_gpu": "${PPO_MAX_TOKEN_LEN_PER_GPU}",
            "use_kl_loss": str(algorithm.kl_loss),
            **(kl_loss if algorithm.kl_loss else {}),
            "entropy_coeff": "0",
            **algorithm.actor,
        }
        return _below(ACTOR, settings) | self._engine(ACTOR, self._section)

    def _engine(self, owner: str, section: str) -> Settings:
        """Parallel sizes, offload and recomputation of one trained model."""
        sizes = {key: f"${{{_variable(key)}}}" for key in self._parallel}
        if "expert_model_parallel_size" in sizes:
            sizes["expert_tensor_parallel_size"] = "1"
        place, on = f"{owner}.{section}", self.wanted.saves_memory
        recompute = _below(f"{place}.override_transformer_config", _RECOMPUTE if on else {})
        checkpoint = {f"{place}.activation_checkpoint": "full" if on else "none"}
        switches = self._known(recompute | checkpoint)
        return _below(place, sizes) | self._offload(owner, section) | switches

    def _offload(self, owner: str, section: str) -> Settings:
        """The settings of an engine's section that move state to the CPU."""
        names = ["param_offload"]
        if owner != REFERENCE:
            names.append("optimizer_offload")
            names += ["offload_policy"] if self.wanted.strategy == "fsdp2" else []
        on = str(self.wanted.saves_memory)
        return self._known(_below(f"{owner}.{section}", dict.fromkeys(names, on)))

    def _rollout(self) -> Settings:
        settings = {
            "name": engine(str(self.wanted.infer["backend"])),
            "n": "${ROLLOUT_N}",
            "tensor_model_parallel_size": "${ROLLOUT_TENSOR_PARALLEL_SIZE}",
            "gpu_memory_utilization": "${GPU_MEMORY_UTILIZATION}",
        }
        if self._adapters and self.wanted.strategy != "megatron":
            layered = str(self.wanted.saves_memory)
            settings |= {"load_format": "safetensors", "layered_summon": layered}
        return _below(ROLLOUT, settings)

    def _critic(self) -> Settings:
        section = _CRITIC_SECTIONS.get(self.wanted.strategy, self.wanted.strategy)
        settings = {
            "strategy": self.wanted.strategy,
            "optim.lr": "${CRITIC_LEARNING_RATE}",
            "ppo_max_token_len_per_gpu": "${PPO_MAX_TOKEN_LEN_PER_GPU}",
            "model.path": "${MODEL_PATH}",
        }
        model = self._model("critic.model")
        return _below("critic", settings) | model | self._engine("critic", section)

    def _trainer(self) -> Settings:
        settings = {
            "critic_warmup": "0",
            "logger": '["console"]',
            "project_name": "${PROJECT_NAME}",
            "experiment_name": "${EXPERIMENT_NAME}",
            "nnodes": "${NNODES}",
            "n_gpus_per_node": "${GPUS_PER_NODE}",
            "save_freq": "-1",
            "test_freq": "5",
            "total_epochs": "${TOTAL_EPOCHS}",
        }
        npu = {"device": "npu"} if self.wanted.device["vendor"] == "Huawei" else {}
        return _below("trainer", settings | npu)


def _below(section: str, settings: Mapping[str, str]) -> Settings:
    return {f"{section}.{key}": value for key, value in settings.items()}


def _variable(key: str) -> str:
    return key.upper().replace("_MODEL_", "_")
