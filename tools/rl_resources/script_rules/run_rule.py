"""The decorator of rules on a pair and the run of its script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from rl_resources.errors import Severity
from rl_resources.facts.pairs import Pair
from rl_resources.rule import Mistake, Rule, rule
from rl_resources.script.run import Run


def run_rule(
    severity: Severity = "error",
) -> Callable[[Callable[[Pair, Run], Iterable[Mistake]]], Rule]:
    """Make a rule of a generator on a pair and its run; it is silent where that is not known."""

    def made(check: Callable[[Pair, Run], Iterable[Mistake]]) -> Rule:
        @wraps(check)
        def mistakes(pair: Pair) -> Iterable[Mistake]:
            run = pair.script.training
            return check(pair, run) if run else ()

        return rule(severity)(mistakes)

    return made
