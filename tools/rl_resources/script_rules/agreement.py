"""Agreement of row and script.

The row states what the script does, and the script does what its tag promises.

Every rule looks at a `Pair`. What a script leaves out is the framework's default; what cannot be
known without running it is not reported. `likeness` says whether two names mean one model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from math import inf

from rl_resources.devices import vendor_in
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import NOT_KNOWN
from rl_resources.estimate.estimate import Estimate, of_script
from rl_resources.facts.models import (
    is_id,
    likeness,
    minimum_memory_gb,
    model_in_path,
    names_variant,
    parameters_in_name,
)
from rl_resources.facts.pairs import Pair
from rl_resources.package import number
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import (
    ADAPTERS,
    algorithm_of,
    contradicting_algorithm,
    right_value,
)
from rl_resources.script.backends import BACKENDS, ENGINES, SAME_BACKEND
from rl_resources.script.run import LACKING, Run, is_off, is_on
from rl_resources.script.settings import Setting, in_words
from rl_resources.script_rules import run_rule
from rl_resources.script_rules.arguments import bounds
from rl_resources.text import misspelt, shown

_WHOLE_NODE = 8
"""GPUs of a machine that can have no more, so that a run with more needs more machines."""
_ALWAYS_STATED = (
    "activation-checkpointing",
    "parameter-offload",
    "optimizer-offload",
    "sequence-packing",
    "dynamic-batch",
)
"""Memory optimizations that a row has to name; others it may leave out."""


@run_rule()
def model_agrees(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The model of the row is the one that the script trains.

    Readers who plan with the row train a different checkpoint.

    Bad: `Qwen/Qwen2-7B` with `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`
    Good: `Qwen/Qwen2-7B-Instruct` with `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`

    A critic may begin as another model, but not as the framework's example by oversight.
    """
    yield from _other_model(pair, run, family_alone=False)
    critic = run.setting("critic.model.path")
    trained = run.model_path
    if run.estimator.text != "gae" or critic.place or not trained.place:
        return
    may_be_ppo = algorithm_of(pair.text("task")) in {"PPO", ""}
    if may_be_ppo and critic.text and critic.text != trained.text:
        yield pair.script_mistake(
            critic,
            f"{in_words(critic)}, not the model that trains",
            f"Set `critic.model.path`; most critics start from the actor's model, `{trained.key}`.",
        )


