"""The estimate against measured runs: `backtest.csv`, and `backtest_errors.csv` by group.

Run `make backtest`. Peaks are compared as they were read: what PyTorch allocated has no CUDA
context and no fragmentation, what it reserved has no context.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir
from math import isclose
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import polars as pl

from rl_resources import load
from rl_resources.cli import PARSER
from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate import NUMBERS, WORDS
from rl_resources.estimate.estimate import GB, Estimate
from rl_resources.estimate.frameworks import VERL, profiles
from rl_resources.facts.models import GB_PER_GIB
from rl_resources.query.estimate import estimate

HERE = Path(__file__).parent
PLAUSIBLE = HERE.parent / "tools/rl_resources/estimate/assumed.toml"
PLAUSIBLE_TITLE = (
    "# What eight of ten measured runs have, least and most, "
    "written by `make backtest`."
)
LEFT_OPEN = (
    "response_length",
    "micro_batch",
    "checkpointing",
    "fused_logits",
    "parameter_bytes",
    "lora_rank",
    "lora_mlp",
)
"""Inputs of measured runs that a question may leave open, and that decide."""
Row = Mapping[str, str]
TRAIN = {
    "single": "transformers",
    "ddp": "transformers",
    "zero1": "deepspeed",
    "zero2": "deepspeed",
    "zero3": "deepspeed",
    "fsdp": "fsdp",
    "fsdp2": "fsdp2",
    "megatron": "megatron",
}
OWN_LOSS = {"prime-rl", "torchtitan"}
COMPILED = {"torchtitan", "torchtune"}
"""Projects whose compiled layers keep less; those of prime-rl do not, by its figures."""
OLD_BITSANDBYTES = {"litgpt", "fsdp_qlora", "peft"}
"""Projects whose figures are older than bitsandbytes 0.43.2 of July 2024, or that pin 0.42."""
RUNS = {"measured-run", "stated-run", "ci-allocation"}
BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0}
OWN_GPUS = re.compile(
    r"^(\d+) GPUs? (?:actor|train|each)|(\d+) train \+|train (\d+) GPUs"
)
"""The GPUs that train, where the engine has others."""
STEPS_WHERE_IT_IS = {"slime", "miles"}
"""Frameworks whose optimizer steps in host memory where it is offloaded by a setting."""
STEPS_ON_HOST = re.compile(
    r"(Adam steps|whole optimizer state is) on the host|Adam on the CPU"
)
HOST_PEAK = re.compile(
    r"Host memory is the (published )?peak|which takes 1|memory per node, the only"
    r"|Host memory: 800|1500 GB and does not say"
)
"""How the notes say that host memory is what a run took, not what its nodes had."""
HOST = "project, of host memory"
"""How the errors of host memory are grouped."""
STRANGER = "stranger"
"""The kind of cases that no constant comes from, and that nothing is tuned on."""
ASKED = "asked"
"""The kind of cases that are asked as strangers are, and that set what a question adds."""
APART = (STRANGER, ASKED)
"""The kinds of cases with the interval of their answers, which are not calibrated."""
VARIED = "varied"
"""The kind of cases whose reserved memory grew over batches of many lengths.

