"""Contributions as edits of a snapshot: rows, scripts, certain fixes; validated, then written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from rl_resources.check import Asked, all_rules, everything, findings_in, targets_of
from rl_resources.errors import Finding, UnusableInput
from rl_resources.facts import canonical
from rl_resources.files import locked, sweep, write_file
from rl_resources.package import DESCRIPTOR, SCRIPTS
from rl_resources.rule import Edit, Rule
from rl_resources.snapshot import ScriptFile, Snapshot, Table
from rl_resources.tabular import write

MOST_ROUNDS = 12
"""A fix can make another one possible, so rules are asked again after each round."""

Row = Mapping[str, str]
"""The text of a row's cells by column; a column that is missing is empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write; its `path` is relative to the root.

    `was` is its content when the change was made, `None` if there was no file. `becomes` is its new
    content.
    """

    path: str
    was: bytes | None
    becomes: bytes
    executable: bool = False

    def diff(self) -> str:
        """The change as a unified diff, in git's form."""
        before = _lines(self.was or b"")
        after = _lines(self.becomes)
        found = ""
        for line in difflib.unified_diff(
            before, after, f"a/{self.path}", f"b/{self.path}"
        ):
            found += line
            if not line.endswith("\n"):
                found += "\n\\ No newline at end of file\n"
        return found


def _lines(data: bytes) -> list[str]:
    return data.decode().splitlines(keepends=True)


def with_rows(snapshot: Snapshot, rows: Mapping[str, Sequence[Row]]) -> Snapshot:
    """The dataset with these rows, by resource, in canonical form.

    A row replaces the one with the same key. Raises `UnusableInput` if a table cannot be read.
    """
    after = snapshot
    for name, new in rows.items():
        table = snapshot.tables[name]
        if canonical(snapshot, table) is None:
            raise UnusableInput(
                f"{table.path}: cannot be read, so nothing is added to it",
                "`rl-resources check` reports every error in the file and its fix.",
            )
        after = _with_table(after, _joined(table, new))
    changed = {snapshot.tables[name].path for name in rows}
    return formatted(after, changed.__contains__)[0]


def formatted(snapshot: Snapshot, asked: Asked) -> tuple[Snapshot, list[str]]:
    """The dataset with tables in canonical form, and the paths of those that cannot be read."""
    after = snapshot
    unreadable = []
    for table in snapshot.tables.values():
        if not asked(table.path):
            continue
        text = canonical(snapshot, table)
        if text is None:
            unreadable.append(table.path)
        else:
            after = _with_table(after, Table(table.resource, text.encode()))
    return after, unreadable


def _with_table(snapshot: Snapshot, table: Table) -> Snapshot:
    return replace(snapshot, tables={**snapshot.tables, table.resource.name: table})


def _joined(table: Table, new: Sequence[Row]) -> Table:
    """A table with new rows at its end, without those that they replace."""
    names = table.schema.names
    key = table.schema.primary_key
    added = [_cells(row, names) for row in new]
    replaced = {_cells(row, key) for row in new}
    kept = [
        row.cells
        for row, its_key in zip(table.rows, table.cells(key), strict=True)
        if its_key not in replaced
    ]
    return Table(table.resource, write([names, *kept, *added]).encode())


def _cells(row: Row, columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(row.get(column, "") for column in columns)


def with_script(snapshot: Snapshot, script: ScriptFile) -> Snapshot:
    """The dataset with a script in the place of the one at its path, if any."""
    others = [other for other in snapshot.scripts if other.path != script.path]
    in_order = sorted([*others, script], key=attrgetter("path"))
    return replace(snapshot, scripts=tuple(in_order))


def changes_between(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """The files that differ between two states of a dataset, scripts first."""
    before = {file.path: file for file in old.files}
    for file in new.files:
        was = before.get(file.path, ScriptFile(file.path))
        data, is_executable = file.content
        if was.content != file.content:
            yield Change(file.path, was.data, data or b"", is_executable)


def findings_about(old: Snapshot, new: Snapshot) -> list[Finding]:
    """Findings in the files that are new or changed."""
    changed = {change.path for change in changes_between(old, new)}
    return findings_in(new, list(all_rules().values()), changed.__contains__)


class Fixed(NamedTuple):
    """The dataset after all fixes, and what was done, each with its rule."""

    snapshot: Snapshot
    done: Mapping[str, str]


def fix(snapshot: Snapshot, rules: Iterable[Rule], asked: Asked = everything) -> Fixed:
    """Apply the fixers of the `rules` that report something until nothing changes any more.

    Only files whose path is `asked` for change. Nothing is written.
    """
    done = {}
    now = snapshot
    fixable = [rule for rule in rules if rule.fixer]
    for _ in range(MOST_ROUNDS):
        before = now
        findings = findings_in(before, fixable, asked)
        for rule in fixable:
            paths = {item.path for item in findings if item.rule == rule.name}
            for edit in _edits(now, rule, paths):
                if not asked(edit.path):
                    continue
                after = _edited(now, edit)
                if after is not now:
                    now = after
                    what = f"{edit.path}: {edit.done} ({rule.name})"
                    done[what] = rule.name
        if now is before:
            break
    return Fixed(now, done)


def _edits(snapshot: Snapshot, rule: Rule, paths: set[str]) -> list[Edit]:
    """The edits of a rule's fixer for the files with findings."""
    if not paths or not rule.fixer:
        return []
    targets = targets_of(snapshot, paths.__contains__)[rule.scope]
    return list(chain.from_iterable(map(rule.fixer, targets())))


def _edited(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """The snapshot after an edit; the same one if nothing changes."""
    for file in snapshot.files:
        if file.path != edit.path:
            continue
        after = replace(file, **edit.fields)
        if after.content == file.content:
            return snapshot
        if isinstance(after, Table):
            return _with_table(snapshot, after)
        return with_script(snapshot, after)
    return snapshot


def write_changes(root: Path, changes: Sequence[Change]) -> None:
    """Write all changes below `root` if no file has changed since it was read.

    Temporary files of a killed process are removed.

    Raises `UnusableInput` if a file lies outside `root`, exists already, has changed, or cannot be
    written.
    """
    targets = {(root / change.path).resolve(): change for change in changes}
    with locked(root / DESCRIPTOR) as is_alone:
        if is_alone:
            for directory in ("records", SCRIPTS):
                sweep(root / directory)
        for target, change in targets.items():
            _refuse_other(root, target, change)
        for target, change in targets.items():
            _write(target, change)


def _refuse_other(root: Path, target: Path, change: Change) -> None:
    """Raise `UnusableInput` if a file is not what the change was made for."""
    if not target.is_relative_to(root.resolve()):
        raise UnusableInput(f"{change.path}: lies outside the dataset at {root}")
    if change.was is None and target.exists():
        raise UnusableInput(
            f"{change.path}: exists already, and nothing is overwritten",
            "Move that file away first, or choose another configuration.",
        )
    is_same = target.is_file() and target.read_bytes() == change.was
    if change.was is not None and not is_same:
        raise UnusableInput(
            f"{change.path}: has changed since it was read, and nothing was written",
            "Run the command again.",
        )


def _write(target: Path, change: Change) -> None:
    write_file(target, change.becomes)
    if change.executable:
        target.chmod(0o755)
