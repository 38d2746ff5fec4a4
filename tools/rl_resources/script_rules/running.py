"""What the framework refuses at its start.

Batches and parallel sizes divide as the framework asserts.

Rules about assertions of the framework name the file and function that asserts, and the first
release in which it does. What every release since then asserts is an error; what only newer ones
assert is a warning that names the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rl_resources.facts.model_names import likeness, model_in_path
from rl_resources.facts.pairs import Pair
from rl_resources.package import number
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import GROUP_ESTIMATORS, algorithm_of
from rl_resources.script.backends import ACTOR, ENGINES, ROLLOUT
from rl_resources.script.run import REFERENCE, Run
from rl_resources.script.settings import Setting, in_words
from rl_resources.script_rules.run_rule import run_rule


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
    estimator = run.estimator
    size = run.rollout_n
    if estimator.text not in GROUP_ESTIMATORS or size.number != 1:
        return
    message = f"`{estimator.text}` compares responses, but {in_words(size)}"
    fix = f"Set `{size.key}` to the responses for each prompt, at least 2."
    cause = size if size.place else estimator
    yield Mistake(*pair.place_of(cause), message, fix)


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
    fix = "Choose a size that divides both the GPUs and the model, or other GPUs."
    for setting, problem in parallel_problems(run, _figures(pair, run)):
        message = f"{in_words(setting)}: {problem}"
        yield Mistake(*pair.place_of(setting), message, fix)


def _has_other_gpus(pair: Pair, run: Run) -> bool:
    """Whether row and script differ in their GPUs: sizes follow from that."""
    said = pair.number("gpus")
    used = run.gpus.number
    if said is None or used is None:
        return False
    return said != used


def _figures(pair: Pair, run: Run) -> Mapping[str, int]:
    """Heads, layers and experts, where known, of the model that row and script both name."""
    path = run.model_path_end
    if not path:
        return {}
    name = model_in_path(path, pair.models)
    if name is None or likeness(name, pair.models) != "same":
        return {}
    figures: dict[str, int] = {}
    for column in (_HEADS, "layers", "experts"):
        figure = number(pair.model_facts.get(column, ""))
        if figure:
            figures[column] = int(figure)
    return figures


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
    if not _has_fixed_batches(pair, run):
        return
    if any(parallel_problems(run, {})):
        return
    for setting, message, fix in batch_problems(run):
        yield Mistake(*pair.place_of(setting), message, fix)


def _has_fixed_batches(pair: Pair, run: Run) -> bool:
    """Whether no batch is dynamic, and the GPUs that share them are those of the row."""
    return run.dynamic_batch.flag is False and not _has_other_gpus(pair, run)


@run_rule("warning")
def log_prob_batches(pair: Pair, run: Run) -> Iterator[Mistake]:
    """Log probabilities are computed in micro batches that verl 0.8.0 and later take.

    A run stops there in its first step; older releases take any.

    Bad: `rollout.log_prob_micro_batch_size_per_gpu=16` where each of 8 ranks has 40 responses
    Good: `rollout.log_prob_micro_batch_size_per_gpu=8` where each of 8 ranks has 40 responses

    verl/workers/engine_workers.py `infer_batch`, in engine/utils.py `prepare_micro_batches`,
    asserts that micro batches divide each rank's share of a step.
    """
    if not _has_fixed_batches(pair, run) or any(batch_problems(run)):
        return
    share = _share(run)
    if not share:
        return
    exempt = pair.script.or_exempt("log-prob-batches")
    fix = f"Choose a divisor of {share}{exempt}."
    for micro in _log_prob_batches(run):
        if micro.number and share % micro.number:
            said = f"`{micro.key}` is `{micro.number}`"
            message = f"{said}, no divisor of {share}, each rank's share of a step{_SINCE}"
            yield Mistake(*pair.place_of(micro), message, fix)


def _log_prob_batches(run: Run) -> Iterator[Setting]:
    """The sizes of the micro batches of log probabilities that are computed and not dynamic."""
    for _, micro, dynamic in _micro_batches(run):
        if "log_prob" not in micro.key or dynamic.flag is not False:
            continue
        # The reference of an actor with adapters is the actor without them.
        if micro.key.startswith(REFERENCE) and run.lora_rank.number != 0:
            continue
        yield micro


def _share(run: Run) -> int | None:
    """The responses of a step that each rank has, where the step is made of whole updates.

    Else it is padded: verl/trainer/ppo/v1/trainer_base.py.
    """
    batch = run.train_batch_size.number
    mini = run.mini_batch_size.number
    responses = run.rollout_n.number
    ranks = _ranks(run)
    if not (batch and mini and responses and ranks):
        return None
    if batch % mini:
        return None
    return batch * responses // ranks


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
    prompt = run.max_prompt_length.number
    response = run.max_response_length.number
    if prompt is None or response is None:
        return
    longest = prompt + response
    for setting, share in _token_limits(run):
        if not setting.number or not share:
            continue
        room = setting.number * share
        if not 0 < room < longest:
            continue
        times = f" times {share}" if share != 1 else ""
        limit = f"`{setting.key}` is `{setting.number}`{times}"
        message = f"{limit}, less than a sequence of {longest}"
        enough = (longest + share - 1) // share
        fix = f"Set it to {enough} or more."
        yield Mistake(*pair.place_of(setting), message, fix)


def _token_limits(run: Run) -> Iterator[tuple[Setting, int | None]]:
    """The settings that limit a sequence, and the GPUs that share one."""
    max_length = run.setting(f"{ROLLOUT}.max_model_len")
    if max_length.place:
        yield max_length, 1
    chunks = run.setting(f"{ROLLOUT}.enable_chunked_prefill")
    if run.infer_backend.text == "vllm" and chunks.flag is False:
        yield run.setting(f"{ROLLOUT}.max_num_batched_tokens"), 1
    if not run.dynamic_batch.flag or run.trains_with_megatron is None:
        return
    share = run.sequence_parallel_size
    if run.trains_with_megatron:
        share = run.context_parallel_size
    yield run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu"), share.number


# Sizes that the framework refuses. A step has `data.train_batch_size` prompts, an update
# `ppo_mini_batch_size` of them; each prompt has `rollout.n` responses, which the data-parallel
# ranks share and take a micro batch at a time.

Problem = tuple[Setting, str, str]
"""A setting, what is wrong with it and the fix."""
SizeProblem = tuple[Setting, str]
"""A size and why it cannot be."""


_HEADS = "attention_heads"
_UNEVEN = re.compile(
    r"pipeline_(?:stage|split|model_parallel_layout)|(?<!_)num_(?:hidden_)?layers|layer_list"
    r"|noop_layers"
)
"""In settings of Megatron that share layers unevenly among stages, and of their number."""


def parallel_problems(run: Run, figures: Mapping[str, int]) -> Iterator[SizeProblem]:
    """Each size that cannot be, and why; `figures` of the model are those of `_figures`."""
    yield from _rollout_problems(run, figures)
    if run.trains_with_megatron:
        yield from _megatron_problems(run, figures)
    elif run.trains_with_megatron is False:
        yield from _fsdp_problems(run, figures)


def _rollout_problems(run: Run, figures: Mapping[str, int]) -> Iterator[SizeProblem]:
    engine = ENGINES.get(run.infer_backend.text or "")
    if engine is None or not engine.divides:
        return
    heads = None
    if engine.divides_heads:
        heads = figures.get(_HEADS)
    size = run.rollout_tensor_parallel_size
    yield from _divides(run, size, run.rollout_model_size, heads)


def _megatron_problems(run: Run, figures: Mapping[str, int]) -> Iterator[SizeProblem]:
    cause = _size_that_divides_no_gpus(run)
    groups = list(_divides(run, cause, run.training_model_size))
    if not groups:
        experts = run.expert_parallel_size
        groups = list(_divides(run, experts, run.expert_model_size))
    if groups:
        yield from groups
        return
    heads = figures.get(_HEADS)
    yield from _divides(run, run.tensor_parallel_size, None, heads)
    yield from _unshared(run, figures)


def _size_that_divides_no_gpus(run: Run) -> Setting:
    """The first size that alone cannot divide the GPUs; the tensor parallel size if all can."""
    gpus = run.gpus.number or 1
    tensor = run.tensor_parallel_size
    for size in (tensor, run.pipeline_parallel_size, run.context_parallel_size):
        if gpus % (size.number or 1):
            return size
    return tensor


def _fsdp_problems(run: Run, figures: Mapping[str, int]) -> Iterator[SizeProblem]:
    size = run.sequence_parallel_size
    heads = figures.get(_HEADS)
    yield from _divides(run, size, size.number, heads)
    groups = run.setting(f"{ACTOR}.fsdp_config.fsdp_size")
    gpus = run.gpus.number or 0
    if groups.number and 0 < groups.number < gpus:
        yield from _divides(run, groups, groups.number)


def _unshared(run: Run, figures: Mapping[str, int]) -> Iterator[SizeProblem]:
    """What of the model Megatron cannot share out: layers among stages, experts among GPUs."""
    stages = run.pipeline_parallel_size
    if not _may_share_unevenly(run):
        yield from _unshared_part(stages, "layers", figures)
    yield from _unshared_part(run.expert_parallel_size, "experts", figures)


def _unshared_part(
    setting: Setting, name: str, figures: Mapping[str, int]
) -> Iterator[SizeProblem]:
    count = figures.get(name, 0)
    parts = setting.number or 1
    if count % parts:
        yield setting, f"the model's {count} {name} cannot be divided by it"


def _may_share_unevenly(run: Run) -> bool:
    """Whether a setting says how many layers each stage has, or may say so."""
    if run.launch.unresolved:
        return True
    for override in run.launch.overrides:
        if override.key.startswith("trainer."):
            continue
        if _UNEVEN.search(f"{override.key}={override.value}"):
            return True
    return False


def _divides(
    run: Run, setting: Setting, whole: int | None, heads: int | None = None
) -> Iterator[SizeProblem]:
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
    batch = run.train_batch_size
    mini = run.mini_batch_size
    step = _step_problem(run)
    if step:
        yield step
    # Asynchronous trainers have a batch of 0.
    if batch.number and mini.number and mini.number > batch.number:
        update = f"`{mini.key}` is `{mini.number}`"
        message = f"{update}, more than `{batch.key}` `{batch.number}`"
        yield mini, message, f"Set it to {batch.number} or less."
    elif not step or mini.number != batch.number:
        yield from _update_problems(run)


def _update_problems(run: Run) -> Iterator[Problem]:
    """What of an update cannot be shared out, and micro batches that do not divide a share."""
    mini = run.mini_batch_size
    n = run.rollout_n.number
    ranks = _ranks(run)
    if not mini.number or not n or not ranks:
        return
    responses = mini.number * n
    update = _responses(mini, n)
    if responses % ranks:
        message = f"{update} cannot be divided over {ranks} data-parallel ranks{_SINCE}"
        fix = f"Choose a size whose product with {n} is a multiple of {ranks}."
        yield mini, message, fix
        return
    micro = run.micro_batch_size_per_gpu
    share = responses // ranks
    if micro.number and share % micro.number:
        size = f"`{micro.key}` {micro.number}"
        message = f"{size} does not divide {share}, the share of each rank in {update}"
        if run.trains_with_megatron:
            message += _SINCE
        yield micro, message, f"Choose a divisor of {share}."


def _step_problem(run: Run) -> Problem | None:
    """Whether the responses of a step cannot be shared out."""
    batch = run.train_batch_size
    n = run.rollout_n.number
    if run.trains_with_megatron is None or not batch.number or not n:
        return None
    parts, of_what = _parts_of_step(run)
    responses = batch.number * n
    if not parts or responses % parts == 0:
        return None
    message = f"{_responses(batch, n)} cannot be divided by {parts}, {of_what}"
    fix = f"Choose a batch whose product with {n} is a multiple of {parts}."
    return batch, message, fix


def _parts_of_step(run: Run) -> tuple[int, str]:
    """In how many parts a step is divided, 0 if that is not known, and what they are."""
    if not run.trains_with_megatron:
        return run.gpus.number or 0, "the number of GPUs"
    ranks = _ranks(run) or 0
    micro = run.micro_batch_size_per_gpu.number or 0
    return ranks * micro, "data-parallel ranks x micro batch"


def _ranks(run: Run) -> int | None:
    """Data-parallel ranks of the training, where the sizes divide the GPUs."""
    gpus = run.gpus.number
    size = run.training_model_size
    if not gpus or not size or gpus % size:
        return None
    return gpus // size


def _responses(prompts: Setting, n: int) -> str:
    total = (prompts.number or 0) * n
    product = f"`{prompts.key}` {prompts.number} x `{ROLLOUT}.n` {n}"
    return f"{product} = {total} responses"


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
    has_critic = algorithm_of(pair.text("task")) in {"PPO", ""}
    for total, per_gpu, dynamic in _micro_batches(run):
        if total.value is not None or per_gpu.value is not None:
            continue
        if dynamic.flag is not False:
            continue
        if total.key.startswith("critic.") and not has_critic:
            continue
        message = f"`{per_gpu.key}` is not set, and `{dynamic.key}` is off"
        fix = f"Set `{per_gpu.key}`."
        yield Mistake(*pair.place_of(per_gpu), message, fix)


def _micro_batches(run: Run) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Each micro batch of a run: its size over all GPUs, the size per GPU, and what makes it
    dynamic, so that neither is read: verl/workers/engine_workers.py `init_model`.
    """
    of_actor = f"{ACTOR}.use_dynamic_bsz"
    switches = {
        f"{ACTOR}.ppo_micro_batch_size": of_actor,
        f"{ROLLOUT}.log_prob_micro_batch_size": of_actor,
    }
    if run.uses_reference:
        of_reference = f"{REFERENCE}.log_prob_use_dynamic_bsz"
        switches[f"{REFERENCE}.log_prob_micro_batch_size"] = of_reference
    if run.estimator.text == "gae":
        switches["critic.ppo_micro_batch_size"] = "critic.use_dynamic_bsz"
    for key, switch in switches.items():
        total = run.setting(key)
        per_gpu = run.setting(f"{key}_per_gpu")
        yield total, per_gpu, run.setting(switch)
