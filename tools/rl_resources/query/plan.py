"""One answer to "can I train this here, and how": what ran, what fits by arithmetic, and the word.

The settings are those of `estimate/plan.py`, the words those of `plan_question.toml`. Without
hardware the answer is a table: for each class of devices the fewest GPUs, known and by arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from rl_resources.certainty import OUT_OF_MEMORY
from rl_resources.dataset import Dataset
from rl_resources.devices import Device, devices_of
from rl_resources.estimate.estimate import Estimate
from rl_resources.estimate.formula import formula
from rl_resources.estimate.plan import (
    RECOMMENDED,
    PlanStart,
    counts_up_to,
    fastest,
    most_saving,
    planned,
    rare_inputs,
    rare_settings,
    rules,
    smallest,
)
from rl_resources.estimate.search import Combination, cheapest, fits
from rl_resources.query.configurations import (
    NOT_TEXT_ALONE,
    Configuration,
    configurations,
    every_configuration,
)
from rl_resources.query.estimate import as_asked, understood
from rl_resources.query.plan_question import (
    KnownRun,
    PlanQuestion,
    ask_plan,
    lengths_of,
    size_and_experts,
)
from rl_resources.query.sentences import resource
from rl_resources.query.understand import stated

_ALL_WEIGHTS = ("full", "lora", "qlora")
_MOST_SOURCES = 3
_DOUBTFUL = ("tight", "unlikely")
"""Verdicts of an estimate whose interval has the memory of the GPU in it."""


@dataclass(frozen=True)
class Plan:
    """The answer: its word, MIN and RECOMMENDED, and what is published.

    `short` is what lacks the least memory where nothing fits, `more` what fits on more GPUs of this
    device, `adapters` the fewest GPUs for LoRA.
    """

    question: PlanQuestion
    verdict: str
    minimum: Estimate | None
    recommended: Estimate | None
    short: Estimate | None = None
    more: Estimate | None = None
    adapters: Estimate | None = None

    @property
    def options(self) -> dict[str, Estimate]:
        """What can be run, by its tag."""
        both = {"MIN": self.minimum, "RECOMMENDED": self.recommended}
        return {tag: found for tag, found in both.items() if found}

    @property
    def shown(self) -> Estimate:
        """What the answer speaks of."""
        found = [self.recommended, self.minimum, self.short]
        return next(filter(None, found))


def plan(question: PlanQuestion) -> Plan:
    """Answer a question with hardware."""
    gpus = question.query.gpus
    answer = Plan(question, "", *planned(question.start, gpus))
    if answer.recommended is None or not gpus:
        adapters = _adapters(question, counts_up_to(gpus))
        answer = replace(answer, adapters=adapters)
    return replace(answer, verdict=_verdict(answer))


def _adapters(question: PlanQuestion, counts: Sequence[int]) -> Estimate | None:
    """The fewest GPUs for LoRA, where all weights were to train."""
    if question.weights != "full" or question.query.weights:
        return None
    other = ask_plan(question.dataset, {**question.asked, "weights": "lora"})
    return smallest(other.start, counts, rare=False)


def settings_for(question: PlanQuestion, tag: str) -> Estimate:
    """The settings of a tag on just these GPUs, the best where none fits.

    Without a tag they are those of MIN, which are the likeliest to fit.
    """
    start = question.start
    gpus = question.query.gpus
    found = None
    if tag == RECOMMENDED:
        found = fastest(start, gpus)
    return found or smallest(start, [gpus]) or most_saving(start, gpus)


def _verdict(answer: Plan) -> str:
    question = answer.question
    if question.query.gpus and question.ran(question.weights):
        if question.is_named:
            return "yes"
        return "yes_of_size"
    if answer.recommended:
        return _verdict_of_fitting(question, answer.recommended)
    if answer.short and answer.short.verdict in _DOUBTFUL:
        return answer.short.verdict
    return "no"


def _verdict_of_fitting(question: PlanQuestion, found: Estimate) -> str:
    if not question.query.task:
        return "offline"
    gb = found.values["gpus"] * found.values["device_gb"]
    is_rare = bool(rare_settings(found))
    if question.ran_on_no_more(gb) and not is_rare:
        return "probably"
    if question.query.model and question.failed_alike:
        return "failed"
    if is_rare:
        return "rare"
    return "arithmetic"


class FewestGpus(NamedTuple):
    """The fewest GPUs of one device for one kind of weights: what ran, and what fits."""

    ran: KnownRun | None
    fits: Estimate | None


@dataclass(frozen=True)
class PlanTable:
    """The fewest GPUs by device and weights; `question` is that of the first weights."""

    question: PlanQuestion
    rows: Mapping[str, Mapping[str, FewestGpus]]


def plan_table(dataset: Dataset, asked: Mapping[str, str]) -> PlanTable:
    """Answer a question without hardware. Raises `UnusableInput`."""
    first = ask_plan(dataset, asked)
    questions = {first.weights: first}
    if not first.query.weights:
        for name in _ALL_WEIGHTS:
            if name != first.weights:
                questions[name] = ask_plan(dataset, {**asked, "weights": name})
    known = devices_of(dataset).known
    classes = [item["device"] for item in rules()["class"]]
    devices = [known[device] for device in classes if device in known]
    columns = {name: _column(one, devices) for name, one in questions.items()}
    rows: dict[str, dict[str, FewestGpus]] = {}
    for device in devices:
        rows[device.label] = {
            name: column[device.label] for name, column in columns.items()
        }
    return PlanTable(first, rows)


def _column(question: PlanQuestion, devices: Sequence[Device]) -> dict[str, FewestGpus]:
    """The cells of one kind of weights: what fits on less memory fits on more."""
    length = question.query.length
    published = question.runs(question.weights)
    runs = [known for known in published if known.row.length >= length]
    found: dict[str, FewestGpus] = {}
    counts: Sequence[int] = counts_up_to(0)
    fits: Estimate | None = None
    for device in sorted(devices, key=attrgetter("memory_gb")):
        start = _start_on(question.start, device)
        on_less = fits and fits.with_inputs(device_gb=device.memory_gb)
        fits = smallest(start, counts, rare=False) or on_less
        if fits:
            counts = [count for count in counts if count <= fits.values["gpus"]]
        own: list[KnownRun] = []
        for known in runs:
            is_small = 0 < known.row.memory_gb <= device.memory_gb
            if is_small and known.row.vendor == device.vendor:
                own.append(known)
        ran = min(own, key=attrgetter("row.gpus"), default=None)
        found[device.label] = FewestGpus(ran, fits)
    return found


def _start_on(start: PlanStart, device: Device) -> PlanStart:
    """The same question on another device."""
    groups = [
        [one.with_inputs(device_gb=device.memory_gb) for one in group]
        for group in start.groups
    ]
    return PlanStart(groups, start.host_gb)


@dataclass(frozen=True)
class ScriptPlan:
    """What is to change in a script so that it fits; `evidence` is what published runs say.

    `ran` is the hardware of its record, where it is one of ours and nothing else was asked.
    """

    script: str
    ran: str
    found: Estimate
    start: PlanStart
    combination: Combination | None
    evidence: Sequence[str]


def plan_of_script(
    dataset: Dataset, asked: Mapping[str, str], script: str
) -> ScriptPlan:
    """Answer whether a script fits, and what would make it fit. Raises `UnusableInput`."""
    words = stated(asked)
    query, _ = understood(dataset, {"host_memory": words.pop("host_memory", "")})
    length = words.pop("length", "")
    sets: list[str] = []
    if length:
        prompt, response = lengths_of(length)
        sets = [f"prompt_length={prompt}", f"response_length={response}"]
    found = as_asked(dataset, words, sets, script)
    start = PlanStart([[found]], query.host_memory_gb)

    def holds(one: Estimate) -> bool:
        return fits(one) and one.host_memory_gb <= start.room_gb(one)

    combination = cheapest(found, holds, rare_inputs(found)) or cheapest(found, holds)
    ran = ""
    if not words:
        ran = _ran_on(dataset, script)
    return ScriptPlan(script, ran, found, start, combination, evidence(dataset, found))


def _ran_on(dataset: Dataset, script: str) -> str:
    """The hardware on which a record's script is known to have run; empty for another script."""
    for row in configurations(dataset):
        if row.script and row.state == "run" and script.endswith(row.script):
            return resource(row)
    return ""


