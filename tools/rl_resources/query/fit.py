"""What matches a question, how it fits, and which is best: rules 1 to 3 of `find.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import inf

from rl_resources.devices import with_variants
from rl_resources.query import sentences
from rl_resources.query.configurations import Configuration
from rl_resources.query.understand import Query
from rl_resources.query.vocabulary import EITHER, FILTERS

RAN_ON_IT = "ran-on-it"
RAN_ON_NO_MORE = "ran-on-no-more"
CLAIMED = "claimed"
UNCLEAR = "unclear"
FAILED = "out-of-memory"
BEYOND = "beyond"
TOO_SHORT = "too-short"
FITTING = (RAN_ON_IT, RAN_ON_NO_MORE, CLAIMED)
_NEAR = 1.25
"""By which factor a model may be larger or smaller than an asked size: 8B for 7B, 30B for 32B."""
_RANKS = {name: rank for rank, name in enumerate(FITTING)}


def fit(query: Query, row: Configuration) -> str:
    """How a configuration fits the hardware and the length of a question."""
    if row.state == "out-of-memory":
        return FAILED
    if row.length < query.length:
        return TOO_SHORT
    if _is_more(query.gpus, row.gpus) or _is_more(
        query.host_memory_gb, row.host_memory_gb
    ):
        return BEYOND
    if on_that_device(query, row):
        return _fit_of_state(row.state, RAN_ON_IT)
    if _on_no_more_memory(query, row):
        return _fit_of_state(row.state, RAN_ON_NO_MORE)
    return _fit_of_possible(query, row)


def _is_more(asked: float, used: float) -> bool:
    return 0 < asked < used


def _fit_of_state(state: str, ran: str) -> str:
    """How what fits is an answer: `ran` where it is known to have run."""
    if state == "no-answer":
        return UNCLEAR
    if state == "claim":
        return CLAIMED
    return ran


def _fit_of_possible(query: Query, row: Configuration) -> str:
    """The fit of what is not known to have run on the asked device, but may have."""
    if row.state == "no-answer":
        return BEYOND
    if any(device in query.devices for device in row.possible_devices):
        return UNCLEAR
    return BEYOND


def on_that_device(query: Query, row: Configuration) -> bool:
    """Whether it ran on an asked device, or on one with exactly the asked memory."""
    if not query.devices:
        return same_vendor(query, row) and query.memory_gb in {0, row.memory_gb}
    if row.variant or not row.possible_devices:
        return False
    return _on_one_of(with_variants(query.devices), row)


def _on_one_of(devices: Collection[str], row: Configuration) -> bool:
    """Whether each device that it may have run on is one of these."""
    return all(device in devices for device in row.possible_devices)


def _on_no_more_memory(query: Query, row: Configuration) -> bool:
    """Whether each of its devices had no more memory, with the software of the asked vendor."""
    return same_vendor(query, row) and 0 < row.memory_gb <= query.memory_gb


def same_vendor(query: Query, row: Configuration) -> bool:
    """Whether it ran on the asked vendor's software."""
    return query.vendor in {"", row.vendor}


def no_less(query: Query, row: Configuration) -> bool:
    """Whether it had no fewer GPUs of no less memory each, of the same vendor."""
    if not query.gpus or not query.memory_gb or not same_vendor(query, row):
        return False
    if not row.device and not _on_one_of(query.devices, row):
        return False
    if row.out_of_memory_on == "host" and row.host_memory_gb < query.host_memory_gb:
        return False
    return row.gpus >= query.gpus and row.memory_gb >= query.memory_gb


def matches_of(rows: Iterable[Configuration], query: Query) -> list[Configuration]:
    """The rows that match, with their fit and in what they differ."""
    named = "size"
    if query.architecture:
        named = "architecture"
    asked: dict[str, set[str]] = {
        name: set(word.split(EITHER))
        for name, word in query.asked(named, *FILTERS).items()
    }
    if query.task:
        asked["task"] |= {*query.adapter_tasks}

    def matches(row: Configuration) -> bool:
        if query.experts and row.experts and query.experts != row.experts:
            return False
        return not any(
            words.isdisjoint(row.words(name)) for name, words in asked.items()
        )

    return [
        row._replace(fit=fit(query, row), differs=tuple(_differs(query, row)))
        for row in rows
        if matches(row)
    ]


def _differs(query: Query, row: Configuration) -> Iterator[str]:
    """In what a match is not just what was asked."""
    if query.model and row.model != query.model:
        yield "model"
    if _is_of_other_size(query.parameters_b, row.parameters_b):
        yield "size"
    if row.task in query.adapter_tasks:
        yield "adapters"
    is_run = row.state != FAILED
    if row.precision in query.lacks and is_run:
        yield "precision"
    if query.host_memory_gb and not row.host_memory_gb:
        yield "host-memory"


def _is_of_other_size(asked: float, has: float) -> bool:
    """Whether a model is not known to be near the asked size."""
    if not asked:
        return False
    return not asked / _NEAR <= has <= asked * _NEAR


def near_size(rows: list[Configuration]) -> list[Configuration]:
    """The rows of models near the asked size; all if there is none."""
    return [row for row in rows if "size" not in row.differs] or rows


def of_fits(rows: Iterable[Configuration], *fits: str) -> list[Configuration]:
    """The rows of these fits."""
    return [row for row in rows if row.fit in fits]


def ordered(rows: Iterable[Configuration], query: Query) -> list[Configuration]:
    """Best first, by rule 3; equal ones keep their order."""

    def key(row: Configuration) -> tuple[float, ...]:
        return (
            row.doubtful,
            not sentences.is_of_project(query, row),
            len(row.differs),
            row.kind != "record",
            _RANKS.get(row.fit, 0),
            -row.position,
            _distance(query.gpus, row.gpus),
            _distance(query.memory_gb, row.memory_gb),
        )

    return sorted(rows, key=key)


def _distance(asked: float, has: float) -> float:
    """How far from what was asked; with nothing asked the smallest is the nearest."""
    if not has:
        return inf
    return abs(asked - has)


def size_of(row: Configuration) -> tuple[bool, float, int, bool, str]:
    """A configuration by the memory that it used in all; unknown last, records before reports."""
    return (
        not row.memory_gb,
        row.total_memory_gb,
        row.gpus,
        row.kind != "record",
        row.id,
    )
