"""Exemptions.

A record is exempt from a rule only if it violates it, and with a reason.

Only rules about one script, one row with its script, and those that say so can have exemptions: a
file that cannot be read has no excuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rl_resources.errors import Finding
from rl_resources.rule import Mistake, Rule, rule
from rl_resources.snapshot import RUNS, Snapshot, Table
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

    @property
    def reported(self) -> list[Finding]:
        """The findings without an exemption."""
        exempt = set(self.table.cells(("record", "rule")))
        scripts = _scripts_of_lines(self.snapshot)
        return [
            item
            for item in self.findings
            if item.rule not in self.exemptable or _exemption(item, scripts) not in exempt
        ]


def exemptable(rules: Iterable[Rule]) -> frozenset[str]:
    """The names of those that a record or report can be exempt from."""
    scopes = {"script", "pair"}
    return frozenset(one.name for one in rules if one.scope in scopes or one.exemptable)


def _exemption(finding: Finding, scripts: dict[tuple[str, int], str]) -> tuple[str, str]:
    """Record and rule of the exemption that would cover a finding."""
    at_row = scripts.get((finding.path, finding.line))
    return at_row or finding.path.rpartition("/")[2], finding.rule


def _scripts_of_lines(snapshot: Snapshot) -> dict[tuple[str, int], str]:
    """The script or report that a row is about, by file and line."""
    return {
        (table.path, table.rows[row].line): name
        for table in map(snapshot.tables.__getitem__, RUNS)
        for row, name in enumerate(table.columns[table.schema.primary_key[0]])
    }


@rule()
def needless_exemption(outcome: Outcome) -> Iterator[Mistake]:
    """Every exemption is of a record or report that violates its rule.

    One that is misspelt has no effect, and one that is left behind would hide the next mistake of
    its kind. A broken file has no excuse.

    Bad: an exemption from `min-saves-memory` for a script that turns all offloading on
    Good: no exemption

    What cannot be read may be what its rule would have reported: then nothing is said.
    """
    if any(table.lost for table in outcome.snapshot.tables.values()):
        return
    scripts = _scripts_of_lines(outcome.snapshot)
    used = {_exemption(finding, scripts) for finding in outcome.findings}
    broken = {_exemption(item, scripts)[0] for item in outcome.reported if item.severity == "error"}
    for row, (record, name) in enumerate(outcome.table.cells(("record", "rule"))):
        known = name in outcome.exemptable
        needless = name in outcome.ran and (record, name) not in used and record not in broken
        if name and (needless or not known):
            message = f"{shown(record, 120)} does not violate `{shown(name)}`: unused exemption"
            near = "" if known else nearest(name, outcome.exemptable).sentence()
            yield outcome.table.mistake(row, "record", message, near or "Delete this line.")
