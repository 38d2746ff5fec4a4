"""The estimate against measured runs: `benchmarks/backtest.csv` and a table of errors.

Run `make backtest`. Peaks are compared as they were read: what PyTorch allocated has no CUDA
context and no fragmentation, what it reserved has no context.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import Inputs
from rl_resources.estimate.estimate import Estimate
from rl_resources.query.estimate import estimate

HERE = Path(__file__).parent
Row = Mapping[str, str]
TRAIN = {
    **{"single": "transformers", "ddp": "transformers", "megatron": "megatron"},
    **{f"zero{stage}": "deepspeed" for stage in (1, 2, 3)},
    **{name: name for name in ("fsdp", "fsdp2")},
}
RUNS = {"measured-run", "stated-run", "ci-allocation"}
BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0}
NOT_READ = {"allocated": ("context", "fragmentation"), "reserved": ("context",)}
"""Components that a way of reading the memory does not count."""


class Case(NamedTuple):
    """One measured or decided run with its estimate; GB are 10⁹ bytes of one GPU."""

    id: str
    kind: str
    project: str
    model: str
    weights: str
    gpus: int
    outcome: str
    measured_gb: float | None
    estimated_gb: float
    low_gb: float
    high_gb: float
    verdict: str
    source: str


def measured(dataset: Dataset, skipped: list[str]) -> Iterator[Case]:
    """The cases of `measured.csv`; why a row cannot be estimated is added to `skipped`."""
    for row in _rows("measured.csv"):
        try:
            found = Estimate(_inputs(row).finished(_model(dataset, row)))
            if not row["device_memory_gb"] and row["outcome"] != "peak":
                raise UnusableInput("no device")
        except UnusableInput as error:
            skipped.append(f"{row['id']} {row['project']} {row['model']}: {error}")
            continue
        yield _case(row, found)


def _case(row: Row, found: Estimate) -> Case:
    unread = NOT_READ.get(row["peak_kind"], ())
    held = found.training.components
    share = 1 - sum(held.get(title, 0) for title in unread) / found.peak_gb
    low, high = found.interval_gb
    return Case(
        row["id"],
        "measured",
        row["project"],
        row["model"],
        row["weights"],
        int(row["gpus"]),
        row["outcome"],
        float(row["peak_gb"]) if row["peak_gb"] else None,
        *(round(gb * share, 3) for gb in (found.peak_gb, low, high)),
        found.verdict if row["device_memory_gb"] else "",
        row["source"],
    )


def _model(dataset: Dataset, row: Row) -> Mapping[str, object]:
    model = dataset.by_key["models"].get(row["model"])
    if model is None:
        raise UnusableInput("model not known")
    return model


def _inputs(row: Row) -> Inputs:
    """The inputs of a measured run, as its columns say them."""
    inputs = Inputs(TRAIN[row["strategy"]])
    length = row["sequence_length"] or _sum(row["prompt_length"], row["response_length"])
    if not length or not row["micro_batch"]:
        raise UnusableInput("no length or no micro batch")
    given: dict[str, float] = {
        "gpus": float(row["gpus"]),
        "device_gb": float(row["device_memory_gb"] or 80),
        "prompt_length": 0,
        "response_length": float(length),
        "micro_batch": float(row["micro_batch"]),
        "fill": 0 if row["length_kind"] == "cap" else 1,
        "checkpointing": _checkpointing(row),
        "quantized": float(row["weights"] == "qlora"),
        "fused_logits": float(row["logits"] in {"fused", "chunked"}),
        "has_engine": float(bool(row["rollout_engine"]) and row["rollout_engine"] != "hf"),
        "lora_rank": float(row["lora_rank"] or 8) if row["weights"] != "full" else 0,
        "lora_mlp": float(row["lora_targets"] in {"", "all-linear"}),
    }
    for name in ("tensor", "pipeline", "expert"):
        given[f"{name}_parallel"] = float(row[f"{name}_parallel"] or 1)
    given["expert_tensor_parallel"] = (
        1 if given["expert_parallel"] > 1 else given["tensor_parallel"]
    )
    given |= _state(row)
    for name, value in given.items():
        inputs.give(name, value)
    return inputs


def _checkpointing(row: Row) -> float:
    """The share of layers that are computed again; Megatron's selective form, of none."""
    selective = 0.5 if row["strategy"] != "megatron" else 0
    return {"full": 1, "selective": selective}.get(row["checkpointing"], 0)


def _state(row: Row) -> dict[str, float]:
    """Precision, sharding and offload."""
    dtype = BYTES[row["parameter_dtype"] or "bf16"]
    stage = row["strategy"]
    found = {
        "parameter_bytes": dtype,
        "optimizer_on_host": float(row["optimizer_offload"] == "true"),
    }
    if stage in {"zero1", "zero2"}:
        found |= {"shards_parameters": 0, "shards_gradients": float(stage == "zero2")}
    if row["optimizer_dtype"] in {"bf16", "fp16"}:
        found["optimizer_bytes"] = 4
    if row["logits"] == "plain":
        found["logit_bytes"] = 14
    if row["parameter_offload"] == "true":
        found |= {"offload_policy": 1, "optimizer_on_host": 1}
    if row["optimizer_dtype"] == "fp32" and dtype == 4:
        found["optimizer_bytes"] = 8
    return found


