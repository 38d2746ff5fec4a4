"""Cells that follow from a script: what it runs, its name, and the tag that it earns."""

from __future__ import annotations

from pathlib import Path

from rl_resources.contribute.facts import Facts
from rl_resources.dataset import Dataset
from rl_resources.facts.broken import Record, records
from rl_resources.facts.models import is_id, likeness, model_in_path
from rl_resources.facts.script_names import word_of_name
from rl_resources.facts.tags import SPEEDS, faster_record, smaller_run
from rl_resources.facts.words import Fact, read_word
from rl_resources.script.algorithm import ESTIMATORS, algorithm_of, contradicting_algorithm
from rl_resources.script.backends import ACTOR, SAME_BACKEND
from rl_resources.script.name import PARTS
from rl_resources.script.run import Run, is_on
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.script.settings import Setting
from rl_resources.script.tags import asked_of_min, costs_time
from rl_resources.snapshot import Snapshot
from rl_resources.text import shown


def name_facts(script: ScriptText, snapshot: Snapshot) -> Facts:
    """The cells that a file name of the right form states, each if its word is known."""
    name = Path(script.path).name
    words = {part: word_of_name(snapshot, name, part) for part in PARTS}
    return {part: Fact(word) for part, word in words.items() if word}


def run_facts(script: ScriptText, named: Facts, dataset: Dataset) -> Facts:
    """The cells that follow from the run; none if the script starts no training.

    What the run leaves open between several words is settled by the cells in `named`, which has a
    fact for every column.
    """
    run = script.training
    if run is None:
        return {}
    device = dataset.by_key["devices"].get(named["device"].text, {})
    on_npu = run.setting("trainer.device").text == "npu" or device.get("vendor") == "Huawei"
    return {
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
        **{name: Fact(text) for name, text in memory_cells(run).items()},
    }


def memory_cells(run: Run) -> dict[str, str]:
    """The cells that decide memory, as the run sets them; empty if that is not known."""
    by_tokens = run.dynamic_batch.flag
    batch, tokens = run.micro_batch_size_per_gpu, run.setting(f"{ACTOR}.ppo_max_token_len_per_gpu")
    share, optimizations = run.gpu_memory_utilization, run.optimizations_on
    return {
        "weights": run.weights,
        "lora_rank": str(run.lora_rank.number or ""),
        "precision": run.precision,
        "memory_optimizations": "; ".join(optimizations),
        "micro_batch_per_gpu": str(batch.number or "") if by_tokens is False else "",
        "max_tokens_per_gpu": str(tokens.number or "") if by_tokens else "",
        "gpu_memory_utilization": str(share.value or "") if share.known else "",
    }


def _unknown(setting: Setting) -> Fact:
    return Fact(doubt=f"`{setting.key}` is not set, or only known when the script runs")


def _count(setting: Setting) -> Fact:
    return _unknown(setting) if setting.number is None else Fact(str(setting.number))


def _model(run: Run, dataset: Dataset) -> Fact:
    path, models = run.model_path_end, [*map(str, dataset.by_key["models"])]
    if path is None:
        return _unknown(run.model_path)
    if is_id(path):
        return read_word(dataset, "model", path)
    name = model_in_path(path, models)
    found = [model for model in models if name and likeness(name, [model]) == "same"]
    if len(found) == 1:
        return Fact(found[0])
    return Fact(doubt=f"the script trains `{shown(path)}`, which is not a model of the dataset")


def _task(run: Run, named: str, dataset: Dataset) -> Fact:
    """The task that the settings allow: the one in the name, else DAPO if groups are filtered."""
    estimator, rank = run.estimator, run.lora_rank.number
    if estimator.text is None or rank is None:
        return _unknown(estimator if estimator.text is None else run.lora_rank)
    rows = (row for row in dataset.records["tasks"] if row["adapters_only"] == (rank > 0))
    fits = [str(row["task"]) for row in rows if _may_be(run, algorithm_of(str(row["task"])))]
    filtering = [task for task in fits if run.filters_groups.flag and algorithm_of(task) == "DAPO"]
    chosen = [task for task in fits if task == named] or filtering or fits
    if len(chosen) == 1:
        return Fact(chosen[0])
    if fits:
        return Fact(doubt=f"by its settings it can be {' or '.join(fits)}")
    return Fact(doubt=f"no task of the dataset has `{estimator.key}={shown(estimator.text)}`")


def _may_be(run: Run, algorithm: str) -> bool:
    estimator = run.estimator.text or ""
    wanted = ESTIMATORS.get(algorithm, {algorithm.lower().replace("-", "_")})
    return estimator in wanted and contradicting_algorithm(run, algorithm) is None


def _backend(setting: Setting, named: str, dataset: Dataset, *, on_npu: bool = False) -> Fact:
    """A backend in the dataset's words; `on_npu` prefers a vendor's edition of it."""
    if setting.text is None:
        return _unknown(setting)
    words = (str(row["backend"]) for row in dataset.records["backends"])
    fits = [word for word in words if SAME_BACKEND.get(word, word) == setting.text]
    editions = [word for word in fits if word != setting.text]
    preferred = [named, *(editions if on_npu else ()), setting.text, *fits]
    found = next((word for word in preferred if word in fits), "")
    doubt = f"no backend of the dataset has `{setting.key}={shown(setting.text)}`"
    return Fact(found) if found else Fact(doubt=doubt)


def earned_tag(run: Run, family: str, record: Record, snapshot: Snapshot) -> str:
    """The tag of a record that ran; empty where none is earned or its settings are not known.

    `family` is its model's, `snapshot` the dataset without it.
    """
    asked = asked_of_min(run, family)
    on = [setting.known and is_on(setting) for setting in asked.values()]
    if on and all(on) and smaller_run(snapshot, record) is None:
        return "MIN"
    if not run.knows_backend or not run.knows_defaults or costs_time(run):
        return ""
    if not any(map(record.text, SPEEDS)):
        return ""
    others = [it for it in records(snapshot, "tuning", "tag") if it.text("tag") == "RECOMMENDED"]
    if faster_record(record, others):
        return ""
    return "RECOMMENDED"
