"""Cells that a script states: by what it runs and by its name."""

from __future__ import annotations

from pathlib import Path

from rl_resources.contribute.facts import Facts
from rl_resources.dataset import Dataset
from rl_resources.facts.models import is_id, likeness, model_in_path
from rl_resources.facts.script_names import word_of_name
from rl_resources.facts.words import Fact, read_word
from rl_resources.script.algorithm import ESTIMATORS, algorithm_of, contradicting_algorithm
from rl_resources.script.backends import ACTOR, SAME_BACKEND
from rl_resources.script.name import PARTS
from rl_resources.script.run import Run
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.script.settings import Setting
from rl_resources.snapshot import Snapshot
from rl_resources.text import shown


def name_facts(script: ScriptText, snapshot: Snapshot) -> Facts:
    """The cells that a file name of the right form states, each if its word is known."""
    name = Path(script.path).name
    found = {}
    for part in PARTS:
        word = word_of_name(snapshot, name, part)
        if word:
            found[part] = Fact(word)
    return found


def run_facts(script: ScriptText, named: Facts, dataset: Dataset) -> Facts:
    """The cells that follow from the run; none if the script starts no training.

    What the run leaves open between several words is settled by the cells in `named`, which has a
    fact for every column.
    """
    run = script.training
    if run is None:
        return {}
    device = dataset.by_key["devices"].get(named["device"].text, {})
    on_npu = device.get("vendor") == "Huawei"
    if run.setting("trainer.device").text == "npu":
        on_npu = True
    found = {
        "framework": Fact(FRAMEWORK),
        "model": _model(run, dataset),
        "task": _task(run, named["task"].text, dataset),
        "gpus": _count(run.gpus),
        "nodes": _count(run.nodes),
        "train": _backend(run.train_backend, named["train"].text, dataset),
        "infer": _backend(run.infer_backend, named["infer"].text, dataset, on_npu=on_npu),
        "max_prompt_length": _count(run.max_prompt_length),
        "max_response_length": _count(run.max_response_length),
        "rollout_n": _count(run.rollout_n),
    }
    for name, text in memory_cells(run).items():
        found[name] = Fact(text)
    return found


def memory_cells(run: Run) -> dict[str, str]:
    """The cells that decide memory, as the run sets them; empty if that is not known."""
    found = {
        "weights": run.weights,
        "lora_rank": str(run.lora_rank.number or ""),
        "precision": run.precision,
        "memory_optimizations": "; ".join(run.optimizations_on),
        "micro_batch_per_gpu": "",
        "max_tokens_per_gpu": "",
        "gpu_memory_utilization": "",
    }
    by_tokens = run.dynamic_batch.flag
    if by_tokens:
        tokens = run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu")
        found["max_tokens_per_gpu"] = str(tokens.number or "")
    if by_tokens is False:
        found["micro_batch_per_gpu"] = str(run.micro_batch_size_per_gpu.number or "")
    share = run.gpu_memory_utilization
    if share.known:
        found["gpu_memory_utilization"] = str(share.value or "")
    return found


def _unknown(setting: Setting) -> Fact:
    return Fact(doubt=f"`{setting.key}` is not set, or only known when the script runs")


def _count(setting: Setting) -> Fact:
    if setting.number is None:
        return _unknown(setting)
    return Fact(str(setting.number))


def _model(run: Run, dataset: Dataset) -> Fact:
    path = run.model_path_end
    if path is None:
        return _unknown(run.model_path)
    if is_id(path):
        return read_word(dataset, "model", path)
    models = [str(model) for model in dataset.by_key["models"]]
    name = model_in_path(path, models)
    if name:
        found = [model for model in models if likeness(name, [model]) == "same"]
        if len(found) == 1:
            return Fact(found[0])
    return Fact(doubt=f"the script trains `{shown(path)}`, which is not a model of the dataset")


def _task(run: Run, named: str, dataset: Dataset) -> Fact:
    """The task that the settings allow: the one in the name, else DAPO if groups are filtered."""
    estimator = run.estimator
    rank = run.lora_rank.number
    if estimator.text is None:
        return _unknown(estimator)
    if rank is None:
        return _unknown(run.lora_rank)
    fits = []
    trains_adapters = rank > 0
    for row in dataset.records["tasks"]:
        task = str(row["task"])
        if row["adapters_only"] == trains_adapters and _may_be(run, algorithm_of(task)):
            fits.append(task)
    if not fits:
        return Fact(doubt=f"no task of the dataset has `{estimator.key}={shown(estimator.text)}`")
    if named in fits:
        return Fact(named)
    filtering = [task for task in fits if algorithm_of(task) == "DAPO"]
    if run.filters_groups.flag and len(filtering) == 1:
        fits = filtering
    if len(fits) == 1:
        return Fact(fits[0])
    return Fact(doubt=f"by its settings it can be {' or '.join(fits)}")


def _may_be(run: Run, algorithm: str) -> bool:
    estimator = run.estimator.text or ""
    usual = algorithm.lower().replace("-", "_")
    if estimator not in ESTIMATORS.get(algorithm, {usual}):
        return False
    return contradicting_algorithm(run, algorithm) is None


def _backend(setting: Setting, named: str, dataset: Dataset, *, on_npu: bool = False) -> Fact:
    """A backend in the dataset's words; `on_npu` prefers a vendor's edition of it."""
    if setting.text is None:
        return _unknown(setting)
    fits = []
    for row in dataset.records["backends"]:
        word = str(row["backend"])
        if SAME_BACKEND.get(word, word) == setting.text:
            fits.append(word)
    if not fits:
        return Fact(doubt=f"no backend of the dataset has `{setting.key}={shown(setting.text)}`")
    preferred = [named, setting.text]
    if on_npu:
        editions = [word for word in fits if word != setting.text]
        preferred = [named, *editions, setting.text]
    for word in preferred:
        if word in fits:
            return Fact(word)
    return Fact(fits[0])
