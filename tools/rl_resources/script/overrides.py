"""What a run does, as one value: the script's settings over the framework's own defaults.

The keys are those of verl's configuration (`verl/trainer/config`); what each does is read off
`verl/utils/config.py`, `verl/workers/config/` and `verl/workers/engine_workers.py` of 0.9.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from rl_resources.script.framework import UNKNOWN, Composition, compose_launch, shipped
from rl_resources.script.framework.grammar import is_function, read_value
from rl_resources.script.launch import Launch, Override
from rl_resources.script.shell import Place, Value

MODEL = "actor_rollout_ref.model"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REFERENCE = "actor_rollout_ref.ref"
ALIKE = 0.75
_POOL_KEYS = ("nnodes", "n_gpus_per_node")


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of one key.

    `value` is `UNKNOWN` where it cannot be told. `place` is where the override is written, `origin`
    where its text is defined; both are `None` for a default of the framework.
    """

    key: str
    value: Any
    place: Place | None = None
    origin: Place | None = None

    @property
    def known(self) -> bool:
        """Whether the value can be told."""
        return self.value is not UNKNOWN

    @property
    def number(self) -> int | None:
        """The value where it is known and a whole number."""
        whole = isinstance(self.value, int) and not isinstance(self.value, bool)
        return self.value if whole else None

    @property
    def text(self) -> str | None:
        """The value where it is known and text that is not empty."""
        return self.value if isinstance(self.value, str) and self.value else None

    @property
    def flag(self) -> bool | None:
        """The value where it is known and a truth value."""
        return self.value if isinstance(self.value, bool) else None


