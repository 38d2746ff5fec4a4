"""A person's question about memory: a script, or words for model, GPUs and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rl_resources.certainty import OUT_OF_MEMORY
from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of, stated_gigabytes
from rl_resources.errors import UnusableInput
from rl_resources.estimate import NUMBERS, SPEEDS, WORDS
from rl_resources.estimate.configuration import (
    EstimateInputs,
    of_profile,
    of_run,
    of_start,
    where_hidden,
)
from rl_resources.estimate.estimate import Estimate, sized
from rl_resources.estimate.formula import backends, formula
from rl_resources.estimate.frameworks import FrameworkStart, Profile, profile, release_of, start_of
from rl_resources.estimate.model import (
    GUESSED,
    OWN_CONFIG,
    completed,
    figure,
    read_config,
)
from rl_resources.facts.models import model_meant
from rl_resources.files import read_text
from rl_resources.package import Record
from rl_resources.query.configurations import every_configuration
from rl_resources.query.sentences import resource
from rl_resources.query.understand import Query, active_billions_in, billions_in, understand
from rl_resources.query.vocabulary import EITHER, beginnings, pattern, plain, vocabulary
from rl_resources.script.name import ScriptName, parsed
from rl_resources.script.run import Run
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import LARGEST_SCRIPT_BYTES
from rl_resources.text import nearest, quoted, shown

_USUAL_RANK = 32
_SEPARATORS = re.compile(r"[\s_-]+")
_MOST_SOURCES = 3
_NO_TEXT = frozenset({"multimodal", "image-generation", "video-generation", "robotics"})
_NO_ENGINES = frozenset({"hf", "deepspeed-hybrid-engine"})


def estimate(
    dataset: Dataset, asked: Mapping[str, str], sets: Sequence[str] = (), script: str = ""
) -> Estimate:
    """The estimate for words by option, settings as `KEY=VALUE`, and a script that is never run.

    What is asked wins over what the script says. Raises `UnusableInput`.
    """
    asked = {name: text.strip() for name, text in asked.items() if text.strip()}
    name = _own_name(dataset, script)
    words, release = _framework(asked)
    source = None
    if script:
        source = _read(script, words.get("framework", ""))
        said = _said(dataset, source, name)
        if "memory" in words:
            said.pop("device", None)
        words = said | words
        _needs_model(script, source, words)
    model, query = _model_and_query(dataset, words)
    inputs = _of_backend(query, source, release)
    for setting in sets:
        inputs.set(setting)
    for number in NUMBERS:
        if number in asked:
            inputs.set(f"{number}={asked[number]}")
    _hardware(dataset, query, inputs)
    _speed(dataset, query, inputs)
    _what_trains(query, inputs)
    _of_source(source, inputs)
    if query.infer:
        # Generation of Transformers takes no share of the GPU beforehand.
        inputs.give("has_engine", int(query.infer not in _NO_ENGINES))
    if name:
        inputs.assume("gpus", name.gpus, "the script's name")
    _needs_gpus(script, source, inputs)
    if query.framework:
        of_profile(inputs)
    _assume_engine(query, inputs)
    settled: list[str] = []
    found = Estimate(inputs.finished(model))
    if source:
        settled = [item.input for item in inputs.assumed if not inputs.leaves_open(item)]
    return sized(found, settled)


def _framework(asked: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The words that are asked, and the release that the framework is asked with."""
    words = {key: asked[key] for key in WORDS & asked.keys()}
    if "framework" not in words:
        return words, ""
    words["framework"], release = release_of(words["framework"])
    return words, release


def _read(path: str, framework: str) -> Run | FrameworkStart:
    """What a script starts. Raises `UnusableInput` where it cannot be read, or trains nothing."""
    text = read_text(Path(path), LARGEST_SCRIPT_BYTES, "Name your own shell script.")
    script = ScriptText(Path(path).name, text)
    start = start_of(script.script, framework)
    if start:
        return start
    run = script.training or script.run
    if run is None or not script.trainings:
        help_ = "Name the script that starts the training."
        raise UnusableInput(f"{path}: starts no training that is known", help_)
    return run.usual


def _said(
    dataset: Dataset, source: Run | FrameworkStart, name: ScriptName | None
) -> dict[str, str]:
    """Model, device and backend as a script's name says them, where they are known, or its text."""
    models = {str(row["slug"]): str(row["model"]) for row in dataset.records["models"]}
    if isinstance(source, FrameworkStart):
        path = source.text(source.profile.row["model"])
        found: dict[str, str | None] = {"model": path, "train": source.train}
        found["framework"] = source.profile.name
    else:
        meant = model_meant(source.model_path_end or "", models.values())
        found = {"model": meant, "train": _train_backend(source)}
    if name:
        found["model"] = models.get(name.model, found["model"])
        found["device"] = name.device
    return {word: str(text) for word, text in found.items() if text}


