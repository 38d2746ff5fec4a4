"""What runs on this hardware, best first, and why.

A pure function on plain values, so that the command, Python and a page answer alike. Its rules:

1. A configuration *matches* when it has every word that was asked: the model, else the size, task,
   backends and tag. A blank never matches a word that was asked.
2. Its *standing* is, the first that holds:
   `out-of-memory` where it ran out of memory;
   `unclear` where nobody has run it (an untested record, a source's estimate), or where the source
   does not say which of several devices it used and the asked one is among them;
   `tested` where it ran on the asked device, or any device of just the asked memory, with no more
   accelerators than asked; without hardware in the question everything that ran is tested;
   `should-fit` where it ran with no more accelerators of no more memory each, on the asked
   device's vendor's software;
   else it is beyond the hardware. A device or memory that is unknown is never enough. Of a range
   of accelerators the lower end counts. Memory is compared, never estimated.
3. Answers are those that are tested or should fit, in the order of `ORDER`.
4. Failures are configurations that ran out of memory on the asked device or memory with any number
   of accelerators, or on no less of both of the same vendor; those on no less hardware come first.
5. Without an answer, the nearest: the matching configuration that ran and needs the least memory
   in all, and what is missing; then for each of `RELAXATIONS` its best answer; then the largest
   smaller size with an answer, also with adapters alone.
6. Without model and size, for each task the largest size that has an answer, and of that size the
   longest context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rl_resources.answer.configurations import ESTIMATED, UNTESTED, Configuration
from rl_resources.answer.question import Question

TESTED = "tested"
SHOULD_FIT = "should-fit"
UNCLEAR = "unclear"
FAILED = "out-of-memory"
BEYOND = "beyond"

_NOT_RUN = frozenset({UNTESTED, ESTIMATED})
_FARTHEST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A configuration, how it stands to the hardware that was asked, and why in one sentence."""

    configuration: Configuration
    standing: str
    question: Question

    @property
    def reason(self) -> str:
        """One sentence that says why it is told."""
        return _reason(self.question, self.configuration, self.standing)


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
    def script(self) -> Configuration | None:
        """The best answer that has a script here."""
        records = (item.configuration for item in self.answers)
        return next((item for item in records if item.script), None)

    @property
    def smallest(self) -> Answer | None:
        """The answer that needs the least memory in all, record or report."""
        return min(self.answers, key=lambda item: _size_of(item.configuration), default=None)


Key = Callable[[Question, Configuration, str], int | float | str]

ORDER: tuple[tuple[str, Key], ...] = (
    ("records before reports", lambda _, row, __: int(row.kind != "record")),
    ("tested before should fit", lambda _, __, standing: int(standing != TESTED)),
    ("larger models first", lambda _, row, __: -row.position),
    (
        "undisputed first",
        lambda _, row, __: int(row.trust == "disputed" or bool(row.contradicts)),
    ),
    ("the same hardware first", lambda asked, row, _: _distance(asked.gpus, row.gpus)),
    ("the same memory first", lambda asked, row, _: _distance(asked.memory_gb, row.memory_gb)),
    ("recent before old", lambda _, row, __: int(bool(row.remarks))),
    (
        "reproduced or measured first",
        lambda _, row, __: int(row.trust not in {"reproduced", "measured"}),
    ),
    ("longer context first", lambda _, row, __: -row.length),
    ("by id", lambda _, row, __: row.id),
)
"""How answers are ordered: by the first of these that differs, smaller first."""


def _distance(asked: float, has: float) -> float:
    """How far from what was asked; with nothing asked the smallest is the nearest.

    What is not known is farther than all that is.
    """
    return abs(asked - has) if has else _FARTHEST


def find(configurations: Sequence[Configuration], question: Question) -> Found:
    """Answer a question. Raises nothing: no answer is an answer too."""
    judged = _judged(configurations, question)
    answers = _answers(judged, question)
    unclear = _ordered((item for item in judged if item.standing == UNCLEAR), question)
    failures = _failures(judged, question)
    nearest = () if answers else tuple(_nearest(configurations, judged, question))
    largest = () if question.size else tuple(_largest(answers))
    told = [*answers, *unclear, *failures, *(item.answer for item in nearest)]
    return Found(
        question,
        answers,
        unclear,
        failures,
        nearest,
        largest,
        _contradictions(configurations, told),
    )


def _judged(configurations: Iterable[Configuration], question: Question) -> list[Answer]:
    return [
        Answer(row, _standing(question, row), question)
        for row in configurations
        if _matches(question, row)
    ]


def _answers(judged: Iterable[Answer], question: Question) -> tuple[Answer, ...]:
    return _ordered((item for item in judged if item.standing in {TESTED, SHOULD_FIT}), question)


def _ordered(answers: Iterable[Answer], question: Question) -> tuple[Answer, ...]:
    def keys(item: Answer) -> tuple[int | float | str, ...]:
        return tuple(key(question, item.configuration, item.standing) for _, key in ORDER)

    return tuple(sorted(answers, key=keys))


