"""The training steps whose memory `memory_oracle.py` asks PyTorch for.

Columns of `memory_oracle.csv` that a case fixes:

* `strategy`: `fsdp2` is `fully_shard` by decoder layer, as in verl, reducing in fp32; `fsdp` is
  FSDP1 with the same layers, embedding and output head in its root unit; `single` is the plain
  model, as TRL trains it on one GPU.
* `master_dtype`: what parameters, gradients and AdamW's two states are stored in, the frozen base
  of a LoRA run included. verl's default is fp32 for all of them.
* `compute_dtype`: what FSDP gathers and computes in; the same as `master_dtype` for `single`.
* `checkpointing`: each decoder layer is recomputed in the backward.
* `offload`: `parameters+optimizer` is FSDP2's `CPUOffloadPolicy` (verl: `offload_policy`). verl's
  `param_offload` and `optimizer_offload` are `none` here: all is back on the GPU for the update.
* `optimizer`: `foreach`, torch's default on a GPU and verl's, has one temporary copy of the
  trained parameters; `fused`, the Trainer's default, has none. AdamW on the host is neither.
* `micro_batches` of one update: with 2, gradients stay unsharded in fp32 until the last one, as in
  verl since 0.9.0 and in accelerate.
* `micro_batch`, `sequence_length`: sequences and tokens of each, without padding.
* `logits`: `fused` is verl's default, flash-attn's cross-entropy on bf16 logits divided by the
  temperature, overwritten by their gradient; `rows` its fallback, `log_softmax` in fp32 by
  sequence; `chunked` its `use_fused_kernels` with the torch backend, 512 tokens at a time and never
  all logits; `fp32` is the loss of transformers, cross-entropy of logits cast to fp32.

LoRA adapters are on all linear layers but the head; experts run as one grouped matrix product,
transformers' default.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Case:
    """One configuration; the defaults are those of verl. Batches and lengths are per rank."""

    model: str
    weights: str = "full"
    lora_rank: int = 0
    ranks: int = 8
    strategy: str = "fsdp2"
    master_dtype: str = "fp32"
    compute_dtype: str = "bf16"
    checkpointing: bool = True
    offload: str = "none"
    optimizer: str = "foreach"
    micro_batches: int = 1
    micro_batch: int = 1
    sequence_length: int = 2048
    logits: str = "fused"

    @property
    def id(self) -> str:
        values = asdict(self)
        values["checkpointing"] = "kept"
        if self.checkpointing:
            values["checkpointing"] = "recomputed"
        return "_".join(map(str, values.values()))


def vary(case: Case, **values: list[Any]) -> list[Case]:
    """All combinations of the values."""
    cases: list[Case] = []
    for row in itertools.product(*values.values()):
        changes = dict(zip(values, row, strict=True))
        cases.append(replace(case, **changes))
    return cases


VERL = Case("qwen2.5-0.5b")
VERL_7B = replace(VERL, model="qwen2.5-7b")
LORA = replace(VERL_7B, weights="lora", lora_rank=32)
TRL = Case(
    "qwen2.5-0.5b", ranks=1, strategy="single", master_dtype="bf16", logits="fp32"
)
DENSE = [
    "qwen2.5-1.5b",
    "qwen2.5-3b",
    "llama-3.1-8b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen2.5-14b",
]
OFFLOAD = "parameters+optimizer"
CASES = [
    VERL,
    VERL_7B,
    LORA,
    TRL,
    *vary(VERL, checkpointing=[False], sequence_length=[512, 2048, 8192]),
    *vary(VERL, offload=[OFFLOAD]),
    *vary(VERL, logits=["rows", "chunked", "fp32"]),
    *vary(VERL_7B, micro_batches=[2]),
    *vary(VERL_7B, offload=[OFFLOAD]),
    *vary(VERL, model=DENSE),
    *vary(VERL_7B, checkpointing=[False]),
    *vary(LORA, checkpointing=[False]),
    *vary(VERL, model=["qwen3-30b-a3b"], ranks=[32], checkpointing=[True, False]),
    *vary(VERL, sequence_length=[512, 8192, 16384]),
    *vary(VERL, micro_batch=[4, 16]),
    *vary(VERL_7B, ranks=[1, 2]),
    *vary(TRL, optimizer=["fused"]),
    *vary(TRL, checkpointing=[False], sequence_length=[512, 2048]),
    *vary(TRL, micro_batch=[4, 16]),
    *vary(VERL, logits=["rows", "chunked", "fp32"], sequence_length=[8192]),
    *vary(LORA, master_dtype=["bf16"]),
    *vary(VERL_7B, sequence_length=[8192], logits=["fused", "rows", "chunked", "fp32"]),
    *vary(
        LORA,
        ranks=[1],
        strategy=["single"],
        master_dtype=["bf16"],
        logits=["fp32", "fused"],
    ),
    *vary(TRL, model=["qwen2.5-1.5b", "qwen2.5-7b"], optimizer=["fused"]),
    *vary(VERL_7B, master_dtype=["bf16"]),
    *vary(VERL, ranks=[1, 32]),
    *vary(LORA, lora_rank=[8, 64]),
    *vary(VERL, micro_batches=[2]),
    *vary(LORA, model=["qwen2.5-0.5b"]),
    *vary(VERL_7B, ranks=[4, 64]),
    *vary(VERL, model=["qwen2.5-1.5b", "llama-3.1-8b"], checkpointing=[False]),
    *vary(LORA, sequence_length=[8192], logits=["fused", "fp32"]),
    *vary(VERL_7B, optimizer=["fused"]),
    *vary(VERL_7B, offload=[OFFLOAD], ranks=[1, 4]),
    *vary(VERL_7B, micro_batches=[2], ranks=[32]),
    *vary(LORA, micro_batches=[2]),
    *vary(VERL_7B, micro_batch=[4, 16]),
    *vary(VERL, model=["qwen3-4b"], checkpointing=[False]),
    *vary(LORA, model=["qwen2.5-3b", "llama-3.1-8b"]),
    *vary(LORA, model=["qwen2.5-32b"], master_dtype=["bf16"]),
    *vary(VERL, model=["qwen2.5-32b"], ranks=[16, 32]),
    *vary(VERL, model=["qwen2.5-14b", "qwen2.5-32b"], offload=[OFFLOAD]),
    *vary(VERL_7B, ranks=[16, 32]),
    *vary(VERL_7B, sequence_length=[512, 16384]),
    *vary(VERL, model=["qwen2.5-3b", "qwen3-8b"], checkpointing=[False]),
    *vary(LORA, model=["qwen2.5-14b", "qwen3-8b"]),
    *vary(
        VERL,
        strategy=["fsdp"],
        model=["qwen2.5-0.5b", "qwen3-4b", "qwen3-8b", "llama-3.1-8b"],
    ),
    *vary(VERL_7B, strategy=["fsdp"], ranks=[2, 8, 32]),
    *vary(VERL_7B, strategy=["fsdp"], master_dtype=["bf16"]),
    *vary(
        VERL_7B, strategy=["fsdp"], checkpointing=[False], sequence_length=[512, 2048]
    ),
    *vary(VERL_7B, strategy=["fsdp"], sequence_length=[8192], logits=["fused", "fp32"]),
]
