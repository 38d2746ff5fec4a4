"""Adapters, parallel sizes and the ways to save memory that a source names."""

from __future__ import annotations

import re

from facts.statement import Statement

_RANK = re.compile(r"lora_rank=(\d+)|LoRA ?\((?:r=|rank )(\d+)|LoRA rank (\d+)|\brank (\d+)")
_OPTIMISATIONS = {
    "optimizer-offload": r"adam offload|CPU Adam|optim(?:izer)?[ -](?:CPU )?offload"
    r"|offload_optimizer|CPU-offloaded optimizer|optimizer CPU offload|NVMe optimizer streaming"
    r"|zero3_offload|optim offload",
    "cpu-offload": r"FSDP2? \+ CPU offload|offload_model|param/grad/optimizer offload",
    "activation-checkpointing": r"AC=Recompute|(?<!no )(?:gradient )checkpointing|\bact ckpt\b"
    r"|full_recompute|full recompute",
    "activation-offload": r"AC=Offload",
    "quantised-weights": r"QLoRA|quantization=(?!none)\w|4-?bit",
    "8-bit-optimizer": r"adamw_8bit|8-bit Adam",
}


def setting_cells(statement: Statement) -> dict[str, str]:
    """The columns of settings; blank where the source does not say."""
    told = "; ".join(statement[c] for c in ("parallelism", "train_backend", "task", "notes"))
    adapters = "LoRA" in statement["task"]
    rank = _RANK.search(f"{told}; {statement['quote']}") if adapters else None
    return {
        "lora_rank": next(filter(None, rank.groups())) if rank else "",
        "parallelism": _parallelism(statement["parallelism"]),
        "memory_optimisations": "; ".join(
            name for name, words in _OPTIMISATIONS.items() if re.search(words, told, re.IGNORECASE)
        ),
        "script_path": _script(statement["script_path"]),
    }


def _parallelism(text: str) -> str:
    """Without settings that the transcription could not resolve."""
    return " ".join(word for word in text.split(" ") if "${" not in word)


def _script(path: str) -> str:
    """A path alone: neither a script of another repository nor words about one."""
    return path if re.fullmatch(r"[\w./+%-]+", path) else ""
