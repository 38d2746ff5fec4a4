"""What runs on this hardware, best first, and why.

A pure function on plain values, so that the command, Python and a page answer alike. Its rules:

1. A configuration *matches* when it has every word that was asked: the model, else the size, task,
   weights, scenario, framework, backends and tag. A blank never matches a word that was asked.
   `lora` also matches `qlora`.
2. Its *fit* is, the first that holds:
   `out-of-memory` where it ran out of memory;
   `too-short` where it ran with less context than asked, or does not tell with how much; such a one
   is told only where nothing fits;
   `unclear` where nobody has run it (an untested record, a source's estimate), or where the source
   does not say which of several devices it used and the asked one is among them;
   `claimed` where it fits and no run is known: a stated minimum, a recommendation, what CI
   allocates, what a source lists;
   `tested` where it ran on the asked device, or any device of just the asked memory, with no more
   accelerators than asked; without hardware in the question everything that ran is tested;
   `should-fit` where it ran with no more accelerators of no more memory each, on the asked
   device's vendor's software;
   else it is beyond the hardware. A device or memory that is unknown is never enough. Of a range
   of accelerators the lower end counts. Memory is compared, never estimated.
3. Answers are those that are tested, should fit or are claimed, in the order of `ORDER`.
4. Failures are configurations of the asked size, whatever their model and tag, that ran out of
   memory on the asked device or memory with any number of accelerators, or on no less of both of
   the same vendor; those on no less hardware come first.
5. Without an answer, the nearest: the matching configuration that ran and needs the least memory
   in all, and what is missing; the same of another model of the size, where that needs less; then
   for each of `RELAXATIONS` its best answer; then the largest
   smaller size with an answer, also with adapters alone.
6. Answers, failures and what is unclear are *folded* where they are shown: reports of one series
   (`series.py`) stand in the place of the first of them, with their number and the span of what
   differs. Nothing is left out of the answers themselves.
7. Without model and size, for each task the largest size that has an answer, and of that size the
   longest context; with one of them the answer with the longest context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from rl_resources.query.configurations import RUNS, Configuration
from rl_resources.query.fit import (
    BEYOND,
    CLAIMED,
    FAILED,
    NOT_RUN,
    SHOULD_FIT,
    TESTED,
    UNCLEAR,
    fit,
    no_less,
    on_that_device,
    same_stack,
)
from rl_resources.query.question import Question
from rl_resources.query.sentences import instead, missing, of_size, reason
from rl_resources.query.series import folded

_FARTHEST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A configuration, how it stands to the hardware that was asked, and why in one sentence."""

    configuration: Configuration
    fit: str
    question: Question

    @property
    def reason(self) -> str:
        """One sentence that says why it is told."""
        return reason(self.question, self.configuration, self.fit)


