"""A person's question about memory: a script, or words for model, GPUs and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.errors import UnusableInput
from rl_resources.estimate import NUMBERS, WORDS
from rl_resources.estimate.configuration import (
    EstimateInputs,
    of_run,
    of_start,
    where_hidden,
)
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import Number, backends, formula
from rl_resources.estimate.frameworks import (
    VERL,
    FrameworkStart,
    Profile,
    frameworks,
    plain_setting,
    profile,
    profiles,
    release_of,
    starts_of,
    unprofiled,
)
from rl_resources.estimate.model import (
    GUESSED,
    OWN_CONFIG,
    completed,
    config_file,
    figure,
    read_config,
)
from rl_resources.estimate.search import fitted, has_usual_sizes, sized
from rl_resources.facts.models import model_meant
from rl_resources.facts.script_names import ScriptName, parsed
from rl_resources.files import read_text
from rl_resources.package import Record
from rl_resources.query.question_inputs import (
    OF_ROLLOUTS,
    OfflineTask,
    generates_itself,
    not_trained,
    offline_of,
    take_defaults,
    take_hardware,
    take_weights,
    without_offline,
)
from rl_resources.query.sentences import say
from rl_resources.query.understand import (
    Query,
    stated,
    understand,
)
from rl_resources.query.vocabulary import (
    EITHER,
    active_billions_in,
    billions_in,
    models_begun,
    plain,
    vocabulary,
    without_hub,
    without_owner,
)
from rl_resources.script.framework.shipped import support
from rl_resources.script.launch import TRAINER, Launch
from rl_resources.script.run import Run
from rl_resources.script.script_text import ScriptText
from rl_resources.snapshot import LARGEST_SCRIPT_BYTES
from rl_resources.text import nearest, quoted, shown

_TOKENS = "ppo_max_token_len_per_gpu"
_OF_ENGINE = r"\brollout\b|vllm|sglang"
_SEQUENCES = {"micro_batch", "ppo_micro_batch_size_per_gpu"}
_IN_WORDS = "Give --framework, --model, --gpus and the settings: --set KEY=VALUE"
Source = Run | FrameworkStart
"""What a script starts."""


class _Question(NamedTuple):
    """What is asked in words, with what a script says of them, and in keys.

    `release` is that of the framework, `settings` are texts `KEY=VALUE`, `offline` is the task
    where it has no rollouts, `name` that of one of our own scripts.
    """

    words: Mapping[str, str]
    query: Query
    release: str
    settings: Sequence[str]
    offline: OfflineTask | None
    script: str
    source: Source | None
    name: ScriptName | None


def estimate(
    dataset: Dataset,
    asked: Mapping[str, str],
    sets: Sequence[str] = (),
    script: str = "",
) -> Estimate:
    """The estimate of a question; what it leaves open is what fits. Raises `UnusableInput`."""
    found = as_asked(dataset, asked, sets, script)
    if script:
        return found
    return fitted(_sharded(dataset, asked, sets, found))


def as_asked(
    dataset: Dataset,
    asked: Mapping[str, str],
    sets: Sequence[str] = (),
    script: str = "",
) -> Estimate:
    """The estimate for words by option, settings as `KEY=VALUE`, and a script that is never run.

    What is asked wins over the script; what nobody says is as usual. Raises `UnusableInput`.
    """
    question = _read(dataset, stated(asked), sets, script)
    model = _model(dataset, question)
    inputs = _of_backend(question)
    inputs.read_as = _said_of_names(dataset, question, model)
    _take_inputs(dataset, question, inputs)
    inputs.complete(model)
    found = sized(Estimate(inputs), settled=_settled_by(question, inputs))
    if not script and has_usual_sizes(found):
        sizes = formula()["said"]["usual_sizes"]
        inputs.notes.append(sizes.format(framework=inputs.profile.title))
    return found


def _read(
    dataset: Dataset, asked: Mapping[str, str], sets: Sequence[str], script: str
) -> _Question:
    """What is asked; a word that only the script says is asked as well."""
    words = {name: asked[name] for name in (*WORDS, *OF_ROLLOUTS) if name in asked}
    framework, release = release_of(words.get("framework", ""))
    if framework:
        words["framework"] = framework
    name = _own_name(dataset, script)
    source = None
    if script:
        source = _start_of(dataset, script, words)
        said = _said(dataset, source, name, words)
        _refuse_other_task(script, said, words)
        words = said | words
        _needs_model(script, source, words)
    words, offline = without_offline(words)
    query, _ = understood(dataset, words)
    numbers = [f"{number}={asked[number]}" for number in NUMBERS if number in asked]
    settings = [*sets, *numbers]
    release = release or _copied(words)
    return _Question(words, query, release, settings, offline, script, source, name)


def _copied(words: Mapping[str, str]) -> str:
    """The release of verl that the project which is asked has a copy of; else empty."""
    releases: Mapping[str, str] = frameworks()["copied"]
    return releases.get(plain(words.get("framework", "")), "")


def _take_inputs(dataset: Dataset, question: _Question, inputs: EstimateInputs) -> None:
    """Take all that is said, and what is usual where nothing is.

    An input keeps the first value that it gets, so the order decides: what is asked, then the
    script, then what its name says, then what is usual.
    """
    query = question.query
    if question.offline:
        question.offline.begin(inputs)
    for setting in _counted(question, inputs):
        inputs.set(_as_size(dataset, setting, inputs.profile))
    take_hardware(dataset, query, inputs)
    take_weights(query, question.words.get("model", ""), inputs)
    if isinstance(question.source, Run):
        of_run(question.source, inputs)
    elif question.source:
        _take_sizes(dataset, question.source, inputs)
        of_start(question.source, inputs)
    if query.infer:
        inputs.give("has_engine", int(not generates_itself(query.infer)))
    if question.name:
        inputs.assume("gpus", question.name.gpus, "the script's name")
    if "gpus" not in inputs.inputs:
        raise _needs_gpus(question)
    _refuse_longer_mean(inputs.inputs)
    take_defaults(query, question.offline, inputs)


def _counted(question: _Question, inputs: EstimateInputs) -> Sequence[str]:
    """The settings without tokens of a micro batch that verl does not read, which a note says.

    It reads them where `use_dynamic_bsz` is on, otherwise the sequences, which are the default.
    """
    settings = question.settings
    names = set(map(_last_part, settings))
    reads_tokens = "use_dynamic_bsz" in names or _SEQUENCES.isdisjoint(names)
    if inputs.framework != VERL or _TOKENS not in names or reads_tokens:
        return settings
    inputs.notes.append(formula()["said"]["tokens_not_read"])
    return [text for text in settings if _last_part(text) != _TOKENS]


def _as_size(dataset: Dataset, setting: str, profile: Profile) -> str:
    """A setting that names another model as the input that is its size, any other as it is."""
    key, _, named = setting.partition("=")
    name = profile.sizes.get(plain_setting(key))
    if name is None:
        return setting
    return f"{name}={_billions_of(dataset, named)}"


def _take_sizes(
    dataset: Dataset, start: FrameworkStart, inputs: EstimateInputs
) -> None:
    """Take the sizes of the other models that a script names."""
    for setting, name in start.profile.sizes.items():
        named = start.text_of(setting)
        if named:
            inputs.give(name, _billions_of(dataset, named))


def _billions_of(dataset: Dataset, named: str) -> Number:
    """The parameters of a model. Raises `UnusableInput` where nothing says them."""
    query, _ = understood(dataset, {"model": named})
    row = _row_named(dataset, query, named)
    return figure(row, "parameters_b")


def _last_part(text: str) -> str:
    """The last part of a setting's key."""
    _, _, name = plain_setting(text.partition("=")[0]).rpartition(".")
    return name


