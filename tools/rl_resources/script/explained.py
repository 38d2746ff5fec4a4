"""The settings of a run that decide its memory and its time, each with the reason.

The reasons follow what verl's documentation (docs/perf/perf_tuning.rst, docs/advance/ppo_lora.rst)
and its configuration files say of these keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rl_resources.script.run import ACTOR, MODEL, ROLLOUT, Run
from rl_resources.script.settings import Setting

Standing = Literal["script", "default", "absent", "unknown"]


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting of a run, and why it matters.

    `standing` says where the value comes from: the script, the framework's default, nowhere since
    neither names the key (`absent`), or it cannot be told without running the script (`unknown`).
    """

    group: str
    title: str
    setting: Setting
    standing: Standing
    why: str


def explained(run: Run) -> list[Explained]:
    """The settings that bear on this run, in the order of the table below."""
    return [
        Explained(group, title, setting, _standing(run, setting), why)
        for group, entries in _TABLE.items()
        for title, applies, read, why in entries
        if applies(run) and (setting := read(run))
    ]


def _standing(run: Run, setting: Setting) -> Standing:
    if setting.known:
        return "script" if setting.place else "default"
    return "absent" if setting.place is None and run.knows_defaults else "unknown"


Applies = Callable[[Run], bool]
Read = Callable[[Run], Setting | None]


def _always(run: Run) -> bool:
    return True


def _fsdp(run: Run) -> bool:
    return run.trains_with_megatron is False


def _fsdp2(run: Run) -> bool:
    return run.train_backend.text == "fsdp2"


def _megatron(run: Run) -> bool:
    return run.trains_with_megatron is True


def _reference(run: Run) -> bool:
    return run.uses_reference is not False


def _adapters(run: Run) -> bool:
    return run.lora_rank.number != 0


def _fills_by_tokens(run: Run) -> bool:
    return run.dynamic_batch.flag is True


def _fills_by_count(run: Run) -> bool:
    return run.dynamic_batch.flag is not True


def _of(key: str) -> Read:
    return lambda run: run.setting(key)


def _where_set(read: Callable[[Run], Setting]) -> Read:
    """The setting where the script names it: its default switches something off."""
    return lambda run: found if (found := read(run)).place else None


def _sequence_parallel(run: Run) -> Setting:
    """As `Run` has it, but at the deprecated key where the script writes just that one."""
    effective = run.sequence_parallel_size
    old = run.setting(f"{ACTOR}.ulysses_sequence_parallel_size")
    return old if old.place and not effective.place else effective


def _micro_batch(run: Run) -> Setting:
    old = run.micro_batch_size
    return old if old.place else run.micro_batch_size_per_gpu


Entry = tuple[str, Applies, Read, str]

