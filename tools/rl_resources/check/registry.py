"""What a rule is, and the list of all of them.

A rule is one generator over a `Snapshot` that yields `Mistake`s. Its name is that of its function;
severity, reason and examples stand beside it in the decorator. Everything that talks about rules
(`check`, the rule pages, the contribution checklist) reads them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from rl_resources.check.snapshot import Snapshot
from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding, Severity
from rl_resources.words import nearest

FAMILIES: Mapping[str, str] = {
    "files": "Files",
    "cells": "Cells",
    "tables": "Records",
    "scripts": "Script name and place",
    "form": "Canonical form",
}


class Mistake(NamedTuple):
    """One place that breaks a rule: a finding before it knows its rule."""

    path: str
    line: int
    column: int
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with all that is said about it. `bad` and `good` are one small example each."""

    name: str
    family: str
    severity: Severity
    summary: str
    reason: str
    bad: str
    good: str
    mistakes: Callable[[Snapshot], Iterable[Mistake]]

    def findings(self, snapshot: Snapshot) -> Iterator[Finding]:
        """Everything that the rule has to say."""
        for mistake in self.mistakes(snapshot):
            yield Finding(self.name, self.severity, *mistake)


_rules: dict[str, Rule] = {}

Check = Callable[[Snapshot], Iterable[Mistake]]


def rule(
    *, summary: str, reason: str, bad: str, good: str, severity: Severity = "error"
) -> Callable[[Check], Check]:
    """Register the decorated generator under its own name, `_` written as `-`."""

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        if name in _rules:
            raise ValueError(f"two rules are called {name}")
        family = check.__module__.rpartition(".")[2]
        _rules[name] = Rule(name, family, severity, summary, reason, bad, good, check)
        return check

    return register


def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    for family in FAMILIES:
        import_module(f"rl_resources.check.{family}")
    return {
        rule.name: rule for family in FAMILIES for rule in _rules.values() if rule.family == family
    }


def chosen_rules(select: Collection[str], ignore: Collection[str]) -> list[Rule]:
    """The rules named by `select` (all when it is empty) without those named by `ignore`.

    Raises `UnusableInput` for a name that no rule has.
    """
    rules = all_rules()
    for name in (*select, *ignore):
        if name not in rules:
            raise UnusableInput(f"no rule is called {name!r}", nearest(name, rules).sentence())
    wanted = [name for name in rules if not select or name in select]
    return [rules[name] for name in wanted if name not in ignore]