PyTorch keeps what it once reserved, and gives it back before it runs out of memory: a step needs
less than such a figure, so it does not set the interval.
"""
GOALS = (0.08, 0.20)
"""The errors that half and nine of ten estimates should stay below."""
NOT_READ = {"allocated": ("context", "fragmentation"), "reserved": ("context",)}
"""Components that a way of reading the memory does not count."""


class Case(NamedTuple):
    """One measured or decided run with its estimate; GB are 10⁹ bytes of one GPU.

    `known`: its tokens are, not only the longest sequence; else `usual_gb` is its estimate with
    sequences of usual lengths.
    """

    id: str
    kind: str
    project: str
    model: str
    weights: str
    gpus: int
    outcome: str
    known: bool
    measured_gb: float | None
    estimated_gb: float
    usual_gb: float
    low_gb: float
    high_gb: float
    verdict: str
    source: str


def measured(
    dataset: Dataset, skipped: list[str], left_out: str = ""
) -> Iterator[Case]:
    """The cases of `measured.csv`, asked without the input `left_out`.

    Why a row cannot be estimated is added to `skipped`.
    """
    for row in _rows("measured.csv"):
        try:
            words = _words_of(row)
            given = _inputs(row)
            given.pop(left_out, None)
            settings = [f"{name}={value:g}" for name, value in given.items()]
            found = estimate(dataset, words, settings)
            if not row["device_memory_gb"] and row["outcome"] != "peak":
                raise UnusableInput("no device")
        except UnusableInput as error:
            title = f"{row['id']} {row['project']} {row['model']}"
            skipped.append(f"{title}: {error}")
            continue
        yield _case(row, found)


def _words_of(row: Row) -> dict[str, str]:
    """The options that a user has for a run."""
    return {
        "model": row["model"],
        "gpus": row["gpus"],
        "memory": row["device_memory_gb"] or "80",
        "train": TRAIN[row["strategy"]],
        "weights": row["weights"],
        "infer": row["rollout_engine"],
    }


def _case(row: Row, found: Estimate) -> Case:
    unread = NOT_READ.get(row["peak_kind"], ())
    held = found.training.components
    unread_gb = sum(held.get(title, 0) for title in unread)
    share = 1 - unread_gb / found.peak_gb
    kind = "measured"
    if "samples of all lengths" in row["notes"]:
        kind = VARIED
    peak_gb = None
    if row["peak_gb"]:
        peak_gb = float(row["peak_gb"])
    verdict = ""
    if row["device_memory_gb"]:
        verdict = found.verdict
    return Case(
        row["id"],
        kind,
        row["project"],
        row["model"],
        row["weights"],
        int(row["gpus"]),
        row["outcome"],
        row["length_kind"] != "cap",
        peak_gb,
        *_bounds(found, share),
        verdict,
        row["source"],
    )


def _bounds(found: Estimate, share: float = 1) -> Iterator[float]:
    """The estimate, that of usual lengths, the interval: of what a reading of memory counts."""
    for gb in (found.peak_gb, found.usual_gb, *found.interval_gb):
        yield round(gb * share, 3)


def _inputs(row: Row) -> dict[str, float]:
    """The inputs of a measured run, as its columns say them."""
    length = row["sequence_length"] or _sum(
        row["prompt_length"], row["response_length"]
    )
    if not length or not row["micro_batch"]:
        raise UnusableInput("no length or no micro batch")
    logits = row["logits"]
    targets = row["lora_targets"]
    given: dict[str, float] = {
        "prompt_length": 0,
        "response_length": float(length),
        "micro_batch": float(row["micro_batch"]),
        "fill": float(row["length_kind"] != "cap"),
        "checkpointing": _checkpointing(row),
        "fused_logits": float(logits in {"fused", "chunked"}),
        "lora_mlp": float(targets in {"", "all-linear"}),
    }
    if row["weights"] != "full":
        given["lora_rank"] = float(row["lora_rank"] or 8)
    given |= _parallel_sizes(row)
    if row["project"] == "litgpt" or "LoRA dropout" in row["notes"]:
        given["adapter_input_bytes"] = 3
    if row["project"] in COMPILED and re.search(
        "torch.compile|, compiled", row["notes"]
    ):
        given["compiled"] = 1
    if row["project"] == "litgpt":
        given["untied_head"] = 1
    if row["project"] in OWN_LOSS:
        given["hidden_bytes"] = 8  # fused norms
    if row["weights"] == "qlora":
        given |= _quantization(row)
    if "two sequences a sample" in row["notes"]:
        given["micro_batch"] *= 2
    given |= _noted(row["notes"])
    return given | _state(row)


def _parallel_sizes(row: Row) -> dict[str, float]:
    """The parallel sizes; experts that are spread are not split by tensors too."""
    found: dict[str, float] = {}
    for name in ("tensor_parallel", "pipeline_parallel", "expert_parallel"):
        found[name] = float(row[name] or 1)
    within = found["tensor_parallel"]
    if found["expert_parallel"] > 1:
        within = 1
    of_experts = row["expert_tensor_parallel"]
    found["expert_tensor_parallel"] = float(of_experts or within)
    return found


def _noted(notes: str) -> dict[str, float]:
    """What only the notes of a run say."""
    found: dict[str, float] = {}
    if "padding-free" in notes:
        found["removes_padding"] = 1
    if "frozen reference model" in notes:
        found["has_reference"] = 1
        found["reference_offload"] = 0
    return found


def _quantization(row: Row) -> dict[str, float]:
    """The bytes of a weight in 4 bits, and what bitsandbytes before 0.43.2 keeps.

    GPTQ and AWQ have a scale in 16 bits and a zero in 4 bits for 128 weights.
    """
    found: dict[str, float] = {"wide_bytes": 2}
    if row["project"] in OLD_BITSANDBYTES:
        found["frozen_input_bytes"] = 2
    if row["project"] == "litgpt":
        found["quantized_head"] = 1
    if row["quantization"] in {"gptq", "awq"}:
        found["quantized_bytes"] = 0.52
    elif row["project"] == "fsdp_qlora" or re.search(
        "(?<!no )double quant", row["notes"]
    ):
        found["quantized_bytes"] = 0.516
    else:
        found["quantized_bytes"] = 0.5625
    return found


def _checkpointing(row: Row) -> float:
    """The share of layers that are computed again; Megatron's selective form, of none.

    The others' selective form keeps every second matrix product: about a third of a layer.
    """
    if row["checkpointing"] == "full":
        return 1
    if row["checkpointing"] == "selective" and row["strategy"] != "megatron":
        return 0.65
    return 0


def _state(row: Row) -> dict[str, float]:
    """Precision, sharding and offload."""
    dtype = BYTES[row["parameter_dtype"] or "bf16"]
    stage = row["strategy"]
    found = {
        "parameter_bytes": dtype,
        "optimizer_on_host": float(row["optimizer_offload"] == "true"),
    }
    if stage in {"zero1", "zero2"}:
        found["shards_parameters"] = 0
        found["shards_gradients"] = float(stage == "zero2")
    if "reduction deferred" in row["notes"]:
        found["unsharded_gradients"] = 1
    if row["optimizer_dtype"] in {"bf16", "fp16"}:
        found["optimizer_bytes"] = 4
    if row["logits"] == "plain":
        found["logit_bytes"] = 14
    if row["logits"] == "bf16":
        found["logit_bytes"] = 4
        if TRAIN[stage] == "transformers":
            found["logit_bytes"] = 8
    if row["parameter_offload"] == "true":
        found["offload_policy"] = 1
        found["optimizer_on_host"] = 1
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
        if row["statement"] not in RUNS or not _has_inputs(row):
            continue
        if "multimodal" in (row["scenario"] or ()):
            continue  # a vision tower and its tokens are not estimated
        if row["framework"] == "agilerl":
            continue  # its runs are in measured.csv
        if row["out_of_memory_on"] == "host":
            continue
        if not dataset.by_key["devices"][row["device"]]["memory_gb"]:
            continue  # its verdict would be that of an assumed memory
        words = _words(row)
        settings = _settings(row)
        try:
            found = estimate(dataset, words, settings)
        except UnusableInput as error:
            skipped.append(f"{row['report']}: {error}")
            continue
        yield _of_report(row, found)


def _has_inputs(row: Mapping[str, object]) -> bool:
    """Whether a report says all that an estimate needs."""
    length = row["max_response_length"] or row["max_total_length"]
    batch = row["micro_batch_per_gpu"] or row["max_tokens_per_gpu"]
    stated = [row[name] for name in ("model", "weights", "train", "device")]
    return all([length, batch, *stated])


def _words(row: Mapping[str, object]) -> dict[str, str]:
    names = ("model", "gpus", "device", "task", "weights", "train", "infer")
    words = {name: str(row[name] or "") for name in names}
    own = OWN_GPUS.search(str(row["parallelism"] or ""))
    if own:
        words["gpus"] = own[own.lastindex or 0]
    if _profiled(row):
        words["framework"] = str(row["framework"])
    if _has_own_pool(row):
        words["infer"] = ""
    return words


def _profiled(row: Mapping[str, object]) -> bool:
    """Whether a run is of a framework whose profile is asked for; verl's settings are stated."""
    return row["framework"] in profiles().keys() - {VERL}


