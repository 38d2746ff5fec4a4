"""What decides the memory of a run, in words: one line that goes with every answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
_WEIGHTS = {
    "full": "full fine-tuning",
    "lora": "LoRA",
    "qlora": "QLoRA",
    "partial": "part of the weights",
    "": "what trains is not stated",
}


def conditions(dataset: Dataset, row: Record) -> tuple[str, ...]:
    """Weights, precision, offload, context, micro batch and statement of a record or report.

    Each is always there, with "not stated" where the source does not say it. Parameters of a
    mixture of experts and the scenario are there where they apply.
    """
    words = items_of(row, "memory_optimizations")
    used = [item for word in words if (item := dataset.by_key["memory_optimizations"].get(word))]
    return (
        weights(row),
        *_experts(dataset.by_key["models"].get(row["model"])),
        *_scenario(row),
        *_precision(row, _titles(used, "precision")),
        ", ".join(_titles(used, "offload"))
        or ("no offload" if "script" in row else "no offload stated"),
        *_titles(used, "recompute"),
        context(row),
        micro_batch(row),
        STATEMENTS[text_of(row, "statement")],
    )


def _titles(used: Sequence[Record], kind: str) -> list[str]:
    return [text_of(item, "title") for item in used if item["kind"] == kind]


def weights(row: Record) -> str:
    """What trains."""
    kind, rank = text_of(row, "weights"), row["lora_rank"]
    return _WEIGHTS[kind] + (f", rank {rank}" if rank and kind in {"lora", "qlora"} else "")


def _experts(model: Record | None) -> Iterator[str]:
    if model and model["active_parameters_b"]:
        yield f"{model['parameters_b']:g}B parameters, {model['active_parameters_b']:g}B active"


def _scenario(row: Record) -> list[str]:
    words = items_of(row, "scenario") if "scenario" in row else ()
    return ["one update on random tokens" if word == "synthetic" else word for word in words]


def _precision(row: Record, titles: Sequence[str]) -> Sequence[str]:
    base = [text_of(row, "precision")] if row["precision"] else []
    return [*base, *titles] or ["precision not stated"]


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
