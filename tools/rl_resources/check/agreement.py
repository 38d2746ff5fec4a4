"""Whether a row and its script tell the same, and whether the run they describe can start.

Every rule looks at a `Claim`. What a script leaves out is the framework's default; what cannot be
known without running it is never told. Rules about run-time assertions of the framework name the
file and function that asserts and the first release in which it does; only what every release
since then asserts is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rl_resources.check.registry import Mistake, rule
from rl_resources.check.same_model import is_id, likeness, model_in_path
from rl_resources.check.subject import Claim, ScriptText, Trial
from rl_resources.check.trial_comments import trials_in_comments
from rl_resources.script.launch import Launch
from rl_resources.script.overrides import ACTOR, REFERENCE, ROLLOUT, Run, Setting
from rl_resources.words import shown

ADAPTERS = re.compile(r"[-+_ ]*q?lora$", re.IGNORECASE)
_NO_TRAINER = ("main_generation", "print_cfg", "merge", "main_eval", "sft_trainer")

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

_KNOWN_ESTIMATORS = frozenset().union(*ESTIMATORS.values())
_GROUPED = frozenset({"grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "gdpo"})
GROUP_ESTIMATORS = _GROUPED | {"reinforce_plus_plus_baseline", "opo", "gpg"}
"""Estimators that compare the responses to one prompt with each other."""

TRAIN_BACKENDS = frozenset({"fsdp", "fsdp2", "megatron", "veomni", "torchtitan"})
INFER_BACKENDS = frozenset({"vllm", "sglang", "hf", "trtllm", "vllm_omni"})
SAME_BACKEND: Mapping[str, str] = {
    "mindspeed": "megatron",
    "vllm-ascend": "vllm",
    "vllm-omni": "vllm_omni",
}


def _run(claim: Claim) -> Run | None:
    return training_run(claim.script)


def training_run(script: ScriptText) -> Run | None:
    """What the script does; `None` where it starts no training, or several that differ."""
    if script.run is None or len({_arguments(launch) for launch in script.launches}) > 1:
        return None
    if any(word in script.run.launch.module for word in _NO_TRAINER):
        return None
    launch = script.run.launch
    cut = bool(launch.stray) or any(item.command not in launch.rest for item in script.lost)
    return replace(script.run, trusts_defaults=False) if cut else script.run


def _arguments(launch: Launch) -> tuple[object, ...]:
    overrides = ((item.prefix, item.key, item.value) for item in launch.overrides)
    return (launch.module, launch.config_name, *overrides)


def _at(claim: Claim, run: Run, setting: Setting) -> tuple[str, int, int]:
    """Where a setting is defined in the script; where it starts the run, for a default."""
    place = setting.origin or setting.place
    line, column = (place.line, place.column) if place else (run.launch.line, run.launch.column)
    return claim.script.path, line, column


def _shown_place(claim: Claim, run: Run, setting: Setting) -> tuple[str, int]:
    path, line, _ = _at(claim, run, setting)
    return shown(path, 200), line


def _said_by_script(claim: Claim, run: Run, setting: Setting) -> str:
    """The script's side of a contradiction, in words."""
    path, line = _shown_place(claim, run, setting)
    value = shown(_written(setting.value))
    if setting.place is None:
        return f"{path} leaves `{setting.key}` at the framework's `{value}`"
    return f"{path}:{line} sets `{setting.key}` to `{value}`"


def _written(value: Any) -> str:
    return "null" if value is None else str(value)


def _cell(claim: Claim, column: str) -> str:
    return f"{column} of {shown(claim.label, 120)} is `{shown(claim.text(column))}`"


def _differs(claim: Claim, run: Run, column: str, setting: Setting, right: str) -> Mistake:
    """A cell that says something else than the script."""
    message = f"{_cell(claim, column)}, but {_said_by_script(claim, run, setting)}"
    mend = f"Write `{shown(right)}`, or mend the script."
    return Mistake(*claim.place(column), message, mend)