def _has_own_pool(row: Mapping[str, object]) -> bool:
    """Whether the engine has GPUs of its own, or none is named."""
    own = OWN_GPUS.search(str(row["parallelism"] or ""))
    return bool(own) or not row["infer"] or "async" in str(row["source_path"])


def _settings(row: Mapping[str, object]) -> list[str]:
    saved = str(row["memory_optimizations"] or "")
    notes = str(row["notes"])
    between_phases = "phase-offload" in saved
    steps_on_host = STEPS_ON_HOST.search(notes) is not None
    found: dict[str, object] = {
        "prompt_length": 0,
        "response_length": row["max_total_length"],
        "micro_batch": row["micro_batch_per_gpu"],
        "max_tokens": row["max_tokens_per_gpu"],
        "lora_rank": row["lora_rank"],
        "gpu_memory_utilization": row["gpu_memory_utilization"],
        "optimizer_on_host": int(steps_on_host or _steps_where_it_is(row)),
    }
    if row["max_response_length"]:
        found["prompt_length"] = row["max_prompt_length"] or 0
        found["response_length"] = row["max_response_length"]
    found |= _engine_settings(row, saved)
    found |= _rollout_precision(saved)
    for state in ("parameter", "optimizer"):
        if between_phases or f"{state}-offload" in saved:
            found[f"{state}_offload"] = 1
    if "activation-checkpointing" in saved:
        found["checkpointing"] = 1
    elif row["train"] == "megatron":  # the others do so by default
        found["checkpointing"] = 0
    release = f"{row['framework']} {row['framework_version']}"
    if release.startswith("verl 0.3"):
        # It computes the entropy of each micro batch, also where its coefficient is 0.
        found["entropy_bytes"] = 2
    if "Weights are loaded in FP32" in notes:
        found["parameter_bytes"] = 4
    if "sequence-packing" in saved:
        found["removes_padding"] = 1
    found |= _parallel(str(row["parallelism"] or ""))
    return [f"{name}={value}" for name, value in found.items() if value is not None]


