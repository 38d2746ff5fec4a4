"""What runs on this hardware, best first, and why.

`site/assets/javascripts/finder/find.js` follows the same rules; a test compares both.

1. A configuration *matches* when it has every word that was asked: the model, else the size, task,
   weights, scenario, framework, backends and tag. An empty cell never matches a word that was
   asked. `lora` also matches `qlora`.
2. Its *fit* is, the first that holds:
   `out-of-memory` where it ran out of memory;
   `too-short` where it ran with less context than asked, or does not say with how much;
   `beyond` where it ran on more GPUs than asked;
   `unclear` where it fits and nobody has run it (an untested record, a source's estimate), or where
   the source does not say which of several devices it used and the asked one is among them;
   `claimed` where it fits and no run is known: a stated minimum, a recommendation, what CI
   allocates, what a source lists;
   `tested` where it ran on the asked device, or any device of just the asked memory; without
   hardware in the question everything that ran is tested;
   `should-fit` where it ran with no more memory each, on the asked device's vendor's software;
   else `beyond`. A device or memory that is unknown is never enough. Of a range of GPUs the lower
   end counts. Memory is compared, never estimated.
3. Answers are those that are tested, should fit or are claimed, in the order of `ORDER`.
4. Failures are configurations of the asked size, whatever their model and tag, that ran out of
   memory on the asked device or memory with any number of GPUs, or on no less of both of the same
   vendor; those on no less hardware come first.
5. Without an answer, the nearest: the matching run that needs the least memory in all; the same of
   any model of the size, where none of it fits; then the best answer of each of `ALTERNATIVES`,
   else of the first of `LAST_RESORTS` that has one.
6. Without model and size, for each task the largest size that has an answer, and of that size the
   longest context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.query import sentences
from rl_resources.query.configurations import BY_ITSELF, Configuration, configurations
from rl_resources.query.understand import Query, Tokens, understand
from rl_resources.query.vocabulary import FILTERS, vocabulary

TESTED, SHOULD_FIT, CLAIMED = "tested", "should-fit", "claimed"
UNCLEAR, FAILED, BEYOND, TOO_SHORT = "unclear", "out-of-memory", "beyond", "too-short"
FITTING = (TESTED, SHOULD_FIT, CLAIMED)

BY_QUERY = (
    "records before reports",
    "tested before should fit before claimed",
    "larger models first",
    "undisputed first",
    "the same hardware first",
    "the same memory first",
)
ORDER = (*BY_QUERY, *BY_ITSELF)
"""How answers are ordered: by the first of these that differs."""

_FARTHEST = 1_000_000_000


class Answer(NamedTuple):
    """A configuration, and how it fits the hardware that was asked."""

    configuration: Configuration
    fit: str

    @property
    def reason(self) -> str:
        """One sentence that says why it is listed."""
        return sentences.reason(self.configuration, self.fit)


class Nearest(NamedTuple):
    """What comes nearest where nothing fits: `kind` says in which way, `reason` what differs."""

    kind: str
    reason: str
    answer: Answer


class Largest(NamedTuple):
    """The largest size of a task that is known to run, and of it the longest context."""

    task: str
    size: str
    best: Answer
    longest: Answer


@dataclass(frozen=True, slots=True)
class Found:
    """All that is known to a question. Of `failures` the first `worse` are on no less hardware."""

    query: Query
    answers: tuple[Answer, ...]
    unclear: tuple[Answer, ...]
    failures: tuple[Answer, ...]
    worse: int
    nearest: tuple[Nearest, ...]

    @property
    def runs(self) -> tuple[Answer, ...]:
        """The answers that somebody ran."""
        return tuple(item for item in self.answers if item.fit != CLAIMED)

    @property
    def largest(self) -> tuple[Largest, ...]:
        """The largest size of each task, where neither model nor size was asked."""
        return () if self.query.size else largest(self.runs)

    @property
    def script(self) -> Configuration | None:
        """The best answer that has a script here."""
        rows = (item.configuration for item in self.answers)
        return next((row for row in rows if row.script), None)

    @property
    def smallest(self) -> Answer | None:
        """The run that needs the least memory in all, record or report."""
        return min(self.runs, key=_size, default=None)

    @property
    def smallest_full(self) -> Answer | None:
        """The same of full fine-tuning, where `smallest` is something else."""
        if not self.smallest or self.smallest.configuration.weights == "full":
            return None
        full = (item for item in self.runs if item.configuration.weights == "full")
        return min(full, key=_size, default=None)

    @property
    def longest(self) -> Answer | None:
        """The run with the longest context, where any says its length."""
        known = (item for item in self.runs if item.configuration.length)
        return max(known, key=_length, default=None)


def ask(dataset: Dataset, tokens: Tokens) -> tuple[Found, tuple[str, ...]]:
    """What is found, and how the words of the question were read.

    Raises `UnusableInput` with the nearest known words.
    """
    query, notes = understand(vocabulary(dataset), tokens)
    return find(configurations(dataset), query), notes


def find(rows: Sequence[Configuration], query: Query) -> Found:
    """Answer a question. No answer is an answer too."""
    matching = _matching(rows, query)
    fitting = _ordered(_of(matching, *FITTING), query)
    failures = _failures(rows, query)
    return Found(
        query,
        fitting,
        unclear=_ordered(_of(matching, UNCLEAR), query),
        failures=failures,
        worse=sum(no_less(query, item.configuration) for item in failures),
        nearest=() if fitting else _nearest(rows, matching, query),
    )


def answers(rows: Iterable[Configuration], query: Query) -> tuple[Answer, ...]:
    """The answers alone, for those who ask many questions and nothing else of them."""
    return _ordered(_of(_matching(rows, query), *FITTING), query)


def folded(items: Iterable[Answer]) -> list[list[Answer]]:
    """Answers of one series together in the place of the first of them."""
    groups: dict[str, list[Answer]] = {}
    for item in items:
        row = item.configuration
        groups.setdefault(row.series or f"alone {row.id}", []).append(item)
    return list(groups.values())


def fit(query: Query, row: Configuration) -> str:
    """How a configuration fits the hardware and the length of a question."""
    if row.state == "out-of-memory":
        return FAILED
    if row.length < query.length:
        return TOO_SHORT
    if query.gpus and row.gpus > query.gpus:
        return BEYOND
    exact = _on_that_device(query, row)
    if exact or (same_vendor(query, row) and 0 < row.memory_gb <= query.memory_gb):
        fits = {"not-run": UNCLEAR, "claim": CLAIMED, "run": TESTED if exact else SHOULD_FIT}
        return fits[row.state]
    may_be = row.state != "not-run" and not set(query.devices).isdisjoint(row.possible_devices)
    return UNCLEAR if may_be else BEYOND


def _on_that_device(query: Query, row: Configuration) -> bool:
    """Whether it ran on an asked device, or a device of just the asked memory."""
    if query.devices:
        return bool(row.possible_devices) and set(row.possible_devices) <= set(query.devices)
    return not query.memory_gb or row.memory_gb == query.memory_gb


def same_vendor(query: Query, row: Configuration) -> bool:
    """Whether it ran on the asked vendor's software."""
    return not query.devices or row.vendor == query.vendor