def _train_backend(run: Run) -> str:
    """What trains, as far as the estimate needs it; empty if that is not known."""
    setting = run.train_backend
    if setting.text:
        return setting.text
    if setting.choices:
        return str(setting.choices[0])
    if run.trains_with_megatron is None:
        return ""
    if run.trains_with_megatron:
        return "megatron"
    return "fsdp"


def _own_name(dataset: Dataset, script: str) -> ScriptName | None:
    """The parts of a script's name if it is one of ours, whose device is known."""
    name = parsed(Path(script).name)
    if name and name.device in dataset.by_key["devices"]:
        return name
    return None


def _needs_model(script: str, source: Run | FrameworkStart, known: Collection[str]) -> None:
    """Raises `UnusableInput` with the line that hides the model, unless it is known."""
    if "model" in known or not isinstance(source, Run):
        return
    setting = source.model_path
    path = source.model_path_end
    why = where_hidden(setting)
    if path and setting.place:
        why = f"{setting.key} is `{shown(path)}`, not a known model (line {setting.place.line})"
    raise UnusableInput(f"{script}: {why}", OWN_CONFIG)


def _needs_gpus(script: str, source: Run | FrameworkStart | None, inputs: EstimateInputs) -> None:
    """Raises `UnusableInput` with the line that hides the GPUs, unless they are known."""
    if "gpus" in inputs.inputs:
        return
    why = "how many GPUs?"
    if isinstance(source, Run):
        why = f"{script}: {where_hidden(source.training_gpus)}"
    raise UnusableInput(why, "Say it: --gpus 8")


def _of_source(source: Run | FrameworkStart | None, inputs: EstimateInputs) -> None:
    """Take what a script sets."""
    if isinstance(source, Run):
        of_run(source, inputs)
    elif source:
        of_start(source, inputs)


def _model_and_query(dataset: Dataset, words: Mapping[str, str]) -> tuple[Record, Query]:
    """The row of the model, or what its config.json says, and the question in keys.

    Raises `UnusableInput` where neither a model nor a size is known.
    """
    named = words.get("model", "")
    config = config_file(named)
    if config:
        others = {name: text for name, text in words.items() if name != "model"}
        query = understood(dataset, others)
        return read_config(config), query
    query = understood(dataset, words)
    if not named:
        raise UnusableInput("which model?", OWN_CONFIG)
    row = dataset.by_key["models"].get(query.model)
    if row is None:
        row = _read_as(dataset, named)
    return _with_layers(dataset, row), query


def _with_layers(dataset: Dataset, row: Record) -> Record:
    """The row of a model; what it lacks is that of the nearest, by its name or its size."""
    billions = billions_in(str(row["model"]))
    usual = billions_in(str(row.get("size", "")))
    return completed(row, dataset.records["models"], billions, usual)


def estimated_models(dataset: Dataset) -> Iterator[Record]:
    """The models that an estimate can be asked for, with what their rows lack."""
    for row in dataset.records["models"]:
        with suppress(UnusableInput):
            yield _with_layers(dataset, row)


def sizes_as_models(dataset: Dataset) -> Iterator[Record]:
    """Each size as the model that an estimate takes for it: `7B`."""
    for row in dataset.records["sizes"]:
        yield _with_layers(dataset, {"model": row["size"], "active_parameters_b": None})


def config_file(named: str) -> Path | None:
    """The config.json that a word names, itself or by the directory of its model."""
    if named.endswith(".json"):
        return Path(named)
    inside = Path(named) / "config.json"
    if named and inside.is_file():
        return inside
    return None


def understood(dataset: Dataset, words: Mapping[str, str]) -> Query:
    """The question in keys; of a device that nobody knows the memory that its name states."""
    known = vocabulary(dataset)
    try:
        query, _ = understand(known, words)
    except UnusableInput:
        stated_gb = stated_gigabytes(words.get("device", ""))
        if not stated_gb:
            raise
        query, _ = understand(known, {**words, "device": f"{stated_gb:g} GB"})
    return query


def _read_as(dataset: Dataset, named: str) -> Record:
    """The model whose name a longer one begins with; without any nothing but name and size."""
    spellings = vocabulary(dataset).spellings["model"]
    name = _SEPARATORS.sub("-", named.rpartition("/")[2].lower())
    begun: Iterable[str] = beginnings(name)
    if pattern("billions").fullmatch(name):
        begun = ()  # a size is no name
    for beginning in begun:
        for key in spellings.get(plain(beginning), "").split(EITHER):
            row = dataset.by_key["models"].get(key)
            if row is not None:
                reason = f"{shown(named)} is read as {key}"
                return {**row, GUESSED.format("parameters_b"): reason}
    return {"model": named, "active_parameters_b": active_billions_in(name)}


