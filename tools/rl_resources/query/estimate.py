"""A person's question about memory: a script, or words for model, GPUs and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_resources.dataset import Dataset
from rl_resources.devices import Devices
from rl_resources.errors import UnusableInput
from rl_resources.estimate import NUMBERS, WORDS
from rl_resources.estimate.configuration import Inputs, of_run, read_config
from rl_resources.estimate.estimate import Estimate, with_engine_size, with_parallel_sizes
from rl_resources.estimate.formula import formula
from rl_resources.files import read_file
from rl_resources.package import Record
from rl_resources.query.understand import Query, understand
from rl_resources.query.vocabulary import vocabulary
from rl_resources.script.name import ScriptName, parsed
from rl_resources.script.run import Run
from rl_resources.text import nearest, shown

if TYPE_CHECKING:
    from rl_resources.check.target import ScriptText

MODEL_PARALLEL = frozenset({"megatron", "mindspeed"})
PARALLEL = frozenset({"tensor_parallel", "pipeline_parallel", "expert_parallel"})
DEFAULT_TRAIN = "fsdp"
DEFAULT_RANK = 32
_ZERO = re.compile(r"(?:deepspeed[-_ ]?)?zero[-_ ]?([123])")
_GRADIENTS = {stage: {"shards_gradients": int(stage != "1")} for stage in "123"}
_SIZE = re.compile(r"[0-9.]+ *[bm]?", re.IGNORECASE)
_NAME_ONE = "Name a model: --model Qwen/Qwen2.5-7B-Instruct"
_OWN_CONFIG = "Or pass the model's config.json: --model path/to/config.json"


def estimate(
    dataset: Dataset, asked: Mapping[str, str], sets: Sequence[str] = (), script: str = ""
) -> Estimate:
    """The estimate for words by option, settings as `KEY=VALUE`, and a script that is never run.

    What is asked wins over what the script says. Raises `UnusableInput`.
    """
    asked = {name: text.strip() for name, text in asked.items() if text.strip()}
    run, name = _run(script)
    words = {**_of_script(dataset, run, name), **{key: asked[key] for key in WORDS & asked.keys()}}
    if "memory" in asked and "device" not in asked:
        words.pop("device", None)
    train, stage = _backend(words.get("train", ""), words.get("gpus", ""))
    model, rest = _model(dataset, {**words, "train": train if "train" in words else ""})
    query, _ = understand(vocabulary(dataset), rest)
    if model is None and not query.model:
        raise _no_model(dataset, words["model"])
    inputs = Inputs(train)
    for setting in sets:
        inputs.set(setting)
    for option in NUMBERS:
        if option in asked:
            inputs.set(f"{option}={asked[option]}", f"--{option.replace('_', '-')}")
    for flag, value in stage.items():
        inputs.give(flag, value)
    _hardware(dataset, query, inputs)
    _what_trains(query, inputs)
    if run:
        of_run(run, inputs)
    else:
        _of_words(query, inputs, "infer" in words)
    _gpus(inputs, name)
    given = frozenset(inputs.values)
    found = Estimate(inputs.finished(model or dataset.by_key["models"][query.model]))
    return found if run else _sized(found, given)


def _no_model(dataset: Dataset, text: str) -> UnusableInput:
    """The error for a model that is only a size, or one that is not in the dataset."""
    if _SIZE.fullmatch(text):
        return UnusableInput(f"{shown(text)}: a size, not a model", _NAME_ONE)
    close = nearest(text, map(str, dataset.by_key["models"])).words
    found = f"Did you mean {' or '.join(close)}? " if close else ""
    return UnusableInput(f"{shown(text)}: not a known model", f"{found}{_OWN_CONFIG}")


def _sized(found: Estimate, given: Collection[str]) -> Estimate:
    """The estimate at the smallest parallel sizes that fit, where none is given."""
    if found.configuration.train in MODEL_PARALLEL and not PARALLEL & set(given):
        found = with_parallel_sizes(found)
    return found if "engine_tensor_parallel" in given else with_engine_size(found)


def _run(script: str) -> tuple[Run | None, ScriptName | None]:
    """What a script starts, and the parts of its name. Raises `UnusableInput` if it is nothing."""
    if not script:
        return None, None
    text = _script(script)
    run = text.training or text.run
    if run is None:
        raise UnusableInput(f"{script}: starts no training that is known")
    return run, parsed(Path(script).name)


def _of_script(dataset: Dataset, run: Run | None, name: ScriptName | None) -> dict[str, str]:
    """Model, device and backend as a script says them."""
    found = _of_name(dataset, name)
    if run and run.model_path.text:
        found.setdefault("model", run.model_path.text)
    if run and run.train_backend.text:
        found["train"] = run.train_backend.text
    return found


def _script(path: str) -> ScriptText:
    """A script as text. Raises `UnusableInput` where it cannot be read."""
    # Here, because a question without a script needs none of the rules.
    from rl_resources.check.snapshot import LARGEST_SCRIPT_BYTES
    from rl_resources.check.target import ScriptText

    try:
        data = read_file(Path(path), LARGEST_SCRIPT_BYTES)
        return ScriptText(Path(path).name, data.decode("utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnusableInput(f"{path}: cannot be read: {reason}") from error


def _of_name(dataset: Dataset, name: ScriptName | None) -> dict[str, str]:
    """What the name of a script says, where its model and device are known."""
    if name is None:
        return {}
    models = {str(row["slug"]): str(row["model"]) for row in dataset.records["models"]}
    found = {"model": models.get(name.model, ""), "device": name.device}
    known = {"device": dataset.by_key["devices"], "model": models.values()}
    return {word: text for word, text in found.items() if text in known[word]}


def _model(dataset: Dataset, words: Mapping[str, str]) -> tuple[Record | None, dict[str, str]]:
    """The model where it is a `config.json`, and the words without it."""
    named = words.get("model", "")
    if not named:
        raise UnusableInput("which model?", _NAME_ONE)
    if named.endswith(".json"):
        rest = {key: text for key, text in words.items() if key != "model"}
        return read_config(Path(named)), rest
    return None, dict(words)


def _backend(word: str, gpus: str) -> tuple[str, dict[str, int]]:
    """The training backend and, of DeepSpeed, what its ZeRO stage shards.

    Without a word it is FSDP, and on one GPU, where nothing is sharded, the plain model. Raises
    `UnusableInput` for a backend that the formula does not know.
    """
    if stage := _ZERO.fullmatch(word.lower()):
        return "deepspeed", {"shards_parameters": int(stage[1] == "3"), **_GRADIENTS[stage[1]]}
    known = [*formula()["train"], *formula()["same_train"]]
    if word and word not in known:
        raise UnusableInput(
            f"{shown(word)}: no estimate for this training backend", nearest(word, known).sentence()
        )
    return word or ("transformers" if gpus == "1" else DEFAULT_TRAIN), {}


def _hardware(dataset: Dataset, query: Query, inputs: Inputs) -> None:
    if query.gpus:
        inputs.give("gpus", query.gpus)
    named = ", ".join(map(Devices(dataset).label, query.devices))
    if not query.memory_gb:
        named = f"{named}: its memory is not known" if query.device else ""
        raise UnusableInput(named or "which GPU?", "Name it, or its GB: --device h100, --memory 80")
    if len(query.devices) > 1:
        reason = f"the smallest of {named}"
        inputs.assume("device_gb", query.memory_gb, reason)
    inputs.give("device_gb", query.memory_gb)


def _what_trains(query: Query, inputs: Inputs) -> None:
    """What the words for weights and task say. Raises `UnusableInput` where they contradict."""
    rank, weights = inputs.values.get("lora_rank"), query.weights
    if weights == "partial":
        raise UnusableInput("partial: no estimate for these weights", "Use full, lora or qlora.")
    if weights == "full" and query.task.endswith("-LoRA"):
        raise UnusableInput(f"full weights and the task {query.task} contradict each other")
    if weights and rank is not None and (rank > 0) != (weights != "full"):
        raise UnusableInput(f"{weights} weights and lora_rank {rank:g} contradict each other")
    if query.weights in {"lora", "qlora"} or query.task.endswith("-LoRA"):
        inputs.assume("lora_rank", DEFAULT_RANK, "LoRA of a usual rank")
    if query.weights == "qlora":
        inputs.give("quantized", 1)
    if query.weights == "full":
        inputs.give("lora_rank", 0)
    if query.task:
        critic = query.task.startswith("PPO")
        reason = f"{query.task} trains {'a' if critic else 'no'} critic"
        inputs.assume("has_critic", int(critic), reason)


def _of_words(query: Query, inputs: Inputs, has_engine: bool) -> None:
    """Whether a rollout engine shares the GPUs, where no script says it."""
    if has_engine:
        inputs.give("has_engine", 1)
    else:
        inputs.assume("has_engine", 0, "no --infer: no rollout engine shares the GPUs")


def _gpus(inputs: Inputs, name: ScriptName | None) -> None:
    """The number of GPUs: asked, set by the script, or in its name."""
    if "gpus" not in inputs.values and name:
        inputs.assume("gpus", name.gpus, "the script's name")
    if "gpus" not in inputs.values:
        raise UnusableInput("how many GPUs?", "Say it: --gpus 8")
