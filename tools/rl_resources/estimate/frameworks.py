"""What a framework does by default, and its names for settings: `frameworks.toml`.

A profile has cells. Each says of one input of the formula what the framework does by default, with
which setting it changes it, or both, and where its source says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from rl_resources.errors import UnusableInput
from rl_resources.estimate.formula import (
    Number,
    as_number,
    backends,
    formula,
    inputs_by_name,
    key_of,
)
from rl_resources.files import table_beside
from rl_resources.script.backends import ACTOR, BACKENDS, ENGINES, SAME_BACKEND, Engine
from rl_resources.script.bash.script import Command, Place, Script, Word
from rl_resources.script.framework.composition import compose_module
from rl_resources.script.framework.shipped import GROUP, MODULE, shipped
from rl_resources.script.framework.syntax import ParsedOverride
from rl_resources.script.launch import Launch
from rl_resources.script.run import Run
from rl_resources.text import quoted, shown

VERL = "verl"
"""The framework whose settings the formula names, and whose own configuration is shipped."""
OTHER = "*"
"""Stands for all other values of a setting."""
_MODULE_INPUTS = frozenset({"lora_mlp", "lora_attention", "saved_modules"})
_WORD = re.compile(r"[a-z][\w-]*")
_SWITCH = "0 or 1"
_STAGE = re.compile(
    r"(?:z(?:ero)?|stage)[-_]?([0-3])(?!\d)(.*(?<!no)(?<!no[-_])offload)?"
)
"""The stage of ZeRO in the name of a configuration, and whether it offloads."""
_RELEASE = re.compile(r"[\s=@]+v?(\d\S*)$")


class ProfileCell(NamedTuple):
    """What a framework does about one input; the head of `frameworks.toml` explains its fields.

    It holds of runs with all words of `when`, in releases `before` one, or in the `only` one.
    `where` says how a setting without an option is set, `needs` names the option without which it
    changes nothing.
    """

    input: str
    source: str
    value: Number | str | None = None
    setting: str = ""
    also: str = ""
    words: Mapping[str, Number] = {}
    flag: bool = False
    file: bool = False
    times: bool = False
    when: Collection[str] = ()
    before: str = ""
    only: str = ""
    where: str = ""
    needs: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which a setting is read."""
        return (*self.setting.split(), *self.also.split())

    def holds_of(self, release: Version) -> bool:
        """Whether a release does so."""
        if self.only:
            return release == Version(self.only)
        return not self.before or release < Version(self.before)

    def read(self, text: str) -> Number | None:
        """What its setting's text says about its input; `None` where it is no such value."""
        word = text.strip().lower()
        stage = _STAGE.search(word)
        if self.file and stage:
            number, offloads = stage.groups()
            word = f"zero{number}"
            if offloads:
                word += "_offload"
        found = self.words.get(word, self.words.get(OTHER))
        if found is None and self.input in _MODULE_INPUTS:
            found = _share_of_modules(self.input, word, self.words)
        if found is None and "true" not in self.words:
            found = as_number(word)
        return found

    @property
    def known(self) -> Collection[str]:
        """The words that its setting takes; none where it takes a number alone."""
        if self.input in _MODULE_INPUTS and self.setting:
            return {**self.words, **frameworks()["modules"]}
        return self.words

    def unknown_in(self, text: str) -> str:
        """The first word of a text that its setting does not take."""
        words = (word for word in _WORD.findall(text.lower()) if word not in self.known)
        return next(words, text)

    def written(self, value: Number | None) -> str:
        """The setting with a value as the framework writes it, or up to its `=`; else empty."""
        if self.flag or not self.setting:
            return self.setting
        if value is None:
            return f"{self.setting}="
        for word, meaning in self.words.items():
            if meaning == value and word != OTHER:
                return f"{self.setting}={word}"
        if self.words:
            return ""
        if inputs_by_name()[self.input].get("unit") == _SWITCH:
            return f"{self.setting}={bool(value)}"
        return f"{self.setting}={value:.10g}"


