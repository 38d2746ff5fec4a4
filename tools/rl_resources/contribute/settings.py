"""The settings of an untested run: what its script sets, and what of that is a starting value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rl_resources.contribute import sizes
from rl_resources.contribute.offered import (
    ALGORITHMS,
    Algorithm,
    engine,
    strategies,
    strategy,
)
from rl_resources.contribute.script import Script
from rl_resources.contribute.sizes import Cluster, Shape
from rl_resources.package import Record
from rl_resources.script.algorithm import GROUP_ESTIMATORS
from rl_resources.script.framework import Composition, Shipped
from rl_resources.script.run import ACTOR, MODEL, REFERENCE, ROLLOUT

MODULE = "verl.trainer.main_ppo"
PROMPT_TOKENS = 1024
RESPONSE_TOKENS = 1024
GROUP = 5
SEQUENCES_AT_A_TIME = {"MIN": 1, "RECOMMENDED": 4}
LORA_RANK = 32

Settings = dict[str, str]

_SECTIONS = {"fsdp": "fsdp_config", "fsdp2": "fsdp_config"}
_CRITIC_SECTIONS = {"fsdp": "fsdp", "fsdp2": "fsdp"}
_RECOMPUTE: Mapping[str, Mapping[str, str]] = {
    "recompute_granularity": {"MIN": "full"},
    "recompute_method": {"MIN": "uniform"},
    "recompute_num_layers": {"MIN": "1"},
}


@dataclass(frozen=True)
class Configuration:
    """One configuration that a record could be of: rows of the tables, and words."""

    model: Record
    task: Record
    device: Record
    train: Record
    infer: Record
    tag: str
    cluster: Cluster

    @property
    def shape(self) -> Shape:
        """The figures of the model."""
        return sizes.shape_of(self.model)

    @property
    def saves_memory(self) -> bool:
        """Whether the tag wants every switch that saves memory at the cost of time."""
        return self.tag == "MIN"

    @property
    def adapters(self) -> bool:
        """Whether adapters train."""
        return bool(self.task["adapters_only"])

    @property
    def strategy(self) -> str:
        """The framework's word for the training backend."""
        return strategy(str(self.train["backend"]))

    @property
    def algorithm(self) -> Algorithm:
        """How the framework is asked for the algorithm."""
        return ALGORITHMS[str(self.task["algorithm"])]

    @property
    def group(self) -> int:
        """Responses to each prompt."""
        return GROUP if self.algorithm.estimator in GROUP_ESTIMATORS else 1


def script(wanted: Configuration, known: Shipped, name: str) -> Script:
    """The script of a configuration that the framework offers; `name` is its stem."""
    choice = strategies(known)[wanted.strategy]
    writer = _Writer(wanted, known.base(choice))
    standard = next(iter(known.choices))
    return Script(
        facts=_facts(wanted),
        remarks=_remarks(wanted, f"{known.framework} {known.version}"),
        variables=writer.variables(name),
        module=MODULE,
        choices={} if choice == standard else {known.group: choice},
        overrides=writer.overrides(),
    )


def _facts(wanted: Configuration) -> dict[str, str]:
    cluster = wanted.cluster
    nodes = "1 node" if cluster.nodes == 1 else f"{cluster.nodes} nodes of {cluster.per_node}"
    off = "no offload and no recomputation"
    on = "every offload and recompute switch is on" if wanted.saves_memory else off
    return {
        "Tag": f"{wanted.tag} ({on})",
        "Model": str(wanted.model["model"]),
        "Task": str(wanted.task["task"]),
        "Hardware": f"{cluster.gpus} x {wanted.device['name']} ({nodes})",
        "Backends": f"{wanted.train['title']} trains, {wanted.infer['title']} generates",
    }


def _remarks(wanted: Configuration, release: str) -> list[str]:
    remarks = [
        f"Untested: `rl-resources new` wrote this script for {release}, and nobody has run it yet. "
        "Starting values, to be tuned by trials:",
        "- TRAIN_BATCH_SIZE and PPO_MINI_BATCH_SIZE are multiples of the GPUs, no searched limit.",
        "- The parallel sizes and GPU_MEMORY_UTILIZATION follow from the size of the model and the "
        "memory of the device by a rule of thumb.",
        "- Lengths, learning rates and the data set are common choices for a first run.",
    ]
    if wanted.cluster.nodes > 1:
        remarks.append(
            f"Several nodes: start a Ray cluster over all {wanted.cluster.nodes} nodes first, then "
            "this script once, on the head node."
        )
    remarks.append(
        "Settings: environment variables of the names below, or more Hydra overrides as arguments."
    )
    return remarks


