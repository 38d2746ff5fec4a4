"""Which settings make a run the algorithm that a task names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rl_resources.script.run import Run
from rl_resources.script.settings import Setting

ADAPTERS = re.compile(r"[-+_ ]*q?lora$", re.IGNORECASE)

ESTIMATORS: Mapping[str, frozenset[str]] = {
    "PPO": frozenset({"gae"}),
    "RLOO": frozenset({"rloo", "rloo_vectorized"}),
    "REINFORCE-PP": frozenset({"reinforce_plus_plus"}),
    "REINFORCE-PP-BASELINE": frozenset({"reinforce_plus_plus_baseline"}),
    "REMAX": frozenset({"remax"}),
    "GDPO": frozenset({"gdpo"}),
    **dict.fromkeys(
        ("GRPO", "GSPO", "SAPO", "CISPO", "GMPO", "DAPO", "DR-GRPO"),
        frozenset({"grpo", "grpo_vectorized", "grpo_passk"}),
    ),
}
"""The values of `algorithm.adv_estimator` that an algorithm may use."""

LOSSES: Mapping[str, str] = {
    "GSPO": "gspo",
    "SAPO": "sapo",
    "CISPO": "cispo",
    "GMPO": "geo_mean",
}
"""The `policy_loss.loss_mode` that makes an algorithm out of GRPO."""

KNOWN_ESTIMATORS = frozenset().union(*ESTIMATORS.values())

GROUP_ESTIMATORS = frozenset(
    {"grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "gdpo"}
    | {"reinforce_plus_plus_baseline", "opo", "gpg"}
)
"""Estimators that compare the responses to one prompt with each other."""


def algorithm_of(task: str) -> str:
    """The algorithm of a task, in capitals, of LoRA and of full fine-tuning alike."""
    return ADAPTERS.sub("", task).upper()


def contradicting_algorithm(run: Run, algorithm: str) -> Setting | None:
    """The setting that makes the run another algorithm than the one named."""
    wanted, estimator = ESTIMATORS.get(algorithm), run.estimator
    name = estimator.text or ""
    if wanted is None or name in wanted:
        return _other_loss(run, algorithm) if wanted else None
    return estimator if name in KNOWN_ESTIMATORS else None


def _other_loss(run: Run, algorithm: str) -> Setting | None:
    """The loss, or what DAPO sets, that makes another algorithm of the same estimator."""
    loss = run.loss_mode
    if algorithm in LOSSES:
        return loss if loss.text and loss.text != LOSSES[algorithm] else None
    if algorithm in {"GRPO", "PPO", "DAPO", "DR-GRPO"} and loss.text in LOSSES.values():
        return loss
    return _missing_style(run, algorithm)


def _missing_style(run: Run, algorithm: str) -> Setting | None:
    """What DAPO, Dr. GRPO or GRPO would set otherwise.

    Two clips that differ or the reward manager alone make no DAPO of what many scripts call GRPO.
    """
    low, high, filters = run.clip_ratio_low, run.clip_ratio_high, run.filters_groups
    known, differ = low.known and high.known, low.value != high.value
    if algorithm == "DR-GRPO":
        return run.normalizes_by_spread if run.normalizes_by_spread.flag else None
    if algorithm == "DAPO":
        return filters if filters.flag is False and known and not differ else None
    if algorithm == "GRPO" and filters.flag and known and differ:
        return filters
    if algorithm == "GRPO" and "dapo" in run.launch.module:
        return Setting("the program", run.launch.module, run.launch.command.place)
    return None


def right_value(run: Run, setting: Setting, algorithm: str) -> str:
    """What the setting would be for the algorithm; empty where more than one value would do."""
    if setting == run.estimator and algorithm in ESTIMATORS:
        return min(ESTIMATORS[algorithm])
    return LOSSES.get(algorithm, "vanilla") if setting == run.loss_mode else ""
