"""The training steps whose memory `memory_oracle.py` asks PyTorch for: `memory_cases.toml`.

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
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


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


def _cases() -> Iterator[Case]:
    for item in _TABLE["case"]:
        base = _TABLE["base"][item.pop("of")]
        for values in itertools.product(*item.values()):
            changes = dict(zip(item, values, strict=True))
            yield Case(**base | changes)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CASES = list(_cases())
OFFLOAD = "parameters+optimizer"
