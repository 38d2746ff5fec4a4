"""The rules and how they are run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat, zip_longest
from pathlib import Path

from rl_resources.check.exemptions import TABLE as EXEMPTIONS
from rl_resources.check.exemptions import Outcome
from rl_resources.check.registry import all_rules, chosen_rules
from rl_resources.check.rule import Rule, Scope
from rl_resources.check.script import shellcheck
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.check.subject import ScriptText, claims, script_texts
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

MOST_AHEAD = 2


def check_root(root: Path, ignore: Collection[str] = ()) -> list[Finding]:
    """All findings over the dataset at `root` of all rules but those to `ignore`, by file and line.

    Raises `UnreadableDataset` where the descriptor or a schema cannot be used.
    """
    snapshot = take_snapshot(read_package(root))
    return findings_in(snapshot, chosen_rules((), ignore))


def check(
    snapshot: Snapshot, select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Finding]:
    """All findings of the chosen rules, in the order of the files.

    Raises `UnusableInput` for a name that no rule has.
    """
    return findings_in(snapshot, chosen_rules(select, ignore))


Asked = Callable[[str], bool]
"""Whether somebody wants to know of a file, by its path."""


def everything(_: str) -> bool:
    """Asks of every file."""
    return True


def findings_in(
    snapshot: Snapshot, rules: Sequence[Rule], asked: Asked = everything
) -> list[Finding]:
    """All findings of these rules in the files that are asked for, in the order of the files.

    A rule about a script tells of that script's file, one about a claim of it or of the claim's.
    Which exemption lets nothing off is known only from all findings.
    """
    table = snapshot.tables.get(EXEMPTIONS)
    exemptions = table is not None and asked(table.path)
    subjects = subjects_of(snapshot, everything if exemptions else asked)
    told = findings_of(rules, subjects)
    scopes = {name: rule.scope for name, rule in all_rules().items()}
    outcome = Outcome(snapshot, tuple(told), frozenset(rule.name for rule in rules), scopes)
    about_exemptions = findings_of(rules, {"outcome": lambda: [outcome]} if exemptions else {})
    found = [item for item in (*outcome.told, *about_exemptions) if asked(item.path)]
    return sorted(found, key=lambda finding: finding.position)


Subjects = Mapping[Scope, Callable[[], Iterable[object]]]


def subjects_of(snapshot: Snapshot, asked: Asked = everything) -> Subjects:
    """What rules of each scope look at in a dataset, to tell of the files that are asked for."""
    return {
        "dataset": lambda: [snapshot],
        "script": lambda: (text for text in script_texts(snapshot) if asked(text.path)),
        "claim": lambda: (
            claim for claim in claims(snapshot) if asked(claim.path) or asked(claim.script.path)
        ),
    }


def findings_of(rules: Iterable[Rule], subjects: Subjects) -> list[Finding]:
    """What the rules say of the subjects of their scope, each finding once, in file order.

    The scopes take turns, so that a claim is judged while its script is still read.
    """
    by_scope: dict[Scope, list[Rule]] = {}
    for rule in rules:
        by_scope.setdefault(rule.scope, []).append(rule)
    looked_at = [item for item in by_scope.items() if item[0] in subjects]
    turns = zip_longest(
        *(zip(repeat(asked), _announced(asked, subjects[scope]())) for scope, asked in looked_at)
    )
    found: set[Finding] = set()
    for asked, subject in filter(None, chain.from_iterable(turns)):
        found.update(finding for rule in asked for finding in rule.findings(subject))
    return sorted(found, key=lambda finding: finding.position)


def _announced(rules: Sequence[Rule], subjects: Iterable[object]) -> Iterator[object]:
    """The subjects, each given when ShellCheck has begun on the scripts that come next.

    What it takes for a script is about what all other rules take for one, on another core.
    """
    if shellcheck.RULES.isdisjoint(rule.name for rule in rules):
        yield from subjects
        return
    waiting: deque[object] = deque()
    for subject in subjects:
        if isinstance(subject, ScriptText):
            shellcheck.start(subject.text)
        waiting.append(subject)
        if len(waiting) > MOST_AHEAD:
            yield waiting.popleft()
    yield from waiting
