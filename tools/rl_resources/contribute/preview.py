"""What the rules would say of a proposal before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rl_resources.check import all_rules, check
from rl_resources.check.snapshot import ScriptFile, Snapshot, Table
from rl_resources.contribute.fix import fix
from rl_resources.contribute.proposal import Change, Row, add_rows
from rl_resources.errors import InvalidDataset
from rl_resources.finding import Finding
from rl_resources.package import SCRIPTS

MEND_FIRST = "Mend this before you commit: CI counts warnings too."


def preview(snapshot: Snapshot, changes: Sequence[Change]) -> Snapshot:
    """The dataset as it would be."""
    becomes = {change.path: change.becomes for change in changes}
    tables = {
        name: Table(table.resource, becomes[table.path]) if table.path in becomes else table
        for name, table in snapshot.tables.items()
    }
    kept = [script for script in snapshot.scripts if script.path not in becomes]
    new = [
        ScriptFile(path, data=data)
        for path, data in becomes.items()
        if data is not None and path.startswith(f"{SCRIPTS}/")
    ]
    scripts = tuple(sorted([*kept, *new], key=lambda script: script.path))
    return replace(snapshot, tables=tables, scripts=scripts)


def mended_scripts(
    snapshot: Snapshot, changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes with every mend that is certain made in the scripts that they bring.

    Beside them the names of the rules whose fixers did it. A script that the dataset has in that
    form already is no change.
    """
    new = {change.path for change in changes if change.path.startswith(f"{SCRIPTS}/")}
    rules = list(all_rules().values())
    fixed = fix(preview(snapshot, changes), rules, new.__contains__) if new else None
    if fixed is None or not fixed.proposal.changes:
        return tuple(changes), ()
    becomes = {change.path: change.becomes for change in fixed.proposal.changes}
    held = {script.path: script.data for script in snapshot.scripts}
    mended = (replace(item, becomes=becomes.get(item.path, item.becomes)) for item in changes)
    kept = tuple(item for item in mended if item.was != item.becomes != held.get(item.path))
    return kept, fixed.rules if any(item.path in new for item in kept) else ()


def objections(
    snapshot: Snapshot, changes: Sequence[Change], select: Sequence[str] = ()
) -> list[Finding]:
    """Findings about what the changes bring: their scripts, and the new lines of their tables."""
    after = preview(snapshot, changes)
    new = {change.path: _new_lines(change) for change in changes}
    return [item for item in check(after, select) if _is_new(item, new)]


def refuse(found: Sequence[Finding]) -> None:
    """Raise `InvalidDataset` with all findings where one is an error; a warning is only told."""
    if any(finding.severity == "error" for finding in found):
        raise InvalidDataset(found)


def table_objections(snapshot: Snapshot, changes: Sequence[Change]) -> list[Finding]:
    """Findings about new lines of tables, by the rules that look at no script."""
    rules = [rule.name for rule in all_rules().values() if rule.scope == "dataset"]
    return objections(snapshot, changes, rules)


def _is_new(finding: Finding, new: Mapping[str, frozenset[int]]) -> bool:
    lines = new.get(finding.path, frozenset())
    return not lines or finding.line in lines if finding.path in new else False


def _new_lines(change: Change) -> frozenset[int]:
    """The numbers of the lines that a changed file did not have; none for a new file."""
    if change.was is None or change.becomes is None:
        return frozenset()
    before = set(change.was.split(b"\n"))
    lines = enumerate(change.becomes.split(b"\n"), start=1)
    return frozenset(number for number, line in lines if line not in before)


def cell_objections(snapshot: Snapshot, resource: str, row: Row) -> Mapping[str, str]:
    """What is wrong with each cell of a new row, by column, in words with the mend."""
    table = snapshot.tables[resource]
    (change,) = add_rows(snapshot, {resource: [row]})
    found: dict[str, str] = {}
    after = Table(table.resource, change.becomes)
    for item in table_objections(snapshot, [change]):
        at = next(at for at, other in enumerate(after.rows) if other.line == item.line)
        for name in table.schema.names:
            if after.place(at, name) == (item.line, item.column):
                found.setdefault(name, f"{item.message}. {item.help}".strip())
    return found