def _settled_by(question: _Question, inputs: EstimateInputs) -> list[str]:
    """What a script settles although it does not set it: it leaves that to its framework."""
    if question.source is None:
        return []
    return [item.input for item in inputs.assumed if not inputs.leaves_open(item)]


def _sharded(
    dataset: Dataset, asked: Mapping[str, str], sets: Sequence[str], found: Estimate
) -> Estimate:
    """The estimate of what shards the model if the whole one does not fit each GPU."""
    before = found.configuration
    is_whole = found.values["gpus"] > 1 and not found.values["shards_parameters"]
    is_too_large = is_whole and found.peak_gb > found.device_gb
    others = [train for train in before.profile.trains if train != before.train]
    if asked.get("train") or not before.framework or not is_too_large or not others:
        return found
    with suppress(UnusableInput):  # a setting that only the other one has
        found = as_asked(dataset, {**asked, "train": others[0]}, sets)
        note = formula()["said"]["too_large"].format(train=others[0])
        found.configuration.notes.insert(0, note)
    return found


def _start_of(dataset: Dataset, path: str, words: Mapping[str, str]) -> Source:
    """The start that trains the task, else the first, of a framework where one is asked.

    Raises `UnusableInput` without any.
    """
    framework = words.get("framework", "")
    if framework:
        framework = framework_meant(dataset, framework)
    task = words.get("task", "")
    text = read_text(Path(path), LARGEST_SCRIPT_BYTES, "Name your own shell script.")
    script = ScriptText(Path(path).name, text)
    starts = list(starts_of(script.script, framework))
    for start in starts:
        if not task or offline_of(start.task) == offline_of(task):
            return start
    if starts:
        return starts[0]
    run = script.training or script.run
    if run is None or not (script.trainings and is_of_verl(run.launch)):
        raise _starts_nothing(path, framework, script)
    fork = support(VERL).fork(run.launch.module)
    if fork:
        raise _reads_none_of(path, fork)
    return run.usual