@dataclass(frozen=True, slots=True)
class Nearest:
    """What comes nearest where nothing fits: `kind` says in which way, `reason` what is missing."""

    kind: str
    reason: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest size of a task that is known to run, and of it the longest context."""

    task: str
    size: str
    best: Answer
    longest: Answer


@dataclass(frozen=True, slots=True)
class Found:
    """All that is known to a question. `contradictions` are what reports that are told contradict.

    The keys of `contradictions` are the ids of those reports.
    """

    question: Question
    answers: tuple[Answer, ...]
    unclear: tuple[Answer, ...]
    failures: tuple[Answer, ...]
    nearest: tuple[Nearest, ...]
    largest: tuple[Largest, ...]
    contradictions: Mapping[str, tuple[Configuration, ...]]

    @property
    def folds(self) -> tuple[tuple[Answer, ...], ...]:
        """The answers, those of one series together in the place of the first."""
        return folded_answers(self.answers)

    @property
    def script(self) -> Configuration | None:
        """The best answer that has a script here."""
        records = (item.configuration for item in self.answers)
        return next((item for item in records if item.script), None)

    @property
    def longest(self) -> Answer | None:
        """The answer with the longest context, where any tells one."""
        known = (item for item in self.runs if item.configuration.length)
        return max(known, key=lambda item: item.configuration.length, default=None)

    @property
    def smallest(self) -> Answer | None:
        """The run that needs the least memory in all, record or report."""
        return _smallest(self.runs)

    @property
    def runs(self) -> tuple[Answer, ...]:
        """The answers that somebody ran."""
        return tuple(item for item in self.answers if item.fit != CLAIMED)

    @property
    def smallest_whole(self) -> Answer | None:
        """The same of full fine-tuning, where `smallest` is something else or does not say."""
        if not self.smallest or self.smallest.configuration.weights == "full":
            return None
        return _smallest(item for item in self.runs if item.configuration.weights == "full")


def _smallest(answers: Iterable[Answer]) -> Answer | None:
    return min(answers, key=lambda item: size_of(item.configuration), default=None)


def folded_answers(answers: Iterable[Answer]) -> tuple[tuple[Answer, ...], ...]:
    """Answers of one series together in the place of the first of them."""
    return folded(answers, lambda item: item.configuration)


_RANKS = {TESTED: 0, SHOULD_FIT: 1, CLAIMED: 2}

Key = Callable[[Question, Configuration, str], int | float | str]

BY_QUESTION: tuple[tuple[str, Key], ...] = (
    ("records before reports", lambda _, row, __: int(row.kind != "record")),
    (
        "tested before should fit before claimed",
        lambda _, __, fit: _RANKS.get(fit, 0),
    ),
    ("larger models first", lambda _, row, __: -row.position),
    (
        "undisputed first",
        lambda _, row, __: int(row.evidence_level == "disputed" or bool(row.contradicts)),
    ),
    ("the same hardware first", lambda asked, row, _: _distance(asked.gpus, row.gpus)),
    ("the same memory first", lambda asked, row, _: _distance(asked.memory_gb, row.memory_gb)),
)

_SUREST = frozenset({"reproduced", "measured-run"})

BY_ITSELF: tuple[tuple[str, Callable[[Configuration], int | float | str]], ...] = (
    ("runs before benchmarks on random tokens", lambda row: int("synthetic" in row.scenario)),
    ("what trains is known first", lambda row: int(not row.weights)),
    ("recent before old", lambda row: int(bool(row.remarks))),
    ("reproduced or measured first", lambda row: int(row.evidence_level not in _SUREST)),
    ("longer context first", lambda row: -row.length),
    ("by id", lambda row: row.id),
)
"""The end of the order, which no question changes: a table in this order need not tell it again."""

ORDER = tuple(name for name, _ in (*BY_QUESTION, *BY_ITSELF))
"""How answers are ordered: by the first of these that differs, smaller first."""


def _distance(asked: float, has: float) -> float:
    """How far from what was asked; with nothing asked the smallest is the nearest.

    What is not known is farther than all that is.
    """
    return abs(asked - has) if has else _FARTHEST


ASKED = ("task", "train", "infer", "tag")
"""Words of a question that a configuration must have just so."""

WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "full": ("full",),
    "lora": ("lora", "qlora"),
    "qlora": ("qlora",),
    "partial": ("partial",),
}
"""What each word for weights matches."""


def find(configurations: Sequence[Configuration], question: Question) -> Found:
    """Answer a question. Raises nothing: no answer is an answer too."""
    judged = _judged(configurations, question)
    fitting = _answers(judged, question)
    unclear = _ordered((item for item in judged if item.fit == UNCLEAR), question)
    failures = _failures(_failing(configurations, question), question)
    nearest = () if fitting else tuple(_nearest(configurations, judged, question))
    ran = [item for item in fitting if item.fit != CLAIMED]
    largest = () if question.size else tuple(_largest(ran))
    told = [*fitting, *unclear, *failures, *(item.answer for item in nearest)]
    return Found(
        question,
        fitting,
        unclear,
        failures,
        nearest,
        largest,
        _contradictions(configurations, told),
    )


def answers(configurations: Iterable[Configuration], question: Question) -> tuple[Answer, ...]:
    """The answers alone, for those who ask many questions and nothing else of them."""
    return _answers(_judged(configurations, question), question)


def _judged(configurations: Iterable[Configuration], question: Question) -> list[Answer]:
    names = ("model" if question.model else "size", *ASKED)
    asked = [(name, getattr(question, name)) for name in names if getattr(question, name)]
    weights = WEIGHTS.get(question.weights, ())
    return [
        Answer(row, fit(question, row), question)
        for row in configurations
        if all(getattr(row, name) == word for name, word in asked)
        and (not weights or row.weights in weights)
        and (not question.scenario or question.scenario in row.scenario)
        and (not question.framework or question.framework in row.frameworks)
    ]


FITTING = frozenset({TESTED, SHOULD_FIT, CLAIMED})


def _answers(judged: Iterable[Answer], question: Question) -> tuple[Answer, ...]:
    return _ordered((item for item in judged if item.fit in FITTING), question)


def _ordered(answers: Iterable[Answer], question: Question) -> tuple[Answer, ...]:
    def keys(item: Answer) -> tuple[int | float | str, ...]:
        row = item.configuration
        first = (key(question, row, item.fit) for _, key in BY_QUESTION)
        return (*first, *order_by_itself(row))

    return tuple(sorted(answers, key=keys))


def order_by_itself(row: Configuration) -> tuple[int | float | str, ...]:
    """The end of the order of a configuration."""
    return tuple(key(row) for _, key in BY_ITSELF)


def _failing(configurations: Sequence[Configuration], asked: Question) -> Iterable[Answer]:
    """All of the size, whatever its model and tag; of the task also those with LoRA.

    Of asked weights also those that do not say what trains.
    """
    question = replace(asked, model="", tag="", weights="")
    found = _judged(configurations, question)
    if asked.adapter_task and not asked.weights:
        found += _judged(configurations, replace(question, task=asked.adapter_task))
    weights = WEIGHTS.get(asked.weights, ())
    for item in found:
        if not weights or item.configuration.weights in {"", *weights}:
            yield item


def _failures(judged: Iterable[Answer], asked: Question) -> tuple[Answer, ...]:
    question = replace(asked, model="", tag="")
    near = (
        item
        for item in judged
        if item.fit == FAILED
        and (on_that_device(question, item.configuration) or no_less(question, item.configuration))
    )

    def keys(item: Answer) -> tuple[bool | float | str, ...]:
        row = item.configuration
        return (
            not no_less(question, row),
            bool(asked.model) and row.model != asked.model,
            *size_of(row),
        )

    return tuple(sorted(near, key=keys))


def size_of(row: Configuration) -> tuple[bool, float, int, bool, str]:
    """A configuration by the memory that it needs in all; the unknown last, of alike ones records.

    A record before a report, because it has a script to start from.
    """
    return not row.memory_gb, row.total_memory_gb, row.gpus, row.kind != "record", row.id


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What of a question is given up: the words in `drops`, and with `adapters` full fine-tuning.

    It applies where any of the words was asked, and adapters where the task can be had with LoRA.
    """

    kind: str
    drops: tuple[str, ...]
    adapters: bool = False

    def of(self, question: Question) -> Question | None:
        """The wider question; `None` where there is nothing to give up."""
        if self.adapters and not question.adapter_task:
            return None
        if self.drops and not any(getattr(question, name) for name in self.drops):
            return None
        wider = replace(question, **{name: _OPEN[name] for name in self.drops})
        return (
            replace(wider, task=question.adapter_task, adapter_task="", weights="")
            if self.adapters
            else wider
        )


