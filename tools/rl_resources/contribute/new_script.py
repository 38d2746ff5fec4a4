"""The script of a plan, or of a record that nobody has run: `script.sh.jinja` with its settings.

They are those of an estimate, see `estimate/plan.py`; the batch is a rule of thumb, stated here and
tested nowhere: a step has four updates of 64 prompts or more, each a multiple of the GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.plan import gpus_per_node, rules, turned_on
from rl_resources.facts.tags import NO_TAG, tag_line
from rl_resources.package import Record, text_of
from rl_resources.script.algorithm import ALGORITHMS, GROUP_ESTIMATORS
from rl_resources.script.backends import (
    ACTOR,
    BACKENDS,
    ENGINES,
    ROLLOUT,
    SAME_BACKEND,
    VENDORS,
    Engine,
)
from rl_resources.script.framework.shipped import Shipped
from rl_resources.site.templates import environment

LEAST_UPDATE_PROMPTS = 64
UPDATES = 4
OWN = Path(__file__).parent


@dataclass(frozen=True)
class ScriptRequest:
    """What a script is asked for: rows of the tables, the tag and the settings of an estimate.

    `author` is the command that asks.
    """

    model: Record
    task: Record
    device: Record
    train: Record
    infer: Record
    tag: str
    estimate: Estimate
    author: str = "new"

    @property
    def strategy(self) -> str:
        """The framework's word for the training backend."""
        return _word(self.train)

    @property
    def engine(self) -> str:
        """The framework's word for the rollout engine."""
        return _word(self.infer)


def _word(backend: Record) -> str:
    name = text_of(backend, "backend")
    return SAME_BACKEND.get(name, name)


def strategies(known: Shipped) -> Mapping[str, str]:
    """The training backends of a release, each with the choice of `model_engine` that brings it."""
    found = {}
    for name, choice in known.choices.items():
        strategy = str(choice.value(f"{ACTOR}.strategy"))
        found[strategy] = name
    if "fsdp" in found:
        found["fsdp2"] = found["fsdp"]
    return found


def engines(known: Shipped) -> tuple[str, ...]:
    """The rollout engines of a release: those that it has settings of their own for."""
    default = next(iter(known.choices.values()))
    sections = default.value(f"{ROLLOUT}.engine_kwargs")
    return tuple(map(str, sections))


def refusals(wanted: ScriptRequest, known: Shipped) -> Iterator[str]:
    """Why the framework cannot do what is asked for, each reason a sentence with what it can do."""
    release = f"{known.framework} {known.version}"
    algorithm = wanted.task["algorithm"]
    if algorithm not in ALGORITHMS:
        possible = ", ".join(ALGORITHMS)
        yield f"no settings alone make {release} run {algorithm}; known are those of {possible}"
    for row, offered, abilities in (
        (wanted.train, strategies(known), BACKENDS),
        (wanted.infer, engines(known), ENGINES),
    ):
        backend = text_of(row, "backend")
        word = _word(row)
        if word not in offered:
            possible = ", ".join(sorted(offered))
            yield f"{release} does not have {backend}; it offers {possible}"
        own_vendor = wanted.device["vendor"]
        vendor = VENDORS.get(backend, own_vendor)
        if vendor != own_vendor:
            name = wanted.device["name"]
            yield f"{backend} is for accelerators of {vendor}, not for {name}"
        able = [name for name, item in abilities.items() if item.adapters]
        if wanted.task["adapters_only"] and word not in able:
            possible = ", ".join(able)
            yield f"{word} does not support LoRA in {release}, only {possible} do"


def script_text(wanted: ScriptRequest, known: Shipped, name: str) -> str:
    """The script of a configuration that the framework offers; `name` is its stem."""
    algorithm = ALGORITHMS[text_of(wanted.task, "algorithm")]
    values = wanted.estimate.values
    gpus = int(values["gpus"])
    per_node = gpus_per_node(gpus)
    rollout_n = 1
    if algorithm.estimator in GROUP_ESTIMATORS:
        rollout_n = int(values["rollout_n"])
    batch, mini_batch = batch_of(gpus)
    template = environment(OWN).get_template("script.sh.jinja")
    return template.render(
        vars(wanted),
        algorithm=algorithm,
        batch=batch,
        choice=_choice(wanted.strategy, known),
        engine=wanted.engine,
        extra=list(_extra(wanted)),
        gpus=gpus,
        longest=int(values["max_tokens"] // values["sequence_length"]),
        mini_batch=mini_batch,
        name=name,
        nodes=gpus // per_node,
        own=BACKENDS[wanted.strategy],
        parallel=_parallel_sizes(wanted),
        per_node=per_node,
        release=f"{known.framework} {known.version}",
        tag_line=tag_line(wanted.tag or NO_TAG),
        rollout=ENGINES.get(wanted.engine, Engine()),
        rollout_n=rollout_n,
        strategy=wanted.strategy,
        values=values,
    )


def _extra(wanted: ScriptRequest) -> Iterator[str]:
    """The overrides of switches that the template does not write itself."""
    found = wanted.estimate
    more = rules()["overrides"]
    for name, turn in turned_on(found):
        if name in more:
            yield from more[name]
        elif name not in rules()["written"]:
            yield turn.setting
    values = found.values
    if values["log_prob_max_tokens"] != values["max_tokens"]:
        tokens = int(values["log_prob_max_tokens"])
        for role in ("rollout", "ref"):
            yield f"actor_rollout_ref.{role}.log_prob_max_token_len_per_gpu={tokens}"
    if values["context_parallel"] > 1:
        knob = {"input": "context_parallel"}
        yield found.configuration.written(knob, values["context_parallel"])


def _choice(strategy: str, known: Shipped) -> str:
    """The override that chooses a training backend; empty if it is the framework's default."""
    default, *_ = known.choices
    choice = strategies(known)[strategy]
    if choice == default:
        return ""
    return f" {known.group}={choice}"


def _parallel_sizes(wanted: ScriptRequest) -> dict[str, str]:
    """The parallel sizes of the training backend, by their keys in its section."""
    found: dict[str, str] = {}
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
    each = ceil(LEAST_UPDATE_PROMPTS / gpus)
    update = each * gpus
    return update * UPDATES, update
