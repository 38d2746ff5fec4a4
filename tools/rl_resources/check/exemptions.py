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
def exemption_rule(outcome: Outcome) -> Iterator[Mistake]:
    """An exemption names a rule about a script or about a row with its script.

    A misspelt name has no effect, and a broken file has no excuse.

    Bad: `min-saves-memry` as `rule`
    Good: `min-saves-memory` as `rule`
    """
    rules, table = outcome.exemptable, outcome.table
    lost = any(outcome.snapshot.tables[name].lost for name in RUNS)
    records = [*_scripts_of_lines(outcome.snapshot).values()]
    for row, (record, name) in enumerate(table.cells(("record", "rule"))):
        if name and name not in rules:
            wrong = "is not a rule that a record can be exempt from"
            message = f"rule of {table.label(row)} is `{shown(name)}`, which {wrong}"
            fix = nearest(name, rules).sentence() or "Delete this line."
            yield table.mistake(row, "rule", message, fix)
        if record not in records and not lost:
            message = f"`{shown(record, 120)}` is not a record or a report"
            close = nearest(record, records).sentence()
            yield table.mistake(row, "record", message, close or "Delete this line.")


@rule()
def needless_exemption(outcome: Outcome) -> Iterator[Mistake]:
    """Every exemption is used.

    One that is left behind would hide the next mistake of its kind.

    Bad: an exemption from `min-saves-memory` for a script that turns all offloading on
    Good: no exemption

    What cannot be read may be what its rule would have reported: then nothing is said.
    """
    scripts = _scripts_of_lines(outcome.snapshot)
    used = {_exemption(finding, scripts) for finding in outcome.findings}
    broken = {_exemption(item, scripts)[0] for item in outcome.reported if item.severity == "error"}
    lost = any(table.lost for table in outcome.snapshot.tables.values())
    for row, (record, name) in enumerate(outcome.table.cells(("record", "rule"))):
        known = name in outcome.ran and name in outcome.exemptable
        if known and not lost and (record, name) not in used and record not in broken:
            message = f"{shown(record, 120)} no longer violates `{name}`: unused exemption"
            yield outcome.table.mistake(row, "record", message, "Delete this line.")
