"""`plan` against published outcomes: `plan_backtest.csv`, runs and failures of known hardware.

Run `python benchmarks/plan_backtest.py`. Nothing that ran may be called impossible. Of a failure
the answer may have *warned*: in its first line, or by a failure of the same model below it. It
*avoided* a failure where it takes less memory of the GPU or of the host than the settings that
failed. Where nobody published these, and nothing warned, that is *open*.
"""

from __future__ import annotations

import csv
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rl_resources import load
from rl_resources.dataset import Dataset
from rl_resources.estimate.estimate import Estimate
from rl_resources.query.estimate import estimate
from rl_resources.query.plan import Plan, plan
from rl_resources.query.plan_question import ask_plan

HERE = Path(__file__).parent
WARNINGS = frozenset({"no", "tight", "failed"})


class Outcome(NamedTuple):
    """What was published, and what the plan says of it."""

    row: Mapping[str, str]
    plan: Plan
    word: str


def outcomes(dataset: Dataset) -> Iterator[Outcome]:
    """All published outcomes, each with its plan."""
    with (HERE / "plan_backtest.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            asked = _asked(row["asked"])
            answer = plan(ask_plan(dataset, asked))
            yield Outcome(row, answer, _word(dataset, row, asked, answer))


def _asked(options: str) -> dict[str, str]:
    words = shlex.split(options)
    names = [word.removeprefix("--").replace("-", "_") for word in words[::2]]
    return dict(zip(names, words[1::2], strict=True))


def _word(
    dataset: Dataset, row: Mapping[str, str], asked: Mapping[str, str], answer: Plan
) -> str:
    if row["outcome"] == "ran":
        return "impossible" if answer.verdict == "no" else "possible"
    has_failures = answer.question.query.model and answer.question.failed
    if answer.verdict in WARNINGS or has_failures:
        return "warned"
    if not row["settings"]:
        return "open"
    if _saves(answer, _failed(dataset, row, asked, answer)):
        return "avoided"
    return "missed"


def _failed(
    dataset: Dataset, row: Mapping[str, str], asked: Mapping[str, str], answer: Plan
) -> Estimate:
    """The estimate of the settings that failed; else as the framework has it."""
    question = answer.question
    prompt, response = question.lengths
    sets = [
        *row["settings"].split(),
        f"prompt_length={prompt}",
        f"response_length={response}",
    ]
    words = {"task": question.task, "infer": answer.shown.configuration.infer, **asked}
    return estimate(dataset, words, sets)


def _saves(answer: Plan, failed: Estimate) -> bool:
    found = answer.shown
    if found.deciding.high_gb < failed.deciding.high_gb:
        return True
    return found.host_memory_gb < failed.host_memory_gb


def main() -> None:
    """Print each outcome, and how many were right."""
    found = list(outcomes(load(HERE.parent)))
    for one in found:
        print(
            f"{one.row['outcome']:14}{one.word:11}{one.plan.verdict:11}{one.row['asked']}"
        )
    for outcome in ("ran", "out-of-memory"):
        words = Counter(one.word for one in found if one.row["outcome"] == outcome)
        print(outcome, dict(words))


if __name__ == "__main__":
    main()
