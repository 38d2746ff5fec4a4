"""The command `new`: a script that nobody has run yet and its row; also the script of a plan.

The settings of a script are those of an estimate, see `estimate/plan.py`. The batch is an untested
rule of thumb: a step has four updates of at least 64 prompts, each a multiple of the GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from rl_resources.certainty import UNTESTED
from rl_resources.contribute import write_changes
from rl_resources.contribute.draft import Draft, check
from rl_resources.contribute.merge import Proposal, Sources, merge
from rl_resources.contribute.sources import Facts, say, script_name
from rl_resources.dataset import Dataset, read_dataset, script_path, typed_dataset
from rl_resources.errors import InvalidDataset, UnusableInput
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.plan import RECOMMENDED, gpus_per_node, rules, turned_on
from rl_resources.facts.comparison import NO_TAG, tag_line
from rl_resources.facts.script_names import PARTS, TABLES, name_beside
from rl_resources.facts.words import Fact, known_words, read_word
from rl_resources.files import environment
from rl_resources.package import Record, read_package, text_of
from rl_resources.query.plan import Answer, Plan, settings_for
from rl_resources.query.plan_question import ask_plan
from rl_resources.query.question_inputs import without_offline
from rl_resources.query.understand import gpus_in
from rl_resources.query.vocabulary import whole_match
from rl_resources.script.algorithm import (
    ALGORITHMS,
    GROUP_ESTIMATORS,
    NEEDED,
    costs_time,
)
from rl_resources.script.backends import (
    ACTOR,
    BACKENDS,
    ENGINES,
    ROLLOUT,
    SAME_BACKEND,
    Backend,
    Engine,
)
from rl_resources.script.framework.shipped import Shipped, shipped
from rl_resources.script.script_text import FRAMEWORK, ScriptText
from rl_resources.snapshot import Snapshot, take_snapshot

LEAST_UPDATE_PROMPTS = 64
UPDATES = 4
OWN = Path(__file__).parent

OPTIONS = (*PARTS, "tag")
"""Columns of the tuning table that make a configuration, each an option of the command."""

Asked = Mapping[str, str]
"""What was asked for, by option: those of `OPTIONS` and `contributor`."""


def new(root: Path, asked: Asked) -> Draft:
    """Make a record and write its files.

    Raises `UnusableInput` and `InvalidDataset`.
    """
    package = read_package(root)
    snapshot = take_snapshot(package)
    record = new_record(asked, typed_dataset(package, snapshot.tables), snapshot)
    drafted = check(record, snapshot, write=True)
    _refuse(drafted.obstacles)
    if drafted.findings:
        raise InvalidDataset(drafted.findings)
    write_changes(root, drafted.written)
    return drafted


def new_record(asked: Asked, dataset: Dataset, snapshot: Snapshot) -> Proposal:
    """The record of a new script that nobody has run.

    Raises `UnusableInput` with everything that is missing, unknown or impossible.
    """
    stated = _words(asked, dataset)
    words = {option: word.text for option, word in stated.items()}
    name = script_name(words)
    name = name_beside(name, words, snapshot.row("tuning", name))
    run = name.removesuffix(".sh").replace("/", "_")
    text = _script(_configuration(words, dataset), run)
    script = ScriptText(
        script_path(dataset, {"model": words["model"], "script": name}), text
    )
    assumed = {"status": Fact(UNTESTED)}
    if words.get("tag") == RECOMMENDED and script.run:
        needed = [NEEDED.format(name=setting) for setting in costs_time(script.run)]
        assumed["notes"] = Fact(" ".join(needed))
    record = merge(Sources(script, stated=stated, assumed=assumed), dataset, snapshot)
    if record.existing:
        raise UnusableInput(
            f"records/tuning.csv has a row for {name} already",
            "Change that row, or choose another configuration. "
            "One with another tag is stored beside it.",
        )
    return record


def _script(wanted: ScriptRequest, name: str) -> str:
    """The text of a script. Raises `UnusableInput` if the framework cannot do it."""
    known = shipped(FRAMEWORK)
    offers = {
        "train": (strategies(known), _with_adapters(BACKENDS)),
        "infer": (engines(known), _with_adapters(ENGINES)),
    }
    _refuse(say("refusals", wanted, known, offers).splitlines())
    return script_text(wanted, known, name)


def _with_adapters(backends: Mapping[str, Backend | Engine]) -> list[str]:
    """The words of those that support LoRA."""
    return [word for word, backend in backends.items() if backend.adapters]


def next_step(record: Proposal) -> str:
    """What to do after a record was written."""
    return say("next_step", record)


def _words(asked: Asked, dataset: Dataset) -> Facts:
    """The dataset's words for what is asked for. Raises `UnusableInput` with all problems."""
    missing = [part for part in PARTS if part not in asked]
    problems = [f"--{part} is required: `new '?'` lists its words" for part in missing]
    words = {}
    for option, text in asked.items():
        if option == "gpus" and whole_match("count", text):
            text = str(gpus_in(text))
        word = read_word(dataset, option, text)
        words[option] = word
        _, offline = without_offline({option: text})
        if offline:
            problems.append(
                f"--task: {offline.name} trains without rollouts; records are of RL"
            )
        elif word.doubt:
            problems.append(f"--{option}: {word.why_empty}")
    _refuse(problems)
    return words