class _Writer:
    """The sections of one script, with the framework's `defaults` for the chosen backend."""

    def __init__(self, wanted: Configuration, defaults: Composition) -> None:
        self.wanted = wanted
        self.defaults = defaults
        self.cluster = wanted.cluster
        self.has_critic = wanted.algorithm.estimator == "gae"
        self.section = _SECTIONS.get(wanted.strategy, wanted.strategy)
        self.parallel = self._parallel()

    def _parallel(self) -> Settings:
        """The variables of the training backend's parallel sizes, by their keys in its section."""
        shape, cluster = self.wanted.shape, self.cluster
        expert = str(sizes.expert_parallel(shape, cluster))
        if self.wanted.strategy == "megatron":
            split = sizes.megatron_sizes(shape, cluster, offload=self.wanted.saves_memory)
            return {
                "tensor_model_parallel_size": str(split.tensor),
                "pipeline_model_parallel_size": str(split.pipeline),
                **({"expert_model_parallel_size": expert} if shape.experts else {}),
            }
        if self.wanted.strategy == "torchtitan":
            shards = {"data_parallel_shard_size": "$((NNODES * GPUS_PER_NODE))"}
            return shards | ({"expert_parallel_size": expert} if shape.experts else {})
        if self.wanted.strategy == "veomni" and shape.experts:
            return {"expert_parallel_size": expert}
        return {}

    def variables(self, name: str) -> dict[str, Settings]:
        """Names and defaults of the environment variables, by section."""
        wanted, cluster = self.wanted, self.cluster
        share = sizes.SHARE_OF_ENGINE[wanted.tag]
        batch = sizes.batch_of(cluster.gpus)
        tokens = "MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH"
        if (sequences := SEQUENCES_AT_A_TIME[wanted.tag]) > 1:
            tokens = f"{sequences} * ({tokens})"
        return {
            "Model and data": {
                "MODEL_PATH": str(wanted.model["model"]),
                "TRAIN_FILES": '"${HOME}/data/gsm8k/train.parquet"',
                "VAL_FILES": '"${HOME}/data/gsm8k/test.parquet"',
            },
            "Hardware": {"NNODES": str(cluster.nodes), "GPUS_PER_NODE": str(cluster.per_node)},
            "Parallelism and memory": {
                **{_variable(key): value for key, value in self.parallel.items()},
                "ROLLOUT_TENSOR_PARALLEL_SIZE": str(
                    sizes.engine_size(wanted.shape, cluster, share)
                ),
                "GPU_MEMORY_UTILIZATION": str(share),
            },
            "Batch and lengths": {
                "TRAIN_BATCH_SIZE": str(batch.step),
                "PPO_MINI_BATCH_SIZE": str(batch.update),
                "MAX_PROMPT_LENGTH": str(PROMPT_TOKENS),
                "MAX_RESPONSE_LENGTH": str(RESPONSE_TOKENS),
                "PPO_MAX_TOKEN_LEN_PER_GPU": f"$(({tokens}))",
                "ROLLOUT_N": str(wanted.group),
            },
            "Optimization": {
                "LEARNING_RATE": "3e-5" if wanted.adapters else "1e-6",
                **({"CRITIC_LEARNING_RATE": "1e-5"} if self.has_critic else {}),
                **({"LORA_RANK": str(LORA_RANK)} if wanted.adapters else {}),
                **({"LORA_ALPHA": str(LORA_RANK)} if wanted.adapters else {}),
                "TOTAL_EPOCHS": "1",
            },
            "Run": {"PROJECT_NAME": "rl-resources", "EXPERIMENT_NAME": name},
        }

    def overrides(self) -> dict[str, Settings]:
        """Hydra overrides, by the array that holds them."""
        return {
            "ALGORITHM": self._algorithm(),
            "DATA": self._data(),
            "MODEL": _below(MODEL, {"path": "${MODEL_PATH}"} | self._model(MODEL)),
            "ACTOR": self._actor(),
            "ROLLOUT": self._rollout(),
            "REFERENCE": self._offload(REFERENCE, self.section) if self._has_reference else {},
            "CRITIC": self._critic() if self.has_critic else {},
            "TRAINER": self._trainer(),
        }

    @property
    def _has_reference(self) -> bool:
        return self.wanted.algorithm.kl_loss

    def _algorithm(self) -> Settings:
        algorithm = self.wanted.algorithm
        named = {"adv_estimator": algorithm.estimator, "use_kl_in_reward": "False"}
        return _below("algorithm", named | dict(algorithm.algorithm))

    def _data(self) -> Settings:
        return _below(
            "data",
            {
                "train_files": "${TRAIN_FILES}",
                "val_files": "${VAL_FILES}",
                "train_batch_size": "${TRAIN_BATCH_SIZE}",
                "max_prompt_length": "${MAX_PROMPT_LENGTH}",
                "max_response_length": "${MAX_RESPONSE_LENGTH}",
                "filter_overlong_prompts": "True",
                "truncation": "error",
            },
        )

    def _model(self, section: str) -> Settings:
        """Recomputation and adapters, in the words of a model's section."""
        wanted = self.wanted
        on = str(wanted.saves_memory)
        if wanted.strategy == "megatron":
            names = ("lora.rank", "lora.alpha")
            found = {}
        else:
            names = ("lora_rank", "lora_alpha")
            found = {"use_remove_padding": "True", "enable_gradient_checkpointing": on}
            if self.section == "fsdp_config":
                found["enable_activation_offload"] = on
        if wanted.adapters:
            found |= dict(zip(names, ("${LORA_RANK}", "${LORA_ALPHA}"), strict=True))
        return self._known(section, found)

    def _known(self, section: str, settings: Settings) -> Settings:
        """The settings that the release has."""
        return {key: value for key, value in settings.items() if self._has(f"{section}.{key}")}

    def _has(self, key: str) -> bool:
        return key in self.defaults.values or key in self.defaults.nodes

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
        return _below(ACTOR, settings) | self._engine(ACTOR, self.section)

    def _engine(self, owner: str, section: str) -> Settings:
        """Parallel sizes, offload and recomputation of one trained model."""
        sizes_ = {key: f"${{{_variable(key)}}}" for key in self.parallel}
        if "expert_model_parallel_size" in sizes_:
            sizes_["expert_tensor_parallel_size"] = "1"
        return (
            _below(f"{owner}.{section}", sizes_)
            | self._offload(owner, section)
            | self._recompute(owner, section)
        )

    def _offload(self, owner: str, section: str) -> Settings:
        """The switches of an engine's section that move state to host memory."""
        names = ["param_offload"] if owner == REFERENCE else ["param_offload", "optimizer_offload"]
        if self.wanted.strategy == "fsdp2" and owner != REFERENCE:
            names.append("offload_policy")
        on = str(self.wanted.saves_memory)
        place = f"{owner}.{section}"
        return _below(place, self._known(place, dict.fromkeys(names, on)))

    def _recompute(self, owner: str, section: str) -> Settings:
        """Recomputation where it is a matter of the engine's section."""
        tag = self.wanted.tag
        place = f"{owner}.{section}"
        inner = f"{place}.override_transformer_config"
        chosen = {name: by_tag[tag] for name, by_tag in _RECOMPUTE.items() if tag in by_tag}
        recompute = _below(inner, self._known(inner, chosen))
        keeps = {"activation_checkpoint": "full" if self.wanted.saves_memory else "none"}
        return recompute | _below(place, self._known(place, keeps))

    def _rollout(self) -> Settings:
        wanted = self.wanted
        settings = {
            "name": engine(str(wanted.infer["backend"])),
            "n": "${ROLLOUT_N}",
            "tensor_model_parallel_size": "${ROLLOUT_TENSOR_PARALLEL_SIZE}",
            "gpu_memory_utilization": "${GPU_MEMORY_UTILIZATION}",
        }
        if wanted.adapters and wanted.strategy != "megatron":
            settings |= {"load_format": "safetensors", "layered_summon": str(wanted.saves_memory)}
        return _below(ROLLOUT, settings)

    def _critic(self) -> Settings:
        section = _CRITIC_SECTIONS.get(self.wanted.strategy, self.wanted.strategy)
        settings = {
            "strategy": self.wanted.strategy,
            "optim.lr": "${CRITIC_LEARNING_RATE}",
            "ppo_max_token_len_per_gpu": "${PPO_MAX_TOKEN_LEN_PER_GPU}",
            "model.path": "${MODEL_PATH}",
        }
        model = _below("critic.model", self._model("critic.model"))
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
        if self.wanted.device["vendor"] == "Huawei":
            settings["device"] = "npu"
        return _below("trainer", settings)


def _below(section: str, settings: Mapping[str, str]) -> Settings:
    return {f"{section}.{key}": value for key, value in settings.items()}


def _variable(key: str) -> str:
    return key.upper().replace("_MODEL_", "_")
