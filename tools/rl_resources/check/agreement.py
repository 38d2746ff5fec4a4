"""Whether a row and its script tell the same.

Every rule looks at a `Claim`. What a script leaves out is the framework's default; what cannot be
known without running it is never told.
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
from rl_resources.script.run import Run
from rl_resources.script.settings import Setting
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

KNOWN_ESTIMATORS = frozenset().union(*ESTIMATORS.values())

TRAIN_BACKENDS = frozenset({"fsdp", "fsdp2", "megatron", "veomni", "torchtitan"})
INFER_BACKENDS = frozenset({"vllm", "sglang", "hf", "trtllm", "vllm_omni"})
SAME_BACKEND: Mapping[str, str] = {
    "mindspeed": "megatron",
    "vllm-ascend": "vllm",
    "vllm-omni": "vllm_omni",
}


def run_of(claim: Claim) -> Run | None:
    """What the claim's script does, as `training_run` has it."""
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


def at(claim: Claim, run: Run, setting: Setting) -> tuple[str, int, int]:
    """Where a setting is defined in the script; where it starts the run, for a default."""
    place = setting.origin or setting.place
    line, column = (place.line, place.column) if place else (run.launch.line, run.launch.column)
    return claim.script.path, line, column


def _shown_place(claim: Claim, run: Run, setting: Setting) -> tuple[str, int]:
    path, line, _ = at(claim, run, setting)
    return shown(path, 200), line


def _said_by_script(claim: Claim, run: Run, setting: Setting) -> str:
    """The script's side of a contradiction, in words."""
    path, line = _shown_place(claim, run, setting)
    value = shown(written(setting.value))
    if setting.place is None:
        return (
            f"the run that {path}:{line} starts does not set `{setting.key}`, and the framework "
            f"then takes `{value}`"
        )
    return f"{path}:{line} sets `{setting.key}` to `{value}`"


def written(value: Any) -> str:
    """A value as a script writes it."""
    return "null" if value is None else str(value)


def _cell(claim: Claim, column: str) -> str:
    return f"{column} of {shown(claim.label, 120)} is `{shown(claim.text(column))}`"


def _differs(claim: Claim, run: Run, column: str, setting: Setting, right: str) -> Mistake:
    """A cell that says something else than the script."""
    message = f"{_cell(claim, column)}, but {_said_by_script(claim, run, setting)}"
    mend = f"Write `{shown(right)}`, or mend the script."
    return Mistake(*claim.place(column), message, mend)


def _by_majority(
    claim: Claim, run: Run, column: str, setting: Setting, wanted: str, found: Mistake
) -> Iterator[Mistake]:
    """`found`, a cell that contradicts its script, unless the script's name tells who is wrong.

    Where the name contradicts the cell, that is told by the rule about names. Where it agrees with
    the cell, the script is wrong: its `setting` should be `wanted`.
    """
    match claim.named.get(column):
        case None:
            yield found
        case True:
            path, line, place = at(claim, run, setting)
            verb = "is" if setting.place else "is not set, and the framework takes"
            message = (
                f"`{setting.key}` {verb} `{shown(written(setting.value))}`, but the script's name "
                f"and {column} in {claim.path}:{claim.place(column)[1]} say "
                f"`{shown(claim.text(column))}`"
            )
            yield Mistake(path, line, place, message, _script_mend(claim, setting, wanted))


def _script_mend(claim: Claim, setting: Setting, wanted: str) -> str:
    if not wanted:
        return f"Set `{setting.key}` so that the script does what its name says."
    text, origin = claim.script.text, setting.origin or setting.place
    value = written(setting.value)
    if origin and re.compile(re.escape(value) + r"(?![\w.-])").match(text, origin.offset):
        begin = text.rfind("\n", 0, origin.offset) + 1
        rest = text[origin.offset + len(value) :].partition("\n")[0]
        return f"Write: {shown(f'{text[begin : origin.offset]}{wanted}{rest}'.strip(), 600)}"
    return f"Set `{setting.key}={shown(wanted)}`."


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
    run, known = run_of(claim), claim.models or tuple(filter(None, [claim.text("model")]))
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
    found = Mistake(*claim.place("model"), message, f"Write {quoted}, or mend the script.")
    setting = replace(run.model_path, value=path)
    yield from _by_majority(claim, run, "model", setting, claim.text("model"), found)


@rule(
    summary="The row's task is what its script trains: algorithm, and adapters or all weights.",
    reason="Another algorithm, or all weights instead of adapters, needs other hardware.",
    bad="`GRPO` beside `actor_rollout_ref.model.lora_rank=32`",
    good="`GRPO-LoRA` beside `actor_rollout_ref.model.lora_rank=32`",
)
def task_agrees(claim: Claim) -> Iterator[Mistake]:
    run, task = run_of(claim), claim.text("task")
    if run is None or not task:
        return
    setting = contradicting_algorithm(run, algorithm_of(task))
    if setting is not None:
        message = f"{_cell(claim, 'task')}, but {_said_by_script(claim, run, setting)}"
        mend = "Write the task of the script, or mend it."
        found = Mistake(*claim.place("task"), message, mend)
        wanted = _wanted_value(run, setting, algorithm_of(task))
        yield from _by_majority(claim, run, "task", setting, wanted, found)
    rank, adapters = run.lora_rank, bool(ADAPTERS.search(task))
    if rank.number is not None and (rank.number > 0) != adapters:
        right = ADAPTERS.sub("", task) if adapters else f"{task}-LoRA"
        trains = "all weights train" if adapters else "adapters alone train"
        found = _differs(claim, run, "task", rank, right)
        found = found._replace(message=f"{found.message}: {trains}, which is `{shown(right)}`")
        yield from _by_majority(claim, run, "task", rank, "" if adapters else "0", found)


