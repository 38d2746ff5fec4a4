"""Batch and parallel sizes that the framework refuses: what the rules of `startup` report.

A step has `data.train_batch_size` prompts, an update `ppo_mini_batch_size` of them; each prompt has
`rollout.n` responses, which the data-parallel ranks share and take a micro batch at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rl_resources.script.backends import ROLLOUT
from rl_resources.script.framework.composition import is_since
from rl_resources.script.run import Run
from rl_resources.script.settings import Setting


class Problem(NamedTuple):
    """A setting, what is wrong with it and the fix."""

    setting: Setting
    message: str
    fix: str


HEADS = "attention_heads"
_UNEVEN = re.compile(
    r"(?!trainer\.).*(?:pipeline_(?:stage|split|model_parallel_layout)|(?<!_)num_(?:hidden_)?layers|layer_list"
    r"|noop_layers)"
)
"""In settings of Megatron that share layers unevenly among stages, and of their number."""


def parallel_problems(
    run: Run, figures: Mapping[str, int]
) -> Iterator[tuple[Setting, str]]:
    """Each impossible size and the reason; `figures` are the model's heads, layers and experts."""
    yield from _rollout_problems(run, figures)
    if run.trains_with_megatron:
        yield from _megatron_problems(run, figures)
    elif run.trains_with_megatron is False:
        yield from _fsdp_problems(run, figures)


def _rollout_problems(
    run: Run, figures: Mapping[str, int]
) -> Iterator[tuple[Setting, str]]:
    heads = figures.get(HEADS) if run.engine.divides_heads else None
    if run.engine.divides:
        yield from _divides(
            run.pools.get("rollout", run.training_pool).total.number,
            run.rollout_tensor_parallel_size,
            run.rollout_model_size,
            heads,
        )


def _megatron_problems(
    run: Run, figures: Mapping[str, int]
) -> Iterator[tuple[Setting, str]]:
    gpus = run.training_gpus.number
    for size, whole in (
        (_size_that_divides_no_gpus(run), run.training_model_size),
        (run.expert_parallel_size, run.expert_model_size),
    ):
        groups = list(_divides(gpus, size, whole))
        if groups:
            yield from groups
            return
    yield from _divides(gpus, run.tensor_parallel_size, None, figures.get(HEADS))
    if not _may_share_unevenly(run):
        yield from _unshared(run.pipeline_parallel_size, "layers", figures)
    yield from _unshared(run.expert_parallel_size, "experts", figures)


def _size_that_divides_no_gpus(run: Run) -> Setting:
    """The first size that alone does not divide the GPUs; otherwise the tensor parallel size."""
    tensor = run.tensor_parallel_size
    gpus = run.training_gpus.number or 1
    for size in (tensor, run.pipeline_parallel_size, run.context_parallel_size):
        if gpus % (size.number or 1):
            return size
    return tensor


def _fsdp_problems(
    run: Run, figures: Mapping[str, int]
) -> Iterator[tuple[Setting, str]]:
    gpus = run.training_gpus.number or 0
    size = run.sequence_parallel_size
    yield from _divides(gpus, size, size.number, figures.get(HEADS))
    groups = run.setting("actor_rollout_ref.actor.fsdp_config.fsdp_size")
    if 0 < (groups.number or 0) < gpus:
        yield from _divides(gpus, groups, groups.number)


def _unshared(
    setting: Setting, name: str, figures: Mapping[str, int]
) -> Iterator[tuple[Setting, str]]:
    count = figures.get(name, 0)
    if count % (setting.number or 1):
        yield setting, f"the model's {count} {name} cannot be divided by it"


def _may_share_unevenly(run: Run) -> bool:
    """Whether a setting says, or may say, how many layers each stage has."""
    if run.launch.unresolved:
        return True
    return any(
        _UNEVEN.match(f"{override.key}={override.value}")
        for override in run.launch.overrides
    )


def _divides(
    gpus: int | None, setting: Setting, whole: int | None, heads: int | None = None
) -> Iterator[tuple[Setting, str]]:
    """Whether a size divides GPUs and heads; `whole` is the number of GPUs that work together."""
    if whole and gpus and gpus % whole:
        whose = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        yield setting, f"{whose} cannot be divided into groups of {whole}"
    elif heads and setting.number and heads % setting.number:
        yield setting, f"the model's {heads} attention heads cannot be divided by it"


_RELEASE = "0.8.0"
SINCE = f", as verl demands since {_RELEASE}"


def is_demanded(run: Run) -> bool:
    """Whether the framework of a run demands what it does since 0.8.0; our records name theirs."""
    return is_since(run.composition.version, _RELEASE)


def batch_problems(run: Run) -> Iterator[Problem]:
    """What the framework rejects about step, update and micro-batches, each mistake once."""
    batch = run.train_batch_size
    mini = run.mini_batch_size
    step = _step_problem(run)
    if step:
        yield step
    # Asynchronous trainers have a batch of 0.
    if batch.number and mini.number and mini.number > batch.number:
        yield Problem(
            mini,
            f"`{mini.key}` is `{mini.number}`, more than `{batch.key}` `{batch.number}`",
            f"Set it to {batch.number} or less.",
        )
    elif not step or mini.number != batch.number:
        yield from _update_problems(run)


def _update_problems(run: Run) -> Iterator[Problem]:
    """Updates that cannot be divided among ranks, and micro-batches that do not divide a share."""
    mini = run.mini_batch_size
    n = run.rollout_n.number
    ranks = run.data_parallel_size
    if not mini.number or not n or not ranks:
        return
    share, left = divmod(mini.number * n, ranks)
    update = _responses(mini, n)
    if not left:
        yield from _micro_problems(run, share, update)
    elif is_demanded(run):
        yield Problem(
            mini,
            f"{update} cannot be divided over {ranks} data-parallel ranks{SINCE}",
            f"Choose a size whose product with {n} is a multiple of {ranks}.",
        )


def _micro_problems(run: Run, share: int, update: str) -> Iterator[Problem]:
    """A micro-batch that does not divide a rank's share: older releases accept it with Megatron."""
    micro = run.micro_batch
    since = ""
    if run.trains_with_megatron:
        since = SINCE
        if not is_demanded(run):
            return
    if micro.number and share % micro.number:
        yield Problem(
            micro,
            f"`{micro.key}` {micro.number} does not divide {share}, the share of each rank in "
            f"{update}{since}",
            f"Choose a divisor of {share}.",
        )


def _step_problem(run: Run) -> Problem | None:
    """Whether the responses of a step cannot be divided among the GPUs."""
    batch = run.train_batch_size
    n = run.rollout_n.number
    parts, of_what = _parts_of_step(run)
    if not batch.number or not n or not parts:
        return None
    if batch.number * n % parts == 0:
        return None
    return Problem(
        batch,
        f"{_responses(batch, n)} cannot be divided by {parts}, {of_what}",
        f"Choose a batch whose product with {n} is a multiple of {parts}.",
    )


def _parts_of_step(run: Run) -> tuple[int, str]:
    """Into how many parts a step is divided, 0 if unknown, and what they are."""
    if run.trains_with_megatron is None:
        return 0, ""
    if not run.trains_with_megatron:
        return run.training_gpus.number or 0, "the number of GPUs"
    parts = (run.data_parallel_size or 0) * (run.micro_batch.number or 0)
    return parts, "the data-parallel ranks times the micro batch"


def _responses(prompts: Setting, n: int) -> str:
    total = (prompts.number or 0) * n
    return f"`{prompts.key}` {prompts.number} x `{ROLLOUT}.n` {n} = {total} responses"
