"""One answer to "can I train this here, and how": what ran, what fits by arithmetic, and the word.

The settings are those of `estimate/plan.py`, the words those of `plan_question.toml`. Without
hardware the answer is a table: for each class of devices the fewest GPUs, known and by arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

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
    host_decides,
    most_saving,
    planned,
    rare_inputs,
    rare_settings,
    rules,
    smallest,
    smallest_after,
)
from rl_resources.estimate.search import Combination, cheapest, fits
from rl_resources.query.configurations import (
    Configuration,
    configurations,
    configurations_of,
    rows_of_runs,
)
from rl_resources.query.estimate import as_asked, understood
from rl_resources.query.plan_question import (
    PlanQuestion,
    ask_plan,
    lengths_of,
    settings_of_lengths,
    size_and_experts,
    trains_weights,
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
    minimum: Estimate | None
    recommended: Estimate | None
    short: Estimate | None = None
    more: Estimate | None = None

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

    @cached_property
    def adapters(self) -> Estimate | None:
        """The fewest GPUs for LoRA, where nobody said what trains and all weights may not fit."""
        question = self.question
        gpus = question.query.gpus
        is_asked = question.weights != "full" or question.query.weights
        is_possible = trains_weights(question.query, "lora")
        if is_asked or not is_possible or (self.recommended and gpus):
            return None
        other = ask_plan(question.dataset, {**question.words, "weights": "lora"})
        return smallest(other.start, counts_up_to(gpus), rare=False)

    @cached_property
    def elsewhere(self) -> Estimate | None:
        """The fewest GPUs with another framework, where nothing fits with the one that is asked."""
        question = self.question
        if self.recommended or not question.query.framework:
            return None
        other = ask_plan(question.dataset, {**question.words, "framework": ""})
        counts = counts_up_to(question.query.gpus)
        return smallest(other.start, counts, rare=False)

    @cached_property
    def verdict(self) -> str:
        """The word of the answer."""
        question = self.question
        if question.query.gpus and question.ran(question.weights):
            if question.is_named:
                return "yes"
            return "yes_of_size"
        if self.recommended:
            return _verdict_of_fitting(question, self.recommended)
        if self.short:
            return _verdict_of_short(question.start, self.short)
        return "no"

    @property
    def sentence(self) -> str:
        """The sentence of the verdict: a key of `verdict` in `plan_question.toml`."""
        on_host = False
        if self.decisive:
            on_host = self.decisive.out_of_memory_on == "host"
        elif self.short:
            on_host = fits_gpus(self.short)
        if on_host:
            return f"{self.verdict}_of_host"
        return self.verdict

    @property
    def decisive(self) -> Configuration | None:
        """The published run that the verdict rests on, if it rests on one."""
        question = self.question
        if self.verdict == "failed":
            return question.failed_alike[0]
        if self.verdict == "probably":
            values = self.shown.values
            return question.ran_on_no_more(values["gpus"] * values["device_gb"])[0]
        if self.verdict.startswith("yes"):
            return question.ran(question.weights)[0]
        return None


def fits_gpus(found: Estimate) -> bool:
    """Whether its whole interval is below the memory of the GPU, whatever its host memory."""
    return found.deciding.high_gb <= found.device_gb


def _verdict_of_short(start: PlanStart, found: Estimate) -> str:
    """Of what does not fit; if it fits the GPUs, host memory decides, which may be assumed."""
    if found.verdict in _DOUBTFUL:
        return found.verdict
    if not fits(found) or start.surely_holds(found):
        return "no"
    least, _ = found.host_interval_gb
    room = start.room_gb(found)
    if found.host_memory_gb <= room:
        return "tight"
    if least <= room or not start.host_gb:
        return "unlikely"
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


def plan(question: PlanQuestion) -> Plan:
    """Answer a question with hardware."""
    return Plan(question, *planned(question.start, question.query.gpus))


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


class FewestGpus(NamedTuple):
    """The fewest GPUs of one device for one kind of weights: what ran, and what fits.

    `of_host` where fewer would do, had a node more host memory than is said or assumed.
    """

    ran: Configuration | None
    fits: Estimate | None
    of_host: bool


@dataclass(frozen=True)
class PlanTable:
    """The fewest GPUs by device and weights; `question` is that of the first weights."""

    question: PlanQuestion
    rows: Mapping[str, Mapping[str, FewestGpus]]

    @property
    def cells(self) -> Iterator[FewestGpus]:
        """All cells."""
        for row in self.rows.values():
            yield from row.values()


def plan_table(dataset: Dataset, asked: Mapping[str, str]) -> PlanTable:
    """Answer a question without hardware. Raises `UnusableInput`."""
    first = ask_plan(dataset, asked)
    kinds = [first.weights]
    if not first.query.weights:
        kinds += _other_weights(first)
    known = devices_of(dataset).known
    classes = [item["device"] for item in rules()["class"]]
    devices = [device for device in classes if device in known]
    devices.sort(key=lambda device: known[device].memory_gb)
    rows: dict[str, dict[str, FewestGpus]] = {}
    for device in devices:
        rows[known[device].label] = {}
    for weights in kinds:
        least: Estimate | None = None
        for device in devices:
            words = {**asked, "weights": weights, "device": device}
            start = ask_plan(dataset, words).start
            least = smallest_after(start, least)
            ran = _fewest_that_ran(first, weights, known[device])
            of_host = host_decides(start, least)
            rows[known[device].label][weights] = FewestGpus(ran, least, of_host)
    return PlanTable(first, rows)


def _other_weights(first: PlanQuestion) -> list[str]:
    """What else the framework trains; nothing in full where the task is one of adapters."""
    query = first.query
    others: list[str] = []
    for weights in _ALL_WEIGHTS:
        is_other = weights != first.weights and trains_weights(query, weights)
        if is_other and not (weights == "full" and query.task.endswith("-LoRA")):
            others.append(weights)
    return others


def _fewest_that_ran(
    question: PlanQuestion, weights: str, device: Device
) -> Configuration | None:
    """The run on the fewest GPUs of no more memory each, of this vendor."""
    found: list[Configuration] = []
    for row in question.runs(weights):
        is_long = row.length >= question.query.length
        is_small = 0 < row.memory_gb <= device.memory_gb
        if is_long and is_small and row.vendor == device.vendor:
            found.append(row)
    return min(found, key=attrgetter("gpus"), default=None)


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
        sets = settings_of_lengths(lengths_of(length))
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


def published_runs(rows: Iterable[Configuration]) -> list[Configuration]:
    """What ran on text and what ran out of GPU memory, where size, weights and memory are known.

    The least memory first.
    """
    found: list[Configuration] = []
    for row in rows:
        is_run = row.state in {"run", OUT_OF_MEMORY} and row.out_of_memory_on != "host"
        is_known = row.size and row.weights and row.total_memory_gb
        if is_run and is_known and row.is_text_alone:
            found.append(row)
    return sorted(found, key=attrgetter("total_memory_gb"))


def run_of_size(row: Configuration) -> dict[str, Any]:
    """One of `published_runs` as the page of the estimate reads it."""
    return {
        "ran": row.state == "run",
        "size": row.size,
        "has_experts": row.experts == "mixture",
        "weights": row.weights,
        "gb": row.total_memory_gb,
        "length": row.length,
        "label": " ".join(
            filter(None, [row.model_label, row.task, "on", resource(row)])
        ),
        "source": row.source,
    }


def evidence(dataset: Dataset, found: Estimate) -> list[str]:
    """What published runs of the same size say, in sentences with their links.

    Those that ran out of memory on as much, with no longer a context; the nearest that ran on no
    more, with no shorter one. None for a task without rollouts: they are those of RL.
    """
    if found.configuration.offline:
        return []
    gb = found.values["gpus"] * found.values["device_gb"]
    length = found.values["sequence_length"]
    failed: list[Configuration] = []
    ran: list[Configuration] = []
    for row in _alike(dataset, found):
        is_run = row.state == "run"
        if is_run and row.total_memory_gb <= gb and row.length >= length:
            ran.append(row)
        if not is_run and row.total_memory_gb >= gb and row.length <= length:
            failed.append(row)
    is_fit = fits(found)
    lines: list[str] = []
    if failed:
        sources = list(dict.fromkeys(row.source for row in failed))
        first = ", ".join(sources[:_MOST_SOURCES])
        sentence = _sentence_about("failed", agrees=not is_fit)
        lines.append(sentence.format(count=len(failed), sources=first))
    if ran:
        sentence = _sentence_about("ran", agrees=is_fit)
        lines.append(sentence.format(**run_of_size(ran[-1])))
    return lines


def _sentence_about(outcome: str, *, agrees: bool) -> str:
    """The sentence about published runs: that they agree with the estimate, or contradict it."""
    name = outcome
    if agrees:
        name = f"{outcome}_too"
    sentence: str = formula()["said"][name]
    return sentence


def _alike(dataset: Dataset, found: Estimate) -> list[Configuration]:
    """The published runs of this size, with experts or without, that train the same weights."""
    size, has_experts = size_and_experts(dataset, found)
    # Few rows are configurations to look at; a record has the size of its model.
    of_weights = [
        row for row in rows_of_runs(dataset) if row["weights"] == found.weights
    ]
    of_size = [row for row in of_weights if row.get("size", size) == size]
    runs = published_runs(configurations_of(dataset, of_size))
    kind = (size, has_experts)
    return [row for row in runs if (row.size, row.experts == "mixture") == kind]