Answer = Plan | PlanTable | ScriptPlan


def answer_plan(dataset: Dataset, asked: Mapping[str, str], script: str = "") -> Answer:
    """Answer any question: of a script, without hardware, or with it. Raises `UnusableInput`."""
    if script:
        return plan_of_script(dataset, asked, script)
    if asked.get("device", "") or asked.get("memory", ""):
        return plan(ask_plan(dataset, asked))
    return plan_table(dataset, asked)


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
    rows = filter(_is_evidence, every_configuration(dataset))
    return tuple(sorted(map(_evidence, rows), key=attrgetter("gb")))


def _is_evidence(row: Configuration) -> bool:
    if row.state not in {"run", OUT_OF_MEMORY} or row.out_of_memory_on == "host":
        return False
    is_known = row.size and row.weights and row.total_memory_gb
    return bool(is_known) and NOT_TEXT_ALONE.isdisjoint(row.scenario)


def _evidence(row: Configuration) -> Evidence:
    named = " ".join(filter(None, [row.model_label, row.task]))
    return Evidence(
        ran=row.state == "run",
        size=row.size,
        has_experts=row.experts == "mixture",
        weights=row.weights,
        gb=row.total_memory_gb,
        length=row.length,
        label=f"{named} on {resource(row)}",
        source=row.source,
    )


def evidence(dataset: Dataset, found: Estimate) -> list[str]:
    """What published runs of the same size say, in sentences with their links.

    Those that ran out of memory on as much, with no longer a context; the nearest that ran on no
    more, with no shorter one. None for a task without rollouts: they are those of RL.
    """
    if found.configuration.offline:
        return []
    kind = (*size_and_experts(dataset, found), found.weights)
    gb = found.values["gpus"] * found.values["device_gb"]
    length = found.values["sequence_length"]
    failed: list[Evidence] = []
    ran: list[Evidence] = []
    for one in published_runs(dataset):
        if (one.size, one.has_experts, one.weights) != kind:
            continue
        if one.ran and one.gb <= gb and one.length >= length:
            ran.append(one)
        if not one.ran and one.gb >= gb and one.length <= length:
            failed.append(one)
    # What contradicts the estimate has another sentence than what agrees with it.
    name_of_failed = "failed_too"
    name_of_ran = "ran"
    if fits(found):
        name_of_failed = "failed"
        name_of_ran = "ran_too"
    said = formula()["said"]
    lines: list[str] = []
    if failed:
        first = list(dict.fromkeys(one.source for one in failed))[:_MOST_SOURCES]
        line = said[name_of_failed].format(count=len(failed), sources=", ".join(first))
        lines.append(line)
    if ran:
        nearest = ran[-1]
        line = said[name_of_ran].format(label=nearest.label, source=nearest.source)
        lines.append(line)
    return lines