def _matches(question: Question, row: Configuration) -> bool:
    asked = (
        (question.model, row.model),
        ("" if question.model else question.size, row.size),
        (question.task, row.task),
        (question.train, row.train),
        (question.infer, row.infer),
        (question.tag, row.tag),
    )
    return all(not word or word == has for word, has in asked)


def _standing(question: Question, row: Configuration) -> str:
    if row.outcome != "ran":
        return FAILED
    enough = not question.gpus or row.gpus <= question.gpus
    exact = _on_that_device(question, row)
    fits = exact or _no_more_memory(question, row)
    if not enough:
        return BEYOND
    if row.trust in _NOT_RUN:
        return UNCLEAR if fits else BEYOND
    if fits:
        return TESTED if exact else SHOULD_FIT
    return UNCLEAR if question.device in row.possible_devices else BEYOND


def _on_that_device(question: Question, row: Configuration) -> bool:
    if question.device:
        return row.device == question.device
    return not question.memory_gb or row.memory_gb == question.memory_gb


def _no_more_memory(question: Question, row: Configuration) -> bool:
    return _same_stack(question, row) and 0 < row.memory_gb <= question.memory_gb


def _same_stack(question: Question, row: Configuration) -> bool:
    return not question.device or row.vendor == question.vendor


def _failures(judged: Iterable[Answer], question: Question) -> tuple[Answer, ...]:
    failed = [item for item in judged if item.standing == FAILED]

    def no_less(row: Configuration) -> bool:
        known = question.memory_gb or not question.device
        return (
            bool(known)
            and row.gpus >= question.gpus
            and row.memory_gb >= question.memory_gb
            and _same_stack(question, row)
        )

    near = [
        item
        for item in failed
        if _on_that_device(question, item.configuration) or no_less(item.configuration)
    ]
    return tuple(
        sorted(
            near, key=lambda item: (not no_less(item.configuration), *_size_of(item.configuration))
        )
    )


def _size_of(row: Configuration) -> tuple[bool, float, int, str]:
    """A configuration by the memory that it needs in all; what is unknown comes last."""
    return not row.memory_gb, row.total_memory_gb, row.gpus, row.id


RELAXATIONS: tuple[tuple[str, Callable[[Question], Question | None]], ...] = (
    ("other-backends", lambda q: replace(q, train="", infer="") if q.train or q.infer else None),
    ("other-tag", lambda q: replace(q, tag="") if q.tag else None),
    ("other-model", lambda q: replace(q, model="") if q.model else None),
    (
        "adapters",
        lambda q: replace(q, task=q.adapter_task, adapter_task="") if q.adapter_task else None,
    ),
    (
        "adapters-other-model",
        lambda q: (
            replace(q, model="", task=q.adapter_task, adapter_task="")
            if q.model and q.adapter_task
            else None
        ),
    ),
    (
        "adapters-other-backends",
        lambda q: (
            replace(q, task=q.adapter_task, adapter_task="", train="", infer="", tag="")
            if q.adapter_task and (q.train or q.infer or q.tag)
            else None
        ),
    ),
    ("other-task", lambda q: replace(q, task="", adapter_task="") if q.task else None),
)
"""What to give up, one thing at a time, to find something that fits; then a smaller size."""


def _nearest(
    configurations: Sequence[Configuration], judged: Sequence[Answer], question: Question
) -> Iterable[Nearest]:
    """What is missing, then what would fit instead; no configuration twice."""
    told = set()
    for item in (
        *_smallest_beyond(judged, question),
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
        if item.standing == BEYOND and item.configuration.trust not in _NOT_RUN
    ]
    # A configuration of another vendor is told only where there is none of the asked one.
    own = [item for item in ran if _same_stack(question, item.configuration)]
    if ran:
        least = min(own or ran, key=lambda item: _size_of(item.configuration))
        yield Nearest("smallest-tested", _missing(question, least.configuration), least)


def _relaxed(configurations: Sequence[Configuration], question: Question) -> Iterable[Nearest]:
    for kind, relax in RELAXATIONS:
        wider = relax(question)
        if wider and (best := _best(configurations, wider)):
            yield Nearest(kind, _instead(kind, question, best), best)


def _smaller(configurations: Iterable[Configuration], question: Question) -> Iterable[Nearest]:
    """The largest smaller size that fits, with as much of the question as fits at all.

    Where adapters were not asked, also the largest with adapters alone.
    """
    smaller = [row for row in configurations if 0 < row.position < question.position]
    as_asked = replace(question, model="", size="", position=0, adapter_task="")
    other_backends = replace(as_asked, train="", infer="", tag="")
    widening = (
        ("smaller-size", as_asked),
        ("smaller-other-backends", other_backends),
        ("smaller-anything", replace(other_backends, task="")),
    )
    adapters = [
        ("smaller-adapters", replace(asked, task=question.adapter_task))
        for asked in (as_asked, other_backends)
    ]
    for kinds in (widening, adapters if question.adapter_task else []):
        found = ((kind, _best(smaller, asked)) for kind, asked in kinds)
        for kind, best in islice(((kind, best) for kind, best in found if best), 1):
            yield Nearest(kind, _instead(kind, question, best), best)