def algorithm_of(task: str) -> str:
    return ADAPTERS.sub("", task).upper()


def _wanted_value(run: Run, setting: Setting, algorithm: str) -> str:
    """What the setting would be for the algorithm; empty where more than one value would do."""
    if setting == run.estimator and algorithm in ESTIMATORS:
        return min(ESTIMATORS[algorithm])
    return LOSSES.get(algorithm, "vanilla") if setting == run.loss_mode else ""


def contradicting_algorithm(run: Run, algorithm: str) -> Setting | None:
    """The setting that makes the run another algorithm than the one named."""
    wanted, estimator = ESTIMATORS.get(algorithm), run.estimator
    if wanted is None or estimator.text not in KNOWN_ESTIMATORS:
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
    run = run_of(claim)
    if run is None:
        return
    wanted, gpus = claim.number("gpus"), run.gpus.number
    if wanted is not None and gpus is not None and wanted != gpus:
        parts = [_said_by_script(claim, run, part) for part in (run.nodes, run.gpus_per_node)]
        message = f"{_cell(claim, 'gpus')}, but {' and '.join(parts)}, which makes `{gpus}`"
        found = Mistake(*claim.place("gpus"), message, f"Write `{gpus}`, or mend the script.")
        yield from _by_majority(claim, run, "gpus", *_wrong_count(claim, run, wanted), found)
        return
    nodes, wanted = run.nodes, claim.number("nodes")
    if wanted is not None and nodes.number is not None and wanted != nodes.number:
        yield _differs(claim, run, "nodes", nodes, str(nodes.number))


def _wrong_count(claim: Claim, run: Run, gpus: int) -> tuple[Setting, str]:
    """The setting that keeps a script from `gpus` in all, and what it should be."""
    nodes, each = run.nodes.number or 1, run.gpus_per_node.number or 1
    if gpus == each * (claim.number("nodes") or 0):
        return run.nodes, claim.text("nodes")
    return run.gpus_per_node, str(gpus // nodes) if gpus % nodes == 0 else ""


@rule(
    summary="The row's backends are those that its script trains and generates with.",
    reason="Memory and speed are those of the backend that really ran.",
    bad="`fsdp` as `train` beside `actor_rollout_ref.actor.strategy=megatron`",
    good="`megatron` as `train` beside `actor_rollout_ref.actor.strategy=megatron`",
)
def backends_agree(claim: Claim) -> Iterator[Mistake]:
    run = run_of(claim)
    if run is None:
        return
    for column, setting, known in (
        ("train", run.train_backend, TRAIN_BACKENDS),
        ("infer", run.infer_backend, INFER_BACKENDS),
    ):
        said = _backend(claim, column)
        other = said and setting.text in known and said != setting.text
        if other and (said, setting.text) != _FAMILY_AND_ITS_SECOND:
            found = _differs(claim, run, column, setting, setting.text or "")
            yield from _by_majority(claim, run, column, setting, said, found)


def _backend(claim: Claim, column: str) -> str:
    said = claim.text(column).lower()
    return SAME_BACKEND.get(said, said)


_FAMILY_AND_ITS_SECOND = ("fsdp", "fsdp2")


@rule(
    severity="warning",
    summary="A row says `fsdp2` where its script trains with FSDP2.",
    reason="FSDP2 offloads and shards in its own way, and its memory is not that of FSDP.",
    bad="`fsdp` as `train` beside `actor_rollout_ref.actor.strategy=fsdp2`",
    good="`fsdp2` as `train` beside `actor_rollout_ref.actor.strategy=fsdp2`",
)
def backend_variant(claim: Claim) -> Iterator[Mistake]:
    """`fsdp` may also be meant as the name of both."""
    run = run_of(claim)
    if run is None:
        return
    said, setting = _backend(claim, "train"), run.train_backend
    if (said, setting.text) == _FAMILY_AND_ITS_SECOND:
        found = _differs(claim, run, "train", setting, "fsdp2")
        yield from _by_majority(claim, run, "train", setting, said, found)


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
    run = run_of(claim)
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
    run, most = run_of(claim), claim.number("max_batch")
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
    run, most = run_of(claim), claim.number("max_batch")
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
    run = run_of(claim)
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
    run = run_of(claim)
    if run is None or claim.text("tag").upper() != "MIN":
        return
    off = [setting for setting in memory_savers(run) if setting.flag is False]
    if not off:
        return
    keys = _listed(setting.key for setting in off)
    message = f"tag of {shown(claim.label, 120)} is `MIN`, but the script does not turn on {keys}"
    mend = f"Set {_listed(f'{setting.key}=True' for setting in off)}."
    set_off = [setting for setting in off if setting.place]
    place = at(claim, run, set_off[0]) if set_off else claim.place("tag")
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
    run = run_of(claim)
    if run is None or claim.text("tag").upper() != "RECOMMENDED":
        return
    savers = (run.param_offload, run.optimizer_offload, run.offload_policy, run.optimizer_on_host)
    on = [setting for setting in savers if setting.flag]
    if on:
        keys = _listed(setting.key for setting in on)
        message = f"tag of {shown(claim.label, 120)} is `RECOMMENDED`, but the script sets {keys}"
        mend = f"Set {_listed(f'{setting.key}=False' for setting in on)}, or write `MIN`."
        yield Mistake(*at(claim, run, on[0]), message, mend)
