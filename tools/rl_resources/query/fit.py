"""How a configuration stands to the hardware that was asked: rule 2 of `find`."""

from __future__ import annotations

from rl_resources.query.configurations import GUESS, RUNS, UNEXPLAINED, UNTESTED, Configuration
from rl_resources.query.question import Question

TESTED = "tested"
SHOULD_FIT = "should-fit"
CLAIMED = "claimed"
UNCLEAR = "unclear"
FAILED = "out-of-memory"
BEYOND = "beyond"
TOO_SHORT = "too-short"

NOT_RUN = frozenset({UNTESTED, GUESS, UNEXPLAINED})
"""The evidence level of configurations that nobody says to run."""


def fit(question: Question, row: Configuration) -> str:
    """One of the seven fits."""
    if row.outcome != "ran":
        return FAILED
    if row.length < question.length:
        return TOO_SHORT
    enough = not question.gpus or row.gpus <= question.gpus
    exact = on_that_device(question, row)
    fits = exact or _no_more_memory(question, row)
    if not enough:
        return BEYOND
    if row.evidence_level in NOT_RUN:
        return UNCLEAR if fits else BEYOND
    if fits and row.statement not in RUNS:
        return CLAIMED
    if fits:
        return TESTED if exact else SHOULD_FIT
    return UNCLEAR if not set(question.devices).isdisjoint(row.possible_devices) else BEYOND


def on_that_device(question: Question, row: Configuration) -> bool:
    """Whether it ran on an asked device, or a device of just the asked memory."""
    if question.devices:
        return bool(row.possible_devices) and set(row.possible_devices) <= set(question.devices)
    return not question.memory_gb or row.memory_gb == question.memory_gb


def _no_more_memory(question: Question, row: Configuration) -> bool:
    return same_stack(question, row) and 0 < row.memory_gb <= question.memory_gb


def same_stack(question: Question, row: Configuration) -> bool:
    """Whether it ran on the asked vendor's software."""
    return not question.devices or row.vendor == question.vendor


def no_less(question: Question, row: Configuration) -> bool:
    """Whether it had no fewer accelerators of no less memory each, of the same vendor."""
    known = row.device or set(row.possible_devices) <= set(question.devices)
    return (
        bool(question.gpus and question.memory_gb and known)
        and row.gpus >= question.gpus
        and row.memory_gb >= question.memory_gb
        and same_stack(question, row)
    )