def _best(configurations: Iterable[Configuration], question: Question) -> Answer | None:
    """The best answer of the largest size that has one."""
    answers = _answers(_judged(configurations, question), question)
    return min(answers, key=lambda item: -item.configuration.position, default=None)


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


def resource(row: Configuration) -> str:
    """The accelerators of a configuration: `2 x h800 (80 GB)`."""
    most = f" to {row.gpus_maximum}" if row.gpus_maximum else ""
    bound = "at most " if not row.device and len(row.possible_devices) > 1 else ""
    memory = f" ({bound}{row.memory_gb:g} GB)" if row.memory_gb else ""
    return f"{row.gpus}{most} x {row.device_shown}{memory}"


def asked_hardware(question: Question) -> str:
    """The hardware of a question: `8 x h100`; blank where it is open."""
    each = f"{question.memory_gb:g} GB" if question.memory_gb else ""
    device = question.device or each
    if not question.gpus:
        return device
    return f"{question.gpus} x {device}" if device else _accelerators(question.gpus)


def _accelerators(count: int) -> str:
    return f"{count} accelerator{'' if count == 1 else 's'}"


_RAN = {
    "measured": "a run of which measurements are published",
    "stated": "a run that its source tells of",
    "derived": "a run of which its source publishes the settings",
}


def _ran(row: Configuration) -> str:
    return "a run whose script is kept here" if row.kind == "record" else _RAN[row.trust]


def _reason(question: Question, row: Configuration, standing: str) -> str:
    on = f"on {resource(row)}"
    yours = asked_hardware(question)
    if standing == TESTED:
        return f"Tested: {_ran(row)}, {on}{f', within your {yours}' if yours else ''}."
    if standing == SHOULD_FIT:
        return (
            f"Should fit, not tested on {yours}: {_ran(row)}, {on}, "
            "so on no more accelerators of no more memory each."
        )
    if standing == FAILED:
        return f"Ran out of memory {on}{_beside(question, row)}."
    if standing == UNCLEAR:
        return _doubt(row, on, yours)
    return _missing(question, row)


def _doubt(row: Configuration, on: str, yours: str) -> str:
    if row.trust == UNTESTED:
        return f"A script for {resource(row)} that nobody has run yet."
    if row.trust == ESTIMATED:
        return f"The source estimates that it runs {on}; nobody says to have run it."
    return (
        f"Ran {on}, and the source does not say which of {', '.join(row.possible_devices)} it was; "
        f"whether that covers {yours} is not known."
    )


def _beside(question: Question, row: Configuration) -> str:
    """How the hardware of a failure differs from that of the question."""
    more = [
        f"{'more' if has > asked else 'less' if noun == 'memory' else 'fewer'} {noun}"
        for noun, has, asked in (
            ("accelerators", row.gpus, question.gpus),
            ("memory", row.memory_gb, question.memory_gb),
        )
        if asked and has and has != asked
    ]
    return f", {' and '.join(more)} than you have" if more else ""


def _missing(question: Question, row: Configuration) -> str:
    """What the hardware lacks: `needs 2 x 80 GB, you have 1 x 24 GB`."""
    if question.device and not _same_stack(question, row):
        vendor = row.vendor or "another or an unknown maker"
        return (
            f"The smallest tested one is {resource(row)} of {vendor}; "
            f"on {question.vendor} nothing is tested, and the software is another."
        )
    need = f"{row.gpus} x {_each(row.memory_gb, row.device_shown)}"
    have = f"{question.gpus or 'any number of'} x {_each(question.memory_gb, question.device)}"
    return f"The smallest tested one needs {need}, you have {have}."


def _each(memory_gb: float, device: str) -> str:
    return f"{memory_gb:g} GB" if memory_gb else f"{device or 'any device'}"


def _instead(kind: str, question: Question, answer: Answer) -> str:
    row = answer.configuration
    what = {
        "other-backends": f"With other backends ({row.backends_shown})",
        "other-tag": f"Without the tag {question.tag}",
        "other-model": f"Another model of the size {row.size}, {row.model_shown},",
        "adapters": f"Adapter training ({row.task}) of {row.model_shown}",
        "adapters-other-model": f"Adapter training ({row.task}) of another {row.size} model,"
        f" {row.model_shown},",
        "adapters-other-backends": f"Adapter training ({row.task}) with other backends "
        f"({row.backends_shown}) of {row.model_shown}",
        "other-task": f"Another task, {row.task_shown}, of {row.model_shown}",
        "smaller-size": f"The nearest smaller size that fits is {row.size}: {row.model_shown}",
        "smaller-other-backends": f"With other backends ({row.backends_shown}) the nearest smaller "
        f"size that fits is {row.size}: {row.model_shown}",
        "smaller-anything": f"With another task ({row.task_shown}) the nearest smaller size that "
        f"fits is {row.size}: {row.model_shown}",
        "smaller-adapters": f"With adapter training ({row.task}) the nearest smaller size that "
        f"fits is {row.size}: {row.model_shown}",
    }[kind]
    fits = "is tested" if answer.standing == TESTED else "should fit, not tested there: it ran"
    return f"{what} {fits} on {resource(row)}."