def _engine_settings(row: Mapping[str, object], saved: str) -> dict[str, object]:
    """Whether an engine is there and sleeps, and logits are fused.

    What a framework with a profile does is not said again.
    """
    found: dict[str, object] = {}
    saves_logits = "fused-logits" in saved or "chunked-logits" in saved
    if saves_logits or not _profiled(row):
        found["fused_logits"] = int(saves_logits)
    if "rollout-sleep" in saved or not _profiled(row):
        found["engine_sleeps"] = 1
    if _has_own_pool(row):
        found["has_engine"] = 0
    return found


def _steps_where_it_is(row: Mapping[str, object]) -> bool:
    """Whether a report is of `--optimizer-cpu-offload`, which brings nothing back."""
    saved = str(row["memory_optimizations"] or "")
    return row["framework"] in STEPS_WHERE_IT_IS and "optimizer-offload" in saved


_ENGINE_SIZES = {"TP": "tensor", "DP": "data", "EP": "expert"}


def _rollout_precision(saved: str) -> dict[str, object]:
    """The bytes of a weight of the engine where it is not in 16 bits."""
    for name, size in (("fp8", 1.0), ("int4", 0.5625), ("fp4", 0.5625)):
        if f"{name}-rollout" in saved:
            return {"engine_weight_bytes": size}
    return {}


def _parallel(text: str) -> dict[str, object]:
    """`TP=4 PP=2 EP=8; gen TP=1`: the sizes while training, and of the engine."""
    training, _, engine = text.partition("gen")
    names = {
        "TP": "tensor",
        "PP": "pipeline",
        "EP": "expert",
        "CP": "context",
        "SP": "context",
    }
    sizes: dict[str, int] = {}
    for name, written in re.findall(r"\b([TPESC]P)=(\d+)", training):
        sizes[name] = int(written)
    found: dict[str, object] = {}
    for name, size in sizes.items():
        if size > 1 or name == "TP":
            found[f"{names[name]}_parallel"] = size
    of_experts = re.search(r"ETP=(\d+)", training)
    if of_experts:
        found["expert_tensor_parallel"] = int(of_experts[1])
    elif sizes.get("EP", 1) > 1:
        found["expert_tensor_parallel"] = 1
    elif sizes:
        found["expert_tensor_parallel"] = sizes.get("TP", 1)
    of_engine = dict(re.findall(r"\b(TP|DP|EP)=(\d+)", engine))
    if "EP" not in of_engine:
        of_engine.pop("DP", None)  # then it counts engines
    elif of_engine["EP"] == of_engine.get("TP"):
        of_engine.pop("DP", None)  # then it is within them, as in SGLang
    for name, size in of_engine.items():
        found[f"engine_{_ENGINE_SIZES[name]}_parallel"] = int(size)
    return found