def is_of_verl(launch: Launch) -> bool:
    """Whether a program with overrides is of verl: SkyRL and AReaL take overrides too."""
    if TRAINER.fullmatch(launch.module) or launch.unresolved:
        return True
    return any(item.key.startswith("actor_rollout_ref.") for item in launch.overrides)


def _said(
    dataset: Dataset, source: Source, name: ScriptName | None, asked: Collection[str]
) -> dict[str, str]:
    """Model, device and backend as a script's name says them, where they are known, or its text."""
    models = {str(row["slug"]): str(row["model"]) for row in dataset.records["models"]}
    found: dict[str, str | None]
    if isinstance(source, FrameworkStart):
        found = {**source.words}
    else:
        path = ""
        if source.model_path.place:  # nobody trains the framework's example by default
            path = source.model_path_end or ""
        model = model_meant(path, models.values())
        found = {"model": model, "train": _train_backend(source)}
    if name:
        found["model"] = models.get(name.model, found["model"])
    if name and "memory" not in asked:
        found["device"] = name.device
    return {word: text for word, text in found.items() if text}


def _refuse_other_task(
    script: str, said: Mapping[str, str], asked: Mapping[str, str]
) -> None:
    """Raise `UnusableInput` if the task that is asked has rollouts and the script has none, or
    the reverse.
    """
    task = asked.get("task")
    if not task:
        return
    own = offline_of(said.get("task", ""))
    if offline_of(task) != own:
        trained = own.name if own else "RL"
        message = f"{script}: trains {trained}, not {shown(task)}"
        raise UnusableInput(message, "Leave out --task, or name another script.")


def _refuse_longer_mean(given: Mapping[str, Number]) -> None:
    """Raise `UnusableInput` if the mean response that is given is longer than the longest."""
    mean = given.get("mean_response_length", 0)
    longest = given.get("response_length", mean)
    if mean > longest:
        message = f"mean_response_length {mean:.10g} is more than response_length {longest:.10g}"
        raise UnusableInput(message, "Correct one of them.")


def _train_backend(run: Run) -> str:
    """What trains, as far as the estimate needs it; empty if that is not known."""
    setting = run.train_backend
    if setting.text or setting.choices:
        return setting.text or str(setting.choices[0])
    of_megatron = {True: "megatron", False: "fsdp", None: ""}
    return of_megatron[run.trains_with_megatron]


def _own_name(dataset: Dataset, script: str) -> ScriptName | None:
    """The parts of a script's name if it is one of ours, whose device is known."""
    name = parsed(Path(script).name)
    if name and name.device in dataset.by_key["devices"]:
        return name
    return None


def _needs_model(script: str, source: Source, known: Collection[str]) -> None:
    """Raises `UnusableInput` with the line that hides the model, unless it is known."""
    if "model" in known or not isinstance(source, Run):
        return
    setting = source.model_path
    path = source.model_path_end
    why = where_hidden(setting)
    if path and setting.place:
        why = f"{setting.key} is `{shown(path)}`, not a known model (line {setting.place.line})"
    raise UnusableInput(f"{script}: {why}", OWN_CONFIG)