@rule(
    summary="The row's model is the one that its script trains.",
    reason="A reader who plans with the row trains another checkpoint.",
    bad="`Qwen/Qwen2-7B` beside `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`",
    good="`Qwen/Qwen2-7B-Instruct` beside `actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct`",
)
def model_agrees(claim: Claim) -> Iterator[Mistake]:
    yield from _other_model(claim, family_alone=False)


@rule(
    severity="warning",
    summary="A model that is named without its owner is named in full.",
    reason="`Qwen2.5-7B` is a checkpoint of its own; whoever downloads it trains something else.",
    bad="`Qwen2.5-7B` beside `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`",
    good="`Qwen2.5-7B-Instruct` beside `actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct`",
)
def model_variant(claim: Claim) -> Iterator[Mistake]:
    yield from _other_model(claim, family_alone=True)


def _other_model(claim: Claim, *, family_alone: bool) -> Iterator[Mistake]:
    """The row's model against the script's.

    Of a name without an owner it may be that only family and size are meant: that the script trains
    another variant of these is then the milder mistake.
    """
    run, known = _run(claim), claim.models or tuple(filter(None, [claim.text("model")]))
    path = run.model_path_end if run else None
    if run is None or not path or not claim.text("model") or path in claim.script.script.names:
        return
    name = model_in_path(path, known)
    alike = likeness(name, known) if name else None
    if name is None or alike not in {"variant", "other"}:
        return
    if family_alone != (alike == "variant" and "/" not in claim.text("model")):
        return
    what = "another variant of it" if alike == "variant" else "another model"
    where = _said_by_script(claim, run, replace(run.model_path, value=path))
    message = f"{_cell(claim, 'model')}, but {where}: {what}"
    right = name if is_id(name) or "/" not in known[0] else f"the Hugging Face id of {name}"
    quoted = f"`{shown(right)}`" if right == name else right
    yield Mistake(*claim.place("model"), message, f"Write {quoted}, or mend the script.")


@rule(
    summary="The row's task is what its script trains: algorithm, and adapters or all weights.",
    reason="Another algorithm, or all weights instead of adapters, needs other hardware.",
    bad="`GRPO` beside `actor_rollout_ref.model.lora_rank=32`",
    good="`GRPO-LoRA` beside `actor_rollout_ref.model.lora_rank=32`",
)
def task_agrees(claim: Claim) -> Iterator[Mistake]:
    run, task = _run(claim), claim.text("task")
    if run is None or not task:
        return
    setting = contradicting_algorithm(run, algorithm_of(task))
    if setting is not None:
        message = f"{_cell(claim, 'task')}, but {_said_by_script(claim, run, setting)}"
        yield Mistake(*claim.place("task"), message, "Write the task of the script, or mend it.")
    rank, adapters = run.lora_rank, bool(ADAPTERS.search(task))
    if rank.number is not None and (rank.number > 0) != adapters:
        right = ADAPTERS.sub("", task) if adapters else f"{task}-LoRA"
        yield _differs(claim, run, "task", rank, right)


def algorithm_of(task: str) -> str:
    return ADAPTERS.sub("", task).upper()


def contradicting_algorithm(run: Run, algorithm: str) -> Setting | None:
    """The setting that makes the run another algorithm than the one named."""
    wanted, estimator = ESTIMATORS.get(algorithm), run.estimator
    if wanted is None or estimator.text not in _KNOWN_ESTIMATORS:
        return None
    if estimator.text not in wanted:
        return estimator
    loss = run.loss_mode
    if algorithm in LOSSES:
        return loss if loss.text and loss.text != LOSSES[algorithm] else None
    if algorithm in {"GRPO", "PPO"} and loss.text in LOSSES.values():
        return loss
    return _missing_style(run, algorithm)


def _missing_style(run: Run, algorithm: str) -> Setting | None:
    """What DAPO or Dr. GRPO would set otherwise."""
    if algorithm == "DR-GRPO":
        return run.normalizes_by_spread if run.normalizes_by_spread.flag else None
    clips = run.clip_ratio_low, run.clip_ratio_high
    plain_clip = clips[0].known and clips[0].value == clips[1].value
    if algorithm == "DAPO" and run.filters_groups.flag is False and plain_clip:
        return run.filters_groups
    return None