def _of_report(row: Mapping[str, object], found: Estimate) -> Case:
    peak = row["peak_train_memory_gb"] or row["peak_memory_gb"]
    measured_gb = None
    if peak and row["statement"] == "measured-run":
        measured_gb = float(str(peak))
    factor = 1.0
    if not row["peak_train_memory_gb"]:  # the peak of all phases, also of the rollout
        factor = _whole_share(found)
    outcome = str(row["outcome"])
    if measured_gb:
        outcome = "peak"
    kind = "report"
    if _profiled(row):
        kind = ASKED
    return Case(
        str(row["report"]),
        kind,
        str(row["framework"] or ""),
        str(row["model"]),
        str(row["weights"]),
        int(str(row["gpus"])),
        outcome,
        bool(row["max_tokens_per_gpu"]),
        measured_gb,
        *_bounds(found, factor),
        found.verdict,
        str(row["source_url"]),
    )


def trials(dataset: Dataset) -> Iterator[Case]:
    """Each tried batch of a record, at the micro batch that follows from it."""
    for script, tried in dataset.by_script["trials"].items():
        record = dataset.by_key["tuning"][script]
        path = dataset.script(str(script))
        start = estimate(dataset, {}, (), str(path))
        gpus = start.values["gpus"]
        share = start.values["context_parallel"] / gpus
        for row in tried:
            batch = float(str(row["batch"]))
            micro = max(1.0, batch * share)
            found = start.with_inputs(micro_batch=micro)
            outcome = "out-of-memory"
            if row["outcome"] == "ran":
                outcome = "ran"
            yield Case(
                f"{script}#{row['order']}",
                "trial",
                "verl",
                str(record["model"]),
                "lora",
                int(gpus),
                outcome,
                False,
                None,
                *_bounds(found),
                found.verdict,
                str(record["source"]),
            )


def pytorch(dataset: Dataset, skipped: list[str]) -> Iterator[Case]:
    """The steps that PyTorch accounted for on fake tensors: what it would allocate."""
    if not (HERE / "memory_oracle.csv").exists():
        return
    slugs = {str(row["slug"]): row for row in dataset.records["models"]}
    for row in _rows("memory_oracle.csv"):
        model = slugs.get(row["model"])
        if model is None:
            skipped.append(f"{row['id']}: model not known")
            continue
        words = {"model": str(model["model"]), "gpus": row["ranks"], "memory": "80"}
        words["train"] = TRAIN[row["strategy"]]
        settings = [f"{name}={value:g}" for name, value in _of_oracle(row).items()]
        found = estimate(dataset, words, settings)
        held = found.training.components
        unread_gb = sum(held.get(title, 0) for title in NOT_READ["allocated"])
        share = 1 - unread_gb / found.peak_gb
        release, _, _ = row["torch"].partition("+")
        yield Case(
            row["id"],
            "pytorch",
            f"PyTorch {release}",
            str(model["model"]),
            row["weights"],
            int(row["ranks"]),
            "peak",
            True,
            float(row["peak_gb"]),
            *_bounds(found, share),
            "",
            "",
        )


def _of_oracle(row: Row) -> dict[str, float]:
    """The inputs of a step on fake tensors; its offload is that of FSDP2's policy."""
    logit_bytes = 4.0
    if row["logits"] in {"fp32", "rows"}:
        logit_bytes = 12.0
    accumulates = float(int(row["micro_batches"]) > 1)
    return {
        "fill": 1,
        "prompt_length": 0,
        "response_length": float(row["sequence_length"]),
        "micro_batch": float(row["micro_batch"]),
        "lora_rank": float(row["lora_rank"] or 0),
        "checkpointing": float(row["checkpointing"] == "true"),
        "parameter_bytes": BYTES[row["master_dtype"]],
        "accumulates": accumulates,
        "unsharded_gradients": accumulates,
        "offload_policy": float(row["offload"] != "none"),
        "step_copies": float(row["optimizer"] == "foreach"),
        "fused_logits": float(row["logits"] == "chunked"),
        "logit_bytes": logit_bytes,
    }


def questions(dataset: Dataset, name: str, kind: str) -> Iterator[Case]:
    """The runs of a file, each asked with the arguments of a careful user."""
    for row in _rows(name):
        with chdir(HERE.parent):
            arguments = PARSER.parse_args(["estimate", *shlex.split(row["arguments"])])
            words = {name: getattr(arguments, name) for name in (*WORDS, *NUMBERS)}
            found = estimate(dataset, words, arguments.set, arguments.script)
        measured_gb = None
        if row["peak_gb"]:
            measured_gb = float(row["peak_gb"])
        yield Case(
            row["id"],
            kind,
            row["project"],
            found.configuration.model,
            arguments.weights,
            int(found.values["gpus"]),
            row["outcome"],
            found.tokens_known,
            measured_gb,
            *_bounds(found, _read_share(found, row["peak_kind"])),
            found.verdict,
            row["source"],
        )


