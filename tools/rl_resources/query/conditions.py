"""What decides the memory of a run, in words: one line that goes with every answer."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.dataset import Dataset
from rl_resources.package import Record, items_of, text_of

STATEMENTS = {
    "measured-run": "measured run",
    "stated-run": "run stated without a figure",
    "stated-minimum": "minimum stated by the source, no run known",
    "recommendation": "recommended by the source, no run known",
    "ci-allocation": "allocated by CI, not a minimum",
    "capability-claim": "listed by the source, no run known",
    "guess": "guess of the source, no run known",
    "": "not run yet",
}


def conditions(dataset: Dataset, row: Record) -> tuple[str, ...]:
    """Weights, precision, offload, context, micro batch and statement of a record or report.

    Each is always there, with "not stated" where the source does not say it. Parameters of a
    mixture of experts and the scenario are there where they apply.
    """
    return (
        weights(row),
        *_experts(dataset, row),
        *_scenario(row),
        *_precision(dataset, row),
        *_offload(dataset, row),
        context(row),
        micro_batch(row),
        STATEMENTS[text_of(row, "statement")],
    )


def weights(row: Record) -> str:
    """What trains."""
    kind, rank = text_of(row, "weights"), text_of(row, "lora_rank")
    of_rank = f", rank {rank}" if rank else ""
    return {
        "full": "full fine-tuning",
        "lora": f"LoRA{of_rank}",
        "qlora": f"QLoRA{of_rank}",
        "partial": "part of the weights",
    }.get(kind, "what trains is not stated")


def _scenario(row: Record) -> Iterator[str]:
    for word in items_of(row, "scenario") if "scenario" in row else ():
        yield "one update on random tokens" if word == "synthetic" else word


def _experts(dataset: Dataset, row: Record) -> Iterator[str]:
    model = dataset.by_key["models"].get(row["model"])
    if model and model["active_parameters_b"]:
        yield f"{model['parameters_b']:g}B parameters, {model['active_parameters_b']:g}B active"


def _titles(dataset: Dataset, row: Record, *kinds: str) -> list[str]:
    known = dataset.by_key["memory_optimizations"]
    found = [known[word] for word in items_of(row, "memory_optimizations") if word in known]
    return [str(item["title"]) for item in found if item["kind"] in kinds]


def _precision(dataset: Dataset, row: Record) -> Iterator[str]:
    base = text_of(row, "precision")
    yield from (base,) if base else ()
    titles = _titles(dataset, row, "precision")
    yield from titles
    if not base and not titles:
        yield "precision not stated"


def _offload(dataset: Dataset, row: Record) -> Iterator[str]:
    offload = _titles(dataset, row, "offload")
    yield ", ".join(offload) or ("no offload" if "script" in row else "no offload stated")
    yield from _titles(dataset, row, "recompute")


def context(row: Record) -> str:
    """The longest prompt and response."""
    if row["max_prompt_length"] or row["max_response_length"]:
        prompt, response = (row[f"max_{part}_length"] or "?" for part in ("prompt", "response"))
        return f"{prompt} + {response} tokens"
    total = row.get("max_total_length")
    return f"{total} tokens in all" if total else "lengths not stated"


def micro_batch(row: Record) -> str:
    """What one GPU takes at a time."""
    if row["micro_batch_per_gpu"]:
        return f"micro batch {row['micro_batch_per_gpu']}"
    tokens = row["max_tokens_per_gpu"]
    return f"{tokens} tokens per GPU" if tokens else "micro batch not stated"
