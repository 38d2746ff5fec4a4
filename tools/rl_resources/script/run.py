"""What a run does, in words: the settings of a launch by what they are for.

The keys are those of verl's configuration (`verl/trainer/config`); what each does is read off
`verl/utils/config.py`, `verl/workers/config/` and `verl/workers/engine_workers.py` of 0.9.1.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

from rl_resources.script.backends import (
    ACTOR,
    BACKENDS,
    CHECKPOINTING,
    ENGINES,
    MODEL,
    ROLLOUT,
    Backend,
    Engine,
)
from rl_resources.script.framework.composition import UNKNOWN
from rl_resources.script.settings import Key, Setting, Settings

REFERENCE = "actor_rollout_ref.ref"
LACKING, _OPEN = Setting("", value=False), Setting("", UNKNOWN)
_BF16 = frozenset({"bf16", "bfloat16"})
FP8 = f"{ACTOR}.megatron.override_transformer_config.fp8"
_POOL_KEYS = ("nnodes", "n_gpus_per_node")


class Run(Settings):
    """One launch by what it does."""

    model_path = Key(f"{MODEL}.path")
    """The model that is trained: a Hugging Face id or a directory."""

    @property
    def model_path_end(self) -> str | None:
        """The path of the model as far back as it is known: all of it, or what follows a `/`."""
        content = self.content(f"{MODEL}.path")
        if content is None or content.text is not None:
            return self.model_path.text
        known = ("\0" if part.text is None else part.text for part in content.parts)
        end = "".join(known).rpartition("\0")[2]
        return end if end.startswith("/") else None

    estimator = Key("algorithm.adv_estimator")
    """How advantages are estimated: `grpo`, `gae`, …"""

    loss_mode = Key(f"{ACTOR}.policy_loss.loss_mode")
    """Which policy loss: `vanilla`, `gspo`, …"""

    filters_groups = Key("algorithm.filter_groups.enable")
    """Whether prompts without a spread of rewards are dropped, as DAPO does."""

    clip_ratio_low = Key(f"{ACTOR}.clip_ratio_low")
    """The lower clip of the ratio."""

    clip_ratio_high = Key(f"{ACTOR}.clip_ratio_high")
    """The upper clip of the ratio."""

    normalizes_by_spread = Key("algorithm.norm_adv_by_std_in_grpo")
    """Whether GRPO divides by the spread of a group's rewards; Dr. GRPO does not."""

    @property
    def lora_rank(self) -> Setting:
        """The rank of the adapters, 0 where all weights are trained.

        Megatron reads a key of its own (verl/workers/engine/megatron/transformer_impl.py); an
        adapter that is loaded may have any rank.
        """
        found = self.setting(f"{MODEL}.{'lora.rank' if self.trains_with_megatron else 'lora_rank'}")
        adapter = self.setting(f"{MODEL}.lora_adapter_path")
        unsure = adapter.value is not None and not self.composition.problem
        return Setting(found.key, UNKNOWN) if unsure and not found.number else found

    shares_gpus = Key("actor_rollout_ref.hybrid_engine")
    """Whether the rollout engine runs on the GPUs that train."""

    gpus_per_node = Key("trainer.n_gpus_per_node")
    """The GPUs of each machine that trains."""

    @property
    def nodes(self) -> Setting:
        """The number of machines; `UNKNOWN` where a second pool of GPUs may be on others."""
        found = self.setting("trainer.nnodes")
        return found._replace(value=UNKNOWN) if len(self._pools) > 1 else found

    @property
    def gpus(self) -> Setting:
        """All GPUs, under the key that leaves them `UNKNOWN` or else one that a script sets.

        Asynchronous trainers generate on the GPUs of `rollout`; no other pool adds up for sure.
        """
        counts = self.gpu_counts
        unknown = [count for count in counts if count.number is None]
        nodes, each = counts[:2]
        given = [*unknown, each if each.place else nodes][0]
        total: object = UNKNOWN
        if not unknown and {"trainer", "rollout"}.issuperset(self._pools):
            numbers = [count.number or 0 for count in counts]
            total = sum(map(prod, zip(numbers[::2], numbers[1::2], strict=True)))
        return given._replace(value=total)

    @property
    def training_gpus(self) -> Setting:
        """The GPUs that train: all, or those of `trainer` where the engine has others."""
        if self.shares_gpus.value is not False:
            return self.gpus
        nodes, each = self.gpu_counts[:2]
        total = _product(nodes, each)
        return each._replace(value=UNKNOWN if total is None else total)

    @property
    def gpu_counts(self) -> list[Setting]:
        """The machines and the GPUs of each, pool by pool."""
        return [self.setting(f"{pool}.{key}") for pool in self._pools for key in _POOL_KEYS]

    @cached_property
    def _pools(self) -> tuple[str, ...]:
        """The sections that ask for GPUs: `trainer`, and others that the launch names."""
        keys = (item.key.rpartition(".") for item in self.launch.overrides)
        return ("trainer", *sorted({key[0] for key in keys if key[2] in _POOL_KEYS} - {"trainer"}))

    @property
    def train_backend(self) -> Setting:
        """What trains: `fsdp`, `fsdp2`, `megatron`, …"""
        strategy = self.setting(f"{ACTOR}.strategy")
        engine = self.setting("model_engine")
        if strategy.text and not strategy.place and engine.place:
            return engine._replace(value=strategy.value)
        named = f"{engine.text} {self.launch.text_of('config-name')}"
        if not strategy.known and "megatron" in named:
            return Setting(strategy.key, "megatron", engine.place, engine.origin)
        return strategy

    infer_backend = Key(f"{ROLLOUT}.name")
    """What generates: `vllm`, `sglang`, …"""

    @property
    def engine(self) -> Engine:
        """Where what generates has its settings; the usual keys if it is not known."""
        return ENGINES.get(self.infer_backend.text or "", Engine())

    def _of_engine(self, key: str) -> Setting:
        """A setting of the engine; it may be anything if the engine has no such key."""
        if not key:
            return _OPEN
        return self.setting(key)

    @property
    def gpu_memory_utilization(self) -> Setting:
        """The share of the GPU's memory that the rollout engine uses."""
        return self._of_engine(self.engine.utilization)

    @property
    def rollout_sleep(self) -> Setting:
        """Whether the rollout engine frees its memory while the model trains."""
        return self._of_engine(self.engine.sleep)

    train_batch_size = Key("data.train_batch_size")
    """Prompts of a step."""

    rollout_n = Key(f"{ROLLOUT}.n")
    """Rollouts per prompt."""

    mini_batch_size = Key(f"{ACTOR}.ppo_mini_batch_size")
    """Prompts of an update."""

    micro_batch_size_per_gpu = Key(f"{ACTOR}.ppo_micro_batch_size_per_gpu")
    """Responses that a data-parallel rank trains at a time."""

    @property
    def micro_batch(self) -> Setting:
        """Responses that a rank trains at a time, `UNKNOWN` of the deprecated total of all."""
        total = self.setting(f"{ACTOR}.ppo_micro_batch_size")
        return total._replace(value=UNKNOWN) if total.place else self.micro_batch_size_per_gpu

    max_prompt_length = Key("data.max_prompt_length")
    """Tokens of a prompt at most."""

    max_response_length = Key("data.max_response_length")
    """Tokens of a response at most."""

    @property
    def rollout_tensor_parallel_size(self) -> Setting:
        """GPUs that share each weight while generating."""
        return self._of_engine(self.engine.tensor_parallel)

    tensor_parallel_size = Key(f"{ACTOR}.megatron.tensor_model_parallel_size")
    """GPUs that share each weight in Megatron."""

    pipeline_parallel_size = Key(f"{ACTOR}.megatron.pipeline_model_parallel_size")
    """Stages of the model in Megatron."""

    context_parallel_size = Key(f"{ACTOR}.megatron.context_parallel_size")
    """GPUs that share each sequence in Megatron."""

    expert_parallel_size = Key(f"{ACTOR}.megatron.expert_model_parallel_size")
    """GPUs over which experts are spread in Megatron."""

    @property
    def expert_tensor_parallel_size(self) -> Setting:
        """GPUs that share each expert's weight in Megatron: by default as many as share others."""
        own = self.setting(f"{ACTOR}.megatron.expert_tensor_parallel_size")
        return self.tensor_parallel_size if own.value is None else own

    @property
    def backend(self) -> Backend:
        """Where what trains has its settings; FSDP's where it is not known what trains."""
        return self._known_backend or BACKENDS["fsdp"]

    @cached_property
    def _known_backend(self) -> Backend | None:
        """That of its name, or else the only one with settings in the script."""
        keys = (item.key.removeprefix(f"{ACTOR}.") for item in self.launch.overrides)
        sections = {key.partition(".")[0] for key in keys}
        found = {it.section: it for it in reversed([*BACKENDS.values()]) if it.section in sections}
        only = next(iter(found.values())) if len(found) == 1 else None
        return BACKENDS.get(self.train_backend.text or "", only)

    @property
    def sequence_parallel_size(self) -> Setting:
        """GPUs that share each sequence without Megatron."""
        every = [self.setting(key) for key in self.backend.sequence_parallel]
        return [LACKING, *every, *(setting for setting in every if setting.place)][-1]

    @property
    def trains_with_megatron(self) -> bool | None:
        """Whether Megatron trains; `None` where nothing is known that divides GPUs as FSDP does."""
        if self.train_backend.text == "megatron":
            return True
        own = BACKENDS.get(self.train_backend.text or "")
        return False if own and own.divides_as_fsdp else None

    @property
    def training_model_size(self) -> int | None:
        """GPUs that work on the same sequences: all others have other data."""
        if not self.trains_with_megatron:
            known = self.trains_with_megatron is False
            return self.sequence_parallel_size.number if known else None
        tensor, stages = self.tensor_parallel_size, self.pipeline_parallel_size
        return _product(tensor, stages, self.context_parallel_size)

    @property
    def expert_model_size(self) -> int | None:
        """GPUs of Megatron that hold all experts once."""
        tensor, stages = self.expert_tensor_parallel_size, self.pipeline_parallel_size
        return _product(tensor, self.expert_parallel_size, stages)

    @property
    def rollout_model_size(self) -> int | None:
        """GPUs of one generating engine."""
        if self.setting(f"{ROLLOUT}.disaggregation.enabled").flag:
            return None
        engine = self.engine
        keys = (engine.tensor_parallel, engine.pipeline_parallel, engine.data_parallel)
        return _product(*(self.setting(key) for key in keys if key))

    @property
    def param_offload(self) -> Setting:
        """Whether parameters wait in host memory."""
        return self._of_backend("param_offload")

    @property
    def optimizer_offload(self) -> Setting:
        """Whether the optimizer's state waits in host memory."""
        return self._of_backend("optimizer_offload")

    @property
    def reference_offload(self) -> Setting:
        """Whether the parameters of a reference model wait in host memory."""
        return self.setting(f"{REFERENCE}.{self.backend.section}.param_offload")

    @property
    def dtype(self) -> Setting:
        """The number format that training computes in."""
        return self._of_backend("dtype")

    @property
    def precision(self) -> str:
        """`dtype` in the words of the column `precision`; empty where that is not known."""
        formats = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
        known = formats.get(self.dtype.text or "", "")
        return "fp8" if "fp8-training" in self.optimizations_on else known

    def _of_backend(self, name: str) -> Setting:
        return self.setting(f"{ACTOR}.{self.backend.section}.{name}")

    @property
    def offload_policy(self) -> Setting:
        """Whether the backend itself offloads all state; `False` where it has no such switch."""
        key = self.backend.offload_policy
        return self.setting(key) if key else LACKING

    @property
    def offloads(self) -> list[Setting]:
        """The settings that move what trains to host memory, where the backend has them."""
        state = [self.param_offload, self.optimizer_offload, self.offload_policy]
        return [*state, self.optimizer_on_host] if self._known_backend else []

    optimizer_on_host = Key(f"{ACTOR}.optim.override_optimizer_config.optimizer_cpu_offload")
    """Whether Megatron-Core keeps a fraction of the optimizer in host memory for good."""

    optimizer_fraction_on_host = Key(
        f"{ACTOR}.optim.override_optimizer_config.optimizer_offload_fraction"
    )
    """The fraction of the optimizer that `optimizer_on_host` speaks of, 0 to 1."""

    @property
    def gradient_checkpointing(self) -> Setting:
        """Whether, or which, activations are computed again."""
        return self.setting(self.backend.checkpointing)

    @property
    def misses_recomputation(self) -> bool:
        """Whether Megatron keeps all activations of a script that asks for checkpointing with the
        key of other backends.
        """
        open_ = any(map(self.may_change, ("model_engine", f"{ACTOR}.strategy")))
        asked, megatron = self.setting(CHECKPOINTING), self.trains_with_megatron and not open_
        return bool(megatron and asked.place and asked.flag) and is_off(self.gradient_checkpointing)

    def may_change(self, key: str) -> bool:
        """Whether the script sets a key to a default that the environment may replace."""
        content = self.content(key)
        return content is not None and content.default

    @property
    def memory_savers(self) -> list[Setting]:
        """The settings that save memory at the cost of time, where the backend has them."""
        words = ("parameter-offload", "optimizer-offload", "activation-checkpointing")
        return [self.optimizations[word] for word in words] if self._known_backend else []

    @property
    def uses_reference(self) -> bool | None:
        """Whether a reference model is loaded, as `need_reference_policy` decides."""
        keys = "algorithm.use_kl_in_reward", f"{ACTOR}.use_kl_loss"
        flags = [self.setting(key).flag for key in keys]
        return True if True in flags else None if None in flags else False

    @property
    def weights(self) -> str:
        """What trains: `full` or `lora`; empty where it is not known."""
        rank = self.lora_rank.number
        return "" if rank is None else "lora" if rank > 0 else "full"

    @cached_property
    def optimizations(self) -> dict[str, Setting]:
        """The settings behind the words of the table `memory_optimizations`, where they say it.

        `LACKING` is a setting that the backend does not have, `_OPEN` one that may be on or off.
        """
        megatron, own = bool(self.trains_with_megatron), self.backend.activation_offload
        all_state = self.offload_policy if self.offload_policy.flag else None
        on_host = self.optimizer_on_host if self.optimizer_on_host.flag and megatron else None
        gradients = self._of_backend("grad_offload")  # gone: Megatron's move with the parameters
        gradients = gradients if gradients.place else self.param_offload
        dtype = self._of_backend("model_dtype")  # of weights, gradients and moments
        fp8, quantized = self.setting(FP8), self.setting(f"{ROLLOUT}.quantization")
        sure = self._known_backend and self.trusts_defaults and not self.composition.problem
        lacking, full = LACKING if sure else _OPEN, self.weights == "full"
        reference = full and self.uses_reference is not False  # with LoRA it is the bare actor
        # Another override may turn on what the backend's own configuration has.
        other = any("offloading" in item.key for item in self.launch.overrides)
        return {
            "activation-checkpointing": self.gradient_checkpointing,
            "parameter-offload": all_state or self.param_offload,
            "gradient-offload": all_state or (gradients if megatron else lacking),
            "optimizer-offload": on_host or all_state or self.optimizer_offload,
            "activation-offload": self.setting(own) if own else _OPEN if other else lacking,
            "reference-offload": self.reference_offload if reference else _OPEN,
            "bf16-optimizer": dtype if full and dtype.text in _BF16 else _OPEN,
            # Weights that are FP8 already ask for neither.
            "fp8-training": fp8 if megatron and fp8.text else _OPEN,
            "fp8-rollout": quantized if quantized.value == "fp8" else _OPEN,
            "sequence-packing": self.setting(self.backend.packing),
            "dynamic-batch": self.dynamic_batch,
            "fused-logits": self.setting(f"{MODEL}.use_fused_kernels"),
            "chunked-logits": self.setting(f"{ACTOR}.entropy_from_logits_with_chunking"),
            "rollout-sleep": self.rollout_sleep,
            "layered-summon": self.setting(f"{ROLLOUT}.layered_summon"),
        }

    @property
    def optimizations_on(self) -> tuple[str, ...]:
        """The words of the table `memory_optimizations` that its settings turn on."""
        return tuple(word for word, setting in self.optimizations.items() if is_on(setting))

    dynamic_batch = Key(f"{ACTOR}.use_dynamic_bsz")
    """Whether micro batches are filled up by tokens."""


def is_on(setting: Setting) -> bool:
    """Whether a setting turns something on: `True`, or a word such as `full`; not `none`."""
    return setting.known and setting.value not in (None, False, 0, "", "none")


def is_off(setting: Setting) -> bool:
    """Whether a setting turns nothing on, also by being empty."""
    return setting.known and not is_on(setting)


def _product(*settings: Setting) -> int | None:
    numbers = [setting.number for setting in settings]
    return None if None in numbers else prod(number or 0 for number in numbers)