def no_less(query: Query, row: Configuration) -> bool:
    """Whether it had no fewer GPUs of no less memory each, of the same vendor."""
    known = row.device or set(row.possible_devices) <= set(query.devices)
    return (
        bool(query.gpus and query.memory_gb and known)
        and row.gpus >= query.gpus
        and row.memory_gb >= query.memory_gb
        and same_vendor(query, row)
    )


def _matching(rows: Iterable[Configuration], query: Query) -> list[Answer]:
    """The rows that match, with their fit."""
    names = ("model" if query.model else "size", *FILTERS)
    asked = [(name, word) for name in names if (word := getattr(query, name))]
    return [
        Answer(row, fit(query, row))
        for row in rows
        if all(word in row.words(name) for name, word in asked)
    ]


def _of(matching: Iterable[Answer], *fits: str) -> Iterator[Answer]:
    return (item for item in matching if item.fit in fits)


def _ordered(items: Iterable[Answer], query: Query) -> tuple[Answer, ...]:
    """Best first; equal ones keep the order of `configurations`."""

    def key(item: Answer) -> tuple[float, ...]:
        row = item.configuration
        return (
            row.kind != "record",
            FITTING.index(item.fit) if item.fit in FITTING else 0,
            -row.position,
            row.doubtful,
            _distance(query.gpus, row.gpus),
            _distance(query.memory_gb, row.memory_gb),
        )

    return tuple(sorted(items, key=key))


def _distance(asked: float, has: float) -> float:
    """How far from what was asked; with nothing asked the smallest is the nearest."""
    return abs(asked - has) if has else _FARTHEST


def size_of(row: Configuration) -> tuple[bool, float, int, bool, str]:
    """A configuration by the memory that it needs in all; unknown last, records before reports."""
    return not row.memory_gb, row.total_memory_gb, row.gpus, row.kind != "record", row.id


_length: Callable[[Answer], int] = attrgetter("configuration.length")
_position: Callable[[Answer], int] = attrgetter("configuration.position")


def _size(item: Answer) -> tuple[bool, float, int, bool, str]:
    return size_of(item.configuration)


def _failures(rows: Iterable[Configuration], query: Query) -> tuple[Answer, ...]:
    """Of a task also those with LoRA; of asked weights also those that do not say what trains."""
    wider = replace(query, model="", tag="", weights="")
    found = _matching(rows, wider)
    if query.adapter_task and not query.weights:
        found += _matching(rows, replace(wider, task=query.adapter_task))
    near = (
        item
        for item in _of(found, FAILED)
        if _may_train(query, item.configuration)
        and (_on_that_device(query, item.configuration) or no_less(query, item.configuration))
    )

    def key(item: Answer) -> tuple[object, ...]:
        row = item.configuration
        other_model = bool(query.model) and row.model != query.model
        return not no_less(query, row), other_model, *size_of(row)

    return tuple(sorted(near, key=key))


