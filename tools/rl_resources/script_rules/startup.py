"""What the framework rejects at startup.

Batch sizes and parallel sizes divide as the framework asserts.

Rules about assertions of the framework name the file and function that asserts, and the first
release in which it does. What every release since then asserts is an error; what only newer ones
assert is a warning that names the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil

from rl_resources.facts.models import likeness, model_in_path
from rl_resources.facts.pairs import Pair
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import GROUP_ESTIMATORS, algorithm_of
from rl_resources.script.run import REFERENCE, Run
from rl_resources.script.settings import Setting, in_words
from rl_resources.script_rules import run_rule
from rl_resources.script_rules.divisibility import (
    HEADS,
    SINCE,
    batch_problems,
    is_demanded,
    parallel_problems,
)


@run_rule(of_forks=False)
def group_size(pair: Pair, run: Run) -> Iterator[Mistake]:
    """An estimator that compares responses gets more than one response per prompt.

    A group of one has nothing to compare with, so there is no relative advantage.

    Bad: `algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1`
    Good: `algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=5`

    Mean 0 and spread 1 stand in for those of a group of one, since 0.2. A teacher's loss needs no
    group, and a fork may repeat the prompts by a key of its own, as Search-R1 does by `n_agent`.

    verl/trainer/ppo/core_algos.py, `compute_grpo_outcome_advantage` and those of the other
    estimators; `compute_grpo_passk_outcome_advantage` asserts two.
    """
    estimator = run.estimator
    size = run.rollout_n
    if estimator.text not in GROUP_ESTIMATORS or size.number != 1:
        return
    if _needs_no_group(run):
        return
    cause = size if size.place else estimator
    yield pair.script_mistake(
        cause,
        f"`{estimator.text}` compares responses, but {in_words(size)}",
        f"Set `{size.key}` to the responses for each prompt, at least 2.",
    )


_WITHOUT_GROUP = re.compile(
    r"(?!actor_rollout_ref\.rollout\.(?:n|val_kwargs\.n)$|distillation\.)"
    r".*(?:(?:^|[._])(?:n|group_size|n_(?:agent|rollouts?|samples?)|num_(?:generations|repeats?))$"
    r"|custom_reward_function\.path|distill|teacher|reverse_kl)"
)
"""A key of somebody's own that makes the group, or a reward that may need none."""


def _needs_no_group(run: Run) -> bool:
    if run.setting("distillation.enabled").flag is not False:
        return True
    return any(_WITHOUT_GROUP.match(override.key) for override in run.launch.overrides)