_OPEN: dict[str, Any] = {field.name: field.default for field in fields(Question)}
_BACKENDS = ("train", "infer", "framework")
_SIZE = ("model", "size", "position")

RELAXATIONS = (
    Relaxation("shorter", ("length",)),
    Relaxation("other-backends", _BACKENDS),
    Relaxation("other-tag", ("tag",)),
    Relaxation("other-weights", ("weights",)),
    Relaxation("other-scenario", ("scenario",)),
    Relaxation("other-model", ("model",)),
    Relaxation("other-scenario-and-model", ("scenario", "model")),
    Relaxation("other-model-and-software", ("model", *_BACKENDS)),
    Relaxation("other-weights-and-software", ("weights", *_BACKENDS)),
    Relaxation("adapters", (), adapters=True),
    Relaxation("adapters-other-model", ("model",), adapters=True),
    Relaxation("adapters-other-backends", (*_BACKENDS, "tag"), adapters=True),
    Relaxation("other-task", ("task", "adapter_task")),
)
"""What to give up, one thing at a time, to find something that fits."""

SMALLER = (
    (
        Relaxation("smaller-size", (*_SIZE, "adapter_task")),
        Relaxation("smaller-other-backends", (*_SIZE, "adapter_task", *_BACKENDS, "tag")),
        Relaxation("smaller-anything", (*_SIZE, "adapter_task", *_BACKENDS, "tag", "task")),
    ),
    (
        Relaxation("smaller-adapters", _SIZE, adapters=True),
        Relaxation("smaller-adapters", (*_SIZE, *_BACKENDS, "tag"), adapters=True),
    ),
)
"""What to give up for a smaller size: of each line the first with an answer."""


