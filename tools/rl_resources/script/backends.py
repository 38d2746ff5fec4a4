"""What the framework calls backends, what each can do, and where it has its settings.

A further backend is one entry of `backends.toml`: runs, the estimate, rules, `new` and training
logs read its keys here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rl_resources.files import table_beside

MODEL = "actor_rollout_ref.model"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
CHECKPOINTING = "actor_rollout_ref.model.enable_gradient_checkpointing"


class Backend(NamedTuple):
    """Where a training backend has its settings: `section` of actor and reference, dotted keys.

    `offload_policy` is the switch with which the backend itself offloads all state, of
    `sequence_parallel` the last key wins that is set. An empty key is a setting that it lacks.
    `expert_parallel` and `all_gpus` are keys of `section`; the default of the latter is one GPU, so
    that a script has to set it.

    One that `divides_as_fsdp` shares sequences among GPUs and nothing else, so that batches must
    divide as with FSDP. With `adapters` it trains LoRA: verl's documentation, advance/ppo_lora, of
    February 2026.
    """

    section: str
    divides_as_fsdp: bool = False
    adapters: bool = False
    checkpointing: str = CHECKPOINTING
    packing: str = "actor_rollout_ref.model.use_remove_padding"
    offload_policy: str = ""
    activation_offload: str = ""
    sequence_parallel: Sequence[str] = ()
    expert_parallel: str = ""
    all_gpus: str = ""


_TABLE = table_beside(__file__)
BACKENDS: Mapping[str, Backend] = {
    name: Backend(**described) for name, described in _TABLE["train"].items()
}


class Engine(NamedTuple):
    """What a rollout engine can do, where it has its settings, and how a log names its release.

    With `adapters` it loads those of LoRA (the same page of verl's documentation). `divides` says
    whether its parallel sizes must divide the GPUs, `divides_heads` the model's attention heads.

    `utilization` is the share of the GPU's memory that it takes, `sleep` the switch that frees this
    memory while the model trains. They and the parallel sizes are dotted keys; an empty key is a
    setting that it lacks. The defaults are the keys that verl has for every engine.

    `releases` are patterns of what precedes its version in a training log.
    """

    adapters: bool = False
    divides: bool = False
    divides_heads: bool = False
    utilization: str = "actor_rollout_ref.rollout.gpu_memory_utilization"
    sleep: str = "actor_rollout_ref.rollout.free_cache_engine"
    tensor_parallel: str = "actor_rollout_ref.rollout.tensor_model_parallel_size"
    pipeline_parallel: str = "actor_rollout_ref.rollout.pipeline_model_parallel_size"
    data_parallel: str = "actor_rollout_ref.rollout.data_parallel_size"
    releases: Sequence[str] = ()


def named_version(program: str) -> str:
    """The pattern of `PROGRAM version: ` in a log, or of its line in a list of packages."""
    in_text = rf"(?<![\w./-]){program} version\s*[:=]?\s*"
    in_list = (
        rf"^(?:\[\w+\]\s+)?{program}(?:\s*:\s*|==|\s+)(?=\S+(?:\s+\S+){{0,2}}\s*$)"
    )
    return f"{in_text}|{in_list}"


def _engine(
    programs: Sequence[str] = (), releases: Sequence[str] = (), **able: Any
) -> Engine:
    """An engine as the table describes it."""
    return Engine(**able, releases=(*releases, *map(named_version, programs)))


ENGINES: Mapping[str, Engine] = {
    name: _engine(**described) for name, described in _TABLE["infer"].items()
}
VENDORS: Mapping[str, str] = _TABLE["vendors"]
SAME_BACKEND: Mapping[str, str] = _TABLE["same_backend"]
_ON: Mapping[str, Sequence[str]] = _TABLE["switches"]["on"]
_OFF: Mapping[str, str] = _TABLE["switches"]["off"]


def engine_of(word: str) -> Engine:
    """The rollout engine of a word of ours or of verl's; for other words one of the usual keys."""
    return ENGINES.get(SAME_BACKEND.get(word, word), Engine())


def switched_on(key: str) -> Sequence[str]:
    """The overrides that turn on a switch that saves memory; Megatron's recomputation is three."""
    return _ON.get(key, [f"{key}=True"])


def switched_off(key: str) -> str:
    """The override that turns a switch off that costs time."""
    return _OFF.get(key, f"{key}=False")
