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
    """What DAPO, Dr. GRPO or GRPO would set otherwise."""
    if algorithm == "DR-GRPO":
        return run.normalizes_by_spread if run.normalizes_by_spread.flag else None
    if algorithm == "GRPO":
        return _dapo(run)
    clips = run.clip_ratio_low, run.clip_ratio_high
    plain_clip = clips[0].known and clips[0].value == clips[1].value
    if algorithm == "DAPO" and run.filters_groups.flag is False and plain_clip:
        return run.filters_groups
    return None


def _dapo(run: Run) -> Setting | None:
    """What makes GRPO DAPO: its trainer, or clips that differ with dynamic sampling.

    Its clips and its reward manager alone are in many scripts that verl calls GRPO.
    """
    low, high = run.clip_ratio_low, run.clip_ratio_high
    if run.filters_groups.flag and low.known and high.known and low.value != high.value:
        return run.filters_groups
    if "dapo" not in run.launch.module:
        return None
    return Setting("the program", run.launch.module, run.launch.command.place)


def right_value(run: Run, setting: Setting, algorithm: str) -> str:
    """What the setting would be for the algorithm; empty where more than one value would do."""
    if setting == run.estimator and algorithm in ESTIMATORS:
        return min(ESTIMATORS[algorithm])
    return LOSSES.get(algorithm, "vanilla") if setting == run.loss_mode else ""