_TABLE: dict[str, tuple[Entry, ...]] = {
    "Moved to host memory": (
        (
            "Parameter offload",
            _always,
            lambda run: run.param_offload,
            "The trained weights wait in host memory while the engine generates, which leaves it "
            "their room; every step pays for the copies.",
        ),
        (
            "Optimizer offload",
            _always,
            lambda run: run.optimizer_offload,
            "The optimizer's state waits in host memory between updates; every update pays for the "
            "copies.",
        ),
        (
            "FSDP2 offload",
            _fsdp2,
            lambda run: run.offload_policy,
            "FSDP2 itself keeps weights, gradients and optimizer in host memory: the least memory, "
            "and the slowest updates.",
        ),
        (
            "Optimizer on the host",
            _megatron,
            _where_set(lambda run: run.optimizer_on_host),
            "Megatron-Core keeps optimizer state in host memory for good and updates it there.",
        ),
        (
            "Share of it",
            _megatron,
            _where_set(lambda run: run.optimizer_fraction_on_host),
            "The share of the optimizer that lives on the host, from 0 to 1; it also fills the "
            "memory of the node.",
        ),
        (
            "Reference offload",
            _reference,
            lambda run: run.reference_offload,
            "The frozen reference model waits in host memory until its log probabilities are due.",
        ),
    ),
    "Activations": (
        (
            "Gradient checkpointing",
            _fsdp,
            lambda run: run.gradient_checkpointing,
            "Activations are computed again in the backward pass instead of being kept: the longer "
            "the sequences, the more memory it saves, for slower updates.",
        ),
        (
            "Recomputation",
            _megatron,
            lambda run: run.recompute_granularity,
            "Megatron's word for gradient checkpointing: `full` computes whole layers again, "
            "`selective` the attention alone; without it all activations are kept.",
        ),
        (
            "Padding removed",
            _always,
            lambda run: run.removes_padding,
            "Sequences are packed end to end, so no memory and no time goes to empty positions.",
        ),
    ),
    "Spread over accelerators": (
        (
            "Sequence parallel",
            _fsdp,
            _sequence_parallel,
            "So many accelerators share each sequence and its activations: longer contexts fit, "
            "for communication and fewer sequences at a time.",
        ),
        (
            "Tensor parallel",
            _megatron,
            lambda run: run.tensor_parallel_size,
            "So many accelerators share each weight in training; it wants a fast link between "
            "them.",
        ),
        (
            "Pipeline parallel",
            _megatron,
            lambda run: run.pipeline_parallel_size,
            "The layers are spread over so many stages: less weight on each, and stages that wait "
            "for each other.",
        ),
        (
            "Context parallel",
            _megatron,
            lambda run: run.context_parallel_size,
            "So many accelerators share each sequence, for contexts too long for one.",
        ),
        (
            "Expert parallel",
            _megatron,
            lambda run: run.expert_parallel_size,
            "The experts of a mixture are spread over so many accelerators; dense models have 1.",
        ),
        (
            "Tensor parallel in generation",
            _always,
            lambda run: run.rollout_tensor_parallel_size,
            "So many accelerators share each weight of the generating engine: needed where one "
            "cannot hold the model beside its cache, slower where one can.",
        ),
        (
            "Expert parallel in generation",
            _always,
            _where_set(lambda run: run.rollout_expert_parallel_size),
            "The experts are spread over so many accelerators of the generating engine.",
        ),
    ),
    "Generation": (
        (
            "Memory share of the engine",
            _always,
            lambda run: run.gpu_memory_utilization,
            "The share of each accelerator's memory that the engine takes for weights and cache; "
            "what exactly it counts differs between engines. More generates faster, less leaves "
            "room for training.",
        ),
        (
            "Tokens at a time",
            _always,
            lambda run: run.max_num_batched_tokens,
            "The most tokens that the engine works on in one pass: more is faster and needs more "
            "memory for activations.",
        ),
        (
            "Longest sequence",
            _always,
            _where_set(lambda run: run.max_model_len),
            "The longest prompt with its response that the engine must have cache for.",
        ),
        (
            "No captured graphs",
            _always,
            _of(f"{ROLLOUT}.enforce_eager"),
            "Where true the engine captures no CUDA graphs: less memory, slower generation.",
        ),
        (
            "Cache released",
            _always,
            _of(f"{ROLLOUT}.free_cache_engine"),
            "Where true the engine gives its cache back after generating, so that training has the "
            "memory.",
        ),
    ),
    "Batch and lengths": (
        (
            "Prompts a step",
            _always,
            lambda run: run.train_batch_size,
            "Work of one step: more of it feeds the accelerators better and makes steps longer.",
        ),
        (
            "Responses to each prompt",
            _always,
            lambda run: run.rollout_n,
            "Multiplies all that is generated and trained on in a step.",
        ),
        (
            "Prompt length",
            _always,
            lambda run: run.max_prompt_length,
            "With the response length it bounds a sequence, and with that cache and activations.",
        ),
        (
            "Response length",
            _always,
            lambda run: run.max_response_length,
            "The length that costs most: generation takes longer with every token, and activations "
            "grow with it.",
        ),
        (
            "Mini batch",
            _always,
            lambda run: run.mini_batch_size,
            "Prompts of one optimizer update: it decides how often an update pays for offload.",
        ),
        (
            "Micro batch",
            _fills_by_count,
            _micro_batch,
            "Sequences in one forward and backward pass: the first to halve when training runs out "
            "of memory, at the cost of speed alone.",
        ),
        (
            "Micro batch by tokens",
            _fills_by_tokens,
            _of(f"{ACTOR}.ppo_max_token_len_per_gpu"),
            "Micro batches are filled up to so many tokens an accelerator: the first to lower when "
            "training runs out of memory; at least one whole sequence must fit.",
        ),
        (
            "Micro batch of log probabilities",
            lambda run: run.setting(f"{ROLLOUT}.log_prob_use_dynamic_bsz").flag is not True,
            _of(f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"),
            "Sequences in one pass without gradients; it may be larger than that of training.",
        ),
    ),
    "Adapters": (
        (
            "LoRA rank",
            _adapters,
            lambda run: run.lora_rank,
            "Only adapters of this rank train: gradients and optimizer state shrink to theirs, "
            "while the frozen weights still take their room.",
        ),
        (
            "Target modules",
            _adapters,
            _of(f"{MODEL}.target_modules"),
            "The layers that get adapters: more of them learn more and need more memory.",
        ),
        (
            "Layer by layer to the engine",
            _adapters,
            _of(f"{ROLLOUT}.layered_summon"),
            "Where true weights reach the engine one layer at a time: a lower peak of memory, a "
            "slower hand-over.",
        ),
    ),
}
