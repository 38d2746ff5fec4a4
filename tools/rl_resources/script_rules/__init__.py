"""Rules on the text of one script, and on a row together with its script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps

from rl_resources.errors import Severity
from rl_resources.facts.pairs import Pair
from rl_resources.rule import Mistake, Rule, rule
from rl_resources.script.run import Run
from rl_resources.script_rules.releases import is_of_fork


def run_rule(
    severity: Severity = "error", *, follows: Sequence[str] = (), of_forks: bool = True
) -> Callable[[Callable[[Pair, Run], Iterable[Mistake]]], Rule]:
    """Make a rule of a generator on a pair and its run; it is silent where that is not known.

    All its mistakes are about the pair as a whole, too. What the framework refuses is not asked
    `of_forks`, which may take it.
    """

    def made(check: Callable[[Pair, Run], Iterable[Mistake]]) -> Rule:
        @wraps(check)
        def mistakes(pair: Pair) -> Iterator[Mistake]:
            run = pair.script.training
            if run is None:
                return
            if not of_forks and is_of_fork(pair.script):
                return
            for mistake in check(pair, run):
                yield mistake._replace(about=(*mistake.about, pair.whole))

        return rule(severity, follows=follows)(mistakes)

    return made
