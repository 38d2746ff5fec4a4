"""Agreement of row and script.

The row says what the script does, and the script does what its tag promises.

Every rule looks at a `Pair`. What a script leaves out is the framework's default; what cannot be
known without running it is not reported. `likeness` says whether two names mean one model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf

from rl_resources.dataset_rules.plausibility import minimum_memory_gb, parameters_in_name
from rl_resources.errors import UnusableInput
from rl_resources.estimate.configuration import NOT_KNOWN
from rl_resources.estimate.estimate import Estimate, of_script
from rl_resources.package import number
from rl_resources.rule import Mistake
from rl_resources.script.algorithm import (
    ADAPTERS,
    algorithm_of,
    contradicting_algorithm,
    right_value,
)
from rl_resources.script.backends import ACTOR, BACKENDS, ENGINES, SAME_BACKEND, switched_on
from rl_resources.script.run import LACKING, Run, is_off, is_on
from rl_resources.script.settings import Setting, in_words
from rl_resources.script_rules.arguments import bounds
from rl_resources.script_rules.target import Pair, run_rule
from rl_resources.text import misspelt, quoted

_SIZE = re.compile(r"(?<![a-z0-9])\d+(?:[.-]\d+)?[bm](?![a-z0-9])")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_FOLDER = re.compile(
    r".*(?:model|ckpt|checkpoint|weight|pretrain).*|data|llms?|hf|huggingface|outputs?|workspace"
    r"|home|root|mnt|nas|share|shared|cache|local|verl"
)
_VARIANT = re.compile(r"-(?:instruct|base|chat|it|pt)$")


def model_in_path(path: str, known: Collection[str]) -> str | None:
    """The name of the model that a path means; `None` where it cannot be determined.

    A directory names it if it is called like one of the `known` names, or like a model of a size.
    """
    if is_id(path):
        return path
    parts = [part for part in path.split("/") if part]
    alike = {_plain(name) for name in known}
    for part in reversed(parts):
        if _plain(part) in alike:
            return part
    return parts[-1] if parts and _SIZE.search(parts[-1].lower()) else None


def is_id(path: str) -> bool:
    """Whether a path is an owner and a name on Hugging Face, as far as it can be seen."""
    owner = path.partition("/")[0].lower()
    return bool(_ID.fullmatch(path)) and not _FOLDER.fullmatch(owner)


def likeness(name: str, known: Collection[str]) -> str:
    """Whether a model is the `same` as the one with the `known` names, a `variant` of it or an
    `other`; empty where that is unknown.
    """
    plain, others = _plain(name), [_plain(other) for other in known]
    if not plain or not others or plain in others:
        return "same"
    families = {_VARIANT.sub("", other) for other in others}
    if _VARIANT.sub("", plain) in families:
        return "variant"
    derived = any(family in plain for family in families)
    return "" if derived and not is_id(name) else "other"


def _plain(name: str) -> str:
    """A model's name without its owner, case, and the signs between its words."""
    last = name.rstrip("/").rpartition("/")[2].lower()
    words = re.sub(r"[\W_]+", "-", last).strip("-")
    return words.removeprefix("meta-").removesuffix("-hf")


_WHOLE_NODE = 8
"""GPUs of a machine that can have no more, so that a run with more needs more machines."""
_ALWAYS_STATED = (
    *("activation-checkpointing", "parameter-offload", "optimizer-offload"),
    *("sequence-packing", "dynamic-batch"),
)
"""Memory optimizations that a row has to name; others it may leave out."""