def _sum(*lengths: str) -> float:
    return sum(float(length or 0) for length in lengths)


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def reports(dataset: Dataset, skipped: list[str]) -> Iterator[Case]:
    """The reports of the dataset with a peak or an outcome, and what an estimate needs."""
    for row in dataset.records["reports"]:
        sized = row["max_response_length"] or row["max_total_length"]
        batch = row["micro_batch_per_gpu"] or row["max_tokens_per_gpu"]
        if row["statement"] not in RUNS:
            continue
        if not (row["model"] and row["weights"] and sized and batch and row["train"]):
            continue
        if not row["device"] or row["framework"] == "agilerl" or row["out_of_memory_on"] == "host":
            continue  # AgileRL's runs are in measured.csv
        try:
            found = estimate(dataset, _words(row), _settings(row))
        except UnusableInput as error:
            skipped.append(f"{row['report']}: {error}")
            continue
        yield _of_report(row, found)


def _words(row: Mapping[str, object]) -> dict[str, str]:
    names = ("model", "gpus", "device", "task", "weights", "train", "infer")
    words = {name: str(row[name] or "") for name in names}
    words["infer"] = "" if words["infer"] in {"hf", "deepspeed-hybrid-engine"} else words["infer"]
    return words


def _settings(row: Mapping[str, object]) -> list[str]:
    saved = str(row["memory_optimizations"] or "")
    total, answer = row["max_total_length"], row["max_response_length"]
    prompt = row["max_prompt_length"] or 0
    lengths = (prompt, answer) if answer else (0, total)
    found = {
        "prompt_length": lengths[0],
        "response_length": lengths[1],
        "micro_batch": row["micro_batch_per_gpu"],
        "max_tokens": row["max_tokens_per_gpu"],
        "lora_rank": row["lora_rank"],
        "gpu_memory_utilization": row["gpu_memory_utilization"],
        "checkpointing": int("activation-checkpointing" in saved),
        "parameter_offload": int("parameter-offload" in saved),
        "optimizer_offload": int("optimizer-offload" in saved),
        "fused_logits": int("fused-logits" in saved),
    }
    found |= _parallel(str(row["parallelism"] or ""))
    if "sequence-packing" in saved:
        found["removes_padding"] = 1
    if "chunked-logits" in saved:
        found["fused_logits"] = 1
    return [f"{name}={value}" for name, value in found.items() if value is not None]


def _parallel(text: str) -> dict[str, object]:
    """`TP=4 PP=2 EP=8; gen TP=1`: the sizes while training, and of the engine."""
    training, _, engine = text.partition("gen")
    names = {"TP": "tensor", "PP": "pipeline", "EP": "expert", "CP": "context", "SP": "context"}
    sizes = {name: int(size) for name, size in re.findall(r"\b([TPESC]P)=(\d+)", training)}
    found: dict[str, object] = {
        f"{names[name]}_parallel": size for name, size in sizes.items() if size > 1 or name == "TP"
    }
    within = re.search(r"ETP=(\d+)", training)
    if within or sizes:
        default = sizes.get("TP", 1) if sizes.get("EP", 1) == 1 else 1
        found["expert_tensor_parallel"] = int(within[1]) if within else default
    if rollout := re.search(r"TP=(\d+)", engine):
        found["engine_tensor_parallel"] = int(rollout[1])
    return found


def _of_report(row: Mapping[str, object], found: Estimate) -> Case:
    peak = row["peak_train_memory_gb"] or row["peak_memory_gb"]
    measured_gb = float(str(peak)) if peak and row["statement"] == "measured-run" else None
    whole = max(moment.peak_gb for moment in found.phases.values())
    factor = whole / found.peak_gb if not row["peak_train_memory_gb"] else 1
    low, high = found.interval_gb
    return Case(
        str(row["report"]),
        "report",
        str(row["framework"] or ""),
        str(row["model"]),
        str(row["weights"]),
        int(str(row["gpus"])),
        "peak" if measured_gb else str(row["outcome"]),
        measured_gb,
        *(round(gb * factor, 3) for gb in (found.peak_gb, low, high)),
        found.verdict,
        str(row["source_url"]),
    )


def trials(dataset: Dataset) -> Iterator[Case]:
    """Each tried batch of a record, at the micro batch that follows from it."""
    for script, tried in dataset.by_script["trials"].items():
        record = dataset.by_key["tuning"][script]
        start = estimate(dataset, {}, (), str(dataset.script(str(script))))
        share = start.values["context_parallel"] / start.values["gpus"]
        for row in tried:
            micro = max(1.0, float(str(row["batch"])) * share)
            found = start.with_inputs(micro_batch=micro)
            low, high = found.interval_gb
            yield Case(
                f"{script}#{row['order']}",
                "trial",
                "verl",
                str(record["model"]),
                "lora",
                int(start.values["gpus"]),
                "ran" if row["outcome"] == "ran" else "out-of-memory",
                None,
                *(round(gb, 3) for gb in (found.peak_gb, low, high)),
                found.verdict,
                str(record["source"]),
            )