@dataclass(frozen=True)
class Profile:
    """What one framework does: in its newest release that was read, or in an older one.

    `row` is all else that the file says of it, `is_named` whether somebody asks for the release.
    Without a release nothing is known of it.
    """

    name: str
    release: str
    row: Mapping[str, Any]
    is_named: bool = False

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return str(self.row["title"])

    @property
    def ignored(self) -> Collection[str]:
        """Its settings that decide nothing of an estimate."""
        names: set[str] = set()
        for part in (self.name, *self.row.get("with", ())):
            names.update(frameworks()["ignored"].get(part, ()))
        return names

    @property
    def sizes(self) -> Mapping[str, str]:
        """Its settings that name another model, each with the input that is its size."""
        found: Mapping[str, str] = self.row.get("sizes", {})
        return found

    @property
    def trains(self) -> Sequence[str]:
        """The training backends that it has, its usual one first."""
        return tuple(self.row["trains"])

    def chosen_train(self, settings: Collection[str]) -> str:
        """The training backend that one of these settings chooses; empty where none does."""
        for train, names in self.row.get("chosen", {}).items():
            if not set(names).isdisjoint(settings):
                return str(train)
        return ""

    def usual_train(self, gpus: int) -> str:
        """The training backend that it takes on so many GPUs, where nobody names one."""
        usual = self.trains[0]
        if gpus == 1:
            usual = self.row.get("alone", usual)
        return usual

    @property
    def trains_rl(self) -> bool:
        """Whether it trains any task with rollouts."""
        return bool(self.row.get("trains_rl", True))

    def trains_weights(self, weights: str) -> bool:
        """Whether it trains full fine-tuning, LoRA or QLoRA."""
        return weights in self.row.get("weights", (weights,))

    @property
    def is_verl(self) -> bool:
        """Whether the formula names its settings, and its own configuration is shipped."""
        return self.name == VERL

    def of(self, words: Collection[str]) -> Sequence[ProfileCell]:
        """The cells that hold of a run with these words, the most special of an input first."""
        if not self.release:
            return [ProfileCell(name, "", setting=name) for name in inputs_by_name()]
        return _cells(self.name, self.release, frozenset(words))

    def defaults(self, words: Collection[str]) -> dict[str, Number | str]:
        """What it does by input."""
        found: dict[str, Number | str] = {}
        for cell in self.of(words):
            if cell.value is not None:
                found.setdefault(cell.input, cell.value)
        return found

    def earlier(self, words: set[str]) -> Mapping[str, Sequence[Number]]:
        """What it did by default in other releases; nothing where one is asked for."""
        found: dict[str, list[Number]] = {}
        if self.is_named:
            return found
        for cell in earlier_cells(self.name):
            value = cell.value
            if isinstance(value, int) and words.issuperset(cell.when):
                found.setdefault(cell.input, []).append(value)
        return found

    def settings(self, words: Collection[str]) -> dict[str, list[ProfileCell]]:
        """What each of its settings changes, by the setting's name."""
        found: dict[str, list[ProfileCell]] = {}
        for cell in self.of(words):
            for name in cell.names:
                found.setdefault(plain_setting(name), []).append(cell)
        return found

    def written(
        self, knob: Mapping[str, Any], value: Number | None, words: Collection[str]
    ) -> str:
        """A knob at a value as it writes it; empty where it has no setting for that."""
        if set(knob.get("train", words)).isdisjoint(words):
            return ""
        if not self.release and set(knob.get("alone", words)).isdisjoint(words):
            return ""
        texts = [self._written(knob["input"], value, words)]
        for name, number in knob.get("with", {}).items():
            if not self._says(texts[0], name, number, words):
                texts.append(self._written(name, number, words))
        return " ".join(texts) if all(texts) else ""

    def _says(
        self, text: str, name: str, number: Number, words: Collection[str]
    ) -> bool:
        """Whether a setting means this number of an input, which another one has besides."""
        setting, _, word = text.partition("=")
        cells = self.settings(words).get(plain_setting(setting), ())
        return any(cell.input == name and cell.read(word) == number for cell in cells)

    def _written(self, name: str, value: Number | None, words: Collection[str]) -> str:
        """An input at a value as it writes it; empty where it has no setting for that."""
        cells = [cell for cell in self.of(words) if cell.input == name]
        # Settings that change nothing in such a run: all their words mean the same.
        idle: set[str] = set()
        for cell in cells:
            if set(cell.words) == {OTHER}:
                idle.update(cell.names)
        for cell in cells:
            text = cell.written(value)
            if text and cell.setting not in idle:
                return cell.where.format(text) or str(self.row.get("prefix", "")) + text
        return ""