@run_rule(of_forks=False)
def parallel_sizes(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Parallel sizes divide the GPUs and the model's heads, layers and experts.

    The run stops at startup with an assertion.

    Bad: `trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.tensor_model_parallel_size=3`
    Good: `trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.tensor_model_parallel_size=4`

    Sizes that the framework, Megatron or the generating engine refuses.

    * Rollout: verl/workers/fsdp_workers.py `_build_rollout` since 0.2, megatron_workers.py since
      0.4.0; since 0.8.0 verl/workers/engine_workers.py `init_model`, which 0.7.0 has for its new
      workers alone.
    * Ulysses: the device mesh of the same workers since 0.2; heads in
      verl/models/transformers/monkey_patch.py `apply_monkey_patch` since 0.3.
    * Megatron: verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.4.0, now
      verl/utils/config.py `validate_config`. Of the groups of the experts Megatron-Core's
      `initialize_model_parallel` asks it, where their tensor parallel size is by default that of
      the other weights.
    * Heads: vLLM's `ModelConfig.verify_with_parallel_config`, from its first releases on;
      Megatron-Core's `TransformerConfig.__post_init__`. Of SGLang they are not asked.
    * Layers: Megatron-Core's `get_num_layers_to_build`, where nothing says how to share them
      unevenly. Experts: its `BaseMoELayer.__init__`.
    * FSDP's groups: `create_device_mesh` in verl/workers/fsdp_workers.py, now
      verl/workers/engine/fsdp/utils.py, makes a mesh of whole groups.
    """
    if _has_other_gpus(pair, run):
        return
    for setting, problem in parallel_problems(run, _figures(pair, run)):
        yield pair.script_mistake(
            setting,
            f"{in_words(setting)}: {problem}",
            "Choose a size that divides both the GPUs and the model, or other GPUs.",
        )


def _has_other_gpus(pair: Pair, run: Run) -> bool:
    """Whether the GPUs of row and script differ, so that sizes do too."""
    said = pair.number("gpus")
    return said is not None and run.gpus.number not in (None, said)


def _figures(pair: Pair, run: Run) -> Mapping[str, int]:
    """Heads, layers and experts, 0 if unknown, of the model that row and script both name."""
    name = model_in_path(run.model_path_end or "", pair.models)
    if name is None or likeness(name, pair.models) != "same":
        return {}
    columns = (HEADS, "layers", "experts")
    return {column: int(pair.model_figure(column)) for column in columns}


@run_rule(follows=["group-size", "parallel-sizes"], of_forks=False)
def batch_divisibility(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Batch sizes are divisible as the framework requires.

    The run stops at startup or at its first update with an assertion.

    Bad: `data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=128`
    Good: `data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64`

    Without dynamic batches, for a run on one pool of GPUs.

    * Responses of a step by GPUs: verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2,
      now verl/utils/config.py `validate_config`; with Megatron by ranks x micro batch since 0.4.0.
    * Step at least as large as an update: the same since 0.3.0, now `ActorConfig.validate`.
    * Update by micro batch under FSDP: verl/workers/fsdp_workers.py
      `ActorRolloutRefWorker.__init__` since 0.2; since 0.8.0 verl/workers/engine/utils.py
      `prepare_micro_batches`.
    * Update by ranks and, with Megatron, micro batches: verl/workers/engine_workers.py
      `train_mini_batch` since 0.8.0; older workers round down.
    """
    if not _has_fixed_batches(pair, run):
        return
    for problem in batch_problems(run):
        yield pair.script_mistake(*problem)


_TRAINER = re.compile(r"verl\.|recipe\.(?:dapo|entropy|prime|sppo)\.")
"""Programs with the framework's trainer; others may make and divide a batch otherwise."""


def _has_fixed_batches(pair: Pair, run: Run) -> bool:
    """Whether the framework divides batches of fixed size; row and script agree on the GPUs."""
    if run.dynamic_batch.flag is not False or not _TRAINER.match(run.launch.module):
        return False
    return not _has_other_gpus(pair, run)


@run_rule("warning", follows=["batch-divisibility", "parallel-sizes"], of_forks=False)
def log_prob_batches(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Log-prob micro-batches divide as verl 0.8.0 and later require.

    The run stops in its first step; older releases accept any size.

    Bad: `rollout.log_prob_micro_batch_size_per_gpu=16` where each of 8 ranks has 40 responses
    Good: `rollout.log_prob_micro_batch_size_per_gpu=8` where each of 8 ranks has 40 responses

    verl/workers/engine_workers.py `infer_batch`, in engine/utils.py `prepare_micro_batches`,
    asserts that micro batches divide each rank's share of a step.
    """
    share = _share(run)
    if not share or not is_demanded(run):
        return
    if not _has_fixed_batches(pair, run):
        return
    exempt = pair.script.or_exempt("log-prob-batches")
    for micro in _log_prob_batches(run):
        if micro.number and share % micro.number:
            yield pair.script_mistake(
                micro,
                f"`{micro.key}` is `{micro.number}`, no divisor of {share}, each rank's share of "
                f"a step{SINCE}",
                f"Choose a divisor of {share}{exempt}.",
            )


def _log_prob_batches(run: Run) -> Iterator[Setting]:
    """The micro-batch sizes of log probabilities that are computed and not dynamic."""
    for _, micro, dynamic in _micro_batches(run):
        # The reference of an actor with adapters is the actor without them.
        is_actor = micro.key.startswith(REFERENCE) and run.lora_rank.number != 0
        if "log_prob" in micro.key and dynamic.flag is False and not is_actor:
            yield micro


def _share(run: Run) -> int | None:
    """The responses of a step that each rank has, where the step is made of whole updates.

    Otherwise it is padded: verl/trainer/ppo/v1/trainer_base.py.
    """
    batch = run.train_batch_size.number or 0
    mini = run.mini_batch_size.number
    ranks = run.data_parallel_size
    if not mini or not ranks or batch % mini:
        return None
    return batch * (run.rollout_n.number or 0) // ranks


@run_rule("warning", of_forks=False)
def token_limit(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A sequence of full length fits in a micro-batch and in the rollout engine.

    With dynamic batches, the run stops at the first sequence that is longer than the limit of a
    micro-batch. The engine truncates every response at its own limit, or refuses to start.

    Bad: `ppo_max_token_len_per_gpu=1024`, prompts of 512 and responses of 1024
    Good: `ppo_max_token_len_per_gpu=1536`, prompts of 512 and responses of 1024

    * Micro batch: verl/utils/seqlen_balancing.py `rearrange_micro_batches` asserts it; without
      padding of the longest sequence of the batch. GPUs that share sequences add up: `sp_size` in
      verl/workers/engine/utils.py `prepare_micro_batches`, Megatron's context parallelism in
      verl/workers/actor/megatron_actor.py `update_policy`.
    * Engine: `max_possible_tokens` in verl/workers/rollout/vllm_rollout/vllm_async_server.py
      `generate` and those of other engines.
    * Without chunked prefill vLLM's `SchedulerConfig` refuses a smaller `max_num_batched_tokens`;
      verl raises it since 0.9.1.
    """
    prompt = run.max_prompt_length.number
    response = run.max_response_length.number
    if prompt is None or response is None:
        return
    longest = prompt + response
    for setting, share in _token_limits(run):
        if not share or not 0 < (setting.number or 0) * share < longest:
            continue
        limit = f"`{setting.key}` is `{setting.number}`"
        if share != 1:
            limit += f" times {share}"
        yield pair.script_mistake(
            setting,
            f"{limit}, less than a sequence of {longest}",
            f"Set it to {ceil(longest / share)} or more.",
        )


def _token_limits(run: Run) -> Iterator[tuple[Setting, int | None]]:
    """The settings that limit the length of a sequence, and the GPUs that share one."""
    max_length = run.setting("actor_rollout_ref.rollout.max_model_len")
    if max_length.place:
        yield max_length, 1
    chunks = run.setting("actor_rollout_ref.rollout.enable_chunked_prefill")
    if run.infer_backend.text == "vllm" and chunks.flag is False:
        yield run.setting("actor_rollout_ref.rollout.max_num_batched_tokens"), 1
    if run.dynamic_batch.flag and run.trains_with_megatron is not None:
        share = run.sequence_parallel_size
        if run.trains_with_megatron:
            share = run.context_parallel_size
        yield (
            run.setting("actor_rollout_ref.actor.ppo_max_token_len_per_gpu"),
            share.number,
        )


@run_rule(of_forks=False)
def micro_batch_keys(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The micro-batch size per GPU is set.

    The framework refuses to start without one.

    Bad: `use_dynamic_bsz=False`
    Good: `use_dynamic_bsz=False ppo_micro_batch_size_per_gpu=4`

    verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2.

    Now verl/utils/config.py `validate_config` and verl/workers/config/actor.py `ActorConfig`. With
    dynamic batches it is not read; `deprecated_key` reports one that is given as a total. A refused
    key may mean it.
    """
    if run.composition.rejected:
        return
    has_critic = algorithm_of(pair.text("task")) in {"PPO", ""}
    for total, per_gpu, dynamic in _micro_batches(run):
        is_read = has_critic or not total.key.startswith("critic.")
        is_set = total.value is not None or per_gpu.value is not None
        if is_read and not is_set and dynamic.flag is False:
            yield pair.script_mistake(
                per_gpu,
                f"`{per_gpu.key}` is not set, and `{dynamic.key}` is off",
                f"Set `{per_gpu.key}`.",
            )


def _micro_batches(run: Run) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Each micro batch of a run: its size over all GPUs, the size per GPU, and what makes it
    dynamic, so that neither is read: verl/workers/engine_workers.py `init_model`.
    """
    of_actor = "actor_rollout_ref.actor.use_dynamic_bsz"
    switches = {
        "actor_rollout_ref.actor.ppo_micro_batch_size": of_actor,
        "actor_rollout_ref.rollout.log_prob_micro_batch_size": of_actor,
    }
    if run.uses_reference:
        switches["actor_rollout_ref.ref.log_prob_micro_batch_size"] = (
            "actor_rollout_ref.ref.log_prob_use_dynamic_bsz"
        )
    if run.estimator.text == "gae":
        switches["critic.ppo_micro_batch_size"] = "critic.use_dynamic_bsz"
    for key, switch in switches.items():
        yield run.setting(key), run.setting(f"{key}_per_gpu"), run.setting(switch)