def _of_backend(query: Query, source: Run | FrameworkStart | None, release: str) -> EstimateInputs:
    """The inputs of a training backend, and of the engine of the script or of the question.

    Without a word it is the usual one of the framework; where none is named FSDP, and on one GPU,
    where nothing is sharded, the plain model. Raises `UnusableInput` for a backend that the formula
    does not know, or the framework does not have.
    """
    found = profile()
    if query.framework:
        found = profile(query.framework, release)
    usual, note = _usual_train(query, found)
    infer = query.infer
    if isinstance(source, Run):
        infer = source.infer_backend.text or ""
    is_rl = bool(query.task or query.infer)
    if isinstance(source, FrameworkStart):
        is_rl = source.is_rl
    inputs = EstimateInputs(query.train or usual, infer, profile=found, is_rl=is_rl)
    if query.framework or source:
        inputs.framework = found.name
    inputs.is_script = source is not None
    if not query.train:
        inputs.notes.append(note)
    _check_backend(query, source, inputs)
    return inputs


def _usual_train(query: Query, found: Profile) -> tuple[str, str]:
    """The training backend where none is named, and a sentence that says so."""
    if query.framework:
        usual = found.usual_train(query.gpus)
        return usual, f"No --train: {usual}, as {found.title} usually has it."
    if query.gpus == 1:
        return "transformers", formula()["said"]["one_gpu"]
    return "fsdp", formula()["said"]["sharded"]


def _check_backend(
    query: Query, source: Run | FrameworkStart | None, inputs: EstimateInputs
) -> None:
    """Raises `UnusableInput` where the formula, the framework or the script has no such backend."""
    found = inputs.profile
    if isinstance(source, Run) and not query.train:
        raise UnusableInput(where_hidden(source.train_backend), "Say it: --train fsdp")
    if inputs.train not in backends():
        known = nearest(inputs.train, backends()).sentence()
        raise UnusableInput(f"{inputs.train}: no estimate for this training backend", known)
    if query.framework and inputs.train not in found.trains:
        known = quoted(found.trains, "or")
        raise UnusableInput(f"{found.title} does not train with {inputs.train}", f"Use {known}.")
    if isinstance(source, Run) and not found.is_verl:
        message = f"the script is of verl, not of {found.title}"
        raise UnusableInput(message, "Leave out --framework.")


def _hardware(dataset: Dataset, query: Query, inputs: EstimateInputs) -> None:
    """Take GPUs and memory; of devices whose memory is open the least that it can be."""
    if query.gpus:
        inputs.give("gpus", query.gpus)
    devices = devices_of(dataset)
    labels = map(devices.label, query.devices)
    named = ", ".join(labels)
    if len(query.devices) > 1:
        inputs.assume("device_gb", query.memory_gb, f"the smallest of {named}")
    if query.memory_gb:
        inputs.give("device_gb", query.memory_gb)
    if query.vendor:
        reason = f"the memory of {named} is not known: the least of {query.vendor}"
        inputs.assume("device_gb", devices.least_gb(query.vendor), reason)
    if "device_gb" not in inputs.inputs:
        help_ = "Name it, or its GB: --device h100, --memory 80"
        raise UnusableInput("the memory of the GPU is not known", help_)


def _speed(dataset: Dataset, query: Query, inputs: EstimateInputs) -> None:
    """Take the speed of the device, of the slowest one that is meant, if it is known of all."""
    rows = [dataset.by_key["devices"][name] for name in query.devices]
    for name in SPEEDS:
        speeds = [figure(row, name) for row in rows]
        if not all(speeds):
            continue
        if len(speeds) > 1:
            inputs.assume(name, min(speeds), "the slowest of these devices")
        elif speeds:
            inputs.give(name, speeds[0])


def _assume_engine(query: Query, inputs: EstimateInputs) -> None:
    """A rollout engine shares the GPUs in every task of RL, unless it is known not to."""
    if "has_engine" in inputs.inputs:
        return
    if query.task:
        inputs.assume("has_engine", 1, f"the task is {query.task}")
        inputs.notes.append(formula()["said"]["engine"])
    else:
        inputs.assume("has_engine", 0, "no task and no engine")
        inputs.notes.append(formula()["said"]["training"])


