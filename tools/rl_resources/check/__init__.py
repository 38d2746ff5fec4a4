"""All rules, and the run of them over a dataset: every finding once, in the order of the files.

`check` runs all families but the one of pages on a dataset; `import-page` runs that one on a page,
and those of scripts and of rows with their scripts. A family is a heading of the page of rules and
a line of the contribution checklist. Both are the docstring of its first module: the first
paragraph is the title, the second what the rules ask of a contribution. What follows is for readers
of the code.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from rl_resources.check import exemptions
from rl_resources.dataset_rules import (
    canonical_form,
    cells,
    evidence,
    files,
    plausibility,
    records,
    scripts,
)
from rl_resources.dataset_rules import tags as of_tags
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts.pairs import Pair, pairs, script_texts
from rl_resources.package import read_package
from rl_resources.page import link_rules
from rl_resources.page import rules as of_pages
from rl_resources.rule import Mistake, Place, Rule, Scope, paragraphs
from rl_resources.script.bash.parser import ask
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules import (
    agreement,
    arguments,
    compatibility,
    content,
    data,
    paths_and_secrets,
    releases,
    safety,
    shellcheck,
    startup,
    tags,
    variables,
)
from rl_resources.snapshot import Snapshot, take_snapshot
from rl_resources.text import nearest


class Family(NamedTuple):
    """The rules of one or more modules, in the order of their source."""

    title: str
    summary: str
    scope: Scope
    rules: tuple[Rule, ...]


def family(name: str, scope: Scope, *modules: ModuleType) -> Family:
    """The family of these modules; the docstring of the first one documents it."""
    title, summary, *_ = paragraphs(modules[0].__doc__ or "")
    rules = []
    for module in modules:
        own = vars(module)
        for function, rule in own.items():
            if not isinstance(rule, Rule):
                continue
            if rule.mistakes.__module__ == module.__name__:  # and not imported
                fixer = own.get(f"fix_{function}")
                rules.append(replace(rule, family=name, scope=scope, fixer=fixer))
    return Family(title.removesuffix("."), summary, scope, tuple(rules))


FAMILIES: Mapping[str, Family] = {
    "files": family("files", "dataset", files),
    "cells": family("cells", "dataset", cells),
    "records": family("records", "dataset", records, evidence),
    "plausibility": family("plausibility", "dataset", plausibility),
    "tags": family("tags", "dataset", of_tags),
    "scripts": family("scripts", "dataset", scripts),
    "form": family("form", "dataset", canonical_form),
    "compatibility": family("compatibility", "dataset", compatibility),
    "content": family("content", "script", content, shellcheck),
    "variables": family("variables", "script", variables),
    "arguments": family("arguments", "script", arguments),
    "releases": family("releases", "script", releases),
    "safety": family("safety", "script", safety, paths_and_secrets),
    "agreement": family("agreement", "pair", agreement, tags),
    "running": family("running", "pair", startup),
    "data": family("data", "pair", data),
    "exemptions": family("exemptions", "outcome", exemptions),
    "page": family("page", "page", of_pages, link_rules),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by name, by family and within it in the order of the source."""
    found = {}
    for family in FAMILIES.values():
        for rule in family.rules:
            found[rule.name] = replace(rule, follows=_names(rule.follows))
    return found


def _names(followed: Sequence[str]) -> tuple[str, ...]:
    """The names of rules, with those of each family in the place of its name."""
    names: list[str] = []
    for name in followed:
        if name in FAMILIES:
            names.extend(rule.name for rule in FAMILIES[name].rules)
        else:
            names.append(name)
    return tuple(names)


def with_followed(rules: Iterable[Rule]) -> list[Rule]:
    """The rules and all rules that any of them follows."""
    found = {rule.name: rule for rule in rules}
    waiting = list(found.values())
    while waiting:
        for name in waiting.pop().follows:
            if name not in found:
                found[name] = all_rules()[name]
                waiting.append(found[name])
    return list(found.values())


def chosen_rules(
    select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Rule]:
    """The rules named by `select`, all if empty, without those named by `ignore`.

    Raises `UnusableInput` for a name that no rule has.
    """
    known = all_rules()
    for name in (*select, *ignore):
        if name not in known:
            raise UnusableInput(
                f"no rule is called {name!r}",
                nearest(name, known).sentence() or "`rl-resources rules` lists all.",
            )
    wanted = select or known
    return [
        rule for name, rule in known.items() if name in wanted and name not in ignore
    ]


# Running them