@rule(
    summary="The row's GPUs and nodes are those that its script asks for.",
    reason="A reader would order the wrong number of GPUs.",
    bad="`8` as `gpus` beside `trainer.nnodes=2 trainer.n_gpus_per_node=8`",
    good="`16` as `gpus` beside `trainer.nnodes=2 trainer.n_gpus_per_node=8`",
)
def gpus_agree(claim: Claim) -> Iterator[Mistake]:
    run = _run(claim)
    if run is None:
        return
    wanted, gpus = claim.number("gpus"), run.gpus.number
    if wanted is not None and gpus is not None and wanted != gpus:
        parts = [_said_by_script(claim, run, part) for part in (run.nodes, run.gpus_per_node)]
        message = f"{_cell(claim, 'gpus')}, but {' and '.join(parts)}, which makes `{gpus}`"
        yield Mistake(*claim.place("gpus"), message, f"Write `{gpus}`, or mend the script.")
        return
    nodes, wanted = run.nodes, claim.number("nodes")
    if wanted is not None and nodes.number is not None and wanted != nodes.number:
        yield _differs(claim, run, "nodes", nodes, str(nodes.number))


@rule(
    summary="The row's backends are those that its script trains and generates with.",
    reason="Memory and speed are those of the backend that really ran.",
    bad="`fsdp` as `train` beside `actor_rollout_ref.actor.strategy=fsdp2`",
    good="`fsdp2` as `train` beside `actor_rollout_ref.actor.strategy=fsdp2`",
)
def backends_agree(claim: Claim) -> Iterator[Mistake]:
    run = _run(claim)
    if run is None:
        return
    for column, setting, known in (
        ("train", run.train_backend, TRAIN_BACKENDS),
        ("infer", run.infer_backend, INFER_BACKENDS),
    ):
        said = claim.text(column).lower()
        said = SAME_BACKEND.get(said, said)
        if said and setting.text in known and said != setting.text:
            yield _differs(claim, run, column, setting, setting.text or "")


@rule(
    summary="The release of the rollout engine is the one that its script installs.",
    reason="Another release takes other memory, or other settings.",
    bad="`0.8.3` as `infer_version` beside `pip install vllm==0.8.5`",
    good="`0.8.5` as `infer_version` beside `pip install vllm==0.8.5`",
)
def infer_version_agrees(claim: Claim) -> Iterator[Mistake]:
    said, engine = claim.text("infer_version"), re.escape(claim.text("infer").lower())
    for command in claim.script.script.commands if said and engine else ():
        texts = [(word.text or "").lower() for word in command.words]
        pinned = (re.fullmatch(rf"{engine}(?:\[.*\])?==([\w.]+)", text) for text in texts)
        found = [match[1] for match in pinned if match and "install" in texts]
        if found and command.reach == "always" and found[-1] != said:
            path, line = shown(claim.script.path, 200), command.place.line
            message = f"{_cell(claim, 'infer_version')}, but {path}:{line} installs `{found[-1]}`"
            mend = f"Write `{shown(found[-1])}`, or mend the script."
            yield Mistake(*claim.place("infer_version"), message, mend)


@rule(
    summary="The row's lengths and responses for each prompt are those of its script.",
    reason="Memory grows with length and with the number of responses.",
    bad="`512` as `max_prompt_length` beside `data.max_prompt_length=1024`",
    good="`1024` as `max_prompt_length` beside `data.max_prompt_length=1024`",
)
def lengths_agree(claim: Claim) -> Iterator[Mistake]:
    run = _run(claim)
    if run is None:
        return
    for column, setting in (
        ("max_prompt_length", run.max_prompt_length),
        ("max_response_length", run.max_response_length),
        ("rollout_n", run.rollout_n),
    ):
        wanted = claim.number(column)
        if wanted is not None and setting.number is not None and wanted != setting.number:
            yield _differs(claim, run, column, setting, str(setting.number))