def _read_share(found: Estimate, kind: str) -> float:
    """What a reading of the memory counts, as a part of the peak of training.

    PyTorch counts its own process, other readings the whole GPU with a rollout engine on it.
    """
    if kind in NOT_READ:
        unread_gb = sum(
            found.training.components.get(title, 0) for title in NOT_READ[kind]
        )
        return 1 - unread_gb / found.peak_gb
    return _whole_share(found)


def _whole_share(found: Estimate) -> float:
    """The peak of all phases, also of a rollout on the same GPUs, by that of training."""
    counted = dict(found.phases)
    if found.values["engine_gpus"]:
        counted.pop("rollout", None)
    return max(moment.peak_gb for moment in counted.values()) / found.peak_gb


class HostCase(NamedTuple):
    """What a run took or had of the host memory of a node, in GB, with its estimate.

    `each_loads`: each process loads the whole model.
    """

    id: str
    project: str
    each_loads: bool
    read: str
    measured_gb: float
    estimated_gb: float
    low_gb: float
    high_gb: float
    agrees: bool


def hosts(dataset: Dataset, skipped: list[str]) -> Iterator[HostCase]:
    """The reports and records that state host memory.

    `peak` is what a run took. Of other figures it is known that the run needed no more (`ran`) or
    more (`out-of-memory`).
    """
    for row in dataset.records["reports"]:
        if row["host_memory_gb"] and row["gpus"]:
            settings = [*_settings(row), *_host_settings(row)]
            try:
                found = estimate(dataset, _host_words(row), settings)
            except UnusableInput as error:
                skipped.append(f"{row['report']}: {error}")
                continue
            yield _host_case(str(row["report"]), row, found)
    for row in dataset.records["tuning"]:
        if row["host_memory_gb"]:
            path = dataset.script(str(row["script"]))
            found = estimate(dataset, {}, (), str(path))
            yield _host_case(str(row["script"]), row, found)


def _host_words(row: Mapping[str, object]) -> dict[str, str]:
    words = _words(row)
    words["model"] = str(row["model"] or row["model_as_published"])
    words["gpus"] = str(row["gpus"])
    if not words["device"]:
        words["memory"] = str(row["device_memory_gb"] or 80)
    return words


def _host_settings(row: Mapping[str, object]) -> Iterator[str]:
    """What decides host memory alone."""
    saved = str(row["memory_optimizations"] or "")
    if row["gpus_per_node"]:
        yield f"gpus_per_node={row['gpus_per_node']}"
    if row["batch_unit"] == "prompts":
        yield f"prompts_per_step={row['batch']}"
    if row["rollout_n"]:
        yield f"rollout_n={row['rollout_n']}"
    if "reference-offload" in saved:
        yield "has_reference=1"
    if "bf16-optimizer" in saved:
        yield "parameter_bytes=2"
    if row["train"] == "megatron" and "optimizer-offload" in saved:
        yield "optimizer_on_host=1"
    if "ZeRO-2" in str(row["parallelism"]):
        yield "shards_parameters=0"
    if row["task"] == "PPO" and row["train"] == "deepspeed":
        yield "has_reference=1"
        yield f"critic_optimizer_offload={int('optimizer-offload' in saved)}"


def _host_case(id_: str, row: Mapping[str, object], found: Estimate) -> HostCase:
    stated_gb = float(str(row["host_memory_gb"]))
    read = "ran"
    notes = str(row["notes"])
    if row.get("out_of_memory_on") == "host":
        read = "out-of-memory"
    elif HOST_PEAK.search(notes):
        read = "peak"
    estimated_gb = found.host_memory_gb
    project = str(row["framework"] or "")
    if "EasyR1" in notes or project == "easyr1":
        project = "easyr1"
        stated_gb *= GB_PER_GIB  # it prints GiB
    if project == "easyr1" and read == "peak":
        # It reads them in the update, when nothing waits in host memory.
        estimated_gb = found.values["host_update"] / GB
    least, most = found.host_interval_gb
    low = least / found.host_memory_gb * estimated_gb
    high = most / found.host_memory_gb * estimated_gb
    agrees = {
        "ran": low <= stated_gb,
        "out-of-memory": high >= stated_gb,
        "peak": low <= stated_gb <= high,
    }
    figures = [round(gb, 1) for gb in (stated_gb, estimated_gb, low, high)]
    each = bool(found.values["loads_per_process"])
    return HostCase(id_, project, each, read, *figures, agrees[read])