def check_root(root: Path, ignore: Collection[str] = ()) -> list[Finding]:
    """All findings at `root`, without those of the rules in `ignore`, by file and line.

    Raises `UnreadableDataset` if the descriptor or a schema cannot be used.
    """
    snapshot = take_snapshot(read_package(root))
    return findings_in(snapshot, chosen_rules(ignore=ignore))


Asked = Callable[[str], bool]
"""Whether a file is to be checked, by its path."""


def everything(_: str) -> bool:
    """Checks every file."""
    return True


def findings_in(
    snapshot: Snapshot, rules: Sequence[Rule], asked: Asked = everything
) -> list[Finding]:
    """All findings of these rules in the files that are `asked` for, in the order of the files.

    A rule on a script reports that script's file, one on a pair the script's or the record's file.
    Unused exemptions are known only from all findings.
    """
    with_exemptions = asked(snapshot.tables[exemptions.TABLE].path)
    looked_at = everything if with_exemptions else asked
    if any(rule.scope != "dataset" for rule in rules):
        _start_parsers(snapshot, looked_at, {rule.name for rule in rules})
    outcome = exemptions.Outcome(
        snapshot=snapshot,
        findings=tuple(findings_of(rules, targets_of(snapshot, looked_at))),
        ran=frozenset(rule.name for rule in rules),
        exemptable=exemptions.exemptable(all_rules().values()),
    )
    found = outcome.reported
    if with_exemptions:
        found += findings_of(rules, {"outcome": lambda: [outcome]})
    wanted = [finding for finding in found if asked(finding.path)]
    return sorted(wanted, key=lambda finding: finding.position)


def _start_parsers(snapshot: Snapshot, asked: Asked, names: Set[str]) -> None:
    """Let shfmt and ShellCheck work on other cores while the rules run."""
    texts = [script.text for script in _scripts(snapshot, asked)]
    for text in texts:
        ask(text)
    if names & shellcheck.RULES:
        shellcheck.ask(texts)


Targets = Mapping[Scope, Callable[[], Iterable[object]]]


def targets_of(snapshot: Snapshot, asked: Asked = everything) -> Targets:
    """What the rules of each scope look at in order to report on the files that are asked for."""
    return {
        "dataset": lambda: [snapshot],
        "script": lambda: _scripts(snapshot, asked),
        "pair": lambda: _pairs(snapshot, asked),
    }


def _scripts(snapshot: Snapshot, asked: Asked) -> Iterator[ScriptText]:
    for script in script_texts(snapshot):
        if asked(script.path):
            yield script


def _pairs(snapshot: Snapshot, asked: Asked) -> Iterator[Pair]:
    for pair in pairs(snapshot):
        if asked(pair.path) or asked(pair.script.path):
            yield pair


def findings_of(rules: Iterable[Rule], targets: Targets) -> list[Finding]:
    """What the rules find in the targets of their scope, each finding once, in file order.

    A mistake that follows from one of another rule is not reported, see `Rule.follows`. What
    another rule found counts, reported or not, so it does not matter which rules are asked for.
    """
    asked = list(rules)
    mistakes = _mistakes(with_followed(asked), targets)
    # A set would not keep the order of two that differ by their help alone.
    found: dict[Finding, None] = {}
    for rule in asked:
        explained = _places(mistakes[name] for name in rule.follows)
        for mistake in mistakes[rule.name]:
            if explained.isdisjoint(mistake.places):
                found[rule.finding(mistake)] = None
    return sorted(found, key=lambda finding: finding.position)


def _mistakes(
    rules: Iterable[Rule], targets: Targets
) -> Mapping[str, Sequence[Mistake]]:
    """What each rule finds, by its name."""
    by_scope: dict[Scope, list[Rule]] = {}
    found: dict[str, list[Mistake]] = {}
    for rule in rules:
        by_scope.setdefault(rule.scope, []).append(rule)
        found[rule.name] = []
    for scope, some in by_scope.items():
        of_target = _of_script if scope == "script" else _of_target
        for target in targets.get(scope, tuple)():
            for name, mistake in of_target(target, tuple(some)):
                found[name].append(mistake)
    return found


def _places(mistakes: Iterable[Sequence[Mistake]]) -> set[Place]:
    """All places of these mistakes, and the file of each as a whole."""
    places: set[Place] = set()
    for mistake in chain.from_iterable(mistakes):
        places.update(mistake.places)
        places.add((mistake.path, 0, 0))
    return places


def _of_target(target: object, rules: tuple[Rule, ...]) -> list[tuple[str, Mistake]]:
    found = []
    for rule in rules:
        found += [(rule.name, mistake) for mistake in rule.mistakes(target)]
    return found


# The text of a script is all that its rules look at: a preview asks them only about edited ones.
_of_script = lru_cache(maxsize=1024)(_of_target)
