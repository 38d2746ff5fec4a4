"""What a rule is, and the list of all of them.

A rule is one generator that yields `Mistake`s. Its family says what it looks at: the whole dataset,
one script, one claim (a row with its script), or one hand-kept page. Its name is that of its
function; severity, reason and examples stand beside it in the decorator. Everything that talks
about rules (`check`, the page of the rules, the contribution checklist) reads them from here.

A rule whose mend is certain has a fixer: a function of the same name in `fixers/`, in the module of
its family. It looks at what its rule looks at and yields edits; it writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeVar

from rl_resources.errors import UnusableInput
from rl_resources.finding import Finding, Severity
from rl_resources.words import nearest, printable

Scope = Literal["dataset", "script", "claim", "page", "outcome"]
"""What a rule looks at: a `Snapshot`, a `ScriptText`, a `Claim`, a page as `Reading`, or what the
other rules found, as `Outcome`.
"""


class Family(NamedTuple):
    """Rules of one module, that of the family's name in the folder of its scope, or of `modules`.

    `summary` is what they hold a contribution to, as the contribution checklist says it.
    """

    title: str
    scope: Scope
    summary: str
    modules: tuple[str, ...] = ()


FAMILIES: Mapping[str, Family] = {
    "files": Family(
        "Files",
        "dataset",
        "Each table is UTF-8 with LF line ends, its quotes are closed, its header is the schema's.",
    ),
    "cells": Family(
        "Cells",
        "dataset",
        "Each cell has the form of its column and words that the tables know; nothing in it is "
        "invisible, active or private.",
    ),
    "tables": Family(
        "Records",
        "dataset",
        "Each key stands once, each record has a contributor or a source, and notes say what is "
        "disputed.",
    ),
    "provenance": Family(
        "Provenance of reports",
        "dataset",
        "Each published figure leads to the line that it was read from, at a commit, and names "
        "what contradicts it.",
    ),
    "memory": Family(
        "Plausibility",
        "dataset",
        "The devices have room for what trains, no peak is above a device's memory, no date lies "
        "in the future, and contributors are real.",
    ),
    "scripts": Family(
        "Script name and place",
        "dataset",
        "Each row has one script, named after its six facts, in the folder of its model's size.",
    ),
    "form": Family(
        "Canonical form",
        "dataset",
        "Rows stand in their order, with as few quotes as can be: `rl-resources fmt` does that.",
    ),
    "moves": Family(
        "Moved ids",
        "dataset",
        "An id that once was published still leads somewhere.",
    ),
    "compatibility": Family(
        "Compatibility with releases",
        "dataset",
        "The generated rows on releases speak of the scripts as they stand.",
    ),
    "content": Family(
        "Script content",
        "script",
        "bash accepts the script, ShellCheck finds nothing, every argument arrives, and a failure "
        "ends it.",
    ),
    "variables": Family(
        "Variables of a script",
        "script",
        "Each variable is set, is read, and holds what its name says.",
    ),
    "arguments": Family(
        "Arguments of a run",
        "script",
        "Each setting exists in the framework's configuration, has its type, and is given once.",
    ),
    "releases": Family(
        "Settings of other releases",
        "script",
        "Settings are written as the framework's newest release takes them.",
    ),
    "safety": Family(
        "Safety and privacy of a script",
        "script",
        "The script holds no secret, no path of one person's disk and no unexpected command.",
        tuple(f"rl_resources.check.script.{name}" for name in ("privacy", "data_files", "safety")),
    ),
    "agreement": Family(
        "Agreement of row and script",
        "claim",
        "The row says what the script does, and the script does what its tag promises.",
        tuple(
            f"rl_resources.check.claim.{name}"
            for name in ("agreement", "memory", "max_batch", "tags")
        ),
    ),
    "running": Family(
        "What the framework refuses at its start",
        "claim",
        "Batches and parallel sizes divide as the framework asserts.",
    ),
    "exemptions": Family(
        "Exemptions",
        "outcome",
        "A record is let off a rule only where it breaks it, and with a reason.",
        ("rl_resources.check.exemptions",),
    ),
    "page": Family(
        "Hand-kept page",
        "page",
        "What `rl-resources import-page` holds a page to that is kept by hand.",
        tuple(
            f"rl_resources.page.rules.{name}"
            for name in ("tables", "headings", "cells", "text", "links", "scripts")
        ),
    ),
}


def _modules(family: str) -> tuple[str, ...]:
    found = FAMILIES[family]
    return found.modules or (f"rl_resources.check.{found.scope}.{family}",)


class Mistake(NamedTuple):
    """One place that breaks a rule: a finding before it knows its rule."""

    path: str
    line: int
    column: int
    message: str
    help: str


class Rewrite(NamedTuple):
    """A file's new text."""

    path: str
    text: str


class Move(NamedTuple):
    """A file's new path."""

    path: str
    to: str


class MakeExecutable(NamedTuple):
    """A file that shall be executable."""

    path: str


Edit = Rewrite | Move | MakeExecutable


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
    mistakes: Callable[[Any], Iterable[Mistake]]
    fixer: Callable[[Any], Iterable[Edit]] | None = None

    @property
    def scope(self) -> Scope:
        """What the rule looks at."""
        return FAMILIES[self.family].scope

    def findings(self, subject: object) -> Iterator[Finding]:
        """Everything that the rule has to say of one subject of its scope."""
        for mistake in self.mistakes(subject):
            texts = printable(mistake.message), printable(mistake.help)
            yield Finding(self.name, self.severity, *mistake[:3], *texts)

    @property
    def fixable(self) -> bool:
        """Whether it has a fixer. What is doubtful in a single case the fixer leaves alone."""
        return self.fixer is not None

    def edits(self, subject: object) -> Iterable[Edit]:
        """What its fixer would do to a subject of its scope; nothing where it has none."""
        return self.fixer(subject) if self.fixer else ()


_rules: dict[str, Rule] = {}
_fixers: dict[str, Callable[[Any], Iterable[Edit]]] = {}

Check = TypeVar("Check", bound=Callable[[Any], Iterable[Mistake]])
Fix = TypeVar("Fix", bound=Callable[[Any], Iterable[Edit]])


def rule(
    *, summary: str, reason: str, bad: str, good: str, severity: Severity = "error"
) -> Callable[[Check], Check]:
    """Register the decorated generator under its own name, `_` written as `-`."""

    def register(check: Check) -> Check:
        name = str(check.__name__).replace("_", "-")
        if name in _rules:
            raise ValueError(f"two rules are called {name}")
        family = next(name for name in FAMILIES if check.__module__ in _modules(name))
        said = (summary, reason, bad, good)
        _rules[name] = Rule(name, family, severity, *said, check)
        return check

    return register


def fixer(fix: Fix) -> Fix:
    """Register the decorated generator as the fixer of the rule of its name."""
    _fixers[str(fix.__name__).replace("_", "-")] = fix
    return fix


@lru_cache(maxsize=1)
def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    for module in (module for family in FAMILIES for module in _modules(family)):
        import_module(module)
    import_module("rl_resources.check.fixers")
    return {
        rule.name: replace(rule, fixer=_fixers.get(rule.name))
        for family in FAMILIES
        for rule in _rules.values()
        if rule.family == family
    }


def rules_by_family() -> dict[str, list[Rule]]:
    """The rules of every family that has any, by the family's name."""
    found: dict[str, list[Rule]] = {}
    for item in all_rules().values():
        found.setdefault(item.family, []).append(item)
    return found


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
