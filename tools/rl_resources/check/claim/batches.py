"""Batches that do not divide: each problem with its setting and the mend.

A step has `data.train_batch_size` prompts, an update `ppo_mini_batch_size` of them; each prompt has
`rollout.n` responses, which the data-parallel ranks share and take a micro batch at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.script.run import ROLLOUT, Run
from rl_resources.script.settings import Setting

Problem = tuple[Setting, str, str]


def batch_problems(run: Run) -> Iterator[Problem]:
    """What of step, update and micro batches the framework asserts and does not hold."""
    yield from _step_problems(run)
    if run.trains_with_megatron is False and not _exceeds_step(run) and not _step_is_told(run):
        yield from _micro_problems(run)
    yield from _total_problems(run)


def uneven_problems(run: Run) -> Iterator[Problem]:
    """What of an update cannot be shared out, where step and update are sound by themselves."""
    if _exceeds_step(run) or _step_is_told(run):
        return
    mini, n, ranks = run.mini_batch_size, run.rollout_n.number, _ranks(run)
    if mini.number and n and ranks and mini.number * n % ranks:
        mend = f"Choose a size whose product with {n} is a multiple of {ranks}."
        message = f"{_update(run)} cannot be divided over {ranks} data-parallel ranks"
        yield mini, message, mend
    elif run.trains_with_megatron:
        yield from _micro_problems(run)


def _step_is_told(run: Run) -> bool:
    """Whether the step cannot be divided either, and update and step are one size."""
    same = run.mini_batch_size.number == run.train_batch_size.number
    return same and any(_step_problems(run))


def _step_problems(run: Run) -> Iterator[Problem]:
    batch, n = run.train_batch_size, run.rollout_n.number
    parts = _least_batch(run)
    if batch.number and n and parts and batch.number * n % parts:
        yield (
            batch,
            f"`{batch.key}` {batch.number} x `{ROLLOUT}.n` {n} = {batch.number * n} responses "
            f"cannot be divided by {parts}, {_what_divides(run)}",
            f"Choose a batch whose product with {n} is a multiple of {parts}.",
        )
    if _exceeds_step(run):
        mini = run.mini_batch_size
        message = f"`{mini.key}` is `{mini.number}`, more than `{batch.key}` `{batch.number}`"
        yield mini, message, f"Set it to {batch.number} or less."


def _exceeds_step(run: Run) -> bool:
    batch, mini = run.train_batch_size.number, run.mini_batch_size.number
    return bool(batch and mini and mini > batch)  # of asynchronous trainers the batch is 0


def _least_batch(run: Run) -> int | None:
    """What the responses of a step must be a multiple of."""
    if run.trains_with_megatron is False:
        return run.gpus.number
    ranks, micro = _ranks(run), run.micro_batch_size_per_gpu.number
    return ranks * micro if run.trains_with_megatron and ranks and micro else None


def _what_divides(run: Run) -> str:
    ranks = "data-parallel ranks x micro batch"
    return ranks if run.trains_with_megatron else "the number of GPUs"


def _ranks(run: Run) -> int | None:
    """Data-parallel ranks of the training, where the sizes divide the GPUs."""
    gpus, size = run.gpus.number, run.training_model_size
    return gpus // size if gpus and size and gpus % size == 0 else None


def _micro_problems(run: Run) -> Iterator[Problem]:
    """Micro batches that do not divide a rank's share of an update, where ranks have equal ones."""
    mini, n, ranks = run.mini_batch_size.number, run.rollout_n.number, _ranks(run)
    micro = run.micro_batch_size_per_gpu
    if not mini or not n or not ranks or not micro.number or mini * n % ranks:
        return
    share = mini * n // ranks
    if share % micro.number:
        message = f"`{micro.key}` {micro.number} does not divide {share}, the share of each rank in"
        yield micro, f"{message} {_update(run)}", f"Choose a divisor of {share}."


def _update(run: Run) -> str:
    mini, n = run.mini_batch_size, run.rollout_n.number or 0
    return f"`{mini.key}` {mini.number} x `{ROLLOUT}.n` {n} = {(mini.number or 0) * n} responses"


def _total_problems(run: Run) -> Iterator[Problem]:
    total, mini = run.micro_batch_size, run.mini_batch_size.number
    if not total.number or run.micro_batch_size_per_gpu.number:
        return
    if mini and mini % total.number:
        message = f"`{total.key}` {total.number} does not divide `ppo_mini_batch_size` {mini}"
        yield total, message, f"Choose a divisor of {mini}."
    sequence, gpus = run.sequence_parallel_size.number, run.gpus.number
    if sequence and gpus and total.number * sequence < gpus:
        message = f"`{total.key}` {total.number} gives some of the {gpus} GPUs nothing to do"
        yield total, message, f"Set it to {-(-gpus // sequence)} or more."