def plain_setting(text: str) -> str:
    """The name of a setting without the dashes of an option."""
    return text.lstrip("+-").replace("-", "_")


def release_of(asked: str) -> tuple[str, str]:
    """The name of a framework and its release, empty where none is asked: `verl 0.8`."""
    name, *release = _RELEASE.split(asked, maxsplit=1)
    return name, "".join(release)


def profile(name: str = VERL, release: str = "") -> Profile:
    """The profile of a framework, in its newest release that was read or in another one.

    Raises `UnusableInput` with the frameworks that have one.
    """
    row = profiles().get(name)
    if row is None:
        known = f"Known values are {quoted(profiles(), 'and')}."
        raise UnusableInput(f"{shown(name)}: no profile of this framework", known)
    found = Profile(name, release or row["release"], row, is_named=bool(release))
    try:
        released_cells(name, found.release)
    except InvalidVersion as error:
        fix = f"Write one as in {name} {row['release']}."
        raise UnusableInput(f"{shown(release)}: is no release", fix) from error
    return found


def unprofiled(name: str) -> Profile:
    """That of a framework without one: settings have the names of the formula."""
    return Profile(name, "", {"title": name, "trains": tuple(backends())})


@cache
def _cells(name: str, release: str, words: frozenset[str]) -> Sequence[ProfileCell]:
    """The cells of a framework that hold of a run; of verl its keys too."""
    found = [
        cell for cell in released_cells(name, release) if words.issuperset(cell.when)
    ]
    if name == VERL:
        train = next(iter(words & backends().keys()), "")
        infer = next(iter(words.intersection(engine_words())), "")
        found.extend(_cells_of_keys(train, infer))
        found.extend(cell for cell in library("deepspeed") if train in cell.when)
    return found


def engine_words() -> list[str]:
    """What rollout engines are called, by verl or by us."""
    return [word for word in (*ENGINES, *SAME_BACKEND) if word not in backends()]


@cache
def released_cells(name: str, release: str) -> Sequence[ProfileCell]:
    """The cells of a framework that hold of a release."""
    read = Version(release)
    return [cell for cell in cells_of(name) if cell.holds_of(read)]


@cache
def earlier_cells(name: str) -> Sequence[ProfileCell]:
    """The defaults of a framework that a later release changed."""
    return [cell for cell in cells_of(name) if cell.before]


@cache
def cells_of(name: str) -> Sequence[ProfileCell]:
    """The cells of a framework, then those of the libraries that it is made of."""
    row = profiles()[name]
    found = list(map(_cell, row["cells"]))
    for part in row.get("with", ()):
        found.extend(library(part))
    return found


@cache
def library(name: str) -> Sequence[ProfileCell]:
    """The cells of a library that frameworks are made of."""
    return list(map(_cell, frameworks()["library"][name]))


def _cell(row: Mapping[str, Any]) -> ProfileCell:
    """A cell of the file, with the words of a table that several cells share."""
    words = row.get("words", {})
    if isinstance(words, str):
        words = frameworks()["words"][words]
    return ProfileCell(**{**row, "words": words})


