"""How sure a record or report is: one scale of five words, and marks beside the word.

Pages, answers, the API, charts and badges take the words and their definitions from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rl_resources.files import table_beside
from rl_resources.package import Record

MEASURED = "measured"
RAN = "ran"
CLAIMED = "claimed"
ESTIMATED = "estimated"
NOT_RUN = "not run"

_TABLE = table_beside(__file__)
SCALE: Mapping[str, str] = _TABLE["scale"]
"""The five words, the surest first, each with its one definition."""

DISPUTED = "disputed"
REPRODUCED = "reproduced"

MARKS: Mapping[str, str] = _TABLE["marks"]
"""What may stand beside the word, with its definition."""

TESTED = "Tested"
NOT_RUN_HERE = "not run here yet"
REWRITTEN = f"Script rewritten from the source; {NOT_RUN_HERE}"
"""What every record with a source says until its own script has run, which alone is a test."""

OUT_OF_MEMORY = "out-of-memory"
UNTESTED = "untested"
"""The `status` of a record that is not run."""
GUESS = "guess"
MEASURED_RUN = "measured-run"
STATED_RUN = "stated-run"
RUNS = frozenset({MEASURED_RUN, STATED_RUN})
"""The statements that say that somebody ran it; all others are claims."""

CLAIMS: Mapping[str, str] = _TABLE["claims"]
"""The statements that are claims, in words."""

FIGURES: Sequence[str] = _TABLE["figures"]
"""The columns of time, throughput and memory that make a run a measured one."""


def certainty(row: Record) -> str:
    """The word of `SCALE` for a record or report."""
    if row.get("status") == UNTESTED:
        return NOT_RUN
    statement = statement_of(row)
    if statement not in RUNS:
        return CLAIMED
    has_figure = any(row.get(name) for name in FIGURES)
    if has_figure and statement == MEASURED_RUN:
        return MEASURED
    return RAN


def statement_of(row: Record) -> str:
    """The kind of statement of a record or report; empty where it is not run."""
    if row.get("status") == UNTESTED:
        return ""
    return str(row.get("statement") or STATED_RUN)


def marks(row: Record) -> tuple[str, ...]:
    """The words of `MARKS` beside that of a record or report."""
    if row.get("contradicts"):
        return (DISPUTED,)
    status = str(row.get("status"))
    if status in MARKS:
        return (status,)
    return ()


def in_words(row: Record) -> str:
    """The word of a record or report, of a claim with its kind; that it ran out of memory."""
    if row.get("out_of_memory_on") == "host":
        return "ran out of host memory"
    if row.get("outcome") == OUT_OF_MEMORY:
        return "ran out of memory"
    word = certainty(row)
    if word != CLAIMED:
        return word
    return f"{word}: {CLAIMS[statement_of(row)]}"


def script_said(tested_on: object, source: object) -> str:
    """Whether the script of a record ran here, by the day when it did and the record's source."""
    if tested_on:
        return f"{TESTED}: this script ran on {tested_on}"
    if source:
        return REWRITTEN
    return f"Script {NOT_RUN_HERE}"
