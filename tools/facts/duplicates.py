"""The same claim at two places is one report, with the better source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from facts.words import table

Report = Mapping[str, str]
_CLAIM = (
    *("outcome", "model", "model_as_published", "size", "task", "gpus", "gpus_maximum", "device"),
    *("device_as_published", "framework", "train", "infer", "batch", "prompts_per_step"),
    *("rollout_n", "max_prompt_length", "max_response_length", "max_total_length", "parallelism"),
    *("lora_rank", "peak_memory_gb", "step_seconds", "tokens_per_second_per_gpu"),
    *("speed_as_published", "script_path", "source_repo", "source_path", "source_lines"),
    *("source_commit", "framework_version"),
)


def duplicates(reports: Mapping[tuple[str, str], Report]) -> dict[tuple[str, str], tuple[str, str]]:
    """Statements that repeat another one, with the one that is kept; by hand or word for word."""
    decided = {
        (row["file"], row["row"]): (row["kept_file"], row["kept_row"])
        for row in table("duplicates")
        if (row["file"], row["row"]) in reports
    }
    first: dict[Sequence[str], tuple[str, str]] = {}
    for key, report in reports.items():
        if key in decided:
            continue
        claim = tuple(report.get(column, "") for column in _CLAIM)
        if first.setdefault(claim, key) != key:
            decided[key] = first[claim]
    return decided
