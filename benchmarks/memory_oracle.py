"""PyTorch's own account of the GPU memory of a training step, on a machine without a GPU.

Models of transformers are built from the figures in `records/models.csv`, without weights, and take
one training step on tensors that have shapes only. PyTorch's `MemTracker` and `FSDPMemTracker` add
up what is allocated. `make oracle` adds the cases that `memory_oracle.csv` lacks.

Counted: parameters, gradients, AdamW's states, saved activations, logits, what FSDP gathers and
reduces, temporaries of each operation, of the attention kernel as FlashAttention 2 has them. Not
counted: the allocator's fragmentation and rounding, the CUDA context, buffers of NCCL, workspaces
of cuBLAS, and whatever else is on the GPU, such as a rollout engine.

Columns beyond those of a case, in 10^9 bytes per rank where they end in `_gb`:

* `parameters_b`, `trainable_b`, `layers`: of the module, adapters included.
* `forward_gb`, `backward_gb`, `step_gb`: the peak within each phase of a step after the first;
  `peak_gb` is the highest of them and `at_phase` says which. `host_gb` is the peak on the host.
* The kinds add up to `peak_gb`. `optimizer_gb` includes temporaries of AdamW, `activations_gb` the
  logits, `gathered_parameters_gb` both the buffer of the all-gather and the parameters copied out
  of it. PyTorch counts the buffer of the reduce-scatter, and of gradients whatever was not yet
  accumulated, as temporary, and may do so with a recomputed activation; the sum is right.
* `seconds`: how long the case took here, not how long a step takes.
"""

from __future__ import annotations

import csv
import importlib.metadata
import multiprocessing
import sys
import time
import warnings
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from fake_gpu import FSDPTracker, Peaks, Tracker, put_on_gpu, register_device
from loss_kernels import flash_attention, loss_of, use_chunked_head
from memory_cases import CASES, OFFLOAD, Case
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.hooks import RemovableHandle
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).parent
RESULTS = HERE / "memory_oracle.csv"
PACKAGES = ("torch", "transformers", "peft")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
ARCHITECTURES = {  # of the families in records/models.csv
    "Qwen2.5": "qwen2",
    "Qwen3": "qwen3",
    "Qwen3-MoE": "qwen3_moe",
    "Llama-3.1": "llama",
}
SIZES = {  # of records/models.csv, as transformers calls them
    "layers": "num_hidden_layers",
    "attention_heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "experts": "num_experts",
    "experts_per_token": "num_experts_per_tok",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "moe_intermediate_size": "moe_intermediate_size",
    "head_dim": "head_dim",
    "vocab_size": "vocab_size",
}


def shape_of(model: str) -> dict[str, Any]:
    """The figures of a model in the dataset, as transformers calls them."""
    with (HERE.parent / "records/models.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["slug"] == model)
    shape: dict[str, Any] = {to: int(row[of]) for of, to in SIZES.items() if row[of]}
    shape["model_type"] = ARCHITECTURES[row["family"]]
    shape["tie_word_embeddings"] = row["tie_word_embeddings"] == "true"
    return shape


def build(case: Case) -> tuple[nn.Module, nn.Module]:
    """The model and, below the adapters, its base; both without memory."""
    config = AutoConfig.for_model(**shape_of(case.model))
    dtype = DTYPES[case.master_dtype]
    base = AutoModelForCausalLM.from_config(
        config, attn_implementation="linear_memory", dtype=dtype
    )
    base.train()
    if case.checkpointing:
        base.activation_checkpointing_enable(
            {"use_reentrant": False, "preserve_rng_state": False}
        )
    model = base
    if case.lora_rank:
        base.enable_input_require_grads()
        lora = LoraConfig(
            r=case.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
        )
        adapted = get_peft_model(base, lora, autocast_adapter_dtype=False)
        model = adapted.to(dtype)
    if case.logits == "chunked":
        use_chunked_head(base.lm_head)
    return model, base


def load(model: nn.Module, base: nn.Module) -> None:
    put_on_gpu(model)
    if base.config.tie_word_embeddings:
        base.lm_head.weight = base.get_input_embeddings().weight


def shard(case: Case, model: nn.Module, base: nn.Module, mesh: DeviceMesh) -> None:
    """As verl does: a group per decoder layer, per untied embedding, and one for the rest."""
    groups = list(base.model.layers)
    if not base.config.tie_word_embeddings:
        groups += [base.model.embed_tokens, base.lm_head]
    precision = MixedPrecisionPolicy(DTYPES[case.compute_dtype], torch.float32)
    offload = OffloadPolicy()
    if case.offload == OFFLOAD:
        offload = CPUOffloadPolicy(False)
    for module in (*groups, model):
        fully_shard(
            module,
            mesh=mesh,
            mp_policy=precision,
            offload_policy=offload,
            reshard_after_forward=True,
        )


def shard_flat(case: Case, model: nn.Module, base: nn.Module) -> nn.Module:
    """As verl's `fsdp`: a flat unit per decoder layer, and one for the rest, the root."""
    precision = MixedPrecision(DTYPES[case.compute_dtype], torch.float32, torch.float32)
    layer = type(base.model.layers[0])
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy([layer]),
        mixed_precision=precision,
        device_id=torch.device("gpu", 0),
    )