def _cells_of_keys(train: str, infer: str) -> Iterator[ProfileCell]:
    """The keys of verl for each input; they are read by their ends too, the first of equal ends.

    A training backend that verl lacks has no keys: what is a knob there has the input's own name.
    """
    knobs = formula()["knob"]
    words = {
        row["input"]: {row["word"]: row["value"]} for row in knobs if "word" in row
    }
    own_knobs: set[str] = set()
    if train not in BACKENDS:
        own_knobs = {row["input"] for row in knobs if train in row.get("train", ())}
    ends: set[str] = set()
    for name, item in inputs_by_name(infer).items():
        key = key_of(item, train)
        if "key" in item and not key and name not in own_knobs:
            continue
        _, _, end = key.rpartition(".")
        if end in ends:
            end = ""
        ends.add(end)
        said = words.get(name, {})
        if "recompute" in key:
            said = {"full": 1}
        if key and train in BACKENDS:
            yield ProfileCell(name, "", setting=key, also=end, words=said)
        else:
            yield ProfileCell(name, "", setting=name, also=f"{key} {end}")


def profiles() -> Mapping[str, Any]:
    """The frameworks of the file, by name."""
    found: Mapping[str, Any] = frameworks()["framework"]
    return found


@cache
def frameworks() -> Mapping[str, Any]:
    """The file: `repositories`, `modules`, `words`, `library`, `framework`."""
    return table_beside(__file__)


def owners(setting: str, offline: str) -> dict[str, str]:
    """The frameworks that have a setting of this name, each with the input that it changes.

    Of a task without rollouts, only those that train it.
    """
    found: dict[str, str] = {}
    for title, cell in _owned(setting, offline):
        found.setdefault(title, cell.input)
    return found


def _owned(setting: str, offline: str) -> Iterator[tuple[str, ProfileCell]]:
    for name, row in profiles().items():
        trained = {task.lower() for task in row.get("offline", (offline,))}
        if offline and offline not in trained:
            continue
        cells = list(cells_of(name))
        if name == VERL:
            cells += chain.from_iterable(
                _cells_of_keys(train, "") for train in BACKENDS
            )
        for cell in cells:
            if setting in map(plain_setting, cell.names):
                yield row["title"], cell


def shared_cells(
    setting: str, text: str, words: Collection[str], offline: str
) -> Sequence[ProfileCell]:
    """What a setting changes where no framework is named: as the trainer of Transformers or
    DeepSpeed has it, otherwise as several frameworks have it that agree.
    """
    cells = [
        cell
        for cell in (*library("trainer"), *library("deepspeed"))
        if setting in cell.names and set(cell.when) <= set(words)
    ]
    if cells:
        return cells
    titles: set[str] = set()
    said: set[tuple[str, Number | None]] = set()
    for title, cell in _owned(setting, offline):
        if set(cell.when) <= set(words):
            titles.add(title)
            said.add((cell.input, cell.read(text)))
            cells.append(cell)
    if len(titles) > 1 and len(said) == 1:
        return cells
    return ()


def _share_of_modules(name: str, text: str, own: Mapping[str, Number]) -> Number | None:
    """What a list of modules has of the layer, or adds; `None` where one is unknown.

    `own` is what a framework does otherwise with some of them.
    """
    known: Mapping[str, Mapping[str, Number]] = frameworks()["modules"]
    shares = {module: row.get(name, 0) for module, row in known.items()}
    shares.update(own)
    words = _WORD.findall(text)
    if not words or not shares.keys() >= set(words):
        return None
    most: Number = inputs_by_name()[name]["maximum"]
    share = sum(shares[word] for word in words)
    return min(most, share)


