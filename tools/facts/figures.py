"""Numbers as a source writes them, brought to the units of our columns."""

from __future__ import annotations

import re

from facts.statement import Statement

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_ABOUT = re.compile(r"~?([0-9]+(?:\.[0-9]+)?)(?: \((?:mean|median|stated|max)\b.*\))?")
_PER_GPU = re.compile(r"([0-9.]+) tokens/s(?:ec)?/GPU|([0-9.]+) tokens/GPU/s|([0-9.]+) tok/s/GPU")
_ROLLOUT_N = re.compile(r"\brollout\.n ?= ?([0-9]+)")
_BYTES = re.compile(r'"device_peak_bytes": ([0-9]+)')
GIBIBYTE_GB = 1.073741824
_UNITS = {"prompts": "prompts", "samples": "responses", "trajectories": "responses"} | {
    "rollouts": "responses",
    "per": "per-device",
}


def count_cells(statement: Statement) -> dict[str, str]:
    """Accelerators and nodes; of a range such as `8-32` both ends."""
    first, _, last = statement["num_gpus"].partition("-")
    nodes = statement["nodes"].partition("-")[0]
    return {
        "gpus": first,
        "gpus_maximum": last,
        "gpus_per_node": statement["gpus_per_node"],
        "nodes": nodes if nodes.isdigit() else "",
    }


def length_cells(statement: Statement) -> dict[str, str]:
    """Lengths in tokens; `2k` is 2,048."""
    names = ("max_prompt_length", "max_response_length", "max_total_length")
    return {name: tokens(statement[name]) for name in names}


def tokens(text: str) -> str:
    """A length as a whole number of tokens."""
    thousands = re.fullmatch(r"([0-9]+)[kK]", text)
    return str(int(thousands[1]) * 1024) if thousands else text


def batch_cells(statement: Statement) -> dict[str, str]:
    """The batch, what it counts, and what the source says beside it."""
    batch, told = statement["train_batch_size"], statement["batch_unit"]
    micro = statement["max_batch"] if statement["max_batch"].startswith("micro") else ""
    unit = _batch_unit(statement) if batch else ""
    return {
        "batch": batch,
        "batch_unit": unit,
        "batch_as_published": "; ".join(filter(None, (told, micro))),
        "prompts_per_step": statement["prompts_per_step"],
        "rollout_n": statement["samples_per_prompt"] or _generations(statement["quote"]),
    }


def _generations(quote: str) -> str:
    found = _ROLLOUT_N.search(quote)
    return found[1] if found else ""


def _batch_unit(statement: Statement) -> str:
    """verl and what is built on it count prompts; elsewhere the transcription says the unit."""
    if told := statement["batch_unit"]:
        return _UNITS.get(re.split(r"[\s_]", told)[0], "unstated")
    path = statement["source_path"]
    from_script = statement["script_path"] or path.endswith((".sh", ".yaml", ".log"))
    return "prompts" if statement.file == "verl-family" and from_script else "unstated"


def memory_cells(statement: Statement) -> dict[str, str]:
    """Peaks in GB. Where the source measured bytes or GiB they are converted."""
    columns = {
        "peak_memory_gb": "peak_gpu_memory_gb",
        "peak_train_memory_gb": "peak_train_gb",
        "peak_rollout_memory_gb": "peak_rollout_gb",
    }
    binary = "GiB" in statement["notes"]
    cells = {ours: _gigabytes(statement[theirs], binary) for ours, theirs in columns.items()}
    if measured := _BYTES.search(statement["quote"]):
        cells["peak_memory_gb"] = f"{int(measured[1]) / 1e9:.1f}".removesuffix(".0")
    return cells | {"host_memory_gb": _host_memory(statement["notes"])}


def _gigabytes(text: str, binary: bool) -> str:
    about = _ABOUT.fullmatch(text)
    if not about:
        return ""
    return f"{float(about[1]) * GIBIBYTE_GB:.1f}".removesuffix(".0") if binary else about[1]


def _host_memory(notes: str) -> str:
    found = re.search(r"(?:peak CPU|host) memory ([0-9]+) ?GB", notes)
    return found[1] if found else ""


def speed_cells(statement: Statement) -> dict[str, str]:
    """Step time and throughput; what is in another unit stays as it was published."""
    step, speed = statement["step_time_s"], statement["throughput"]
    about, per_gpu = _ABOUT.fullmatch(step), _PER_GPU.fullmatch(speed)
    told = [f"step time {step} s"] if step and not about else []
    return {
        "step_seconds": about[1] if about else "",
        "tokens_per_second_per_gpu": next(filter(None, per_gpu.groups())) if per_gpu else "",
        "speed_as_published": "; ".join([*told, *([speed] if speed and not per_gpu else [])]),
    }


def about_cells(statement: Statement) -> list[str]:
    """The names of the figures that the source gives as about."""
    named = {"peak memory": "peak_gpu_memory_gb", "step time": "step_time_s"}
    return [name for name, column in named.items() if statement[column].startswith("~")]