def local(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor."""
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    return tensor


class Update:
    """AdamW on what this rank holds of each parameter; DTensors would only cost time here."""

    def __init__(self, case: Case, model: nn.Module) -> None:
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.shards = [nn.Parameter(local(p.data)) for p in self.trained]
        foreach = case.optimizer == "foreach" and case.offload == "none"
        fused = case.optimizer == "fused"
        self.optimizer = torch.optim.AdamW(self.shards, foreach=foreach, fused=fused)
        for part in self.shards:
            part.grad = torch.empty_like(part)
        self.optimizer.step()  # makes the state, which is there from the second step on
        self.optimizer.zero_grad()

    def step(self) -> None:
        for parameter, part in zip(self.trained, self.shards, strict=True):
            part.grad = local(parameter.grad)
            parameter.grad = None
        self.optimizer.step()
        self.optimizer.zero_grad()


def train_step(
    case: Case, model: nn.Module, update: Update, tokens: Tensor, peaks: Peaks
) -> None:
    """Gradients are reduced in the last micro batch only, as verl and accelerate do."""
    for i in range(case.micro_batches):
        peaks.tracker.reset_mod_stats()  # else the trackers refuse a second forward
        if case.strategy == "fsdp2":
            model.set_requires_gradient_sync(i == case.micro_batches - 1)
        loss = loss_of(model, tokens, case.logits)
        peaks.end("forward")
        loss.backward()
        peaks.end("backward")
    update.step()
    peaks.end("step")


def track(
    case: Case, model: nn.Module, update: Update, tokens: Tensor
) -> Tracker | FSDPTracker:
    if case.strategy == "fsdp2":
        fsdp = FSDPTracker(model, update.optimizer)
        fsdp.track_inputs((tokens,))
        return fsdp
    tracker = Tracker()
    no_hook = RemovableHandle(OrderedDict())
    for parameter in model.parameters():
        if (
            not parameter.requires_grad
        ):  # else the tracker adds hooks, which PyTorch refuses
            tracker._param_to_grad_hook_handles[parameter] = (no_hook, no_hook)
    tracker.track_external(model, update.optimizer, tokens)
    return tracker


def measure(case: Case) -> dict[str, Any]:
    """Sizes in 10^9: parameters, bytes per rank."""
    register_device()
    AttentionInterface.register("linear_memory", flash_attention)
    dist.init_process_group(
        "cpu:fake,gpu:fake", rank=0, world_size=case.ranks, store=FakeStore()
    )
    with torch.device("meta"):
        model, base = build(case)
    mesh = init_device_mesh("gpu", (case.ranks,))
    with FakeTensorMode(allow_non_fake_inputs=True):
        load(model, base)
        counts = [(p.numel() / 1e9, p.requires_grad) for p in model.parameters()]
        if case.strategy == "fsdp2":
            shard(case, model, base, mesh)
        if case.strategy == "fsdp":
            model = shard_flat(case, model, base)
        tokens = torch.randint(
            0, 1000, (case.micro_batch, case.sequence_length), device="gpu"
        )
        update = Update(case, model)
        tracker = track(case, model, update, tokens)
        peaks = Peaks(tracker)
        with tracker:
            train_step(case, model, update, tokens, peaks)
    return {
        "parameters_b": sum(size for size, _ in counts),
        "trainable_b": sum(size for size, trains in counts if trains),
        "layers": base.config.num_hidden_layers,
        **peaks.summary(),
    }


def in_process(case: Case) -> dict[str, Any] | None:
    """A process per case: device, process group and caches are global. None if it fails."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    start = time.monotonic()
    child = context.Process(target=lambda: sender.send(measure(case)))
    child.start()
    child.join()
    if child.exitcode:
        return None
    seconds = time.monotonic() - start
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    return {
        "id": case.id,
        **asdict(case),
        **receiver.recv(),
        "seconds": round(seconds),
        **versions,
    }


def cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return str(value).lower()


def read() -> list[dict[str, str]]:
    """The cases that are measured already."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]]) -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    warnings.simplefilter("ignore")
    rows = read()
    known = {row["id"] for row in rows}
    failed = 0
    for case in dict.fromkeys(CASES):
        if case.id in known:
            continue
        result = in_process(case)
        if result is None:
            print(f"{case.id}: failed", file=sys.stderr)
            failed = 1
            continue
        row = {name: cell(value) for name, value in result.items()}
        rows.append(row)
        print(f"{case.id}: {row['peak_gb']} GB", flush=True)
        write(rows)
    return failed


if __name__ == "__main__":
    sys.exit(main())