def _assume_rank(inputs: EstimateInputs) -> None:
    """Assume the rank that the framework gives to LoRA, otherwise a usual one."""
    adapters = inputs.profile.defaults({inputs.train, "lora"})
    rank = adapters.get("lora_rank")
    if isinstance(rank, int) and rank:
        inputs.assume("lora_rank", rank, f"what {inputs.profile.title} does by default")
    inputs.assume("lora_rank", _USUAL_RANK, "LoRA of a usual rank")


def _known_gpus(inputs: EstimateInputs, name: ScriptName | None) -> None:
    """Raises `UnusableInput` where neither words, script nor its name say the number of GPUs."""
    if name:
        inputs.assume("gpus", name.gpus, "the script's name")
    if "gpus" not in inputs.inputs:
        raise UnusableInput("how many GPUs?", "Say it: --gpus 8")


def _what_trains(query: Query, inputs: EstimateInputs) -> None:
    """What the words for weights and task say. Raises `UnusableInput` where they contradict."""
    task = query.task
    weights = query.weights
    if weights == "partial":
        raise UnusableInput("partial: no estimate for these weights", "Use full, lora or qlora.")
    has_adapters = weights in {"lora", "qlora"} or task.endswith("-LoRA")
    if has_adapters:
        _assume_rank(inputs)
    rank = inputs.inputs.get("lora_rank")
    if weights and rank is not None:
        trains_adapters = rank > 0
        if trains_adapters == (weights == "full"):
            message = f"{weights} weights and lora_rank {rank:g} contradict each other"
            raise UnusableInput(message, "Leave one of them out.")
    if weights == "qlora":
        inputs.give("quantized", 1)
    elif weights:
        inputs.assume("quantized", 0, f"{weights} weights")
    if weights == "full":
        inputs.give("lora_rank", 0)
    if task:
        has_critic = task.startswith("PPO")
        inputs.assume("has_critic", int(has_critic), f"the task is {task}")


class Evidence(NamedTuple):
    """A published run, or one that ran out of memory, beside an estimate of its size.

    `gb` is the memory of all its GPUs, `length` its context in tokens, 0 where it is not known.
    """

    ran: bool
    size: str
    has_experts: bool
    weights: str
    gb: float
    length: int
    label: str
    source: str


@lru_cache(maxsize=1)
def published_runs(dataset: Dataset) -> tuple[Evidence, ...]:
    """All runs of text whose size, weights and memory are known, the least memory first."""
    models = dataset.by_key["models"]
    found: list[Evidence] = []
    for row in every_configuration(dataset):
        is_run = row.state in {"run", OUT_OF_MEMORY} and row.out_of_memory_on != "host"
        is_known = row.size and row.weights and row.total_memory_gb
        if not is_run or not is_known or _NO_TEXT & set(row.scenario):
            continue
        has_experts = bool(models.get(row.model, {}).get("experts"))
        label = f"{row.model_label} {row.task} on {resource(row)}"
        ran = row.state == "run"
        gb = row.total_memory_gb
        evidence = Evidence(
            ran, row.size, has_experts, row.weights, gb, row.length, label, row.source
        )
        found.append(evidence)
    return tuple(sorted(found, key=lambda one: one.gb))


def evidence(dataset: Dataset, found: Estimate) -> list[str]:
    """What published runs of the same size say, in sentences with their links.

    Those that ran out of memory on as much, with no longer a context; the nearest that ran on no
    more, with no shorter one.
    """
    values = found.values
    billions = values["parameters"] / 1e9
    sizes = vocabulary(dataset).sizes
    size = next(one.name for one in sizes if one.below is None or billions < one.below)
    gb = values["gpus"] * values["device_gb"]
    length = values["sequence_length"]
    failed: list[Evidence] = []
    nearest_run = None
    for one in published_runs(dataset):
        has_experts = bool(values["experts"])
        if (one.size, one.has_experts, one.weights) != (size, has_experts, found.weights):
            continue
        if one.ran and one.gb <= gb and one.length >= length:
            nearest_run = one
        if not one.ran and one.gb >= gb and one.length <= length:
            failed.append(one)
    return _told(found, failed, nearest_run)


def _told(found: Estimate, failed: Sequence[Evidence], run: Evidence | None) -> list[str]:
    said = formula()["said"]
    told: list[str] = []
    if failed:
        sources = ", ".join(one.source for one in failed[:_MOST_SOURCES])
        name = "failed_too"
        if found.verdict == "fits":
            name = "failed"
        told.append(said[name].format(count=len(failed), sources=sources))
    if run:
        name = "ran"
        if found.verdict == "fits":
            name = "ran_too"
        told.append(said[name].format(label=run.label, source=run.source))
    return told
