"""Parallel sizes that cannot be: those that divide neither the GPUs nor the model."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from rl_resources.script.run import Run
from rl_resources.script.settings import Setting


def parallel_problems(run: Run, heads: int | None) -> Iterator[tuple[Setting, str]]:
    """Each size that cannot be, and why; `heads` are the model's attention heads, if known."""
    yield from _rollout_problems(run, heads)
    if run.trains_with_megatron:
        problems = list(
            _divides(run.tensor_parallel_size, run.training_model_size, run.gpus, heads)
        )
        yield from problems or _expert_problems(run)
    elif run.trains_with_megatron is False:
        size = run.sequence_parallel_size
        yield from _divides(size, size.number, run.gpus, heads)
        if (size.number or 0) > 1 and run.removes_padding.flag is False:
            yield (
                run.removes_padding,
                f"sequence parallel size {size.number} needs packed sequences",
            )


def _expert_problems(run: Run) -> Iterator[tuple[Setting, str]]:
    """The groups of the experts, whose tensor parallel size is that of the rest unless set."""
    spread, tensor = run.expert_parallel_size, run.expert_tensor_parallel_size
    shared = run.tensor_parallel_size if tensor.value is None else tensor
    parts = (spread.number, shared.number, run.pipeline_parallel_size.number)
    gpus = run.gpus.number
    if None in parts or gpus is None or parts[0] == 1:
        return
    whole = prod(part or 1 for part in parts)
    if gpus % whole:
        sizes = f"{parts[0]} x {parts[1]} x {parts[2]}"
        yield (
            spread,
            f"{gpus} GPUs cannot be divided into its groups of {sizes} = {whole}, experts x "
            "their tensor parallel size x stages",
        )


def _rollout_problems(run: Run, heads: int | None) -> Iterator[tuple[Setting, str]]:
    if run.infer_backend.text not in {"vllm", "sglang"}:
        return
    size, whole, node = run.rollout_tensor_parallel_size, run.rollout_model_size, run.gpus_per_node
    asked = heads if run.infer_backend.text == "vllm" else None
    problems = list(_divides(size, whole, run.gpus, asked))
    yield from problems
    if problems or not whole or not node.number or not run.gpus.number:
        return
    if whole > node.number and whole % node.number:
        yield (
            size,
            f"an engine of {whole} GPUs does not fill nodes of {node.number}, as verl demands "
            "since 0.7.0",
        )


def _divides(
    setting: Setting, whole: int | None, gpus: Setting, heads: int | None
) -> Iterator[tuple[Setting, str]]:
    """Whether GPUs and heads can be divided; `whole` counts the GPUs that work together."""
    if whole and gpus.number and gpus.number % whole:
        groups = "groups of it" if whole == setting.value else f"its groups of {whole} in all"
        whose = "1 GPU" if gpus.number == 1 else f"{gpus.number} GPUs"
        yield setting, f"{whose} cannot be divided into {groups}"
    elif heads and setting.number and heads % setting.number:
        yield setting, f"the model's {heads} attention heads cannot be divided by it"