@run_rule()
def model_agrees(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's model is the one that its script trains.

    A reader who plans with the row trains another checkpoint.

    Bad: `Qwen/Qwen2-7B` with `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`
    Good: `Qwen/Qwen2-7B-Instruct` with `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`

    A critic may begin as another model, but not as the framework's example by oversight.
    """
    yield from _other_model(pair, run, family_alone=False)
    critic, trained = run.setting("critic.model.path"), run.model_path
    is_ppo = algorithm_of(pair.text("task")) in {"PPO", ""}  # else task_agrees reports it
    asked = is_ppo and run.estimator.text == "gae" and trained.place and not critic.place
    if asked and critic.text and critic.text != trained.text:
        message = f"{in_words(critic)}, another model than the one that trains"
        fix = f"Set `critic.model.path`; most begin as the actor, at `{trained.key}`."
        yield Mistake(*pair.place_of(critic), message, fix)


@run_rule("warning")
def model_variant(pair: Pair, run: Run) -> Iterator[Mistake]:
    """A model that is named without its owner is named in full.

    `Qwen2.5-7B` is a checkpoint of its own; a run that downloads it trains something else.

    Bad: `Qwen2.5-7B` with `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`
    Good: `Qwen2.5-7B-Instruct` with `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`
    """
    return _other_model(pair, run, family_alone=True)


def _other_model(pair: Pair, run: Run, *, family_alone: bool) -> Iterator[Mistake]:
    """The row's model against the script's.

    Of a name without an owner it may be that only family and size are meant: that the script trains
    another variant of these is then the milder mistake.
    """
    known, path = pair.models or (pair.text("model"),), run.model_path_end
    if not path or not pair.text("model") or path in pair.script.script.names:
        return
    name = model_in_path(path, known)
    alike = likeness(name, known) if name else ""
    if name is None or alike not in {"variant", "other"}:
        return
    said = pair.text("model")
    may_be_family = alike == "variant" and "/" not in said and not _VARIANT.search(_plain(said))
    if family_alone != may_be_family:
        return
    setting = run.model_path._replace(value=path)
    right = name if is_id(name) or "/" not in known[0] else ""
    yield from pair.differs("model", setting, right, said)


@run_rule()
def task_agrees(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's task is what its script trains: algorithm, and LoRA or full fine-tuning.

    Another algorithm, or all weights instead of adapters, needs other hardware.

    Bad: `GRPO` with `actor_rollout_ref.model.lora_rank=32`
    Good: `GRPO-LoRA` with `actor_rollout_ref.model.lora_rank=32`
    """
    task, algorithm = pair.text("task"), algorithm_of(pair.text("task"))
    if not task:
        return
    setting = contradicting_algorithm(run, algorithm)
    if setting is not None:
        yield from pair.differs("task", setting, "", right_value(run, setting, algorithm))
    rank, adapters = run.lora_rank, bool(ADAPTERS.search(task))
    if rank.number is not None and (rank.number > 0) != adapters:
        right = ADAPTERS.sub("", task) if adapters else f"{task}-LoRA"
        yield from pair.differs("task", rank, right, "" if adapters else "0")


@run_rule()
def gpus_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's GPUs and nodes are those that its script asks for.

    A reader would order the wrong number of GPUs.

    Bad: `8` as `gpus` with `trainer.nnodes=2 trainer.n_gpus_per_node=8`
    Good: `16` as `gpus` with `trainer.nnodes=2 trainer.n_gpus_per_node=8`
    """
    wanted, gpus = pair.number("gpus"), run.gpus.number
    if wanted is not None and gpus is not None and wanted != gpus:
        parts = " and ".join(pair.said_by_script(part) for part in run.gpu_counts)
        setting, right = _wrong_count(run, wanted)
        said = f"{parts}, which makes `{gpus}`"
        yield from pair.differs("gpus", setting, str(gpus), right, said)
        return
    nodes, wanted = run.nodes, pair.number("nodes")
    if wanted is not None and nodes.number is not None and wanted != nodes.number:
        yield from pair.differs("nodes", nodes, str(nodes.number))


def _wrong_count(run: Run, gpus: int) -> tuple[Setting, str]:
    """The setting that keeps a script from `gpus` in all, and what it should be."""
    nodes, each = run.nodes, run.gpus_per_node
    if not nodes.number:  # several pools of GPUs
        return each, ""
    if each.number == _WHOLE_NODE and gpus % _WHOLE_NODE == 0:
        return nodes, str(gpus // _WHOLE_NODE)
    return each, str(gpus // nodes.number) if gpus % nodes.number == 0 else ""


@run_rule()
def backends_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's backends are those that its script trains and generates with.

    Memory and speed are those of the backend that really ran; FSDP2 offloads and shards in its own
    way.

    Bad: `fsdp` as `train` with `actor_rollout_ref.actor.strategy=megatron`
    Good: `megatron` as `train` with `actor_rollout_ref.actor.strategy=megatron`
    """
    for column, setting, known in (
        ("train", run.train_backend, BACKENDS),
        ("infer", run.infer_backend, ENGINES),
    ):
        word = pair.text(column).lower()
        said = SAME_BACKEND.get(word, word)
        found = setting.text or ""
        other_role = said in (ENGINES if column == "train" else BACKENDS)  # backend_role reports it
        unsure = not setting.place and run.composition.rejected  # unknown_key reports it
        plausible = found in known or misspelt(found, known)
        if said and said != found and plausible and not (other_role or unsure):
            right = found if found in known else ""
            yield from pair.differs(column, setting, right, said)


@run_rule()
def lengths_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's lengths, batches, precision and shares of memory are those of its script.

    They decide how much memory a run takes.

    Bad: `512` as `max_prompt_length` with `data.max_prompt_length=1024`
    Good: `1024` as `max_prompt_length` with `data.max_prompt_length=1024`
    """
    micro = ("micro_batch_per_gpu", run.micro_batch_size_per_gpu)
    if run.dynamic_batch.flag:
        micro = ("max_tokens_per_gpu", run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu"))
    for column, setting in (
        ("max_prompt_length", run.max_prompt_length),
        ("max_response_length", run.max_response_length),
        ("rollout_n", run.rollout_n),
        ("lora_rank", run.lora_rank),
        ("gpu_memory_utilization", run.gpu_memory_utilization),
        micro,
    ):
        wanted, found = number(pair.text(column)), setting.value
        least, most = bounds(setting.key, (1, inf))  # else value_range reports the script
        possible = isinstance(found, int | float) and least <= found <= most
        if wanted is not None and possible and wanted != found:
            yield from pair.differs(column, setting, str(found))
    unused = "micro_batch_per_gpu" if run.dynamic_batch.flag else "max_tokens_per_gpu"
    if run.dynamic_batch.flag is not None and pair.text(unused):
        wrong = ", but the run of its script has none"
        yield pair.mistake(unused, wrong, "Leave it empty, or fix the script.")
    both = {pair.text("precision"), run.precision}
    if len(both) > 1 and both <= _FORMATS:
        yield from pair.differs("precision", run.dtype, run.precision)


_FORMATS = frozenset({"bf16", "fp16", "fp32"})


@run_rule()
def optimizations_agree(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The row's memory optimizations are those that its script turns on.

    A reader who leaves one out, or plans with one that is off, runs out of memory.

    Bad: `optimizer-offload` with
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: `optimizer-offload` with
        `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`
    """
    column = "memory_optimizations"
    words = pair.text(column).split("; ")
    if any(backends_agree.mistakes(pair)):
        return
    for word, setting in run.optimizations.items() if pair.text(column) else ():
        stated = word in words or word in _ALWAYS_STATED
        if stated and setting.known and is_on(setting) != (word in words):
            change = "Remove" if word in words else "Add"
            lacking = f"the script does not turn on `{word}`"
            wrong = f", but {lacking if setting is LACKING else pair.said_by_script(setting)}"
            yield pair.mistake(column, wrong, f"{change} `{word}`, or correct the script.")


@run_rule()
def run_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The devices of a row have room for what its script trains.

    Below the bytes of weights, gradients and optimizer states no run is possible.

    Bad: a script that trains all weights of a 72B model without offload, on `8` x `h100`
    Good: the same on `32` x `h100`, or with parameters and optimizer offloaded
    """
    stated = number(pair.model_facts.get("parameters_b", ""))
    parameters = stated or parameters_in_name(pair.text("model"))
    least = minimum_memory_gb(parameters, run.weights, run.optimizations_on)
    own = (pair.number("gpus") or 0) * pair.device_memory_gb
    if run.weights and own and least > own:
        need = f"{parameters:g} billion parameters need {least:.0f} GB at the least"
        wrong = f": {own:g} GB together, but {need}, as {pair.script.path} trains them"
        yield pair.mistake("gpus", wrong, "Take more devices, or offload.")


@run_rule("warning")
def min_saves_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The script of a MIN row has the memory optimizations on.

    MIN is the least hardware that will do; without them less would do.

    Bad: a MIN row with `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`
    Good: a MIN row with `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`

    Offload of parameters and optimizer, and gradient checkpointing, which Megatron calls
    recomputation.

    The reference model is not asked about. FSDP always offloads it: verl/workers/fsdp_workers.py
    `_build_model_optimizer`, now verl/workers/engine/fsdp/transformer_impl.py. Megatron's follows
    the actor.
    """
    off = [setting for setting in run.memory_savers if is_off(setting)]
    if run.misses_recomputation:  # ineffective_setting reports it
        off = [setting for setting in off if setting != run.gradient_checkpointing]
    if pair.text("tag").upper() == "MIN" and off:
        right = (word for setting in off for word in switched_on(setting.key))
        other = f", or write `RECOMMENDED`{pair.script.or_exempt('min-saves-memory')}"
        yield _against_tag(pair, off, "does not turn on", right, other)


@run_rule("warning")
def recommended_is_fast(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The script of a RECOMMENDED row does not offload what it trains.

    RECOMMENDED is hardware that need not pay for memory with time.

    Bad: a RECOMMENDED row with `actor_rollout_ref.actor.fsdp_config.param_offload=True`
    Good: a RECOMMENDED row with `actor_rollout_ref.actor.fsdp_config.param_offload=False`

    The reference model may be offloaded: it runs once a step.
    """
    on = [setting for setting in run.offloads if setting.flag]
    if pair.text("tag").upper() == "RECOMMENDED" and on:
        right = (f"{setting.key}=False" for setting in on)
        other = f", or write `MIN`{pair.script.or_exempt('recommended-is-fast')}"
        yield _against_tag(pair, on, "sets", right, other)


def _against_tag(
    pair: Pair, wrong: Sequence[Setting], verb: str, right: Iterable[str], other: str
) -> Mistake:
    """The settings that the tag forbids, at the first that the script sets."""
    place = next((pair.place_of(setting) for setting in wrong if setting.place), pair.place("tag"))
    message = f"{pair.cell('tag')}, but the script {verb} {quoted(item.key for item in wrong)}"
    return Mistake(*place, message, f"Set {quoted(right)}{other}.")


_HELP = "Check GPUs, device and batch; `rl-resources estimate SCRIPT` shows what would lower it."


@run_rule("warning")
def unlikely_memory(pair: Pair, run: Run) -> Iterator[Mistake]:
    """The devices of a row have room for its run by the estimate of memory.

    Nine of ten measured peaks lie in the estimate's interval; here all of it is above the memory of
    the device, so a wrong GPU count, device or batch is likely.

    Bad: full fine-tuning of a 32B model without offload and checkpointing, on `8` x `h100`
    Good: the same on `32` x `h100`, or a note that says what was measured
    """
    found = _estimate(pair, run)
    if found is None or found.verdict not in {"unlikely", "cannot fit"}:
        return
    low, high = found.interval_gb
    about = f"about {found.peak_gb:.0f} GB ({low:.0f} to {high:.0f}) for each GPU"
    own = f"{found.device_gb:.0f} GB ({pair.device_memory_gb:g} GiB)"
    message = f"{about} are estimated, and the device has {own}"
    yield Mistake(*pair.place("gpus"), message, _HELP)


def _estimate(pair: Pair, run: Run) -> Estimate | None:
    """The estimate of a record; `None` where the script leaves open what decides it."""
    gpus, memory_gb = pair.number("gpus"), pair.device_memory_gb
    reported = [*task_agrees.mistakes(pair), *run_memory.mistakes(pair)]
    if not gpus or not memory_gb or not pair.model_facts or reported:
        return None
    try:
        found = of_script(run, gpus, memory_gb, _model(pair.model_facts))
    except UnusableInput:
        return None
    unsure = found and any(NOT_KNOWN in item.reason for item in found.configuration.assumed)
    return None if unsure else found


def _model(facts: Mapping[str, str]) -> Mapping[str, str | float | bool | None]:
    """The cells of a model as values."""
    return {
        name: cell == "true" if cell in {"true", "false"} else number(cell) or cell or None
        for name, cell in facts.items()
    }
