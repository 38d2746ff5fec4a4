"""A person's question about memory: a script, or words for model, GPUs and settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rl_resources.dataset import Dataset
from rl_resources.devices import stated_gigabytes
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
    read_config,
)
from rl_resources.estimate.search import fitted, sized
from rl_resources.facts.models import model_meant
from rl_resources.facts.script_names import ScriptName, parsed
from rl_resources.files import read_text
from rl_resources.package import Record
from rl_resources.query.question_inputs import (
    OF_ROLLOUTS,
    generates_itself,
    offline_of,
    take_defaults,
    take_hardware,
    take_weights,
    without_offline,
)
from rl_resources.query.sentences import say
from rl_resources.query.understand import (
    Query,
    not_covered,
    stated,
    take_backend,
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

_IN_WORDS = "Give --framework, --model, --gpus and the settings: --set KEY=VALUE"
_NO_SHELL = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".json")
Source = Run | FrameworkStart
"""What a script starts."""


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
    asked = stated(asked)
    words = {name: asked[name] for name in (*WORDS, *OF_ROLLOUTS) if name in asked}
    framework, release = release_of(words.get("framework", ""))
    if framework:
        words["framework"] = framework
    backend_taken = take_backend(frameworks()["backends"], words)
    name = _own_name(dataset, script)
    source = None
    if script:
        source = _start_of(dataset, script, words)
        said = _said(dataset, source, name, words)
        _refuse_other_task(script, said, words)
        words = said | words
        _needs_model(script, source, words)
    words, offline = without_offline(words)
    model, query = _model_and_query(dataset, words)
    inputs = _of_backend(query, source, release, sets)
    said_of_names = _said_of_names(dataset, words, model)
    inputs.read_as = " ".join(filter(None, [backend_taken, said_of_names]))
    if offline:
        offline.begin(inputs)
    # An input keeps the first value that it gets: what is asked comes before the script, and
    # both before what is usual.
    numbers = [f"{number}={asked[number]}" for number in NUMBERS if number in asked]
    for setting in (*sets, *numbers):
        inputs.set(setting)
    take_hardware(dataset, query, inputs)
    take_weights(query, words.get("model", ""), inputs)
    _take_script(source, inputs)
    if query.infer:
        inputs.give("has_engine", int(not generates_itself(query.infer)))
    if name:
        inputs.assume("gpus", name.gpus, "the script's name")
    _needs_gpus(script, source, inputs)
    _refuse_mean_above_longest(inputs.inputs)
    take_defaults(query, offline, inputs)
    found = Estimate(inputs.finished(model))
    return sized(found, settled=_settled_by(source, inputs))


def _settled_by(source: Source | None, inputs: EstimateInputs) -> list[str]:
    """What a script settles although it does not set it: it leaves that to its framework."""
    if source is None:
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


def _take_script(source: Source | None, inputs: EstimateInputs) -> None:
    if isinstance(source, Run):
        of_run(source, inputs)
    elif source:
        of_start(source, inputs)


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


def _refuse_mean_above_longest(given: Mapping[str, Number]) -> None:
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


def _needs_gpus(script: str, source: Source | None, inputs: EstimateInputs) -> None:
    """Raises `UnusableInput` with the line that hides the GPUs, unless they are known."""
    if "gpus" in inputs.inputs:
        return
    why = "how many GPUs?"
    if isinstance(source, Run):
        why = f"{script}: {where_hidden(source.training_gpus)}"
    raise UnusableInput(why, "Say it: --gpus 8")


def _starts_nothing(path: str, framework: str, script: ScriptText) -> UnusableInput:
    """What to raise for a script that starts nothing that can be read, or not what is asked."""
    read = [VERL] + [name for name, row in profiles().items() if "starts" in row]
    title = profiles().get(framework, {"title": framework})["title"]
    if path.endswith(_NO_SHELL):
        return UnusableInput(f"{path}: is no shell script", _IN_WORDS)
    if framework and framework not in read:
        return _reads_none_of(path, title)
    if any("sft_trainer" in launch.module for launch in script.launches):
        return _reads_none_of(path, "SFT in verl")
    message = f"{path}: starts no training of {title}"
    if framework:
        return UnusableInput(message, "Leave out --framework.")
    titles = ", ".join(profile(name).title for name in read)
    message = f"{path}: starts no training of {titles}"
    fix = "Name the script that does, or give --model and --framework."
    return UnusableInput(message, fix)


def _reads_none_of(path: str, title: str) -> UnusableInput:
    return UnusableInput(f"{path}: no scripts of {title} are read", _IN_WORDS)


def _model_and_query(
    dataset: Dataset, words: Mapping[str, str]
) -> tuple[Record, Query]:
    """The row of the model or its config.json, and the question in keys."""
    named = words.get("model", "")
    query, _ = understood(dataset, words)
    config = config_file(named)
    if config:
        return read_config(config), query
    if not named:
        raise UnusableInput("which model?", OWN_CONFIG)
    row = dataset.by_key["models"].get(query.model) or _row_by_beginning(dataset, named)
    return _with_layers(dataset, row), query


def _said_of_names(dataset: Dataset, words: Mapping[str, str], model: Record) -> str:
    """What to say where a model or a device is taken that is not just the one named."""
    notes = [_other_model(words.get("model", ""), str(model["model"]))]
    query, of_device = understood(dataset, {"device": words.get("device", "")})
    if query.vendor and query.memory_gb:
        notes += of_device
    return " ".join(filter(None, notes))


def _other_model(named: str, key: str) -> str:
    """What to say where another model than the one that is named is taken."""
    name = plain(without_hub(named))
    if config_file(named) or name in {plain(key), plain(without_owner(key))}:
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
    """The question in keys, with notes; of a device that nobody knows the memory in its name."""
    known = vocabulary(dataset)
    if config_file(words.get("model", "")):
        words = {**words, "model": ""}
    device = words.get("device", "")
    try:
        return understand(known, words)
    except UnusableInput:
        stated_gb = stated_gigabytes(device)
        if not stated_gb or not_covered(device):
            raise
        return understand(known, {**words, "device": f"{stated_gb:g} GB"})


def framework_meant(dataset: Dataset, asked: str) -> str:
    """The framework that a word means, one with a profile if it may; its release is left out."""
    name, _ = release_of(asked)
    query, _ = understood(dataset, {"framework": name})
    return _with_profile(query.framework)


def _with_profile(names: str) -> str:
    """The first of several frameworks that has a profile; the first of all where none has."""
    first, *others = names.split(EITHER)
    return next((name for name in (first, *others) if name in profiles()), first)


def _of_backend(
    query: Query, source: Source | None, release: str, sets: Sequence[str]
) -> EstimateInputs:
    """The inputs of a training backend and an engine. Raises `UnusableInput`."""
    name = _with_profile(query.framework)
    found = unprofiled(name)
    if not name:
        found = profile()
    elif name in profiles():
        found = profile(name, release)
    if isinstance(source, Run) and not found.is_verl:
        message = f"the script is of verl, not of {found.title}"
        raise UnusableInput(message, "Leave out --framework.")
    train = found.row.get("called", {}).get(query.train, query.train)
    inputs = EstimateInputs(train, query.infer, profile=found)
    inputs.is_rl = bool(query.task or query.infer)
    inputs.is_script = source is not None
    inputs.names_train = bool(query.train)
    if isinstance(source, Run):
        inputs.infer = source.infer_backend.text or ""
    elif source:
        inputs.is_rl = source.is_rl
    if (query.framework or source) and found.release:
        inputs.framework = found.name
    _refuse_rollouts(query, inputs)
    if not query.train:
        _take_usual_train(query, inputs, sets)
    if not found.release:
        said = formula()["said"]["no_profile"]
        inputs.notes.append(said.format(framework=name, train=inputs.train))
    _check_backend(query, source, inputs)
    return inputs


def _refuse_rollouts(query: Query, inputs: EstimateInputs) -> None:
    """Raise `UnusableInput` if a task with rollouts is asked of a framework that has none."""
    own = inputs.profile
    if inputs.is_rl and not own.trains_rl:
        message = f"{own.title} does not train {query.task or 'RL'}"
        trained = quoted(own.row["offline"], "and")
        raise UnusableInput(message, f"It trains {trained}. Others: --framework trl")


def _take_usual_train(
    query: Query, inputs: EstimateInputs, sets: Sequence[str]
) -> None:
    """Take the training backend that a setting chooses, else the usual one of the framework,
    otherwise FSDP, and say so.

    One GPU shards nothing.
    """
    said = formula()["said"]
    chosen = inputs.profile.chosen_train(
        [plain_setting(text.partition("=")[0]) for text in sets]
    )
    if inputs.framework and chosen:
        inputs.train = chosen
        inputs.notes.append(f"No --train: {chosen}, as the settings choose.")
    elif inputs.framework:
        inputs.train = inputs.profile.usual_train(query.gpus)
        title = inputs.profile.title
        inputs.notes.append(f"No --train: {inputs.train}, as {title} usually has it.")
    elif query.gpus == 1:
        inputs.train = "transformers"
        inputs.notes.append(said["one_gpu"])
    else:
        inputs.train = "fsdp"
        inputs.notes.append(said["sharded"])


def _check_backend(query: Query, source: Source | None, inputs: EstimateInputs) -> None:
    """Raises `UnusableInput` where the formula, the framework or the script has no such backend."""
    found = inputs.profile
    if isinstance(source, Run) and not query.train:
        raise UnusableInput(where_hidden(source.train_backend), "Say it: --train fsdp")
    if inputs.train not in backends():
        known = nearest(inputs.train, backends()).sentence()
        raise UnusableInput(
            f"{inputs.train}: no estimate for this training backend", known
        )
    if query.framework and inputs.train not in found.trains:
        known = quoted(found.trains, "or")
        raise UnusableInput(
            f"{found.title} does not train with {inputs.train}", f"Use {known}."
        )