@rule(
    summary="A script's batch is not larger than the row's max_batch.",
    reason="By its own row the script then runs out of memory.",
    bad="`64` as `max_batch` beside `data.train_batch_size=128`",
    good="`128` as `max_batch` beside `data.train_batch_size=128`",
)
def max_batch_agrees(claim: Claim) -> Iterator[Mistake]:
    run, most = _run(claim), claim.number("max_batch")
    if run is None or most is None or claim.disputed:
        return
    batch = run.train_batch_size
    if batch.number is not None and batch.number > most:
        yield _differs(claim, run, "max_batch", batch, str(batch.number))


@rule(
    severity="warning",
    summary="A script runs the row's max_batch, or a trial shows that it ran.",
    reason="Nobody can see that a batch fits which the script does not run.",
    bad="`128` as `max_batch` beside `data.train_batch_size=64`, without a trial of 128",
    good="`64` as `max_batch` beside `data.train_batch_size=64`",
)
def max_batch_shown(claim: Claim) -> Iterator[Mistake]:
    run, most = _run(claim), claim.number("max_batch")
    if run is None or most is None or claim.disputed or _contradiction(claim, run):
        return
    batch = run.train_batch_size
    shown_to_run = any(
        any(trial.ran and trial.batch == most for trial in reading)
        for reading in _readings(claim, run)
    )
    if batch.number is not None and batch.number < most and not shown_to_run:
        yield _differs(claim, run, "max_batch", batch, str(batch.number))


@rule(
    summary="A row's max_batch is the largest batch of its trials that ran.",
    reason="A larger one ran out of memory; a smaller one is not the limit.",
    bad="`16` as `max_batch` beside the comment `# 64 ok, 128 oom, 100 ok, 101 oom`",
    good="`100` as `max_batch` beside the comment `# 64 ok, 128 oom, 100 ok, 101 oom`",
)
def max_batch_against_trials(claim: Claim) -> Iterator[Mistake]:
    run = _run(claim)
    reason = _contradiction(claim, run) if claim.number("max_batch") is not None else ""
    if not reason or claim.disputed:
        return
    trials = next(iter(_readings(claim, run)))
    largest = max((trial.batch for trial in trials if trial.ran), default=None)
    mend = "Mend the number or the trials, or mark the row as disputed and say why."
    if largest is not None and len(_readings(claim, run)) == 1:
        mend = f"Write `{largest}`, the largest batch that ran; or mark the row as disputed."
    yield Mistake(*claim.place("max_batch"), f"{_cell(claim, 'max_batch')}, but {reason}", mend)


def _readings(claim: Claim, run: Run | None) -> list[tuple[Trial, ...]]:
    """The trials as batches of all GPUs, in each way that they can be meant.

    Records give the whole batch; a comment may give it for each GPU.
    """
    if claim.trials:
        return [claim.trials]
    trials = trials_in_comments(claim.script.script)
    gpus = (run.gpus.number if run else None) or claim.number("gpus")
    if not trials or gpus is None:
        return []
    scaled = tuple(Trial(trial.batch * gpus, trial.ran) for trial in trials)
    return [trials] if gpus == 1 else [trials, scaled]


def _contradiction(claim: Claim, run: Run | None) -> str:
    """Why the trials forbid the row's max_batch, however they are read; empty where they do not."""
    most = claim.number("max_batch")
    reasons = [_forbids(reading, most or 0) for reading in _readings(claim, run)]
    return reasons[0] if reasons and all(reasons) else ""


def _forbids(trials: Iterable[Trial], batch: int) -> str:
    ran = max((trial.batch for trial in trials if trial.ran), default=None)
    failed = min((trial.batch for trial in trials if not trial.ran), default=None)
    if failed is not None and batch >= failed and (ran is None or ran < failed):
        return f"a trial of {failed} failed"
    return f"a trial of {ran} ran" if ran is not None and batch < ran else ""


