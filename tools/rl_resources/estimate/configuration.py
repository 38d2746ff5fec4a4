"""What an estimate is asked for: the inputs of the formula, and where each value is from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rl_resources.errors import UnusableInput
from rl_resources.estimate.formula import (
    ENGINE_SIZES,
    Number,
    as_number,
    backends,
    evaluate,
    formula,
    inputs_by_name,
    key_of,
    parallel_sizes,
)
from rl_resources.estimate.frameworks import (
    FrameworkStart,
    Profile,
    ProfileCell,
    owners,
    plain_setting,
    profile,
    usual_run,
)
from rl_resources.estimate.model import model_figures
from rl_resources.package import Record
from rl_resources.script.backends import ACTOR, BACKENDS, ROLLOUT
from rl_resources.script.framework.shipped import FRAMEWORK, shipped
from rl_resources.text import nearest, shown

if TYPE_CHECKING:
    from rl_resources.script.run import Run
    from rl_resources.script.settings import Setting

NOT_KNOWN = "not known without running the script"
BY_BRANCH = "set by the branch that runs"
OF_FRAMEWORK = "default of the framework"
_OWN = frozenset({"prompt_length", "response_length", "micro_batch"})
DERIVED = "derived: the smallest that fits, else the best"
WEIGHTS = frozenset({"full", "lora", "qlora"})
"""What a setting may ask for that its name does not depend on."""
WHOLE = frozenset({"GPUs", "sequences", "tokens", "responses", "dimensions"})


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
    one; settings are then spelled as verl's.
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
    is_script: bool = False
    unknown: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_first_branch: dict[str, Number] = field(default_factory=dict)
    """What the first branch of a script sets, where another one is taken."""

    def leaves_open(self, item: Assumed) -> bool:
        """Whether neither the question nor what a known framework does by default says a value.

        What a training backend does by default, a framework may do otherwise; lengths and batches
        are everybody's own, unless it is a script that leaves them to its framework.
        """
        is_own = item.input in _OWN and not self.is_script
        if BY_BRANCH in item.reason:
            return False
        is_known = self.framework and "default" in item.reason
        return is_own or not is_known

    @property
    def words(self) -> set[str]:
        """What cells of a profile may ask for."""
        words = {self.train, self.infer}
        if self.train not in BACKENDS:
            words.add("any")
        words.add("lora" if self.inputs.get("lora_rank") else "full")
        if self.inputs.get("quantized"):
            words.add("qlora")
        words.add("rl" if self.is_rl else "sft")
        return words

    def give(self, name: str, value: Number, line: int = 0) -> None:
        """Take a value that somebody gave. Raises `UnusableInput` where it is out of range."""
        item = inputs_by_name()[name]
        least = item["minimum"]
        most = item["maximum"]
        possible = least <= value <= most
        if possible and item.get("unit") in WHOLE:
            possible = value == int(value)
        if not possible:
            message = f"{name}: {value:g} is not possible"
            raise UnusableInput(message, _range(name))
        self.inputs.setdefault(name, value)
        if line:
            self.lines.setdefault(name, line)

    def assume(self, name: str, value: Number | None, reason: str) -> None:
        """Take a value that nobody gave, if there is one, and say so."""
        if name in self.inputs:
            return
        if value is not None:
            self.inputs[name] = value
            self.assumed.append(Assumed(name, value, self.unknown.get(name, reason)))

    def set(self, text: str) -> None:
        """Take `KEY=VALUE`, of an input or a setting of the framework. Raises `UnusableInput`."""
        key, _, value = text.strip().partition("=")
        key = plain_setting(key)
        names = self._names()
        cells = names.get(key)
        if cells is None:
            raise self._unknown(key, names)
        taken: set[str] = set()
        for cell in cells:
            found = cell.read(value)
            if found is None and cell.input in taken:
                continue  # a word that its own cell knows, not that of a library
            if found is None and cell.words:
                known = nearest(value, cell.words).sentence()
                raise UnusableInput(f"{key}: `{shown(value)}` is not known", known)
            if found is None:
                message = f"{cell.input}: `{shown(value)}` is not a number"
                raise UnusableInput(message, _range(cell.input))
            self.inputs.pop(cell.input, None)
            self.give(cell.input, found)
            taken.add(cell.input)

    def _unknown(self, key: str, names: Mapping[str, Sequence[ProfileCell]]) -> UnusableInput:
        """What to raise for a setting that is not known here: another framework may have it."""
        found = owners(key)
        if not found:
            known = nearest(key, names).sentence()
            return UnusableInput(f"{shown(key)}: unknown setting", known)
        own = self.profile.title
        owner, name = next(iter(found.items()))
        if own in found:
            message = f"{shown(key)}: {own} has no such setting with {self.train}"
        else:
            message = f"{shown(key)}: a setting of {owner}, not of {own}"
        return UnusableInput(message, f"Write `{self._named(name)}=VALUE`.")

    def _named(self, name: str) -> str:
        """What the framework calls an input; its own name where it has no setting for it."""
        for cell in self.profile.of(self.words):
            if cell.input == name and cell.setting:
                return cell.setting
        return name

    def _names(self) -> dict[str, list[ProfileCell]]:
        """Each input by its setting in the framework, and by its own name."""
        own = {name: [ProfileCell(name, "")] for name in inputs_by_name()}
        return self.profile.settings(self.words | WEIGHTS) | own

    def written(self, knob: Mapping[str, Any], value: Number) -> str:
        """A knob at a value as the framework writes it; empty where it has no such setting."""
        return self.profile.written(knob, value, self.words | WEIGHTS)

    def finished(self, model: Record) -> Self:
        """This, with figures of the model and a default for what nobody gave, all of it listed."""
        figures, guessed = model_figures(model)
        own = dict(backends()[self.train])
        if self.inputs.get("lora_rank"):
            own |= formula()["train_lora"].get(self.train, {})
        for name, item in inputs_by_name().items():
            if name in own:
                reason = f"what {self.train} does by default"
                self.assume(name, own[name], reason)
            else:
                self.assume(name, item.get("default"), "not given")
        self.model = str(model["model"])
        self.inputs = {**figures, **self.inputs}
        for name, reason in guessed.items():
            self.assumed.append(Assumed(name, figures[name], reason))
        values = evaluate(self.inputs)
        if values["undivided"] and self.by_first_branch:
            self._take_first_branch()
            values = evaluate(self.inputs)
        if values["undivided"]:
            raise _undivided(values)
        return self

    def _take_first_branch(self) -> None:
        """Take the sizes of one branch: those of several need not divide the GPUs of any."""
        for index, item in enumerate(self.assumed):
            first = self.by_first_branch.get(item.input)
            if first is not None:
                self.inputs[item.input] = first
                reason = item.reason.replace(f"otherwise {first:g}", f"otherwise {item.value:g}")
                self.assumed[index] = Assumed(item.input, first, reason)


def _undivided(values: Mapping[str, Number]) -> UnusableInput:
    """What to raise about parallel sizes that do not divide the GPUs, with the nearest that do."""
    item = next(item for item in formula()["term"] if item.get("sizes") and values[item["name"]])
    sizes = {name: int(values[name]) for name in item["sizes"] if values[name] != 1}
    gpus = int(values[item["gpus"]])
    written = " x ".join(f"{name} {size}" for name, size in sizes.items())
    message = f"{gpus} GPUs cannot be divided by {written}"
    product = math.prod(sizes.values())
    divisors = [size for size in range(1, gpus + 1) if gpus % size == 0]
    near = sorted(divisors, key=lambda size: abs(size - product))[:2]
    nearest_sizes = " or ".join(map(str, sorted(near)))
    fix = f"They can be divided by {nearest_sizes}. {item.get('hint', '')}"
    return UnusableInput(message, fix.rstrip())


def _range(name: str) -> str:
    """What an input may be."""
    item = inputs_by_name()[name]
    meaning = item["title"]
    unit = item.get("unit")
    if unit in WHOLE:
        meaning = f"{unit} {meaning}"
    least = item["minimum"]
    most = item["maximum"]
    return f"{name}: {meaning}, from {least} to {most}."


def of_run(run: Run, inputs: EstimateInputs) -> None:
    """Take what a script sets, and the defaults of its framework; what is unknown is listed.

    Raises `UnusableInput` for parallel sizes of which nothing is known, and that do not follow from
    the hardware.
    """
    hidden: dict[str, Setting] = {}
    for name, setting in _settings(run, inputs):
        value = None
        if setting.known:
            value = as_number(setting.value)
        line = 0
        if setting.place:
            line = setting.place.line
        item = inputs_by_name()[name]
        default = item.get("default")
        if value is None and line and name not in inputs.inputs:
            if is_parallel(name) and not setting.choices and not is_derived(name, inputs.train):
                hidden[name] = setting
            else:
                _take_choice(inputs, name, setting)
        elif value is None:
            inputs.assume(name, default, where_hidden(setting))
        elif line and setting.value is not None:
            inputs.give(name, value, line)
        elif value < item["minimum"]:
            inputs.assume(name, default, "not set")
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
    reason = where_hidden(setting)
    possible = [as_number(choice) for choice in setting.choices]
    numbers = [number for number in possible if number is not None and number >= item["minimum"]]
    if numbers:
        value = numbers[0]
    # A model that some branch shares among GPUs is not taken for one that none does.
    if is_parallel(name):
        value = next((number for number in numbers if number > 1), value)
    others = [f"{other:g}" for other in numbers if other != value]
    if others:
        reason += f", otherwise {' or '.join(dict.fromkeys(others))}"
    if numbers and value != numbers[0]:
        inputs.by_first_branch[name] = numbers[0]
    inputs.assume(name, value, reason)


def is_derived(name: str, train: str) -> bool:
    """Whether a parallel size follows from the hardware where nobody gives it."""
    names = {*ENGINE_SIZES[0]}
    if backends()[train].get("splits"):
        names |= parallel_sizes()[0].keys()
    return name in names


def is_parallel(name: str) -> bool:
    """Whether an input is a number of GPUs that share the work, by default one."""
    item = inputs_by_name()[name]
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
        of_run(usual_run(inputs.train), inputs)


def of_start(start: FrameworkStart, inputs: EstimateInputs) -> None:
    """Take what a script of another framework than verl sets; what is unknown is listed.

    Of several settings of one input the last cell decides, whatever their order in the script.
    """
    asked = set(inputs.inputs)
    found: dict[str, Number] = {}
    unknown: dict[str, str] = {}
    for cell in start.profile.of(inputs.words | WEIGHTS):
        name, option = start.given(cell)
        if option is None or cell.input in asked:
            continue
        value = option.value(cell)
        if value is None:
            unknown[cell.input] = f"{name} is {NOT_KNOWN} (line {option.line})"
            continue
        if cell.times:
            value *= found.get(cell.input, inputs_by_name()[cell.input].get("default", 1))
        found[cell.input] = value
        inputs.lines[cell.input] = option.line
    for name, value in found.items():
        inputs.give(name, value)
    inputs.unknown = unknown


def _settings(run: Run, inputs: EstimateInputs) -> Iterator[tuple[str, Setting]]:
    """The settings of a run by input, without those that have no effect on it."""
    special = _special(run)
    dynamic = {
        "max_tokens": run.dynamic_batch,
        "log_prob_max_tokens": run.setting(f"{ROLLOUT}.log_prob_use_dynamic_bsz"),
    }
    for name, item in inputs_by_name(inputs.infer).items():
        key = key_of(item, inputs.train)
        if "key" in item and not key:
            continue
        if name in special:
            yield name, special[name]
            continue
        if name in dynamic and not dynamic[name].flag:
            continue
        if key:
            yield name, run.setting(key)


def _special(run: Run) -> dict[str, Setting]:
    """The inputs that are not a key of their own."""
    entropy = run.setting(f"{ACTOR}.entropy_coeff")
    found = {
        "gpus": run.training_gpus,
        "lora_rank": run.lora_rank,
        "micro_batch": run.micro_batch,
        "log_prob_micro_batch": run.log_prob_micro_batch,
        "has_engine": run.shares_gpus,
        "has_critic": _changed(run.estimator, _is_gae),
        "entropy_bytes": _changed(entropy, _bytes_of_entropy),
    }
    reference = run.uses_reference
    if reference is not None:
        # LoRA needs no second model: the base without adapters is the reference.
        kl_loss = run.setting(f"{ACTOR}.use_kl_loss")
        is_held = reference and run.weights == "full"
        found["has_reference"] = kl_loss._replace(value=is_held)
    if not run.trains_with_megatron:
        found["context_parallel"] = run.sequence_parallel_size
        return found
    found["expert_tensor_parallel"] = run.expert_tensor_parallel_size
    found["optimizer_on_host"] = run.optimizer_on_host
    if run.optimizer_on_host.flag:
        found["optimizer_on_host"] = run.optimizer_fraction_on_host
    return found


def _changed(setting: Setting, change: Callable[[object], Number]) -> Setting:
    if not setting.known:
        return setting
    return setting._replace(value=change(setting.value))


def _is_gae(estimator: object) -> Number:
    return estimator == "gae"


def _bytes_of_entropy(coefficient: object) -> Number:
    if coefficient:
        return 2
    return 0
