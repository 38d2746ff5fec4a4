"""The rules and how they are run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from rl_resources.check.registry import Rule, all_rules, chosen_rules
from rl_resources.check.snapshot import Snapshot, take_snapshot
from rl_resources.finding import Finding
from rl_resources.package import read_package

__all__ = ["Rule", "all_rules", "check", "check_root", "chosen_rules"]


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
    rules = chosen_rules(select, ignore)
    return sorted(set(_findings(rules, snapshot)), key=lambda finding: finding.position)


def _findings(rules: list[Rule], snapshot: Snapshot) -> Iterator[Finding]:
    for rule in rules:
        yield from rule.findings(snapshot)