@rule(
    severity="warning",
    summary="The script of a MIN row has the memory optimisations on.",
    reason="MIN is the least hardware that will do; without them less would do.",
    bad="a MIN row beside `actor_rollout_ref.actor.fsdp_config.optimizer_offload=False`",
    good="a MIN row beside `actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`",
)
def min_saves_memory(claim: Claim) -> Iterator[Mistake]:
    """Offload of parameters and optimizer, and gradient checkpointing, which Megatron ignores.

    The reference model is not asked about. FSDP always offloads it: verl/workers/fsdp_workers.py
    `_build_model_optimizer`, now verl/workers/engine/fsdp/transformer_impl.py. Megatron's follows
    the actor.
    """
    run = _run(claim)
    if run is None or claim.text("tag").upper() != "MIN":
        return
    off = [setting for setting in memory_savers(run) if setting.flag is False]
    if not off:
        return
    keys = _listed(setting.key for setting in off)
    message = f"tag of {shown(claim.label, 120)} is `MIN`, but the script does not turn on {keys}"
    mend = f"Set {_listed(f'{setting.key}=True' for setting in off)}."
    set_off = [setting for setting in off if setting.place]
    place = _at(claim, run, set_off[0]) if set_off else claim.place("tag")
    yield Mistake(*place, message, mend)


def memory_savers(run: Run) -> list[Setting]:
    """The settings that save memory at the cost of time, where the backend has them."""
    if run.trains_with_megatron is None:
        return []
    offload = [run.param_offload, run.optimizer_offload]
    if run.trains_with_megatron:
        return [run.param_offload] if _optimizer_lives_on_host(run) else offload
    offloads_itself = run.train_backend.text == "fsdp2" and run.offload_policy.flag is not False
    return [*([] if offloads_itself else offload), run.gradient_checkpointing]


def _optimizer_lives_on_host(run: Run) -> bool:
    return run.optimizer_on_host.flag is True and run.optimizer_fraction_on_host.value == 1