def _needs_gpus(question: _Question) -> UnusableInput:
    """What to raise where nobody says the number of GPUs: with the line that hides it."""
    why = "how many GPUs?"
    if isinstance(question.source, Run):
        why = f"{question.script}: {where_hidden(question.source.training_gpus)}"
    return UnusableInput(why, "Say it: --gpus 8")


def _starts_nothing(path: str, framework: str, script: ScriptText) -> UnusableInput:
    """What to raise for a script that starts nothing that can be read, or not what is asked."""
    read = [VERL] + [name for name, row in profiles().items() if "starts" in row]
    titles = ", ".join(profile(name).title for name in read)
    if framework:
        titles = profiles().get(framework, {"title": framework})["title"]
    if framework and framework not in read:
        return _reads_none_of(path, titles)
    if any("sft_trainer" in launch.module for launch in script.launches):
        return _reads_none_of(path, "SFT in verl")
    message = f"{path}: starts no training of {titles}"
    fix = "Name the script that does, or give --model and --framework."
    return UnusableInput(message, fix)


def _reads_none_of(path: str, title: str) -> UnusableInput:
    return UnusableInput(f"{path}: no scripts of {title} are read", _IN_WORDS)


def _model(dataset: Dataset, question: _Question) -> Record:
    """The row of the model with its layers, or its config.json."""
    named = question.words.get("model", "")
    config = config_file(named)
    if config:
        return read_config(config)
    if not named:
        raise UnusableInput("which model?", OWN_CONFIG)
    return _row_named(dataset, question.query, named)


def _row_named(dataset: Dataset, query: Query, named: str) -> Record:
    """The row of a model by its key, else by its name, with its layers."""
    row = dataset.by_key["models"].get(query.model)
    if row is None:
        row = _row_by_beginning(dataset, named)
        row = {**row, "size": row.get("size", query.size)}
    return _with_layers(dataset, row)


def _said_of_names(dataset: Dataset, question: _Question, model: Record) -> str:
    """What to say where a backend, model or device is taken that is not just the word named."""
    words = question.words
    hardware = {"device": words.get("device", "")}
    if any(map(_trains_in_fp16, question.settings)):
        hardware["precision"] = "fp16"
    query, of_device = understood(dataset, hardware)
    if not (query.vendor and query.memory_gb):
        of_device = ()
    asked = {name: words.get(name, "") for name in ("framework", "train")}
    query, of_backend = understood(dataset, asked)
    if query.framework:
        of_backend = ()
    of_model = other_model(words.get("model", ""), str(model["model"]))
    return " ".join(filter(None, [*of_backend, of_model, *of_device]))


def _trains_in_fp16(setting: str) -> bool:
    """Whether a setting says FP16, of more than the rollout engine."""
    name, _, value = setting.lower().partition("=")
    if re.search(_OF_ENGINE, name):
        return False
    is_switch = _last_part(name) == "fp16" and value == "true"
    return is_switch or value in {"fp16", "float16"}


def other_model(named: str, key: str) -> str:
    """What to say where another model than the one that is named is taken."""
    name = plain(without_hub(named))
    if config_file(named) or name in {
        plain(without_hub(key)),
        plain(without_owner(key)),
    }:
        return ""
    return say("read-as", text=shown(named), meaning=key)


def _row_by_beginning(dataset: Dataset, named: str) -> Record:
    """The model whose name a longer one begins with; without any nothing but name and size."""
    models = dataset.by_key["models"]
    for key in models_begun(vocabulary(dataset), named):
        if key in models:
            reason = f"{shown(named)} is read as {key}"
            return {**models[key], GUESSED.format("parameters_b"): reason}
    return {"model": named, "active_parameters_b": active_billions_in(named)}


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
    """Each size, `7B`, as the model that an estimate takes for it, if any model is near."""
    for row in dataset.records["sizes"]:
        with suppress(UnusableInput):
            yield _with_layers(
                dataset, {"model": row["size"], "active_parameters_b": None}
            )


def understood(
    dataset: Dataset, words: Mapping[str, str]
) -> tuple[Query, Sequence[str]]:
    """The question in keys, with notes; a config.json is no name of a model."""
    if config_file(words.get("model", "")):
        words = {**words, "model": ""}
    return understand(vocabulary(dataset), words)


