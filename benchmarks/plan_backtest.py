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
    """What was published, and the plan for its question."""

    row: Mapping[str, str]
    plan: Plan

    @property
    def word(self) -> str:
        """What the plan says of it."""
        if self.row["outcome"] == "ran":
            return "impossible" if self.plan.verdict == "no" else "possible"
        question = self.plan.question
        has_failures = question.query.model and question.failed
        if self.plan.verdict in WARNINGS or has_failures:
            return "warned"
        if not self.row["settings"]:
            return "open"
        if _saves(self.plan, self._failed()):
            return "avoided"
        return "missed"

    def _failed(self) -> Estimate:
        """The estimate of the settings that failed; else as the framework has it."""
        question = self.plan.question
        prompt, response = question.lengths
        lengths = [f"prompt_length={prompt}", f"response_length={response}"]
        infer = self.plan.shown.configuration.infer
        words = {"task": question.task, "infer": infer, **question.words}
        sets = [*self.row["settings"].split(), *lengths]
        return estimate(question.dataset, words, sets)


def outcomes(dataset: Dataset) -> Iterator[Outcome]:
    """All published outcomes, each with its plan."""
    with (HERE / "plan_backtest.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            asked = _asked(row["asked"])
            yield Outcome(row, plan(ask_plan(dataset, asked)))


def _asked(options: str) -> dict[str, str]:
    words = shlex.split(options)
    names = [word.removeprefix("--").replace("-", "_") for word in words[::2]]
    return dict(zip(names, words[1::2], strict=True))


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
