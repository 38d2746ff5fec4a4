"""The rules and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rl_resources.check.exemptions import Outcome
from rl_resources.check.registry import Rule, Scope, all_rules, chosen_rules
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.check.subject import claims, script_texts
from rl_resources.finding import Finding
from rl_resources.package import read_package

__all__ = [
    "Rule",
    "all_rules",
    "check",
    "check_root",
    "chosen_rules",
    "findings_in",
    "findings_of",
    "subjects_of",
]


def check_root(root: Path) -> list[Finding]:
    """All findings of all rules over the dataset at `root`, in the order of the files.

    Raises `UnreadableDataset` where the descriptor or a schema cannot be used.
    """
    return check(take_snapshot(read_package(root)))


def check(
    snapshot: Snapshot, select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Finding]:
    """All findings of the chosen rules, in the order of the files.

    Raises `UnusableInput` for a name that no rule has.
    """
    return findings_in(snapshot, chosen_rules(select, ignore))


def findings_in(snapshot: Snapshot, rules: Sequence[Rule]) -> list[Finding]:
    """All findings of these rules in a dataset, in the order of the files."""
    told = findings_of(rules, subjects_of(snapshot))
    outcome = Outcome(snapshot, tuple(told), frozenset(rule.name for rule in rules))
    about_exemptions = findings_of(rules, {"outcome": lambda: [outcome]})
    return sorted([*outcome.told, *about_exemptions], key=lambda finding: finding.position)


Subjects = Mapping[Scope, Callable[[], Iterable[object]]]


def subjects_of(snapshot: Snapshot) -> Subjects:
    """What rules of each scope look at in a dataset."""
    return {
        "dataset": lambda: [snapshot],
        "script": lambda: script_texts(snapshot),
        "claim": lambda: claims(snapshot),
    }


def findings_of(rules: Iterable[Rule], subjects: Subjects) -> list[Finding]:
    """What the rules say of the subjects of their scope, each finding once, in file order."""
    found = {finding for rule in rules for finding in _findings(rule, subjects)}
    return sorted(found, key=lambda finding: finding.position)


def _findings(rule: Rule, subjects: Subjects) -> Iterator[Finding]:
    for subject in subjects.get(rule.scope, tuple)():
        yield from rule.findings(subject)
