"""What the framework refuses at its start.

Batches and parallel sizes divide as the framework asserts.

Rules about assertions of the framework name the file and function that asserts, and the first
release in which it does. What every release since then asserts is an error; what only newer ones
assert is a warning that names the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rl_resources.facts.models import likeness, model_in_path
from rl_resources.facts.pairs import Pair
from rl_resources.package import number
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import GROUP_ESTIMATORS, algorithm_of
from rl_resources.script.backends import ACTOR, ROLLOUT
from rl_resources.script.run import REFERENCE, Run
from rl_resources.script.settings import Setting, in_words
from rl_resources.script_rules import run_rule


@run_rule()
def group_size(pair: Pair, run: Run) -> Iterator[Mistake]:
    """An estimator that compares responses gets more than one for each prompt.

    A group of one has nothing to compare with: there is no relative advantage.

    Bad: `algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1`
    Good: `algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=5`

    Mean 0 and spread 1 stand in for those of a group of one, since 0.2.

    verl/trainer/ppo/core_algos.py, `compute_grpo_outcome_advantage` and those of the other
    estimators; `compute_grpo_passk_outcome_advantage` asserts two.
    """
    estimator, size = run.estimator, run.rollout_n
    if estimator.text in GROUP_ESTIMATORS and size.number == 1:
        message = f"`{estimator.text}` compares responses, but {in_words(size)}"
        fix = f"Set `{size.key}` to the responses for each prompt, at least 2."
        yield Mistake(*pair.place_of(size if size.place else estimator), message, fix)


@run_rule()
def parallel_sizes(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Parallel sizes divide the GPUs and the model's heads, layers and experts.

    The run stops at its start with an assertion.

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
        message = f"{in_words(setting)}: {problem}"
        fix = "Choose a size that divides both the GPUs and the model, or other GPUs."
        yield Mistake(*pair.place_of(setting), message, fix)


def _has_other_gpus(pair: Pair, run: Run) -> bool:
    """Whether row and script differ in their GPUs: sizes follow from that."""
    said, gpus = pair.number("gpus"), run.gpus.number
    return said is not None and gpus is not None and said != gpus


def _figures(pair: Pair, run: Run) -> Mapping[str, int]:
    """Heads, layers and experts, where known, of the model that row and script both name."""
    path = run.model_path_end
    name = model_in_path(path, pair.models) if path else None
    if name is None or likeness(name, pair.models) != "same":
        return {}
    figures = {it: number(pair.model_facts.get(it, "")) for it in (_HEADS, "layers", "experts")}
    return {name: int(figure) for name, figure in figures.items() if figure}


@run_rule()
def batch_divisibility(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Batches divide as the framework asserts.

    The run stops at its start, or at its first update, with an assertion.

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
    fixed = run.dynamic_batch.flag is False and not _has_other_gpus(pair, run)
    asked = fixed and not any(parallel_problems(run, {}))
    for setting, message, fix in batch_problems(run) if asked else ():
        yield Mistake(*pair.place_of(setting), message, fix)


@run_rule("warning")
def log_prob_batches(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Log probabilities are computed in micro batches that verl 0.8.0 and later take.

    A run stops there in its first step; older releases take any.

    Bad: `rollout.log_prob_micro_batch_size_per_gpu=16` where each of 8 ranks has 40 responses
    Good: `rollout.log_prob_micro_batch_size_per_gpu=8` where each of 8 ranks has 40 responses

    verl/workers/engine_workers.py `infer_batch`, in engine/utils.py `prepare_micro_batches`,
    asserts that micro batches divide each rank's share of a step.
    """
    fixed = run.dynamic_batch.flag is False and not _has_other_gpus(pair, run)
    share = _share(run) if fixed and not any(batch_problems(run)) else None
    for _, micro, dynamic in _micro_batches(run) if share else ():
        # the reference of an actor with adapters is the actor without them
        unused = micro.key.startswith(REFERENCE) and run.lora_rank.number != 0
        asked = "log_prob" in micro.key and dynamic.flag is False and not unused
        if asked and micro.number and share and share % micro.number:
            said = f"`{micro.key}` is `{micro.number}`"
            message = f"{said}, no divisor of {share}, each rank's share of a step{_SINCE}"
            exempt = pair.script.or_exempt("log-prob-batches")
            yield Mistake(*pair.place_of(micro), message, f"Choose a divisor of {share}{exempt}.")


def _share(run: Run) -> int | None:
    """The responses of a step that each rank has, where the step is made of whole updates.

    Else it is padded: verl/trainer/ppo/v1/trainer_base.py.
    """
    batch, mini, n, ranks = run.train_batch_size, run.mini_batch_size, run.rollout_n, _ranks(run)
    if not (batch.number and mini.number and n.number and ranks) or batch.number % mini.number:
        return None
    return batch.number * n.number // ranks