@cache
def usual_run(train: str, key: str = "", text: str = "") -> Run:
    """A run of verl with a training backend: what verl does by default, with a key set otherwise.

    The size of an engine follows from the GPUs, because verl's own, 2, does not fit one GPU; a
    critic from the task.
    """
    strategy = SAME_BACKEND.get(train, train)
    choices = [
        ParsedOverride("", f"{ACTOR}.strategy", strategy),
        ParsedOverride("", Engine().tensor_parallel, "1"),
        ParsedOverride("", "algorithm.adv_estimator", "grpo"),
    ]
    if strategy in shipped(VERL).choices:
        choices.append(ParsedOverride("", GROUP, strategy))
    if key:
        choices.append(ParsedOverride("", key, text))
    composition = compose_module(shipped(VERL), MODULE, None, None, choices)
    nowhere = Place(0, 0, 0)
    launch = Launch(MODULE, Command((), "", nowhere, nowhere))
    return Run(launch, composition)


# Scripts of frameworks whose settings are options: `--name value`, `--name=value`, `--name`


class GivenOption(NamedTuple):
    """What a script gives to an option, empty for a switch and `None` if it is not known."""

    text: str | None
    line: int

    def value(self, cell: ProfileCell) -> Number | None:
        """What it says about the input of a cell; `None` where that is not known."""
        if self.text is None:
            return None
        return cell.read(self.text or "true")


class FrameworkStart(NamedTuple):
    """The start of a framework in a script, with its options by their plain names.

    What is set in the environment is an option too. `is_rl` says whether it is RL, `task` which
    task its command names otherwise: `dpo`.
    """

    profile: Profile
    options: Mapping[str, GivenOption]
    is_rl: bool
    task: str

    def text_of(self, *names: str) -> str:
        """What the script gives to the first of these options; empty where that is not known."""
        _, option = self.given(names)
        if option is None:
            return ""
        return option.text or ""

    def given(self, names: Iterable[str]) -> tuple[str, GivenOption | None]:
        """The first of these options that the script gives, and its name."""
        for name in names:
            option = self.options.get(plain_setting(name))
            if option:
                return name, option
        return "", None

    @property
    def words(self) -> Mapping[str, str]:
        """What it says in the words of a question."""
        return {
            "model": self.text_of(*self.profile.row["model"]),
            "train": self.train,
            "task": self.task,
            "framework": self.profile.name,
        }

    @property
    def train(self) -> str:
        """The training backend that an option chooses, or the name of Accelerate's configuration.

        Empty where none does.
        """
        chosen = self.profile.chosen_train(self.options)
        if chosen:
            return chosen
        named = self.text_of("config_file", "accelerate_config")
        for word, train in frameworks()["accelerate_config"].items():
            if word in named:
                return str(train)
        return ""


def starts_of(script: Script, name: str = "") -> Iterator[FrameworkStart]:
    """The starts of a framework with a profile, or of the one with this name."""
    asked = [known for known in profiles() if name in {"", known}]
    for command in script.commands:
        line = " ".join(word.text or "" for word in command.words)
        for known in asked:
            row = profiles()[known]
            if "starts" not in row or not re.search(row["starts"], line):
                continue
            options = _environment(script) | _options(command.words)
            is_rl = bool(re.search(row["rl"], line))
            tasks = re.findall(row["offline_task"], line)
            yield FrameworkStart(profile(known), options, is_rl, "".join(tasks[:1]))


def _environment(script: Script) -> dict[str, GivenOption]:
    return {
        item.name: GivenOption(item.value.text, item.place.line)
        for item in script.assignments
    }


def _options(words: Sequence[Word]) -> dict[str, GivenOption]:
    found: dict[str, GivenOption] = {}
    name = ""
    for word in words:
        text = word.text
        if text is not None and text.startswith("--"):
            written, _, text = text.partition("=")
            name = plain_setting(written)
        elif not name:
            continue
        found[name] = GivenOption(text, word.place.line)
        if text or text is None:
            name = ""
    return found