def host_factors(cases: list[HostCase], *, each_loads: bool) -> tuple[float, float]:
    """Measured by estimated: the interval of host memory, as that of the GPU's."""
    peaks = [
        case for case in cases if case.read == "peak" and case.each_loads == each_loads
    ]
    runs = Counter(case.project for case in peaks)
    weights = [runs[case.project] ** -0.5 for case in peaks]
    under = [case.estimated_gb / case.measured_gb for case in peaks]
    over = [case.measured_gb / case.estimated_gb for case in peaks]
    return 1 / _quantile(under, weights), _quantile(over, weights)


def left_out(cases: list[Case]) -> list[Case]:
    """The cases with the interval that the other projects give: their 5 % and 95 % quantiles."""
    found = []
    for case in cases:
        if case.kind in APART:
            found.append(case)  # as it was answered
            continue
        low, high = factors(cases, case.known, without=case.project)
        low_gb = round(case.usual_gb * low, 3)
        high_gb = round(case.estimated_gb * high, 3)
        found.append(case._replace(low_gb=low_gb, high_gb=high_gb))
    return found


def factors(cases: list[Case], known: bool, without: str = "") -> tuple[float, float]:
    """Measured by estimated: the quantiles over all projects, by the root of their number of runs.

    So a project with many runs of one script does not decide alone. The lower one is of the
    estimate with usual lengths, as in conformalized quantile regression (arXiv 1905.03222): where
    the two estimates differ much, the interval is wide.
    """
    projects: list[str] = []
    under: list[float] = []
    over: list[float] = []
    for case in cases:
        peak = case.measured_gb
        if not peak or case.kind in {"pytorch", VARIED, *APART}:
            continue
        if case.known != known or case.project == without:
            continue
        projects.append(case.project)
        under.append(case.usual_gb / peak)
        over.append(peak / case.estimated_gb)
    runs = Counter(projects)
    weights = [runs[project] ** -0.5 for project in projects]
    return 1 / _quantile(under, weights), _quantile(over, weights)


def _quantile(ratios: list[float], weights: list[float], share: float = 0.95) -> float:
    """What a share stays below, the case still to come among them with an average weight."""
    if not ratios:
        return 1.0
    to_come = 1 / len(ratios)
    wanted = share * sum(weights) * (1 + to_come)
    passed = 0.0
    weighted = zip(ratios, weights, strict=True)
    for ratio, weight in sorted(weighted):
        passed += weight
        if passed >= wanted:
            return ratio
    return max(ratios)


def plausible_values() -> Iterator[tuple[str, float, float]]:
    """What eight of ten measured runs have of the inputs that a question may leave open.

    A project weighs as the root of its number of runs.
    """
    runs = Counter(row["project"] for row in _rows("measured.csv"))
    for name in LEFT_OPEN:
        values: list[float] = []
        weights: list[float] = []
        for row in _rows("measured.csv"):
            given = _given(row)
            if name in given:
                values.append(given[name])
                weights.append(runs[row["project"]] ** -0.5)
        low = -_quantile([-value for value in values], weights, 0.9)
        yield name, low, _quantile(values, weights, 0.9)


def costs(dataset: Dataset) -> Iterator[tuple[object, ...]]:
    """What it costs to leave an input out: runs that it changes, the median error, those within."""
    known = list(measured(dataset, []))
    for name in LEFT_OPEN:
        errors_of: list[float] = []
        within: list[bool] = []
        for case, other in zip(known, measured(dataset, [], name), strict=True):
            peak = case.measured_gb
            if (
                not peak
                or other.kind == VARIED
                or isclose(case.estimated_gb, other.estimated_gb)
            ):
                continue
            errors_of.append(abs(other.estimated_gb / peak - 1))
            within.append(other.low_gb <= peak <= other.high_gb)
        yield name, len(within), round(median(errors_of), 4), round(mean(within), 4)


def _given(row: Row) -> dict[str, float]:
    try:
        return _inputs(row)
    except UnusableInput:
        return {}