def _may_train(query: Query, row: Configuration) -> bool:
    return not query.weights or not row.weights or query.weights in row.words("weights")


class Alternative(NamedTuple):
    """A wider question: without the fields in `drops`, with LoRA, of a smaller size.

    It is asked where any of the fields was, and with LoRA where the task can be had with it.
    """

    kind: str
    drops: tuple[str, ...] = ()
    adapters: bool = False
    smaller: bool = False

    def of(self, query: Query) -> Query | None:
        """The wider question; `None` where there is nothing to give up."""
        if self.adapters and not query.adapter_task:
            return None
        asked = {name: word for name in self.drops if (word := getattr(query, name))}
        if self.drops and not asked:
            return None
        wider = replace(query, **{name: type(word)() for name, word in asked.items()})
        if self.adapters:
            return replace(wider, task=query.adapter_task, weights="")
        return wider


_BACKENDS = ("train", "infer", "framework")
_SETTINGS = (*_BACKENDS, "model", "task", "weights", "scenario", "tag", "length")

ALTERNATIVES = (
    Alternative("shorter", ("length",)),
    Alternative("other-backends", _BACKENDS),
    Alternative("other-tag", ("tag",)),
    Alternative("other-weights", ("weights",)),
    Alternative("other-scenario", ("scenario",)),
    Alternative("other-model", ("model",)),
    Alternative("adapters", adapters=True),
    Alternative("other-task", ("task",)),
    Alternative("smaller-size", ("model", "size"), smaller=True),
    Alternative("smaller-adapters", ("model", "size"), adapters=True, smaller=True),
)
"""What to give up, one thing at a time, to find something that fits."""

LAST_RESORTS = (
    Alternative("other-settings", _SETTINGS),
    Alternative("smaller-size", (*_SETTINGS, "size"), smaller=True),
)
"""What to give up where none of these has an answer; the first that has one."""


def _nearest(
    rows: Sequence[Configuration], matching: Sequence[Answer], query: Query
) -> tuple[Nearest, ...]:
    """What is missing, then what would fit instead; no configuration twice."""
    missing = [*_smallest(matching, query), *_smallest_of_size(rows, query)]
    instead = [item for one in ALTERNATIVES for item in _instead(rows, query, one)]
    for one in LAST_RESORTS:
        instead = instead or _instead(rows, query, one)
    first: dict[str, Nearest] = {}
    for item in (*missing, *instead):
        first.setdefault(item.answer.configuration.id, item)
    return tuple(first.values())


def _smallest(matching: Iterable[Answer], query: Query) -> list[Nearest]:
    """The smallest known run; of another vendor only where the asked one has none."""
    ran = [item for item in _of(matching, BEYOND) if item.configuration.state == "run"]
    own = [item for item in ran if same_vendor(query, item.configuration)]
    if not ran:
        return []
    smallest = min(own or ran, key=_size)
    row = smallest.configuration
    reason = sentences.reason(row, "beyond" if own else "other-vendor", own=query.vendor)
    return [Nearest("smallest-tested", reason, smallest)]


def _smallest_of_size(rows: Iterable[Configuration], query: Query) -> list[Nearest]:
    """The least that any model of the size needs, where another one than the asked needs it."""
    wider = replace(query, model="")
    matching = _matching(rows, wider) if query.model else []
    if any(_of(matching, *FITTING)):
        return []
    return [
        Nearest("smallest-of-size", sentences.reason(row, "smallest-of-size"), item.answer)
        for item in _smallest(matching, wider)
        if (row := item.answer.configuration).model != query.model and same_vendor(query, row)
    ]


def _instead(
    rows: Iterable[Configuration], query: Query, alternative: Alternative
) -> list[Nearest]:
    """The best answer to a wider question: of the largest size, or of the longest context."""
    wider = alternative.of(query)
    if not wider:
        return []
    if alternative.smaller:
        rows = (row for row in rows if 0 < row.position < query.position)
    most = _length if query.length > wider.length else _position
    best = max(answers(rows, wider), key=most, default=None)
    if not best:
        return []
    reason = sentences.instead(alternative.kind, best.configuration, best.fit)
    return [Nearest(alternative.kind, reason, best)]


def largest(runs: Iterable[Answer]) -> tuple[Largest, ...]:
    """For each task the largest size, the largest first. `runs` are in the order of answers."""
    by_task: dict[str, list[Answer]] = {}
    for item in runs:
        if item.configuration.task and item.configuration.size:
            by_task.setdefault(item.configuration.task, []).append(item)
    found = (_largest(task, items) for task, items in by_task.items())
    return tuple(sorted(found, key=lambda item: (-_position(item.best), item.task)))


def _largest(task: str, items: Sequence[Answer]) -> Largest:
    top = max(map(_position, items))
    of_size = [item for item in items if _position(item) == top]
    return Largest(task, of_size[0].configuration.size, of_size[0], max(of_size, key=_length))
