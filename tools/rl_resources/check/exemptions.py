"""Exemptions.

Every exemption has a reason, and its record violates the rule.

Only rules about one script, one row with its script, and those that say so can have exemptions: a
file that cannot be read has no excuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import basename

from rl_resources.errors import Finding
from rl_resources.facts import TableRow
from rl_resources.rule import Mistake, Rule, rule
from rl_resources.snapshot import TABLES_OF_RUNS, Snapshot, Table
from rl_resources.text import nearest, shown

TABLE = "exemptions"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the rules called `ran` found before exemptions apply.

    `exemptable` are the names of all rules that a record or report can be exempt from.
    """

    snapshot: Snapshot
    findings: tuple[Finding, ...]
    ran: frozenset[str]
    exemptable: frozenset[str]

    @property
    def table(self) -> Table:
        """The exemptions."""
        return self.snapshot.tables[TABLE]

    @cached_property
    def exemptions(self) -> Mapping[Finding, tuple[str, str]]:
        """Record and rule of the exemption that would cover each finding.

        The record is that of its line, otherwise its script.
        """
        found = {}
        for finding in self.findings:
            record = self._records_by_place.get((finding.path, finding.line))
            found[finding] = (record or basename(finding.path), finding.rule)
        return found

    @cached_property
    def _records_by_place(self) -> Mapping[tuple[str, int], str]:
        """The keys of records and reports by path and line."""
        found = {}
        for resource in TABLES_OF_RUNS:
            table = self.snapshot.tables[resource]
            names = table.columns[table.schema.primary_key[0]]
            for row, name in zip(table.rows, names, strict=True):
                found[table.path, row.line] = name
        return found

    @property
    def reported(self) -> list[Finding]:
        """The findings without an exemption."""
        exempt = set(self.table.cells(("record", "rule")))
        found = []
        for finding, exemption in self.exemptions.items():
            if finding.rule not in self.exemptable or exemption not in exempt:
                found.append(finding)
        return found


def exemptable(rules: Iterable[Rule]) -> frozenset[str]:
    """The names of the rules from which a record or report can be exempt."""
    scopes = {"script", "pair"}
    return frozenset(
        rule.name for rule in rules if rule.exemptable or rule.scope in scopes
    )


@rule()
def needless_exemption(outcome: Outcome) -> Iterator[Mistake]:
    """Every exemption is for a record or report that violates its rule.

    A misspelled exemption has no effect, and an obsolete one would hide the next mistake of its
    kind. A broken file cannot be exempt.

    Bad: an exemption from `min-saves-memory` for a script that turns all offloading on
    Good: no exemption

    What cannot be read may be what its rule would have reported: then nothing is said.
    """
    if any(table.lost for table in outcome.snapshot.tables.values()):
        return
    used = set(outcome.exemptions.values())
    broken = _records_with_errors(outcome)
    for row, (record, name) in enumerate(outcome.table.cells(("record", "rule"))):
        if not name:
            continue
        near = ""
        if name not in outcome.exemptable:
            near = nearest(name, outcome.exemptable).sentence()
        elif name not in outcome.ran or (record, name) in used or record in broken:
            continue
        yield TableRow(outcome.table, row).mistake_in_words(
            "record",
            f"{shown(record, 120)} does not violate `{shown(name)}`: unused exemption",
            near or "Delete this line.",
        )


def _records_with_errors(outcome: Outcome) -> set[str]:
    found = set()
    for finding in outcome.reported:
        if finding.severity == "error":
            record, _ = outcome.exemptions[finding]
            found.add(record)
    return found