def main() -> None:
    """Write the cases, print the errors."""
    lines = [
        f"{name} = [{low:g}, {high:g}]\n" for name, low, high in plausible_values()
    ]
    PLAUSIBLE.write_text(f"{PLAUSIBLE_TITLE}\n{''.join(lines)}", encoding="utf-8")
    dataset = load(HERE.parent)
    skipped: list[str] = []
    cases = [*measured(dataset, skipped), *reports(dataset, skipped)]
    cases += [*trials(dataset), *pytorch(dataset, skipped)]
    cases += questions(dataset, "strangers.csv", STRANGER)
    cases += questions(dataset, "asked.csv", ASKED)
    cases = left_out(cases)
    _write(
        HERE / "backtest_assumed.csv",
        ("input", "runs", "median", "within"),
        costs(dataset),
    )
    _write(HERE / "backtest.csv", Case._fields, map(_cells, cases))
    on_host = list(hosts(dataset, skipped))
    _write(HERE / "host_memory.csv", HostCase._fields, map(_cells, on_host))
    written = pl.read_csv(HERE / "backtest.csv", infer_schema_length=None)
    host_written = pl.read_csv(HERE / "host_memory.csv", infer_schema_length=None)
    found = pl.concat([errors(written), host_errors(host_written)])
    found.write_csv(HERE / "backtest_errors.csv", float_precision=4)
    for row in found.iter_rows(named=True):
        print(
            "{by} {group}: {runs} runs, median {median:.1%}, 90 % {ninth:.1%}, "
            "within the interval {within:.0%}".format(**row)
        )
    decided = Counter((case.outcome, case.verdict) for case in cases if case.verdict)
    for (outcome, verdict), count in decided.items():
        print(f"{outcome} {verdict}: {count}")
    tokens = factors(cases, known=True)
    longest = factors(cases, known=False)
    print("tokens = {:.2f}, {:.2f}".format(*tokens))
    print("longest = {:.2f}, {:.2f}".format(*longest))
    print("host = {:.2f}, {:.2f}".format(*host_factors(on_host, each_loads=False)))
    print(
        "host_of_each = {:.2f}, {:.2f}".format(*host_factors(on_host, each_loads=True))
    )
    wrong = [case.id for case in on_host if not case.agrees]
    print(f"host memory: {len(wrong)} of {len(on_host)} disagree: {', '.join(wrong)}")
    print(f"{len(skipped)} rows without an estimate")


def _write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _cells(case: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for cell in case:
        if isinstance(cell, bool):
            found.append(str(cell).lower())
        else:
            found.append(cell)
    return found


def errors(cases: pl.DataFrame) -> pl.DataFrame:
    """How far estimates are off of measured peaks.

    Of all that a GPU ran in a calibrated project, and of groups of runs.
    """
    tokens_known = pl.lit("tokens known")
    longest_known = pl.lit("only the longest sequence known")
    measured_ones = cases.filter(pl.col("measured_gb") > 0)
    peaks = measured_ones.with_columns(
        all=pl.lit("all"),
        length=pl.when("known").then(tokens_known).otherwise(longest_known),
    )
    calibrated = peaks.filter(~pl.col("kind").is_in(APART))
    on_gpus = calibrated.filter(pl.col("kind") != "pytorch")
    by = (_errors(calibrated, name) for name in ("length", "project"))
    return pl.concat([_errors(on_gpus, "all"), _errors(peaks, "kind"), *by])


def host_errors(cases: pl.DataFrame) -> pl.DataFrame:
    """The same of host memory, by project."""
    peaks = cases.filter(pl.col("read") == "peak")
    named = peaks.with_columns(pl.col("project").fill_null("other").alias(HOST))
    return _errors(named, HOST)


def _errors(peaks: pl.DataFrame, by: str) -> pl.DataFrame:
    """The relative errors of each group, the groups with most runs first.

    Their median and 90th percentile, and the share of peaks within the interval.
    """
    measured_gb = pl.col("measured_gb")
    ratio = pl.col("estimated_gb") / measured_gb
    off = (ratio - 1).abs()
    is_within = measured_gb.is_between("low_gb", "high_gb")
    found = peaks.group_by(group=pl.col(by)).agg(
        runs=pl.len(),
        median=off.median(),
        ninth=off.quantile(0.9, "higher"),
        within=is_within.mean(),
    )
    most_of_half, most_of_nine_in_ten = GOALS
    misses_half = pl.col("median") > most_of_half
    misses_nine_in_ten = pl.col("ninth") > most_of_nine_in_ten
    misses = misses_half | misses_nine_in_ten
    found = found.select(pl.lit(by).alias("by"), pl.all(), misses.alias("misses"))
    return found.sort("runs", "group", descending=[True, False])


if __name__ == "__main__":
    main()