@run_rule("warning")
def token_limit(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A sequence of full length has room in a micro batch, and in the generating engine.

    With dynamic batches the run stops at the first sequence that is longer than its micro batch may
    be; the engine cuts every response at its own limit, or refuses to start.

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
    prompt, response = run.max_prompt_length.number, run.max_response_length.number
    if prompt is None or response is None:
        return
    for setting, share in _token_limits(run):
        if setting.number and share and 0 < setting.number * share < prompt + response:
            times = f" times {share}" if share != 1 else ""
            less = f"less than a sequence of {prompt + response}"
            message = f"`{setting.key}` is `{setting.number}`{times}, {less}"
            fix = f"Set it to {-(-(prompt + response) // share)} or more."
            yield Mistake(*pair.place_of(setting), message, fix)


def _token_limits(run: Run) -> Iterator[tuple[Setting, int | None]]:
    """The settings that limit a sequence, and the GPUs that share one."""
    longest = run.setting(f"{ROLLOUT}.max_model_len")
    if longest.place:
        yield longest, 1
    chunks = run.setting(f"{ROLLOUT}.enable_chunked_prefill")
    if run.infer_backend.text == "vllm" and chunks.flag is False:
        yield run.setting(f"{ROLLOUT}.max_num_batched_tokens"), 1
    megatron = run.trains_with_megatron
    if run.dynamic_batch.flag and megatron is not None:
        share = run.context_parallel_size if megatron else run.sequence_parallel_size
        yield run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu"), share.number


# Sizes that the framework refuses. A step has `data.train_batch_size` prompts, an update
# `ppo_mini_batch_size` of them; each prompt has `rollout.n` responses, which the data-parallel
# ranks share and take a micro batch at a time.

Problem = tuple[Setting, str, str]
"""A setting, what is wrong with it and the fix."""


_HEADS = "attention_heads"
_UNEVEN = re.compile(
    r"pipeline_(?:stage|split|model_parallel_layout)|(?<!_)num_(?:hidden_)?layers|layer_list"
    r"|noop_layers"
)
"""In settings of Megatron that share layers unevenly among stages, and of their number."""


def parallel_problems(run: Run, figures: Mapping[str, int]) -> Iterator[tuple[Setting, str]]:
    """Each size that cannot be, and why; `figures` of the model are those of `_figures`."""
    heads = figures.get(_HEADS)
    engine = run.engine
    if engine.divides:
        size, whole = run.rollout_tensor_parallel_size, run.rollout_model_size
        yield from _divides(run, size, whole, heads if engine.divides_heads else None)
    if run.trains_with_megatron:
        tensor, gpus = run.tensor_parallel_size, run.gpus.number or 1
        sizes = (tensor, run.pipeline_parallel_size, run.context_parallel_size)
        apart = next((size for size in sizes if gpus % (size.number or 1)), tensor)
        together = [*_divides(run, apart, run.training_model_size)]
        together = together or [*_divides(run, run.expert_parallel_size, run.expert_model_size)]
        yield from together or _divides(run, tensor, None, heads)
        yield from () if together else _unshared(run, figures)
    elif run.trains_with_megatron is False:
        size = run.sequence_parallel_size
        yield from _divides(run, size, size.number, heads)
        groups = run.setting(f"{ACTOR}.fsdp_config.fsdp_size")
        if 0 < (groups.number or 0) < (run.gpus.number or 0):
            yield from _divides(run, groups, groups.number)


def _unshared(run: Run, figures: Mapping[str, int]) -> Iterator[tuple[Setting, str]]:
    """What of the model Megatron cannot share out: layers among stages, experts among GPUs."""
    items = (item for item in run.launch.overrides if not item.key.startswith("trainer."))
    uneven = run.launch.unresolved or any(_UNEVEN.search(f"{it.key}={it.value}") for it in items)
    shares = {"layers": run.pipeline_parallel_size, "experts": run.expert_parallel_size}
    for name, setting in shares.items():
        count, parts = figures.get(name, 0), setting.number or 1
        if count % parts and not (uneven and name == "layers"):
            yield setting, f"the model's {count} {name} cannot be divided by it"


def _divides(
    run: Run, setting: Setting, whole: int | None, heads: int | None = None
) -> Iterator[tuple[Setting, str]]:
    """Whether GPUs and heads can be divided; `whole` counts the GPUs that work together."""
    gpus = run.gpus.number
    if whole and gpus and gpus % whole:
        whose = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        yield setting, f"{whose} cannot be divided into groups of {whole}"
    elif heads and setting.number and heads % setting.number:
        yield setting, f"the model's {heads} attention heads cannot be divided by it"


_SINCE = ", as verl demands since 0.8.0"


def batch_problems(run: Run) -> Iterator[Problem]:
    """What of step, update and micro batches the framework refuses, each mistake once."""
    batch, mini, step = run.train_batch_size, run.mini_batch_size, _step_problem(run)
    if step:
        yield step
    if batch.number and mini.number and mini.number > batch.number:  # asynchronous trainers have 0
        message = f"`{mini.key}` is `{mini.number}`, more than `{batch.key}` `{batch.number}`"
        yield mini, message, f"Set it to {batch.number} or less."
    elif not step or mini.number != batch.number:
        yield from _update_problems(run)


def _update_problems(run: Run) -> Iterator[Problem]:
    """What of an update cannot be shared out, and micro batches that do not divide a share."""
    mini, n, ranks = run.mini_batch_size, run.rollout_n.number, _ranks(run)
    if not mini.number or not n or not ranks:
        return
    update = _responses(mini, n)
    if mini.number * n % ranks:
        message = f"{update} cannot be divided over {ranks} data-parallel ranks{_SINCE}"
        yield mini, message, f"Choose a size whose product with {n} is a multiple of {ranks}."
        return
    micro, share = run.micro_batch_size_per_gpu, mini.number * n // ranks
    if micro.number and share % micro.number:
        since = _SINCE if run.trains_with_megatron else ""
        message = f"`{micro.key}` {micro.number} does not divide {share}, the share of each rank in"
        yield micro, f"{message} {update}{since}", f"Choose a divisor of {share}."


def _step_problem(run: Run) -> Problem | None:
    """Whether the responses of a step cannot be shared out."""
    batch, n = run.train_batch_size, run.rollout_n.number
    if run.trains_with_megatron is None or not batch.number or not n:
        return None
    parts, of_what = run.gpus.number, "the number of GPUs"
    if run.trains_with_megatron:
        parts = (_ranks(run) or 0) * (run.micro_batch_size_per_gpu.number or 0)
        of_what = "data-parallel ranks x micro batch"
    if not parts or batch.number * n % parts == 0:
        return None
    message = f"{_responses(batch, n)} cannot be divided by {parts}, {of_what}"
    return batch, message, f"Choose a batch whose product with {n} is a multiple of {parts}."


def _ranks(run: Run) -> int | None:
    """Data-parallel ranks of the training, where the sizes divide the GPUs."""
    gpus, size = run.gpus.number, run.training_model_size
    return gpus // size if gpus and size and gpus % size == 0 else None


def _responses(prompts: Setting, n: int) -> str:
    total = (prompts.number or 0) * n
    return f"`{prompts.key}` {prompts.number} x `{ROLLOUT}.n` {n} = {total} responses"


@run_rule()
def micro_batch_keys(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A micro batch is given for each GPU.

    The framework refuses a run that gives none.

    Bad: `use_dynamic_bsz=False`
    Good: `use_dynamic_bsz=False ppo_micro_batch_size_per_gpu=4`

    verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2.

    Now verl/utils/config.py `validate_config` and verl/workers/config/actor.py `ActorConfig`. With
    dynamic batches it is not read; `deprecated_key` reports one that is given as a total.
    """
    has_no_critic = algorithm_of(pair.text("task")) not in {"PPO", ""}
    for total, each, dynamic in _micro_batches(run):
        open_ = total.value is None and each.value is None and dynamic.flag is False
        if open_ and not (has_no_critic and total.key.startswith("critic.")):
            message = f"`{each.key}` is not set, and `{dynamic.key}` is off"
            yield Mistake(*pair.place_of(each), message, f"Set `{each.key}`.")


def _micro_batches(run: Run) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Each micro batch of a run: its size over all GPUs, the size per GPU, and what makes it
    dynamic, so that neither is read: verl/workers/engine_workers.py `init_model`.
    """
    actor = f"{ACTOR}.use_dynamic_bsz"
    keys = {f"{ACTOR}.ppo_micro_batch_size": actor, f"{ROLLOUT}.log_prob_micro_batch_size": actor}
    if run.uses_reference:
        own = f"{REFERENCE}.log_prob_use_dynamic_bsz"
        keys[f"{REFERENCE}.log_prob_micro_batch_size"] = own
    if run.estimator.text == "gae":
        keys["critic.ppo_micro_batch_size"] = "critic.use_dynamic_bsz"
    for key, dynamic in keys.items():
        yield run.setting(key), run.setting(f"{key}_per_gpu"), run.setting(dynamic)