def framework_meant(dataset: Dataset, asked: str) -> str:
    """The framework that a word means, one with a profile if it may; its release is left out."""
    name, _ = release_of(asked)
    query, _ = understood(dataset, {"framework": name})
    return _with_profile(query.framework)


def _with_profile(names: str) -> str:
    """The first of several frameworks that has a profile; the first of all where none has."""
    first, *others = names.split(EITHER)
    return next((name for name in (first, *others) if name in profiles()), first)


def _of_backend(question: _Question) -> EstimateInputs:
    """The inputs of a training backend and an engine. Raises `UnusableInput`."""
    query = question.query
    source = question.source
    found = _profile_of(question)
    train = found.row.get("called", {}).get(query.train, query.train)
    inputs = EstimateInputs(
        train,
        query.infer,
        profile=found,
        is_rl=bool(query.task or query.infer),
        is_script=source is not None,
        names_train=bool(query.train),
    )
    if isinstance(source, Run):
        inputs.infer = source.infer_backend.text or ""
    elif source:
        inputs.is_rl = source.is_rl
    if (query.framework or source) and found.release:
        inputs.framework = found.name
    _refuse_rollouts(query, inputs)
    if not query.train:
        _take_usual_train(question, inputs)
    copied = _copied(question.words)
    if copied:
        said = formula()["said"]["copied"]
        project = question.words["framework"]
        inputs.notes.append(said.format(project=project, release=copied))
    if not found.release:
        said = formula()["said"]["no_profile"]
        inputs.notes.append(said.format(framework=found.name, train=inputs.train))
    _check_backend(question, inputs)
    return inputs


def _profile_of(question: _Question) -> Profile:
    """The profile of the framework that is asked, that of verl without any."""
    name = _with_profile(question.query.framework)
    found = unprofiled(name)
    if not name:
        found = profile()
    elif name in profiles():
        found = profile(name, question.release)
    if isinstance(question.source, Run) and not found.is_verl:
        message = f"the script is of verl, not of {found.title}"
        raise UnusableInput(message, "Leave out --framework.")
    return found


def _refuse_rollouts(query: Query, inputs: EstimateInputs) -> None:
    """Raise `UnusableInput` if a task with rollouts is asked of a framework that has none."""
    if inputs.is_rl and not inputs.profile.trains_rl:
        raise not_trained(inputs.profile, query.task or "RL")


def _take_usual_train(question: _Question, inputs: EstimateInputs) -> None:
    """Take the training backend that a setting chooses, else the usual one of the framework,
    otherwise FSDP, and say so.

    One GPU shards nothing.
    """
    said = formula()["said"]
    gpus = question.query.gpus
    own = inputs.profile
    names = [plain_setting(text.partition("=")[0]) for text in question.settings]
    chosen = own.chosen_train(names)
    if chosen:
        inputs.train = chosen
        inputs.notes.append(
            f"No training backend is named: {chosen}, as the settings choose."
        )
    elif inputs.framework:
        inputs.train = own.usual_train(gpus)
        note = f"No training backend is named: {inputs.train}, as {own.title} usually has it."
        inputs.notes.append(note)
    elif gpus == 1:
        inputs.train = "transformers"
        inputs.notes.append(said["one_gpu"])
    else:
        inputs.train = "fsdp"
        note = "sharded"
        if any(name.startswith("shards_") for name in names):
            note = "sharded_as_given"
        inputs.notes.append(said[note])


def _check_backend(question: _Question, inputs: EstimateInputs) -> None:
    """Raises `UnusableInput` where the formula, the framework or the script has no such backend."""
    query = question.query
    source = question.source
    train = inputs.train
    own = inputs.profile
    if isinstance(source, Run) and not query.train:
        raise UnusableInput(where_hidden(source.train_backend), "Say it: --train fsdp")
    if train not in backends():
        known = nearest(train, backends()).sentence()
        message = f"{train}: no estimate for this training backend"
        raise UnusableInput(message, known)
    if query.framework and train not in own.trains:
        known = quoted(own.trains, "or")
        message = f"{own.title} does not train with {train}"
        raise UnusableInput(message, f"Use {known}.")
