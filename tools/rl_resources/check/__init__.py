"""Run rules over a dataset: every finding once, in the order of the files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from pathlib import Path

from rl_resources.check.exemptions import TABLE as EXEMPTIONS
from rl_resources.check.exemptions import Outcome, exemptable
from rl_resources.check.registry import all_rules as all_rules
from rl_resources.check.registry import chosen_rules, with_followed
from rl_resources.errors import Finding
from rl_resources.facts.pairs import Pair, pairs, script_texts
from rl_resources.package import read_package
from rl_resources.rule import Mistake, Place, Rule, Scope
from rl_resources.script.bash.parser import ask
from rl_resources.script.script_text import ScriptText
from rl_resources.script_rules import shellcheck
from rl_resources.snapshot import Snapshot, take_snapshot


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
    with_exemptions = asked(snapshot.tables[EXEMPTIONS].path)
    looked_at = everything if with_exemptions else asked
    if any(rule.scope != "dataset" for rule in rules):
        _start_parsers(snapshot, looked_at, {rule.name for rule in rules})
    outcome = Outcome(
        snapshot=snapshot,
        findings=tuple(findings_of(rules, targets_of(snapshot, looked_at))),
        ran=frozenset(rule.name for rule in rules),
        exemptable=exemptable(all_rules().values()),
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


def _mistakes(rules: Iterable[Rule], targets: Targets) -> Mapping[str, Sequence[Mistake]]:
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
    found: list[tuple[str, Mistake]] = []
    for rule in rules:
        found += [(rule.name, mistake) for mistake in rule.mistakes(target)]
    return found


# The text of a script is all that its rules look at: a preview asks them only about edited ones.
_of_script = lru_cache(maxsize=1024)(_of_target)