def listed_words(root: Path) -> str:
    """The words of all options."""
    dataset = read_dataset(read_package(root))
    lines = []
    for option in OPTIONS:
        words = ", ".join(known_words(dataset, option)) or "a number"
        lines.append(f"--{option}: {words}\n")
    return "".join(lines)


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        listed = "".join(f"\n  - {item}" for item in problems)
        raise UnusableInput(
            f"this cannot become a record:{listed}", "Nothing was written."
        )


def _configuration(words: Asked, dataset: Dataset) -> ScriptRequest:
    parts = {part: words[part] for part in PARTS}
    rows = {part: dataset.by_key[table][parts[part]] for part, table in TABLES.items()}
    tag = words.get("tag", "")
    found = settings_for(ask_plan(dataset, parts), tag)
    return ScriptRequest(rows, found, tag)


def plan_script(plan: Answer, tag: str) -> str:
    """The script of a plan with the settings of a tag.

    Raises `UnusableInput` if nothing fits, or for a framework without scripts.
    """
    if not isinstance(plan, Plan):
        raise UnusableInput(
            "a script is for GPUs that are named", "Add --device or --memory."
        )
    question = plan.question
    found = plan.options.get(tag)
    if not question.query.task:
        raise UnusableInput(
            f"no script of {question.task}: scripts are written for RL in {FRAMEWORK} alone",
            "`plan` without --script shows the settings.",
        )
    if plan.shown.configuration.profile.name != FRAMEWORK:
        raise UnusableInput(
            f"scripts are written for {FRAMEWORK} alone", "Leave --framework out."
        )
    if found is None:
        raise UnusableInput(
            "no settings fit this hardware", "`plan` without --script says why."
        )
    known = question.dataset.by_key
    task = question.task
    if question.weights == "lora":
        task = question.query.adapter_task or task
    rows = {
        "model": question.model_row,
        "task": known["tasks"][task],
        "device": question.device_row,
        "train": known["backends"][found.configuration.train],
        "infer": known["backends"][found.configuration.infer],
    }
    return _script(ScriptRequest(rows, found, author="plan"), f"plan_{tag.lower()}")


# The script


@dataclass(frozen=True)
class ScriptRequest:
    """What a script is written for: the rows of its parts, settings of an estimate, and the tag.

    `author` is the command that writes it.
    """

    rows: Mapping[str, Record]
    estimate: Estimate
    tag: str = ""
    author: str = "new"

    @property
    def strategy(self) -> str:
        """The framework's word for the training backend."""
        return _word(self.rows["train"])

    @property
    def engine(self) -> str:
        """The framework's word for the rollout engine."""
        return _word(self.rows["infer"])


def _word(backend: Record) -> str:
    name = text_of(backend, "backend")
    return SAME_BACKEND.get(name, name)


def strategies(known: Shipped) -> Mapping[str, str]:
    """The training backends of a release, each with its choice of `model_engine`."""
    found = {
        str(choice.value(f"{ACTOR}.strategy")): name
        for name, choice in known.choices.items()
    }
    if "fsdp" in found:
        found["fsdp2"] = found["fsdp"]
    return found


def engines(known: Shipped) -> tuple[str, ...]:
    """The rollout engines of a release: those that have settings of their own."""
    default = next(iter(known.choices.values()))
    sections = default.value(f"{ROLLOUT}.engine_kwargs")
    return tuple(map(str, sections))


def script_text(wanted: ScriptRequest, known: Shipped, name: str) -> str:
    """The script of a configuration that the framework offers; `name` is its stem."""
    algorithm = ALGORITHMS[text_of(wanted.rows["task"], "algorithm")]
    gpus = int(wanted.estimate.values["gpus"])
    return (
        environment(OWN)
        .get_template("script.sh.jinja")
        .render(
            wanted.rows,
            wanted=wanted,
            known=known,
            name=name,
            algorithm=algorithm,
            has_groups=algorithm.estimator in GROUP_ESTIMATORS,
            own=BACKENDS[wanted.strategy],
            rollout=ENGINES.get(wanted.engine, Engine()),
            gpus=gpus,
            per_node=gpus_per_node(wanted.estimate, gpus),
            batches=batch_of(gpus),
            parallel=_parallel_sizes(wanted),
            choices=strategies(known),
            rules=rules(),
            turned_on=turned_on,
            tag_line=tag_line(wanted.tag or NO_TAG),
        )
    )


def _parallel_sizes(wanted: ScriptRequest) -> dict[str, str]:
    """The parallel sizes of the training backend, by their keys in its section."""
    found = {}
    backend = BACKENDS[wanted.strategy]
    values = wanted.estimate.values
    if wanted.strategy == "megatron":
        found["tensor_model_parallel_size"] = f"{values['tensor_parallel']:g}"
        found["pipeline_model_parallel_size"] = f"{values['pipeline_parallel']:g}"
    if backend.all_gpus:
        found[backend.all_gpus] = "$((NNODES * GPUS_PER_NODE))"
    if backend.expert_parallel and values["experts"]:
        found[backend.expert_parallel] = f"{values['expert_parallel']:g}"
    return found


def batch_of(gpus: int) -> tuple[int, int]:
    """Prompts per step and per update, which every number of data-parallel ranks divides."""
    update = ceil(LEAST_UPDATE_PROMPTS / gpus) * gpus
    return update * UPDATES, update
