"""Which statements become reports: those that name model, algorithm, accelerator and its number."""

from __future__ import annotations

import re

from facts.source import source_cells
from facts.statement import Statement
from facts.words import table

SEED_PAGE = "docs/perf/device_tuning.rst"
_WITHOUT_RL = re.compile(
    r"SFT|on-policy distillation|multi-teacher|GKD|Offline DPO|weight-(?:sync|update)|tests\Z"
)
_ALGORITHM_UNNAMED = re.compile(r"RL\b|RLVR|RLHF")
_KINDS_OF_DEVICE = frozenset(
    {"Ascend NPU", "AMD GPU", "NPU (model not named)", "consumer GPU", "NVIDIA GPU", "Hopper GPU"}
    | {"PPU", "Colab free GPU", "NVIDIA with CUDA support"}
)


def refusal(statement: Statement) -> str:
    """Why a statement does not become a report; empty where it does."""
    if by_hand := _refused_by_hand(statement):
        return by_hand
    if statement["source_path"] == SEED_PAGE:
        return "is a tuning record"
    if _trains_without_rl(statement["task"]):
        return "no reinforcement learning"
    if not statement["model"]:
        return "model not named"
    if not statement["task"] or _ALGORITHM_UNNAMED.match(statement["task"]):
        return "algorithm not named"
    if not statement["num_gpus"]:
        return "number of accelerators not named"
    if not statement["device"]:
        return "accelerator not named"
    if statement["device"] in _KINDS_OF_DEVICE:
        return "accelerator named by its kind alone"
    return "" if source_cells(statement) else "source has no permalink"


def _trains_without_rl(task: str) -> bool:
    return bool(_WITHOUT_RL.match(task)) and "GRPO" not in task


def _refused_by_hand(statement: Statement) -> str:
    return next(
        (row["reason"] for row in table("refusals") if (row["file"], row["row"]) == statement.key),
        "",
    )