def _listed(words: Iterable[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


@rule(
    severity="warning",
    summary="The script of a RECOMMENDED row does not offload what it trains.",
    reason="RECOMMENDED is hardware that need not pay for memory with time.",
    bad="a RECOMMENDED row beside `actor_rollout_ref.actor.fsdp_config.param_offload=True`",
    good="a RECOMMENDED row beside `actor_rollout_ref.actor.fsdp_config.param_offload=False`",
)
def recommended_is_fast(claim: Claim) -> Iterator[Mistake]:
    """The reference model may be offloaded: it runs once a step."""
    run = _run(claim)
    if run is None or claim.text("tag").upper() != "RECOMMENDED":
        return
    savers = (run.param_offload, run.optimizer_offload, run.offload_policy, run.optimizer_on_host)
    on = [setting for setting in savers if setting.flag]
    if on:
        keys = _listed(setting.key for setting in on)
        message = f"tag of {shown(claim.label, 120)} is `RECOMMENDED`, but the script sets {keys}"
        mend = f"Set {_listed(f'{setting.key}=False' for setting in on)}, or write `MIN`."
        yield Mistake(*_at(claim, run, on[0]), message, mend)


@rule(
    summary="An estimator that compares responses gets more than one for each prompt.",
    reason="A group of one has nothing to compare with: there is no relative advantage.",
    bad="`algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1`",
    good="`algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=5`",
)
def group_size(claim: Claim) -> Iterator[Mistake]:
    """Mean 0 and spread 1 stand in for those of a group of one, since 0.2.

    verl/trainer/ppo/core_algos.py, `compute_grpo_outcome_advantage` and those of the other
    estimators; `compute_grpo_passk_outcome_advantage` asserts two.
    """
    run = _run(claim)
    estimator, size = (run.estimator, run.rollout_n) if run else (None, None)
    if run is None or estimator is None or size is None or size.number is None:
        return
    if estimator.text not in GROUP_ESTIMATORS or size.number > 1:
        return
    known = "is" if size.place else "is left at the framework's"
    message = f"`{estimator.text}` compares responses, but `{size.key}` {known} `{size.number}`"
    place = _at(claim, run, size if size.place else estimator)
    yield Mistake(
        *place, message, f"Set `{size.key}` to the responses for each prompt, at least 2."
    )


@rule(
    summary="Parallel sizes divide the GPUs and the model's attention heads.",
    reason="The run stops at its start with an assertion.",
    bad="`trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.tensor_model_parallel_size=3`",
    good="`trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.tensor_model_parallel_size=4`",
)
def parallel_sizes(claim: Claim) -> Iterator[Mistake]:
    """Sizes that the framework, Megatron or the generating engine refuses.

    * Rollout: verl/workers/fsdp_workers.py `_build_rollout` since 0.2, megatron_workers.py since
      0.4.0, verl/workers/engine_workers.py `init_model` since 0.7.0. An engine may span nodes if it
      fills them: verl/workers/rollout/replica.py `RolloutReplica.__init__`.
    * Ulysses: the device mesh of the same workers since 0.2; heads in
      verl/models/transformers/monkey_patch.py `apply_monkey_patch` since 0.3; packed sequences in
      verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2, now `FSDPActorConfig.validate`.
    * Megatron: verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.4.0, now
      verl/utils/config.py `validate_config`.
    * Heads: vLLM's `ModelConfig.verify_with_parallel_config`, SGLang's and Megatron's layers.
    """
    run = _run(claim)
    if run is None:
        return
    for setting, problem in _parallel_problems(run, _heads(claim, run)):
        message = f"`{setting.key}` is `{_written(setting.value)}`: {problem}"
        mend = "Choose a size that divides both the GPUs and the heads, or other GPUs."
        if setting.key.endswith("use_remove_padding"):
            mend = f"Set `{setting.key}=True`, or the sequence parallel size to 1."
        yield Mistake(*_at(claim, run, setting), message, mend)


def _heads(claim: Claim, run: Run) -> int | None:
    """Attention heads of the model that both the row and the script name."""
    text, path = claim.model_facts.get("attention_heads", ""), run.model_path_end
    name = model_in_path(path, claim.models) if path else None
    same = name is not None and likeness(name, claim.models) == "same"
    return int(text) if same and text.isascii() and text.isdigit() and int(text) else None


def _parallel_problems(run: Run, heads: int | None) -> Iterator[tuple[Setting, str]]:
    yield from _rollout_problems(run, heads)
    if run.trains_with_megatron:
        yield from _divides(run.tensor_parallel_size, run.training_model_size, run.gpus, heads)
    elif run.trains_with_megatron is False:
        size = run.sequence_parallel_size
        yield from _divides(size, size.number, run.gpus, heads)
        if (size.number or 0) > 1 and run.removes_padding.flag is False:
            yield (
                run.removes_padding,
                f"sequence parallel size {size.number} needs packed sequences",
            )


def _rollout_problems(run: Run, heads: int | None) -> Iterator[tuple[Setting, str]]:
    if run.infer_backend.text not in {"vllm", "sglang"}:
        return
    size, whole, node = run.rollout_tensor_parallel_size, run.rollout_model_size, run.gpus_per_node
    problems = list(_divides(size, whole, run.gpus, heads))
    yield from problems
    if problems or not whole or not node.number or not run.gpus.number:
        return
    if whole > node.number and whole % node.number:
        yield size, f"an engine of {whole} GPUs does not fill nodes of {node.number}"


def _divides(
    setting: Setting, whole: int | None, gpus: Setting, heads: int | None
) -> Iterator[tuple[Setting, str]]:
    """Whether GPUs and heads can be divided; `whole` counts the GPUs that work together."""
    if whole and gpus.number and gpus.number % whole:
        groups = "groups of it" if whole == setting.value else f"its groups of {whole} in all"
        whose = "1 GPU" if gpus.number == 1 else f"{gpus.number} GPUs"
        yield setting, f"{whose} cannot be divided into {groups}"
    elif heads and setting.number and heads % setting.number:
        yield setting, f"the model's {heads} attention heads cannot be divided by it"


@rule(
    summary="Batches divide as the framework asserts.",
    reason="The run stops at its start, or at its first update, with an assertion.",
    bad="`data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=128`",
    good="`data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64`",
)
def batch_divisibility(claim: Claim) -> Iterator[Mistake]:
    """Without dynamic batches, for a run on one pool of GPUs.

    * Responses of a step by GPUs: verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2,
      now verl/utils/config.py `validate_config`; with Megatron by ranks x micro batch since 0.4.0.
    * Step at least as large as an update: the same since 0.3.0, now `ActorConfig.validate`.
    * Update by micro batch: verl/workers/fsdp_workers.py `ActorRolloutRefWorker.__init__` since
      0.4.0, now verl/workers/engine/utils.py `prepare_micro_batches`. Updates that the ranks do not
      divide were rounded down; `TrainingWorker.train_mini_batch` of verl/workers/engine_workers.py
      now asserts.
    * Totals of micro batches: `_validate_config` since 0.2, now `ActorConfig.validate`.
    """
    run = _run(claim)
    if run is None or run.dynamic_batch.flag is not False:
        return
    for setting, message, mend in _batch_problems(run):
        yield Mistake(*_at(claim, run, setting), message, mend)


_Problem = tuple[Setting, str, str]


def _batch_problems(run: Run) -> Iterator[_Problem]:
    step = list(_step_problems(run))
    yield from step
    same = run.mini_batch_size.number == run.train_batch_size.number
    if not (step and same) and not _exceeds_step(run):
        yield from _update_problems(run)
    yield from _total_problems(run)


def _step_problems(run: Run) -> Iterator[_Problem]:
    batch, n = run.train_batch_size, run.rollout_n.number
    parts = _least_batch(run)
    if batch.number and n and parts and batch.number * n % parts:
        yield (
            batch,
            f"`{batch.key}` {batch.number} x `{ROLLOUT}.n` {n} = {batch.number * n} responses "
            f"cannot be divided by {parts}, {_what_divides(run)}",
            f"Choose a batch whose product with {n} is a multiple of {parts}.",
        )
    if _exceeds_step(run):
        mini = run.mini_batch_size
        message = f"`{mini.key}` is `{mini.number}`, more than `{batch.key}` `{batch.number}`"
        yield mini, message, f"Set it to {batch.number} or less."


def _exceeds_step(run: Run) -> bool:
    batch, mini = run.train_batch_size.number, run.mini_batch_size.number
    return batch is not None and mini is not None and mini > batch


def _least_batch(run: Run) -> int | None:
    """What the responses of a step must be a multiple of."""
    if run.trains_with_megatron is False:
        return run.gpus.number
    ranks, micro = _ranks(run), run.micro_batch_size_per_gpu.number
    return ranks * micro if run.trains_with_megatron and ranks and micro else None


def _what_divides(run: Run) -> str:
    ranks = "data-parallel ranks x micro batch"
    return ranks if run.trains_with_megatron else "the number of GPUs"


def _ranks(run: Run) -> int | None:
    """Data-parallel ranks of the training, where the sizes divide the GPUs."""
    gpus, size = run.gpus.number, run.training_model_size
    return gpus // size if gpus and size and gpus % size == 0 else None


def _update_problems(run: Run) -> Iterator[_Problem]:
    mini, n, ranks = run.mini_batch_size, run.rollout_n.number, _ranks(run)
    if not mini.number or not n or not ranks:
        return
    responses, micro = mini.number * n, run.micro_batch_size_per_gpu
    told = f"`{mini.key}` {mini.number} x `{ROLLOUT}.n` {n} = {responses} responses"
    if responses % ranks:
        mend = f"Choose a size whose product with {n} is a multiple of {ranks}."
        yield mini, f"{told} cannot be divided over {ranks} data-parallel ranks", mend
    elif micro.number and responses // ranks % micro.number:
        share = responses // ranks
        message = (
            f"`{micro.key}` {micro.number} does not divide {share}, the share of each rank in "
        )
        yield micro, f"{message}{told}", f"Choose a divisor of {share}."


def _total_problems(run: Run) -> Iterator[_Problem]:
    total, mini = run.micro_batch_size, run.mini_batch_size.number
    if not total.number or run.micro_batch_size_per_gpu.number:
        return
    if mini and mini % total.number:
        message = f"`{total.key}` {total.number} does not divide `ppo_mini_batch_size` {mini}"
        yield total, message, f"Choose a divisor of {mini}."
    sequence, gpus = run.sequence_parallel_size.number, run.gpus.number
    if sequence and gpus and total.number * sequence < gpus:
        message = f"`{total.key}` {total.number} gives some of the {gpus} GPUs nothing to do"
        yield total, message, f"Set it to {-(-gpus // sequence)} or more."


@rule(
    summary="Without chunked prefill, a whole sequence fits into max_num_batched_tokens.",
    reason="vLLM refuses to start: no prompt of full length could ever be scheduled.",
    bad="`rollout.enable_chunked_prefill=False rollout.max_num_batched_tokens=1024`, "
    "prompts of 512 and responses of 1024",
    good="`rollout.enable_chunked_prefill=False rollout.max_num_batched_tokens=1536`, "
    "prompts of 512 and responses of 1024",
)
def batched_tokens(claim: Claim) -> Iterator[Mistake]:
    """vLLM's `SchedulerConfig` refuses it; 0.9.1 raises the number and warns.

    verl hands the number over in verl/workers/rollout/vllm_rollout/ since 0.2; the later release
    mends it in vllm_async_server.py `_validate_configs`.
    """
    run = _run(claim)
    if run is None or run.infer_backend.text != "vllm" or run.chunked_prefill.flag is not False:
        return
    tokens, needed = run.max_num_batched_tokens, _sequence_length(run)
    if tokens.number is not None and needed is not None and tokens.number < needed:
        place = tokens if tokens.place else run.chunked_prefill
        message = (
            f"`{tokens.key}` is `{tokens.number}`, less than one sequence of {needed} tokens, "
            "and chunked prefill is off"
        )
        mend = f"Set it to {needed} or more, or `{run.chunked_prefill.key}=True`."
        yield Mistake(*_at(claim, run, place), message, mend)


def _sequence_length(run: Run) -> int | None:
    most = run.max_model_len
    if most.value is not None:
        return most.number
    prompt, response = run.max_prompt_length.number, run.max_response_length.number
    return None if prompt is None or response is None else prompt + response


@rule(
    summary="A micro batch is given for each GPU, and not as a total as well.",
    reason="The framework refuses a run that gives both, or neither.",
    bad="`ppo_micro_batch_size=32 ppo_micro_batch_size_per_gpu=4`",
    good="`ppo_micro_batch_size_per_gpu=4`",
)
def micro_batch_keys(claim: Claim) -> Iterator[Mistake]:
    """verl/trainer/ppo/ray_trainer.py `_validate_config` since 0.2.

    Now verl/utils/config.py `validate_config` and verl/workers/config/actor.py `ActorConfig`. With
    dynamic batches neither is read.
    """
    run = _run(claim)
    if run is None or run.dynamic_batch.flag is not False:
        return
    for key in _micro_batch_keys(run):
        total, each = run.setting(key), run.setting(f"{key}_per_gpu")
        if total.number is not None and each.number is not None:
            message = f"both `{total.key}` and `{each.key}` are set"
            yield Mistake(*_at(claim, run, total), message, f"Leave out `{total.key}`.")
        elif total.value is None and each.value is None:
            message = f"neither `{each.key}` nor its total is set, and `{_DYNAMIC}` is off"
            yield Mistake(*_at(claim, run, each), message, f"Set `{each.key}`.")


_DYNAMIC = f"{ACTOR}.use_dynamic_bsz"


def _micro_batch_keys(run: Run) -> list[str]:
    keys = [f"{ACTOR}.ppo_micro_batch_size", f"{ROLLOUT}.log_prob_micro_batch_size"]
    return [*keys, f"{REFERENCE}.log_prob_micro_batch_size"] if run.uses_reference else keys