def _nearest(
    configurations: Sequence[Configuration], judged: Sequence[Answer], question: Question
) -> Iterable[Nearest]:
    """What is missing, then what would fit instead; no configuration twice."""
    told = set()
    for item in (
        *_smallest_beyond(judged, question),
        *_smallest_of_size(configurations, question),
        *_relaxed(configurations, question),
        *_smaller(configurations, question),
    ):
        if item.answer.configuration.id not in told:
            told.add(item.answer.configuration.id)
            yield item


def _smallest_beyond(judged: Iterable[Answer], question: Question) -> Iterable[Nearest]:
    ran = [
        item
        for item in judged
        if item.fit == BEYOND
        and item.configuration.evidence_level not in NOT_RUN
        and item.configuration.statement in RUNS
    ]
    # A configuration of another vendor is told only where there is none of the asked one.
    own = [item for item in ran if same_stack(question, item.configuration)]
    if ran:
        least = min(own or ran, key=lambda item: size_of(item.configuration))
        yield Nearest("smallest-tested", missing(question, least.configuration), least)


def _smallest_of_size(
    configurations: Iterable[Configuration], question: Question
) -> Iterable[Nearest]:
    """The least that any model of the size needs, where another one than the asked needs it."""
    wider = replace(question, model="")
    judged = _judged(configurations, wider) if question.model else []
    if _answers(judged, wider):
        return
    for item in _smallest_beyond(judged, wider):
        row = item.answer.configuration
        if row.model != question.model and same_stack(question, row):
            yield Nearest("smallest-of-size", of_size(row), item.answer)


def _relaxed(configurations: Sequence[Configuration], question: Question) -> Iterable[Nearest]:
    for relaxation in RELAXATIONS:
        yield from _instead(configurations, question, relaxation)


def _smaller(configurations: Iterable[Configuration], question: Question) -> Iterable[Nearest]:
    """The largest smaller size that fits, with as much of the question as fits at all.

    Where adapters were not asked, also the largest with adapters alone.
    """
    smaller = [row for row in configurations if 0 < row.position < question.position]
    for line in SMALLER if smaller else ():
        found = (_instead(smaller, question, relaxation) for relaxation in line)
        yield from next(filter(None, found), ())


def _instead(
    configurations: Sequence[Configuration], question: Question, relaxation: Relaxation
) -> tuple[Nearest, ...]:
    """The best answer to the wider question, if there is one."""
    kind, wider = relaxation.kind, relaxation.of(question)
    best = wider and _best(configurations, wider, longest="length" in relaxation.drops)
    if not best:
        return ()
    return (Nearest(kind, instead(kind, question, best.configuration, best.fit), best),)


def _best(
    configurations: Iterable[Configuration], question: Question, *, longest: bool
) -> Answer | None:
    """The best answer of the largest size that has one, or of the longest context."""
    fitting = answers(configurations, question)
    name = "length" if longest else "position"
    return max(fitting, key=lambda item: getattr(item.configuration, name), default=None)


def largest_known(configurations: Sequence[Configuration], question: Question) -> Iterable[Largest]:
    """`Found.largest` alone, for those who ask many questions and nothing else of them.

    Every one of the `configurations` must be an answer.
    """
    tops: dict[str, int] = {}
    for row in configurations:
        if row.size:
            tops[row.task] = max(row.position, tops.get(row.task, 0))
    top = [row for row in configurations if row.position == tops.get(row.task)]
    return _largest([item for item in answers(top, question) if item.fit != CLAIMED])


def _largest(answers: Sequence[Answer]) -> Iterable[Largest]:
    """For each task, those with the largest models first. `answers` are in their order."""
    by_task: dict[str, list[Answer]] = {}
    for item in answers:
        if item.configuration.task and item.configuration.size:
            by_task.setdefault(item.configuration.task, []).append(item)
    tops = {task: _top(items) for task, items in by_task.items()}
    for task in sorted(by_task, key=lambda name: (-tops[name], name)):
        of_size = [item for item in by_task[task] if item.configuration.position == tops[task]]
        longest = max(of_size, key=lambda item: item.configuration.length)
        yield Largest(task, of_size[0].configuration.size, of_size[0], longest)


def _top(answers: Iterable[Answer]) -> int:
    return max(item.configuration.position for item in answers)


def _contradictions(
    configurations: Iterable[Configuration], told: Iterable[Answer]
) -> dict[str, tuple[Configuration, ...]]:
    by_id = {row.id: row for row in configurations}
    return {
        row.id: tuple(by_id[other] for other in row.contradicts if other in by_id)
        for row in (item.configuration for item in told)
        if row.contradicts
    }
