"""What a script does, as cells. The rules of agreement decide what a word means here too."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rl_resources.check.claim.same_model import is_id, likeness, model_in_path
from rl_resources.check.claim.trial_comments import trials_in_comments
from rl_resources.check.subject import ScriptText, Trial
from rl_resources.contribute.fact import Fact, Facts
from rl_resources.dataset import Dataset
from rl_resources.script.algorithm import ESTIMATORS, algorithm_of, contradicting_algorithm
from rl_resources.script.backends import INFER_BACKENDS, SAME_BACKEND, TRAIN_BACKENDS
from rl_resources.script.name import ScriptName
from rl_resources.script.run import ACTOR, Run
from rl_resources.script.settings import Setting
from rl_resources.words import shown


def run_facts(script: ScriptText, named: ScriptName | None, dataset: Dataset) -> Facts:
    """The cells that follow from the run; none where the script starts no training.

    What the run leaves open between several words is settled by the script's name.
    """
    run = script.training
    if run is None:
        return {}
    return {
        "framework": Fact(script.framework),
        "tag": _tag(run),
        "model": _model(run, dataset),
        "task": _task(run, named.task if named else "", dataset),
        "gpus": _count(run.gpus),
        "nodes": _count(run.nodes),
        "train": _backend(
            run, run.train_backend, TRAIN_BACKENDS, named.train if named else "", dataset
        ),
        "infer": _backend(
            run, run.infer_backend, INFER_BACKENDS, named.infer if named else "", dataset
        ),
        "max_prompt_length": _count(run.max_prompt_length),
        "max_response_length": _count(run.max_response_length),
        "rollout_n": _count(run.rollout_n),
        **{name: Fact(text) for name, text in memory_cells(run).items()},
    }


def memory_cells(run: Run) -> dict[str, str]:
    """The cells that decide memory, as the run sets them; blank where it cannot be told."""
    dtype = run.dtype.text or ""
    by_tokens = run.dynamic_batch.flag
    batch, tokens = run.micro_batch_size_per_gpu, run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu")
    return {
        "weights": run.weights,
        "lora_rank": str(run.lora_rank.number or ""),
        "precision": {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}.get(dtype, ""),
        "memory_optimizations": "; ".join(run.optimizations_on),
        "micro_batch_per_gpu": str(batch.number or "") if by_tokens is False else "",
        "max_tokens_per_gpu": str(tokens.number or "") if by_tokens else "",
        "gpu_memory_utilization": str(run.gpu_memory_utilization.value or ""),
    }


def _unknown(setting: Setting) -> Fact:
    return Fact(doubt=f"the script does not tell `{setting.key}` without being run")


def _count(setting: Setting) -> Fact:
    return _unknown(setting) if setting.number is None else Fact(str(setting.number))


def _tag(run: Run) -> Fact:
    """`MIN` with every switch that saves memory on, `RECOMMENDED` with every one off."""
    savers = run.memory_savers
    flags = {setting.flag for setting in savers}
    if len(flags) == 1 and None not in flags:
        return Fact("MIN" if True in flags else "RECOMMENDED")
    told = ", ".join(f"`{setting.key}` is {_state(setting)}" for setting in savers)
    return Fact(doubt=f"its switches do not agree: {told}" if told else "its backend has no switch")


def _state(setting: Setting) -> str:
    return {True: "on", False: "off", None: "not known"}[setting.flag]


def _model(run: Run, dataset: Dataset) -> Fact:
    path, models = run.model_path_end, dataset.by_key["models"]
    if path is None:
        return _unknown(run.model_path)
    if path in models:
        return Fact(path)
    if is_id(path):
        return Fact(path)
    names = {str(key): (str(key), str(row["slug"])) for key, row in models.items()}
    name = model_in_path(path, [word for pair in names.values() for word in pair])
    found = [key for key, pair in names.items() if name and likeness(name, pair) == "same"]
    if len(found) == 1:
        return Fact(found[0])
    return Fact(doubt=f"the script trains `{shown(path)}`, which names no model of the dataset")


def _task(run: Run, named: str, dataset: Dataset) -> Fact:
    estimator, rank = run.estimator, run.lora_rank.number
    if estimator.text is None:
        return _unknown(estimator)
    if rank is None:
        return _unknown(run.lora_rank)
    rows = (row for row in dataset.records["tasks"] if row["adapters_only"] == (rank > 0))
    fits = [str(row["task"]) for row in rows if _may_be(run, algorithm_of(str(row["task"])))]
    chosen = list(_chosen(fits, named, run.filters_groups.flag is True))
    if len(chosen) == 1:
        return Fact(chosen[0])
    if fits:
        return Fact(doubt=f"by its settings it can be {' or '.join(fits)}")
    return Fact(doubt=f"no task of the dataset has `{estimator.key}={shown(estimator.text)}`")


def _may_be(run: Run, algorithm: str) -> bool:
    estimator = run.estimator.text or ""
    wanted = ESTIMATORS.get(algorithm, {algorithm.lower().replace("-", "_")})
    return estimator in wanted and contradicting_algorithm(run, algorithm) is None


def _chosen(fits: Collection[str], named: str, filters: bool) -> Iterator[str]:
    """The tasks that are meant: the one in the name, else DAPO where groups are dropped."""
    by_name = [task for task in fits if task.lower() == named]
    dropping = [task for task in fits if filters and algorithm_of(task) == "DAPO"]
    yield from by_name or dropping or fits


def _backend(
    run: Run, setting: Setting, known: Collection[str], named: str, dataset: Dataset
) -> Fact:
    """A backend in the dataset's words, of which some are a vendor's edition of others."""
    if setting.text is None or setting.text not in known:
        return _unknown(setting)
    words = (str(row["backend"]) for row in dataset.records["backends"])
    fits = [word for word in words if SAME_BACKEND.get(word, word) == setting.text]
    editions = [word for word in fits if word != setting.text]
    on_npu = run.setting("trainer.device").text == "npu"
    preferred = [named, *(editions if on_npu else ()), setting.text, *fits]
    found = next((word for word in preferred if word in fits), None)
    return Fact(found) if found else _unknown(setting)


def batch_of(script: ScriptText) -> int | None:
    """The prompts of a step that the script asks for."""
    run = script.training
    return run.train_batch_size.number if run else None


def searched(script: ScriptText) -> tuple[Trial, ...]:
    """The trials in its comments as batches of all GPUs; none where they can be meant per GPU."""
    run, trials = script.training, trials_in_comments(script.script)
    gpus = run.gpus.number if run else None
    if gpus is None or gpus == 1:
        return trials if gpus == 1 else ()
    ran = Trial(batch_of(script) or 0, True)
    scaled = tuple(Trial(trial.batch * gpus, trial.ran) for trial in trials)
    fits = [reading for reading in (trials, scaled) if ran in reading]
    return fits[0] if len(fits) == 1 else ()
