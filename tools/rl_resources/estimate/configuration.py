"""What an estimate is asked for: the inputs of the formula, and where each value is from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version

from rl_resources.errors import UnusableInput
from rl_resources.estimate.formula import (
    ENGINE_SIZE,
    WHOLE,
    Number,
    as_number,
    backends,
    evaluate,
    formula,
    inputs_by_name,
    key_of,
    parallel_sizes,
    possible,
    undivided,
)
from rl_resources.estimate.frameworks import (
    VERL,
    FrameworkStart,
    Profile,
    ProfileCell,
    earlier_cells,
    frameworks,
    owners,
    plain_setting,
    profile,
    shared_cells,
    usual_run,
)
from rl_resources.estimate.model import model_figures
from rl_resources.package import Record
from rl_resources.script.backends import ACTOR, ROLLOUT
from rl_resources.script.framework.shipped import (
    FRAMEWORK,
    history,
    shipped,
    support,
)
from rl_resources.text import nearest, shown

if TYPE_CHECKING:
    from rl_resources.script.run import Run
    from rl_resources.script.settings import Setting

NOT_KNOWN = "not known without running the script"
BY_BRANCH = "set by the branch that runs"
OF_FRAMEWORK = "default of the framework"
DERIVED = "derived: the smallest that fits, else the best"
FITTING = "derived: what fits, else the best"
_SETTINGS = "`--set list` shows all settings."
WEIGHTS = frozenset({"full", "lora"})
"""What a setting may ask for that its name does not depend on."""


class Assumed(NamedTuple):
    """An input that nobody gave: the value taken, and why."""

    input: str
    value: Number
    reason: str


@dataclass
class EstimateInputs:
    """The inputs of one question. If one is given twice, the first value stays.

    `lines` has the line of the script where an input stands, `unknown` why the value that a script
    gives it is not known, `notes` what else was assumed. `framework` is empty where nobody named
    one; settings are then spelled as verl's. `offline` is a task without rollouts, in lower case.
    `is_planned` where a plan writes the settings, so that none of the framework's users is open.
    `settings` are keys of verl that no input has, with their values. `read_as` says of another
    model that it is taken for the named one.
    """

    train: str
    infer: str = ""
    model: str = ""
    inputs: dict[str, Number] = field(default_factory=dict)
    assumed: list[Assumed] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    profile: Profile = field(default_factory=profile)
    framework: str = ""
    is_rl: bool = False
    offline: str = ""
    lacking: Sequence[str] = ()
    """The phases that the task does not have."""
    is_script: bool = False
    is_planned: bool = False
    names_train: bool = False
    read_as: str = ""
    settings: list[tuple[str, str]] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[bool, Number]] = field(default_factory=dict)
    """What settings say of an input, and by what others multiply it."""
    notes: list[str] = field(default_factory=list)
    by_first_branch: dict[str, Number] = field(default_factory=dict)
    """What the first branch of a script sets, where another one is taken."""

    def leaves_open(self, item: Assumed) -> bool:
        """Whether neither the question nor what a known framework does by default says a value.

        What a training backend does by default, a framework may do otherwise; lengths and batches
        are everybody's own, unless it is a script that leaves them to its framework.
        """
        if BY_BRANCH in item.reason:
            return False
        if not self.is_script and item.input in (*self._often_set, *self.earlier):
            return True
        return not self.framework or "default" not in item.reason

    @property
    def earlier(self) -> Mapping[str, Sequence[Number]]:
        """What the framework did by default in other releases, where nobody says which."""
        if not self.framework:
            return {}
        return self.profile.earlier(self.words)

    def may_be_earlier(self, name: str) -> bool:
        """Whether a release that does it otherwise may train the model."""
        _, _, slug = self.model.lower().rpartition("/")
        needed = support(self.framework).architecture(slug, self.train)
        if needed is None:
            return True
        earlier = {cell.input: cell for cell in earlier_cells(self.framework)}
        return Version(needed.since) < Version(earlier[name].before)

    @property
    def _often_set(self) -> Iterator[str]:
        """What users often set otherwise: of any framework, of this one and of what trains."""
        for name in ("any", self.framework, self.train):
            yield from formula()["often"].get(name, ())

    @property
    def words(self) -> set[str]:
        """What cells of a profile may ask for."""
        trained = "full"
        if self.inputs.get("lora_rank"):
            trained = "lora"
        stage = "sft"
        if self.is_rl:
            stage = "rl"
        words = {self.train, self.infer, trained, stage}
        if not (self.is_script or self.profile.is_named):
            words.add("no release")
        if self.offline:
            words |= {"offline", self.offline}
        if self.inputs.get("optimizer_on_host"):
            words.add("offload")
        return words

    def give(self, name: str, value: Number, line: int = 0) -> None:
        """Take a value that somebody gave. Raises `UnusableInput` where it is out of range."""
        item = inputs_by_name()[name]
        is_broken = item.get("unit") in WHOLE and value % 1
        is_within = item["minimum"] <= value <= item["maximum"]
        if is_broken or not is_within:
            raise UnusableInput(f"{name}: {value:g} is not possible", possible(name))
        self.inputs.setdefault(name, value)
        if line:
            self.lines.setdefault(name, line)

    def assume(self, name: str, value: Number | None, reason: str) -> None:
        """Take a value that nobody gave, if there is one, and say so."""
        if name in self.inputs or value is None:
            return
        self.inputs[name] = value
        why = self.unknown.get(name, reason)
        self.assumed.append(Assumed(name, value, why))

    def set(self, text: str) -> None:
        """Take `KEY=VALUE`, of an input or a setting of the framework. Raises `UnusableInput`."""
        key, _, value = text.strip().partition("=")
        key = plain_setting(key)
        if not key:
            raise UnusableInput(f"`{shown(text)}` is not KEY=VALUE", _SETTINGS)
        if f"{key}={value.lower()}" in self._ignored:
            self.ignore(key)
            return
        cells = self._names().get(key) or self._shared(key, value)
        if cells:
            self._take_setting(key, value, cells)
        elif not self._take_key_of_verl(key, value):
            self._ignore_known(key, value)

    def _take_setting(self, key: str, value: str, cells: Sequence[ProfileCell]) -> None:
        """Take what a setting says of its inputs. Raises `UnusableInput` where it is not known.

        A framework and its libraries may have cells of one input: the last counts that knows the
        word.
        """
        read: dict[tuple[str, bool], Number] = {}
        for cell in cells:
            found = cell.read(value)
            if found is not None:
                read[cell.input, cell.times] = found
        known = {name for name, _ in read}
        for cell in cells:
            if cell.input not in known:
                raise _unreadable(key, value, cell)
        for (name, times), found in read.items():
            parts = self.parts.setdefault(name, {})
            parts[times] = found
            self.inputs.pop(name, None)
            self.assumed = [item for item in self.assumed if item.input != name]
            self.give(name, prod(parts.values()))

    def _shared(self, key: str, value: str) -> Sequence[ProfileCell]:
        """What a setting changes where no framework is named; nothing where frameworks differ."""
        if self.framework:
            return ()
        cells = shared_cells(key, value, self.words | WEIGHTS, self.offline)
        named = dict.fromkeys(cell.input for cell in cells)
        if cells:
            self.notes.append(f"{key} is read as {', '.join(named)}.")
        if "response_length" in named and not self.is_rl:
            self.assume("prompt_length", 0, f"{key} is that of prompt and response")
        return cells

    def _take_key_of_verl(self, key: str, value: str) -> bool:
        """Take a key of verl, or its end, that is no input. Whether it is one.

        Raises `UnusableInput` where an option says it.
        """
        if self.framework != VERL:
            return False
        for before, now in frameworks()["renamed"].items():
            if key.startswith(before):
                newer = key.replace(before, now)
                self.notes.append(f"{key} is read as {newer}.")
                self.set(f"{newer}={value}")
                return True
        for known in usual_run(self.train).composition.values:
            if f".{known}".endswith(f".{key}"):
                _refuse_option(known)
                self.settings.append((known, value))
                return True
        last = history(VERL).last_with(key)
        if last:
            note = f"{key} is not counted: verl {last} was the last with it."
            self.notes.append(note)
        return bool(last)

    def _ignore_known(self, key: str, value: str) -> None:
        """Ignore a setting that decides nothing. Raises `UnusableInput` where it is not known."""
        _refuse_option(key)
        if key in self._ignored:
            self.ignore(key)
            return
        ignored = {name.partition("=")[0] for name in self._ignored}
        if key in ignored:
            message = f"the estimate does not cover `{key}={shown(value)}`"
            raise UnusableInput(message, "Leave it out for an estimate without it.")
        raise self._unknown(key, value, ignored)

    @property
    def _ignored(self) -> Collection[str]:
        """The settings that decide nothing, or not with a value."""
        ignored = {*self.profile.ignored}
        if not self.framework:
            ignored.update(frameworks()["ignored"]["trainer"])
        return ignored

    def ignore(self, key: str) -> None:
        """Say of a setting that it decides nothing."""
        self.notes.append(f"{key} does not change this estimate.")

    def _unknown(self, key: str, value: str, ignored: Collection[str]) -> UnusableInput:
        """What to raise for a setting that is not known here: another framework may have it."""
        found = owners(key, self.offline)
        if found:
            return self._foreign(key, value, found)
        keys = usual_run(self.train).composition.values
        if key in keys and not self._asked_framework:
            message = f"{shown(key)}: a setting of verl, and no framework is named"
            return UnusableInput(message, "Add --framework verl.")
        known = [*self._names(), *ignored]
        if self.framework == VERL:
            known += keys
            known += [name.rpartition(".")[2] for name in keys]
        message = f"{shown(key)}: unknown setting"
        return UnusableInput(message, nearest(key, known).sentence() or _SETTINGS)

    def _foreign(self, key: str, value: str, found: Mapping[str, str]) -> UnusableInput:
        """What to raise for a setting of these frameworks, which change these inputs with it."""
        owner, name = next(iter(found.items()))
        named = f"`{self._named(name)}=VALUE`."
        switch = frameworks()["precision"].get(value.lower())
        if switch in self.profile.settings(self.words | WEIGHTS):
            named = f"`{switch}=true`."
        own = self._asked_framework
        if not own:
            message = f"{shown(key)}: a setting of {owner}, and no framework is named"
            return UnusableInput(
                message, f"Add --framework '{owner}', or write {named}"
            )
        if key in self.profile.settings({*self.words, "rl"}):
            message = f"{shown(key)}: {own} has this setting in RL alone"
            return UnusableInput(message, f"Add --task GRPO, or write {named}")
        message = f"{shown(key)}: a setting of {owner}, not of {own}"
        if own in found:
            message = f"{shown(key)}: {own} has no such setting with {self.train}"
        return UnusableInput(message, f"Write {named}")

    @property
    def _asked_framework(self) -> str:
        """The title of the framework that is asked; empty where none is."""
        if self.profile.is_verl and not self.framework:
            return ""
        return self.profile.title

    def _named(self, name: str) -> str:
        """What the framework calls an input; its own name where it has no setting for it."""
        for cell in self.profile.of(self.words):
            if cell.input == name and cell.setting:
                return cell.setting
        return name

    def _names(self) -> dict[str, list[ProfileCell]]:
        """Each input by its setting in the framework, by its own name and by a short one."""
        own = {name: [ProfileCell(name, "")] for name in inputs_by_name()}
        short = {name: own[long] for name, long in formula()["short"].items()}
        return short | self.profile.settings(self.words | WEIGHTS) | own

    def written(self, knob: Mapping[str, Any], value: Number) -> str:
        """A knob at a value as the framework writes it; empty where it has no such setting."""
        return self.profile.written(knob, value, self.words | WEIGHTS)

    def complete(self, model: Record) -> None:
        """Add the figures of the model, and a default for what nobody gave; all of it is listed."""
        self.model = str(model["model"])
        figures, guessed = model_figures(model)
        self._assume_defaults()
        self.inputs = {**figures, **self.inputs}
        for name, reason in guessed.items():
            self.assumed.append(Assumed(name, figures[name], reason))
        values = evaluate(self.inputs)
        if values["undivided"] and self.by_first_branch:
            self._take_first_branch()
            values = evaluate(self.inputs)
        if values["undivided"]:
            raise undivided(values)

    def _assume_defaults(self) -> None:
        """Assume what the engine does, what the training backend does, else what is usual."""
        of_engine = formula()["of_engine"].get(self.infer, {})
        for name, value in of_engine.items():
            self.assume(name, value, f"what {self.infer} does")
        of_train = self._defaults_of_train()
        reason = f"what {self.train} does by default"
        for name, item in inputs_by_name().items():
            self.assume(name, of_train.get(name), reason)
            self.assume(name, item.get("default"), "not given")

    def _defaults_of_train(self) -> dict[str, Number]:
        """What the training backend does where no framework says otherwise."""
        found = dict(backends()[self.train])
        if self.inputs.get("lora_rank"):
            found |= formula()["train_lora"].get(self.train, {})
        if self.framework:
            return found
        if not self.is_rl:
            found |= formula()["train_sft"].get(self.train, {})
        if self.names_train:
            found |= formula()["train_named"].get(self.train, {})
        return found

    def _take_first_branch(self) -> None:
        """Take the sizes of one branch: those of several need not divide the GPUs of any."""
        for index, item in enumerate(self.assumed):
            first = self.by_first_branch.get(item.input)
            if first is not None:
                self.inputs[item.input] = first
                before = f"otherwise {first:g}"
                reason = item.reason.replace(before, f"otherwise {item.value:g}")
                self.assumed[index] = Assumed(item.input, first, reason)


def _refuse_option(name: str) -> None:
    """Raise `UnusableInput` for a setting that has an option of its own."""
    option = frameworks()["by_option"].get(name)
    if option:
        raise UnusableInput(f"{name}: has an option of its own", f"Write {option}.")


def _unreadable(key: str, value: str, cell: ProfileCell) -> UnusableInput:
    """What to raise about a setting that its cell cannot read."""
    if cell.known:
        word = cell.unknown_in(value)
        known = nearest(word, cell.known).sentence()
        return UnusableInput(f"{key}: `{shown(word)}` is not known", known)
    message = f"{cell.input}: `{shown(value)}` is not a number"
    return UnusableInput(message, possible(cell.input))


def of_run(run: Run, inputs: EstimateInputs) -> None:
    """Take what a script sets, and the defaults of its framework; what is unknown is listed.

    Raises `UnusableInput` for parallel sizes of which nothing is known, and that do not follow from
    the hardware.
    """
    hidden: dict[str, Setting] = {}
    for name, setting in _settings(run, inputs):
        item = inputs_by_name()[name]
        value = None
        if setting.known:
            value = as_number(setting.value)
        if value is None and _is_hidden_size(name, setting, inputs):
            hidden[name] = setting
        elif value is None:
            _take_choice(inputs, name, setting)
        elif setting.place and setting.value is not None:
            inputs.give(name, value, setting.place.line)
        elif value < item["minimum"]:
            inputs.assume(name, item.get("default"), "not set")
        else:
            inputs.assume(name, value, default_of(run))
    if hidden:
        message = "; ".join(map(where_hidden, hidden.values()))
        raise UnusableInput(message, f"Say it: --set {'=N --set '.join(hidden)}=N")


def default_of(run: Run) -> str:
    """Whose default a setting has that the script leaves out."""
    module = run.launch.module
    if module in shipped(FRAMEWORK).modules:
        return OF_FRAMEWORK
    return f"{OF_FRAMEWORK}, which {module} may change"


def where_hidden(setting: Setting) -> str:
    """Where a script sets a key to what is not known."""
    why = NOT_KNOWN
    if setting.choices:
        why = BY_BRANCH
    where = ""
    if setting.place:
        where = f" (line {setting.place.line})"
    return f"{setting.key} is {why}{where}"


def _take_choice(inputs: EstimateInputs, name: str, setting: Setting) -> None:
    """Assume the first choice of a setting that is not known, otherwise the usual default."""
    item = inputs_by_name()[name]
    value = item.get("default")
    numbers: list[Number] = []
    for choice in setting.choices:
        number = as_number(choice)
        if number is not None and number >= item["minimum"]:
            numbers.append(number)
    if numbers:
        value = numbers[0]
    if _is_parallel(item):
        # A model that some branch shares among GPUs is not taken for one that none does.
        value = next((number for number in numbers if number > 1), value)
    others = [f"{other:g}" for other in dict.fromkeys(numbers) if other != value]
    reason = where_hidden(setting)
    if others:
        reason += f", otherwise {' or '.join(others)}"
    if numbers and value != numbers[0]:
        inputs.by_first_branch[name] = numbers[0]
    inputs.assume(name, value, reason)


def _is_hidden_size(name: str, setting: Setting, inputs: EstimateInputs) -> bool:
    """Whether a script sets a parallel size of which nothing is known, not even by the hardware."""
    known = {ENGINE_SIZE, *inputs.inputs}
    if backends()[inputs.train].get("splits"):
        known |= parallel_sizes()[0].keys()
    if name in known or setting.place is None or setting.choices:
        return False
    return _is_parallel(inputs_by_name()[name])


def _is_parallel(item: Mapping[str, Any]) -> bool:
    """Whether an input is a number of GPUs that share the work, by default one."""
    return item.get("unit") == "GPUs" and item.get("default") == 1


def of_profile(inputs: EstimateInputs) -> None:
    """Take what the framework does by default: its cells, and verl's own configuration.

    Which weights train comes first, because other cells depend on it.
    """
    profile = inputs.profile
    reason = f"what {profile.title} does by default"
    for names in (("quantized", "lora_rank"), inputs_by_name()):
        defaults = profile.defaults(inputs.words)
        for name in names:
            value = defaults.get(name)
            if isinstance(value, str):
                value = inputs.inputs.get(value)
            inputs.assume(name, value, reason)
    if profile.is_verl:
        _of_verl(inputs)


def _of_verl(inputs: EstimateInputs) -> None:
    """Take what follows from keys of verl, then its defaults. Raises `UnusableInput`."""
    usual = usual_run(inputs.train)
    before = set(_settings(usual, inputs))
    for key, text in inputs.settings:
        run = usual_run(inputs.train, key, text)
        for rejected in run.composition.rejected:
            raise UnusableInput(f"{key}: {rejected.reason}", _SETTINGS)
        changed = set(_settings(run, inputs)) - before
        for name, setting in changed:
            inputs.give(name, as_number(setting.value) or 0)
        if not changed:
            inputs.ignore(key)
    of_run(usual, inputs)


def of_start(start: FrameworkStart, inputs: EstimateInputs) -> None:
    """Take what a script of another framework than verl sets; what is unknown is listed.

    Of several settings of one input the last cell decides, whatever their order in the script.
    """
    asked = set(inputs.inputs)
    found: dict[str, Number] = {}
    unknown: dict[str, str] = {}
    for cell in start.profile.of(inputs.words | WEIGHTS):
        name, option = start.given(cell.names)
        if option is None or cell.input in asked:
            continue
        _, needed = start.given([cell.needs])
        if cell.needs and needed is None:
            inputs.ignore(name)
            continue
        value = option.value(cell)
        if value is None:
            unknown[cell.input] = f"{name} is {NOT_KNOWN} (line {option.line})"
            continue
        if cell.times:
            usual = inputs_by_name()[cell.input].get("default", 1)
            value *= found.get(cell.input, usual)
        found[cell.input] = value
        inputs.lines[cell.input] = option.line
    for name, value in found.items():
        inputs.give(name, value)
    inputs.unknown = unknown


def _settings(run: Run, inputs: EstimateInputs) -> Iterator[tuple[str, Setting]]:
    """The settings of a run by input, without those that have no effect on it."""
    computed = dict(_computed(run, inputs.inputs.get("lora_rank", 0)))
    dynamic = {
        "max_tokens": run.dynamic_batch,
        "log_prob_max_tokens": run.setting(f"{ROLLOUT}.log_prob_use_dynamic_bsz"),
    }
    for name, item in inputs_by_name(inputs.infer).items():
        key = key_of(item, inputs.train)
        if name in computed:
            yield name, computed[name]
        elif name in dynamic and not dynamic[name].flag:
            continue
        elif "run" in item and (key or "key" not in item):
            yield name, getattr(run, item["run"])
        elif key:
            yield name, run.setting(key)


def _computed(run: Run, rank: Number) -> Iterator[tuple[str, Setting]]:
    """The inputs that follow from settings, but are none."""
    yield (
        "has_critic",
        _changed(run.estimator, lambda estimator: int(estimator == "gae")),
    )
    entropy = run.setting(f"{ACTOR}.entropy_coeff")
    of_logit = 2
    if run.trains_with_megatron:
        of_logit = 8  # its logits are fp32: a copy, and their softmax
    yield "entropy_bytes", _changed(entropy, lambda weight: of_logit * bool(weight))
    reference = run.uses_reference
    if reference is not None:
        # LoRA needs no second model: the base without adapters is the reference.
        is_held = reference and run.weights == "full" and not rank
        yield (
            "has_reference",
            run.setting(f"{ACTOR}.use_kl_loss")._replace(value=is_held),
        )
    if not run.trains_with_megatron:
        yield "context_parallel", run.sequence_parallel_size
    elif run.optimizer_on_host.flag:
        yield "optimizer_on_host", run.optimizer_fraction_on_host


def _changed(setting: Setting, change: Callable[[object], Number]) -> Setting:
    if not setting.known:
        return setting
    return setting._replace(value=change(setting.value))