@dataclass(frozen=True, eq=False)
class Run:
    """One launch with the configuration that follows from it.

    Without `trusts_defaults` nothing is known of a key that the launch does not set: for launches
    of which a part is known to be lost.
    """

    launch: Launch
    composition: Composition
    trusts_defaults: bool = True

    def setting(self, key: str) -> Setting:
        """What the run uses for a dotted key."""
        index = self._index(key)
        if index is None:
            return Setting(key, self._default(key))
        override = self.launch.overrides[index]
        return Setting(key, self._given(key, index), override.place, override.origin)

    def _index(self, key: str) -> int | None:
        """The last override of the key, or of one that holds it."""
        holders = [
            at for name in _with_those_above(key) if (at := self._last.get(name)) is not None
        ]
        return max(holders, default=None)

    @cached_property
    def _last(self) -> Mapping[str, int]:
        """The last override of each key."""
        return {item.key: at for at, item in enumerate(self.launch.overrides)}

    def _given(self, key: str, index: int) -> Any:
        override = self.launch.overrides[index]
        if override.prefix == "~" or override.value is None:
            return UNKNOWN
        refused = any(rejection.index == index for rejection in self.composition.rejected)
        if not self.composition.problem and not refused:
            return self._composed(key)
        return _read(override) if override.key == key else UNKNOWN

    def _default(self, key: str) -> Any:
        sure = self.knows_defaults and not self._may_be_misspelt(key)
        return self._composed(key) if sure else UNKNOWN

    @property
    def knows_defaults(self) -> bool:
        """Whether what the launch does not set is the framework's own."""
        return bool(
            self.trusts_defaults and not self.composition.problem and not self.launch.unresolved
        )

    def _may_be_misspelt(self, key: str) -> bool:
        """Whether a key that is refused may have been meant as this one."""
        refused = (item.key for item in self.composition.rejected if item.kind == "unknown-key")
        return any(_looks_like(name, key) for name in refused)

    def _composed(self, key: str) -> Any:
        try:
            return self.composition.value(key)
        except KeyError:
            return UNKNOWN

    @property
    def model_path(self) -> Setting:
        """The model that is trained: a Hugging Face id or a folder."""
        return self.setting(f"{MODEL}.path")

    @property
    def model_path_end(self) -> str | None:
        """The path of the model as far back as it is known: all of it, or what follows a `/`."""
        index = self._index(f"{MODEL}.path")
        override = None if index is None else self.launch.overrides[index]
        if override is None or override.content is None or override.value is not None:
            return self.model_path.text
        return known_end(override.content)

    @property
    def estimator(self) -> Setting:
        """How advantages are estimated: `grpo`, `gae`, …"""
        return self.setting("algorithm.adv_estimator")

    @property
    def loss_mode(self) -> Setting:
        """Which policy loss: `vanilla`, `gspo`, …"""
        return self.setting(f"{ACTOR}.policy_loss.loss_mode")

    @property
    def filters_groups(self) -> Setting:
        """Whether prompts without a spread of rewards are dropped, as DAPO does."""
        return self.setting("algorithm.filter_groups.enable")

    @property
    def clip_ratio_low(self) -> Setting:
        """The lower clip of the ratio."""
        return self.setting(f"{ACTOR}.clip_ratio_low")

    @property
    def clip_ratio_high(self) -> Setting:
        """The upper clip of the ratio."""
        return self.setting(f"{ACTOR}.clip_ratio_high")

    @property
    def normalizes_by_spread(self) -> Setting:
        """Whether GRPO divides by the spread of a group's rewards; Dr. GRPO does not."""
        return self.setting("algorithm.norm_adv_by_std_in_grpo")

    @property
    def lora_rank(self) -> Setting:
        """The rank of the adapters, 0 where all weights are trained.

        Megatron's key wins where it is positive, as in `validate_config`; an adapter that is loaded
        may have any rank.
        """
        nested = self.setting(f"{MODEL}.lora.rank")
        plain = self.setting(f"{MODEL}.lora_rank")
        found = nested if nested.number or (plain.number == 0 and nested.place) else plain
        adapter = self.setting(f"{MODEL}.lora_adapter_path")
        unsure = adapter.value is not None and not self.composition.problem
        return Setting(found.key, UNKNOWN) if unsure and not found.number else found

    @property
    def nodes(self) -> Setting:
        """The number of machines."""
        return self.setting("trainer.nnodes")

    @property
    def gpus_per_node(self) -> Setting:
        """The GPUs of each machine."""
        return self.setting("trainer.n_gpus_per_node")

    @property
    def gpus(self) -> Setting:
        """All GPUs; `UNKNOWN` also where the run has a second pool of them."""
        nodes, each = self.nodes, self.gpus_per_node
        both = (nodes.number, each.number)
        given = each if each.place else nodes
        if both[0] is None or both[1] is None or self._has_other_pool:
            return Setting(given.key, UNKNOWN, given.place, given.origin)
        return Setting(given.key, both[0] * both[1], given.place, given.origin)

    @property
    def _has_other_pool(self) -> bool:
        ours = {f"trainer.{name}" for name in _POOL_KEYS}
        keys = {item.key for item in self.launch.overrides} - ours
        return any(key.rpartition(".")[2] in _POOL_KEYS for key in keys)

    @property
    def train_backend(self) -> Setting:
        """What trains: `fsdp`, `fsdp2`, `megatron`, …"""
        strategy = self.setting(f"{ACTOR}.strategy")
        engine = self.setting("model_engine")
        if strategy.text and not strategy.place and engine.place:
            return Setting(engine.key, strategy.value, engine.place, engine.origin)
        if not strategy.known and "megatron" in (engine.text, *(self._config_words)):
            return Setting(strategy.key, "megatron", engine.place, engine.origin)
        return strategy

    @property
    def _config_words(self) -> list[str]:
        return (self.launch.config_name or "").removesuffix(".yaml").split("_")

    @property
    def infer_backend(self) -> Setting:
        """What generates: `vllm`, `sglang`, …"""
        return self.setting(f"{ROLLOUT}.name")

    @property
    def train_batch_size(self) -> Setting:
        """Prompts of a step."""
        return self.setting("data.train_batch_size")

    @property
    def rollout_n(self) -> Setting:
        """Responses to each prompt."""
        return self.setting(f"{ROLLOUT}.n")

    @property
    def mini_batch_size(self) -> Setting:
        """Prompts of an update."""
        return self.setting(f"{ACTOR}.ppo_mini_batch_size")

    @property
    def micro_batch_size_per_gpu(self) -> Setting:
        """Responses that a data-parallel rank trains at a time."""
        return self.setting(f"{ACTOR}.ppo_micro_batch_size_per_gpu")

    @property
    def micro_batch_size(self) -> Setting:
        """The deprecated total of `micro_batch_size_per_gpu` over all ranks."""
        return self.setting(f"{ACTOR}.ppo_micro_batch_size")

    @property
    def max_prompt_length(self) -> Setting:
        """Tokens of a prompt at most."""
        return self.setting("data.max_prompt_length")

    @property
    def max_response_length(self) -> Setting:
        """Tokens of a response at most."""
        return self.setting("data.max_response_length")

    @property
    def rollout_tensor_parallel_size(self) -> Setting:
        """GPUs that share each weight while generating."""
        return self.setting(f"{ROLLOUT}.tensor_model_parallel_size")

    @property
    def rollout_data_parallel_size(self) -> Setting:
        """Copies of the model inside one generating engine."""
        return self.setting(f"{ROLLOUT}.data_parallel_size")

    @property
    def rollout_pipeline_parallel_size(self) -> Setting:
        """Stages of the model while generating."""
        return self.setting(f"{ROLLOUT}.pipeline_model_parallel_size")

    @property
    def rollout_expert_parallel_size(self) -> Setting:
        """GPUs over which experts are spread while generating."""
        return self.setting(f"{ROLLOUT}.expert_parallel_size")

    @property
    def tensor_parallel_size(self) -> Setting:
        """GPUs that share each weight in Megatron."""
        return self.setting(f"{ACTOR}.megatron.tensor_model_parallel_size")

    @property
    def pipeline_parallel_size(self) -> Setting:
        """Stages of the model in Megatron."""
        return self.setting(f"{ACTOR}.megatron.pipeline_model_parallel_size")

    @property
    def context_parallel_size(self) -> Setting:
        """GPUs that share each sequence in Megatron."""
        return self.setting(f"{ACTOR}.megatron.context_parallel_size")

    @property
    def expert_parallel_size(self) -> Setting:
        """GPUs over which experts are spread in Megatron."""
        return self.setting(f"{ACTOR}.megatron.expert_model_parallel_size")

    @property
    def expert_tensor_parallel_size(self) -> Setting:
        """GPUs that share each expert's weight in Megatron; `None` is as many as share others."""
        return self.setting(f"{ACTOR}.megatron.expert_tensor_parallel_size")

    @property
    def sequence_parallel_size(self) -> Setting:
        """GPUs that share each sequence under FSDP; the deprecated key wins where it is above 1."""
        old = self.setting(f"{ACTOR}.ulysses_sequence_parallel_size")
        new = self.setting(f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size")
        return new if old.number == 1 and new.number is not None else old

    @property
    def trains_with_megatron(self) -> bool | None:
        """Whether Megatron trains; `None` where FSDP does not either, or it cannot be told."""
        name = self.train_backend.text
        return {"megatron": True, "fsdp": False, "fsdp2": False}.get(name or "")

    @property
    def training_model_size(self) -> int | None:
        """GPUs that work on the same sequences: all others hold other data."""
        if self.trains_with_megatron is None:
            return None
        if not self.trains_with_megatron:
            return self.sequence_parallel_size.number
        sizes = (
            self.tensor_parallel_size.number,
            self.pipeline_parallel_size.number,
            self.context_parallel_size.number,
        )
        return None if None in sizes else (sizes[0] or 0) * (sizes[1] or 0) * (sizes[2] or 0)

    @property
    def rollout_model_size(self) -> int | None:
        """GPUs of one generating engine."""
        if self.setting(f"{ROLLOUT}.disaggregation.enabled").flag:
            return None
        tensor = self.rollout_tensor_parallel_size.number
        data = self.rollout_data_parallel_size.number
        stages = self.rollout_pipeline_parallel_size.number
        if tensor is None or data is None or stages is None:
            return None
        return tensor * data * stages

    @property
    def param_offload(self) -> Setting:
        """Whether parameters wait in host memory."""
        return self._engine("param_offload")

    @property
    def optimizer_offload(self) -> Setting:
        """Whether the optimizer's state waits in host memory."""
        return self._engine("optimizer_offload")

    def _engine(self, name: str) -> Setting:
        section = "megatron" if self.trains_with_megatron else "fsdp_config"
        return self.setting(f"{ACTOR}.{section}.{name}")

    @property
    def offload_policy(self) -> Setting:
        """Whether FSDP2 itself offloads all state."""
        return self.setting(f"{ACTOR}.fsdp_config.offload_policy")

    @property
    def optimizer_on_host(self) -> Setting:
        """Whether Megatron-Core keeps a fraction of the optimizer in host memory for good."""
        return self.setting(f"{ACTOR}.optim.override_optimizer_config.optimizer_cpu_offload")

    @property
    def optimizer_fraction_on_host(self) -> Setting:
        """The fraction of the optimizer that `optimizer_on_host` speaks of, 0 to 1."""
        return self.setting(f"{ACTOR}.optim.override_optimizer_config.optimizer_offload_fraction")

    @property
    def gradient_checkpointing(self) -> Setting:
        """Whether activations are computed again; Megatron does not read it."""
        return self.setting(f"{MODEL}.enable_gradient_checkpointing")

    @property
    def recompute_granularity(self) -> Setting:
        """Which activations Megatron computes again."""
        key = f"{ACTOR}.megatron.override_transformer_config.recompute_granularity"
        return self.setting(key)

    @property
    def removes_padding(self) -> Setting:
        """Whether sequences are packed without padding."""
        return self.setting(f"{MODEL}.use_remove_padding")

    @property
    def uses_reference(self) -> bool | None:
        """Whether a reference model is loaded, as `need_reference_policy` decides."""
        flags = (
            self.setting("algorithm.use_kl_in_reward").flag,
            self.setting(f"{ACTOR}.use_kl_loss").flag,
        )
        return True if True in flags else None if None in flags else False

    @property
    def gpu_memory_utilization(self) -> Setting:
        """The share of the GPU's memory that the generating engine takes."""
        return self.setting(f"{ROLLOUT}.gpu_memory_utilization")

    @property
    def dynamic_batch(self) -> Setting:
        """Whether micro batches are filled up by tokens."""
        return self.setting(f"{ACTOR}.use_dynamic_bsz")

    @property
    def max_num_batched_tokens(self) -> Setting:
        """Tokens that the generating engine works on at a time."""
        return self.setting(f"{ROLLOUT}.max_num_batched_tokens")

    @property
    def max_model_len(self) -> Setting:
        """Tokens of a prompt with its response at most, in the generating engine."""
        return self.setting(f"{ROLLOUT}.max_model_len")

    @property
    def chunked_prefill(self) -> Setting:
        """Whether the generating engine cuts long prompts into pieces."""
        return self.setting(f"{ROLLOUT}.enable_chunked_prefill")


def describe(launch: Launch, framework: str) -> Run:
    """What `launch` does under the shipped defaults of `framework`."""
    return Run(launch, compose_launch(shipped(framework), launch))


def _with_those_above(key: str) -> Iterator[str]:
    """A dotted key and all that hold it."""
    while key:
        yield key
        key = key.rpartition(".")[0]


def _looks_like(one: str, other: str) -> bool:
    """Whether two keys have the same name in one tree, or like names in one section."""
    section, _, name = one.rpartition(".")
    other_section, _, other_name = other.rpartition(".")
    if name == other_name:
        return one.partition(".")[0] == other.partition(".")[0]
    like = name in other_name or SequenceMatcher(None, name, other_name).ratio() > ALIKE
    return section == other_section and like


def known_end(value: Value) -> str | None:
    """What is known at the end of a value whose beginning is not, after the `/` that it needs."""
    end = ""
    for part in reversed(value.parts):
        if part.text is None:
            break
        end = part.text + end
    return end if end.startswith("/") else None


def _read(override: Override) -> Any:
    """The value of an override that the configuration does not take, as Hydra reads it."""
    text = override.value or ""
    if is_function(text) or "${" in text:
        return UNKNOWN
    try:
        return read_value(text)
    except ValueError:
        return UNKNOWN
