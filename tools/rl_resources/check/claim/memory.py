"""Whether a row and its script agree on what decides memory, and the devices have room for it."""

from __future__ import annotations

from collections.abc import Iterator

from rl_resources.check.claim.contradiction import cell, differs, said_by_script
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.target import Claim
from rl_resources.memory import least_memory_gb, parameters_in_name
from rl_resources.order import number
from rl_resources.script.run import is_on

_COMPARED = (
    *("activation-checkpointing", "parameter-offload", "optimizer-offload", "sequence-packing"),
    "dynamic-batch",
)


@rule()
def weights_agree(claim: Claim) -> Iterator[Mistake]:
    """The row's weights are those that its script trains.

    LoRA needs a fraction of the memory of full fine-tuning.

    Bad: `full` beside `actor_rollout_ref.model.lora_rank=32`
    Good: `lora` beside `actor_rollout_ref.model.lora_rank=32`
    """
    run, said = claim.run, claim.text("weights")
    if run is not None and said and run.weights and (said == "full") != (run.weights == "full"):
        yield differs(claim, run, "weights", run.lora_rank, run.weights)


@rule()
def optimizations_agree(claim: Claim) -> Iterator[Mistake]:
    """The row's memory optimizations are those that its script turns on.

    A reader who leaves one out, or plans with one that is off, runs out of memory.

    Bad: `optimizer-offload` beside
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: `optimizer-offload` beside
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`
    """
    run, said = claim.run, claim.text("memory_optimizations")
    if run is None or not said:
        return
    words = said.split("; ")
    for word in _COMPARED:
        setting = run.optimizations[word]
        if setting.known and is_on(setting) != (word in words):
            change = "Remove" if word in words else "Add"
            message = f"{cell(claim, 'memory_optimizations')}, but "
            message += said_by_script(claim, run, setting)
            place = claim.place("memory_optimizations")
            yield Mistake(*place, message, f"{change} `{word}`, or correct the script.")


@rule()
def run_memory(claim: Claim) -> Iterator[Mistake]:
    """The devices of a row have room for what its script trains.

    Below the bytes of weights, gradients and optimizer states no run is possible.

    Bad: a script that trains all weights of a 72B model without offload, on `8` x `h100`
    Good: the same on `32` x `h100`, or with parameters and optimizer offloaded
    """
    run, gpus = claim.run, claim.number("gpus")
    weights = claim.text("weights") or (run.weights if run else "")
    if not weights or not gpus or not claim.device_memory_gb or not claim.text("model"):
        return
    said = claim.text("memory_optimizations")
    saved = said.split("; ") if said else run.optimizations_on if run else ()
    told = number(claim.model_facts.get("parameters_b", ""))
    parameters = told or parameters_in_name(claim.text("model"))
    least, own = least_memory_gb(parameters, weights, saved), gpus * claim.device_memory_gb
    if least > own:
        message = (
            f"{cell(claim, 'gpus')}: {own:g} GB together, but {parameters:g} billion parameters "
            f"need {least:.0f} GB at the least, as {claim.script.path} trains them"
        )
        yield Mistake(*claim.place("gpus"), message, "Take more devices, or offload.")
