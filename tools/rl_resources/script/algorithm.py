"""Which settings make a run the algorithm that a task names, and what a tag asks of them.

The tags are defined in `schema/tuning.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rl_resources.files import table_beside
from rl_resources.script.backends import BACKENDS
from rl_resources.script.run import LACKING, Run, is_on
from rl_resources.script.settings import Setting

ADAPTERS = re.compile(r"[-+_ ]*q?lora$", re.IGNORECASE)

_TABLE = table_beside(__file__)
ESTIMATORS: Mapping[str, Sequence[str]] = _TABLE["estimators"]
"""The values of `algorithm.adv_estimator` that an algorithm may use."""
LOSSES: Mapping[str, str] = _TABLE["losses"]
"""The `policy_loss.loss_mode` that makes an algorithm out of GRPO."""
KNOWN_ESTIMATORS = frozenset().union(*ESTIMATORS.values())

GROUP_ESTIMATORS: frozenset[str] = frozenset(_TABLE["of_groups"])
"""Estimators that compare the responses to one prompt with each other."""


def algorithm_of(task: str) -> str:
    """The algorithm of a task, in capitals, of LoRA and of full fine-tuning alike."""
    return ADAPTERS.sub("", task).upper()


def contradicting_algorithm(run: Run, algorithm: str) -> Setting | None:
    """The setting that makes the run another algorithm than the one named."""
    if algorithm not in ESTIMATORS:
        return None
    estimator = run.estimator
    if estimator.text in ESTIMATORS[algorithm]:
        return _other_loss(run, algorithm) or _other_style(run, algorithm)
    if estimator.text in KNOWN_ESTIMATORS:
        return estimator
    return None


def _other_loss(run: Run, algorithm: str) -> Setting | None:
    """The loss that makes another algorithm of the same estimator."""
    loss = run.loss_mode
    if algorithm in LOSSES and loss.text not in (None, LOSSES[algorithm]):
        return loss
    if algorithm in _TABLE["of_usual_loss"] and loss.text in LOSSES.values():
        return loss
    return None


def _other_style(run: Run, algorithm: str) -> Setting | None:
    """What DAPO, Dr. GRPO or GRPO would set otherwise."""
    if algorithm == "DR-GRPO" and run.normalizes_by_spread.flag:
        return run.normalizes_by_spread
    filters = run.filters_groups
    if algorithm == "DAPO" and filters.flag is False and _clips_differ(run) is False:
        return filters
    if algorithm == "GRPO":
        return _dapo_in_grpo(run)
    return None


def _dapo_in_grpo(run: Run) -> Setting | None:
    """What makes a DAPO of GRPO.

    Two clips that differ or the reward manager alone make none of what many scripts call GRPO.
    """
    if run.filters_groups.flag and _clips_differ(run):
        return run.filters_groups
    if "dapo" in run.launch.module:
        return Setting("the program", run.launch.module, run.launch.command.place)
    return None


def _clips_differ(run: Run) -> bool | None:
    """Whether the two clips differ; `None` if one is not known."""
    low = run.clip_ratio_low
    high = run.clip_ratio_high
    if not (low.known and high.known):
        return None
    return bool(low.value != high.value)


def right_value(run: Run, setting: Setting, algorithm: str) -> str:
    """What the setting would be for the algorithm; empty if more than one value would do."""
    if setting == run.estimator and algorithm in ESTIMATORS:
        return min(ESTIMATORS[algorithm])
    if setting == run.loss_mode:
        return LOSSES.get(algorithm, "vanilla")
    return ""


@dataclass(frozen=True)
class OwnSettings:
    """How verl is asked for an algorithm, as overrides without their section."""

    estimator: str
    kl_loss: bool = False
    algorithm: Mapping[str, str] = field(default_factory=dict)
    actor: Mapping[str, str] = field(default_factory=dict)


ALGORITHMS: Mapping[str, OwnSettings] = {
    name: OwnSettings(**asked) for name, asked in _TABLE["asked"].items()
}
"""By the word of `tasks.algorithm`."""


# Tags

ASKED_OF_MIN: Sequence[str] = _TABLE["tags"]["asked"]
"""The words of the table `memory_optimizations` that a MIN record has on where they apply."""

NEEDED = "It does not fit without {name}, by the estimate."
"""What notes say of a setting that costs time and that RECOMMENDED has on."""
_FSDP = BACKENDS["fsdp"].section


def asked_of_min(run: Run, family: str) -> dict[str, Setting]:
    """The settings that a MIN record has on, by their words; `family` is the model's.

    None of a backend that is not known.
    """
    if not run.known_backend:
        return {}
    asked: dict[str, Setting] = {}
    for word in ASKED_OF_MIN:
        setting = run.optimizations[word]
        if setting is not LACKING and _applies(word, run, family):
            asked[word] = setting
    return asked


def _applies(word: str, run: Run, family: str) -> bool:
    """Whether a memory optimization is a switch in this run.

    FSDP always offloads the reference model: verl/workers/engine/fsdp/transformer_impl.py,
    `_build_fsdp_module`.
    """
    section = run.backend.section
    match word:
        case "reference-offload":
            return section != _FSDP
        case "layered-summon":
            return section == _FSDP and run.weights == "lora"
        case "sequence-packing":
            return family not in _TABLE["never_packed"].get(section, ())
        case "rollout-sleep":
            return run.shares_gpus.value is not False
    return True


def trained_offloads(run: Run) -> dict[str, Setting]:
    """The settings that offload what trains, by what notes call it."""
    if not run.known_backend:
        return {}
    found = {
        "parameter offload": run.param_offload,
        "optimizer offload": run.optimizer_offload,
        "optimizer on the host": run.optimizer_on_host,
        "offload of all state": run.offload_policy,
    }
    return {name: setting for name, setting in found.items() if setting.flag}


def costs_time(run: Run) -> dict[str, Setting]:
    """The settings that are on and that RECOMMENDED has off, by what notes call them."""
    found = trained_offloads(run)
    gradients = run.optimizations["gradient-offload"]
    if is_on(gradients) and gradients not in found.values():
        found["gradient offload"] = gradients
    if is_on(run.optimizations["reference-offload"]):
        found["reference model offload"] = run.reference_offload
    if run.gradient_checkpointing.value in (True, "full"):
        found["activation checkpointing"] = run.gradient_checkpointing
    if run.enforces_eager.flag:
        found["eager rollout"] = run.enforces_eager
    return found