@run_rule("warning")
def model_variant(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A model without its owner is named in full.

    `Qwen2.5-7B` is a checkpoint of its own; a run that downloads it trains something else.

    Bad: `Qwen2.5-7B` with `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`
    Good: `Qwen2.5-7B-Instruct` with `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`
    """
    return _other_model(pair, run, family_alone=True)


def _other_model(pair: Pair, run: Run, *, family_alone: bool) -> Iterator[Mistake]:
    """The row's model against the script's: other mistakes, or those of the `family_alone`.

    These are of a row that names family and size, but neither owner nor variant, as `Qwen2.5-7B`
    does: a script that trains a variant of them may be what was meant.
    """
    said = pair.text("model")
    path = run.model_path_end
    if not said or not path or path in pair.script.script.names:
        return
    known = pair.models or (said,)
    name = model_in_path(path, known)
    if not name:
        return
    alike = likeness(name, known)
    if alike not in {"variant", "other"}:
        return
    is_full_name = "/" in said or names_variant(said)
    if family_alone != (alike == "variant" and not is_full_name):
        return
    right = ""
    if is_id(name) or "/" not in known[0]:
        right = name
    yield from pair.differs("model", run.model_path._replace(value=path), right, said)


@run_rule()
def task_agrees(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The task of the row is what the script trains: the algorithm, and LoRA or full fine-tuning.

    Another algorithm, or full fine-tuning instead of LoRA, needs different hardware.

    Bad: `GRPO` with `actor_rollout_ref.model.lora_rank=32`
    Good: `GRPO-LoRA` with `actor_rollout_ref.model.lora_rank=32`
    """
    task = pair.text("task")
    if not task:
        return
    algorithm = algorithm_of(task)
    setting = contradicting_algorithm(run, algorithm)
    if setting is not None:
        yield from pair.differs(
            "task", setting, "", right_value(run, setting, algorithm)
        )
    rank = run.lora_rank
    if rank.number is None:
        return
    of_adapters = ADAPTERS.search(task) is not None
    trains_adapters = rank.number > 0
    if of_adapters and not trains_adapters:
        yield from pair.differs("task", rank, ADAPTERS.sub("", task))
    if trains_adapters and not of_adapters:
        yield from pair.differs("task", rank, f"{task}-LoRA", "0")


@run_rule()
def gpus_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The GPUs and nodes of the row are those that the script requests.

    Readers would order the wrong number of GPUs.

    Bad: `8` as `gpus` with `trainer.nnodes=2 trainer.n_gpus_per_node=8`
    Good: `16` as `gpus` with `trainer.nnodes=2 trainer.n_gpus_per_node=8`
    """
    gpus = pair.number("gpus")
    total = run.gpus.number
    if gpus is not None and total not in {None, gpus}:
        counted = " and ".join(
            map(pair.said_by_script, chain.from_iterable(run.pools.values()))
        )
        setting, right = _wrong_count(run, gpus)
        yield from pair.differs(
            "gpus", setting, str(total), right, f"{counted}, which makes `{total}`"
        )
        return
    nodes = pair.number("nodes")
    machines = run.nodes.number
    if nodes is not None and machines not in {None, nodes}:
        yield from pair.differs("nodes", run.nodes, str(machines))


@run_rule()
def device_agrees(pair: Pair, _: Run) -> Iterator[Mistake]:
    """The device of the row is from the vendor that the script is written for.

    Readers would start the script on devices that it cannot use.

    Bad: `h100` as `device` with `export HCCL_CONNECT_TIMEOUT=1500`
    Good: `ascend-910b3` as `device` with `export HCCL_CONNECT_TIMEOUT=1500`
    """
    device = pair.text("device")
    if not device or vendor_in(device) == "Huawei":
        return
    said = pair.script.of_ascend
    if said:
        yield pair.mistake(
            "device",
            f", but `{shown(said)}` in {pair.script.path} is for Ascend processors",
            "Write the device that the run had.",
        )


def _wrong_count(run: Run, gpus: int) -> tuple[Setting, str]:
    """The setting that makes a script use other than `gpus` GPUs, and the right value."""
    nodes = run.nodes
    each = run.gpus_per_node
    if not nodes.number:  # several pools of GPUs
        return each, ""
    if each.number == _WHOLE_NODE and gpus % _WHOLE_NODE == 0:
        return nodes, str(gpus // _WHOLE_NODE)
    if gpus % nodes.number:
        return each, ""
    return each, str(gpus // nodes.number)


@run_rule()
def backends_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The backends of the row are those that the script uses.

    Memory and speed depend on the backend that ran; FSDP2, for example, offloads and shards
    differently.

    Bad: `fsdp` as `train` with `actor_rollout_ref.actor.strategy=megatron`
    Good: `megatron` as `train` with `actor_rollout_ref.actor.strategy=megatron`
    """
    for column, setting, known, of_other_role in (
        ("train", run.train_backend, BACKENDS, ENGINES),
        ("infer", run.infer_backend, ENGINES, BACKENDS),
    ):
        word = pair.text(column).lower()
        said = SAME_BACKEND.get(word, word)
        found = setting.text or ""
        if said in ("", found) or said in of_other_role:
            continue
        # The framework's default does not count where a key that was refused may mean this one.
        if run.composition.rejected and not setting.place:
            continue
        if found in known:
            yield from pair.differs(column, setting, found, said)
        elif misspelt(found, known):
            yield from pair.differs(column, setting, "", said)


@run_rule()
def lengths_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The lengths, batches, precision and memory utilization of the row are those of the script.

    They decide how much memory a run takes.

    Bad: `512` as `max_prompt_length` with `data.max_prompt_length=1024`
    Good: `1024` as `max_prompt_length` with `data.max_prompt_length=1024`
    """
    settings = {
        "max_prompt_length": run.max_prompt_length,
        "max_response_length": run.max_response_length,
        "rollout_n": run.rollout_n,
        "lora_rank": run.lora_rank,
        "gpu_memory_utilization": run.gpu_memory_utilization,
    }
    by_tokens = run.dynamic_batch.flag
    if by_tokens:
        unused = "micro_batch_per_gpu"
        settings["max_tokens_per_gpu"] = run.setting(
            "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
        )
    else:
        unused = "max_tokens_per_gpu"
        settings["micro_batch_per_gpu"] = run.micro_batch
    for column, setting in settings.items():
        wanted = number(pair.text(column))
        if wanted not in (None, setting.value) and _is_possible(setting):
            yield from pair.differs(column, setting, str(setting.value))
    if by_tokens is not None and pair.text(unused):
        yield pair.mistake(
            unused,
            ", but the run of its script has none",
            "Leave it empty, or fix the script.",
        )
    said = pair.text("precision")
    if said != run.precision and {said, run.precision} <= _FORMATS:
        yield from pair.differs("precision", run.dtype, run.precision)


def _is_possible(setting: Setting) -> bool:
    """Whether the framework accepts a number; a rejected one says nothing about the run."""
    least, most = bounds(setting.key, (1, inf))
    if not isinstance(setting.value, int | float):
        return False
    return least <= setting.value <= most


_FORMATS = frozenset({"bf16", "fp16", "fp32"})


@run_rule(follows=["backends-agree"])
def optimizations_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The memory optimizations of the row are those that the script turns on.

    Readers who leave one out, or count on one that is off, run out of memory.

    Bad: `optimizer-offload` with
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: `optimizer-offload` with
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`
    """
    column = "memory_optimizations"
    if not pair.text(column):
        return
    words = pair.text(column).split("; ")
    for word, setting in run.optimizations.items():
        if word in words and is_off(setting):
            change = "Remove"
        elif word not in words and word in _ALWAYS_STATED and is_on(setting):
            change = "Add"
        else:
            continue
        said = f"the script does not turn on `{word}`"
        if setting is not LACKING:
            said = pair.said_by_script(setting)
        yield pair.mistake(
            column,
            f", but {said}",
            f"{change} `{word}`, or correct the script.",
        )


@run_rule()
def run_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The devices of a row have enough memory for what the script trains.

    No run fits in less memory than its weights, gradients and optimizer states take.

    Bad: a script that trains all weights of a 72B model without offload, on `8` x `h100`
    Good: the same on `32` x `h100`, or with parameters and optimizer offloaded
    """
    stated = pair.model_figure("parameters_b")
    parameters = stated or parameters_in_name(pair.text("model"))
    least = minimum_memory_gb(parameters, run.weights, run.optimizations_on)
    own = (pair.number("gpus") or 0) * pair.device_memory_gb
    if run.weights and 0 < own < least:
        yield pair.mistake(
            "gpus",
            f": {own:g} GB together, but {parameters:g} billion parameters need at least "
            f"{least:.0f} GB, as {pair.script.path} trains them",
            "Use more devices, or offload.",
        )


_HELP = "Check GPUs, device and batch; `rl-resources estimate SCRIPT` shows what would lower it."


@run_rule("warning", follows=["task-agrees", "run-memory"])
def unlikely_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The estimated memory of a run fits the devices of its row.

    Nine of ten measured peaks are within the interval of the estimate. Here the whole interval is
    above the memory of the device, so the GPU count, the device or the batch is probably wrong.

    Bad: full fine-tuning of a 32B model without offload and checkpointing, on `8` x `h100`
    Good: the same on `32` x `h100`, or a note that says what was measured
    """
    found = _estimate(pair, run)
    if found is None or _may_fit(found):
        return
    low, high = found.interval_gb
    yield Mistake(
        *pair.place("gpus"),
        f"about {found.peak_gb:.0f} GB ({low:.0f} to {high:.0f}) per GPU are estimated, but the "
        f"device has {found.device_gb:.0f} GB ({pair.device_memory_gb:g} GiB)",
        _HELP,
    )


def _may_fit(found: Estimate) -> bool:
    """Whether the interval begins within the memory of the device."""
    if found.is_impossible:
        return False
    if found.usual_gb <= found.device_gb:
        return True  # the interval begins below, and takes time
    low, _ = found.interval_gb
    return low <= found.device_gb


def _estimate(pair: Pair, run: Run) -> Estimate | None:
    """The estimate of a record; `None` if the script leaves open what decides it."""
    gpus = pair.number("gpus")
    if not gpus or not pair.device_memory_gb or not pair.model_facts:
        return None
    found = None
    with suppress(UnusableInput):
        found = of_script(run, gpus, pair.device_memory_gb, pair.model_facts)
    if found is None:
        return None
    if any(NOT_KNOWN in item.reason for item in found.configuration.assumed):
        return None
    return found
