"""Exemptions.

A record is exempt from a rule only if it violates it, and with a reason.

Only rules about one script, one row with its script, and those that say so can have exemptions: a
file that cannot be read has no excuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def exemptions(self) -> Mapping[Finding, tuple[str, str]]:
        """Record and rule of the exemption that would cover each finding."""
        records = {
            (table.path, table.rows[row].line): name
            for table in map(self.snapshot.tables.__getitem__, RUNS)
            for row, name in enumerate(table.columns[table.schema.primary_key[0]])
        }
        return {
            it: (records.get((it.path, it.line)) or it.path.rpartition("/")[2], it.rule)
            for it in self.findings
        }

    @property
    def reported(self) -> list[Finding]:
        """The findings without an exemption."""
        exempt = set(self.table.cells(("record", "rule")))
        needed = self.exemptions.items()
        return [it for it, one in needed if it.rule not in self.exemptable or one not in exempt]


def exemptable(rules: Iterable[Rule]) -> frozenset[str]:
    """The names of those that a record or report can be exempt from."""
    scopes = {"script", "pair"}
    return frozenset(one.name for one in rules if one.scope in scopes or one.exemptable)


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
    used = set(outcome.exemptions.values())
    errors = (item for item in outcome.reported if item.severity == "error")
    broken = {outcome.exemptions[item][0] for item in errors}
    for row, (record, name) in enumerate(outcome.table.cells(("record", "rule"))):
        known = name in outcome.exemptable
        needless = name in outcome.ran and (record, name) not in used and record not in broken
        if name and (needless or not known):
            message = f"{shown(record, 120)} does not violate `{shown(name)}`: unused exemption"
            near = "" if known else nearest(name, outcome.exemptable).sentence()
            yield outcome.table.mistake(row, "record", message, near or "Delete this line.")
