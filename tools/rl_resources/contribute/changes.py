"""Contributions as edits of a snapshot: rows, scripts, certain fixes; validated, then written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from rl_resources.check import Asked, all_rules, everything, findings_in, targets_of
from rl_resources.dataset_rules.form import canonical
from rl_resources.errors import Finding, UnusableInput
from rl_resources.files import write_file
from rl_resources.rule import Edit, MakeExecutable, Move, Rewrite, Rule
from rl_resources.snapshot import ScriptFile, Snapshot, Table
from rl_resources.tabular import write

MOST_ROUNDS = 12
"""Of fixes, each of which can make another one possible."""

Row = Mapping[str, str]
"""The text of a row's cells by column; a column that is missing is empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write; its `path` is relative to the root.

    `was` is what the file held when the change was made, `None` if there was no file. `becomes` is
    what it shall hold, `None` to remove it.
    """

    path: str
    was: bytes | None
    becomes: bytes | None
    executable: bool = False

    def diff(self) -> str:
        """The change of a text as a unified diff, as git shows it."""
        before, after = (
            (data or b"").decode().splitlines(keepends=True) for data in (self.was, self.becomes)
        )
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}")
        missing_end = "\n\\ No newline at end of file\n"
        return "".join(line if line.endswith("\n") else line + missing_end for line in lines)


def with_rows(snapshot: Snapshot, rows: Mapping[str, Sequence[Row]]) -> Snapshot:
    """The dataset with these rows, by resource, in canonical form.

    A row whose key is there takes that row's place. Raises `UnusableInput` where a table cannot be
    read.
    """
    for name, new in rows.items():
        snapshot = _with_text(snapshot, name, _joined(snapshot, name, new))
    for name in rows:
        snapshot = _with_text(snapshot, name, _readable(snapshot, name))
    return snapshot


def _readable(snapshot: Snapshot, name: str) -> str:
    """A table in canonical form. Raises `UnusableInput` where it cannot be read."""
    table = snapshot.tables[name]
    text = canonical(snapshot, table)
    if text is None:
        raise UnusableInput(
            f"{table.path}: cannot be read, so nothing is added to it",
            "`rl-resources check` reports every error in the file and its fix.",
        )
    return text


def _with_text(snapshot: Snapshot, name: str, text: str) -> Snapshot:
    table = Table(snapshot.package.resources[name], text.encode())
    return replace(snapshot, tables={**snapshot.tables, name: table})


def _joined(snapshot: Snapshot, name: str, new: Sequence[Row]) -> str:
    """A table's text with new rows at its end, or in the place of those with their keys."""
    _readable(snapshot, name)
    table = snapshot.tables[name]
    columns, key = table.schema.names, table.schema.primary_key
    rows: list[Sequence[str]] = [row.cells for row in table.rows]
    places = {cells: place for place, cells in enumerate(table.cells(key))}
    for row in new:
        cells = [row.get(column, "") for column in columns]
        place = places.get(tuple(row.get(column, "") for column in key))
        if place is None:
            rows.append(cells)
        else:
            rows[place] = cells
    return write([columns, *rows])


def with_script(snapshot: Snapshot, path: str, data: bytes, moved_from: str = "") -> Snapshot:
    """The dataset with an executable script at `path` that no longer is where it was moved from."""
    others = [script for script in snapshot.scripts if script.path not in {path, moved_from}]
    return _with_scripts(snapshot, [*others, ScriptFile(path, data=data, executable=True)])


def _with_scripts(snapshot: Snapshot, scripts: Iterable[ScriptFile]) -> Snapshot:
    return replace(snapshot, scripts=tuple(sorted(scripts, key=attrgetter("path"))))


def changes_between(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """The files that differ between two states of a dataset."""
    before = {script.path: script for script in old.scripts}
    after = {script.path: script for script in new.scripts}
    for path, script in after.items():
        was = before.get(path)
        if script != was:
            executable = bool(script.executable) and not (was and was.executable)
            yield Change(path, was.data if was else None, script.data, executable)
    for path in before.keys() - after.keys():
        yield Change(path, before[path].data, None)
    for name, table in new.tables.items():
        if table.data != old.tables[name].data:
            yield Change(table.path, old.tables[name].data, table.data)


def findings_about(old: Snapshot, new: Snapshot) -> list[Finding]:
    """Findings about what is new: whole scripts, and the new lines of tables."""
    changes = {change.path: change for change in changes_between(old, new)}
    found = findings_in(new, list(all_rules().values()), changes.__contains__)
    lines = {path: _new_lines(change) for path, change in changes.items()}
    return [
        item for item in found if changes[item.path].was is None or item.line in lines[item.path]
    ]


def _new_lines(change: Change) -> set[int]:
    before = set((change.was or b"").split(b"\n"))
    lines = enumerate((change.becomes or b"").split(b"\n"), start=1)
    return {number for number, line in lines if line not in before}


@dataclass(frozen=True, slots=True)
class Fixed:
    """The dataset after all fixes, how its files change, what was done and by which rules."""

    snapshot: Snapshot
    changes: tuple[Change, ...]
    done: tuple[str, ...]
    rules: tuple[str, ...]


def fix(snapshot: Snapshot, rules: Iterable[Rule], asked: Asked = everything) -> Fixed:
    """Apply the fixers of those `rules` that report something until nothing changes any more.

    Only files whose path is `asked` for change. Nothing is written.
    """
    done: dict[str, str] = {}
    now = snapshot
    fixable = [rule for rule in rules if rule.fixable]
    for _ in range(MOST_ROUNDS):
        before = now
        findings = findings_in(before, fixable, asked)
        for rule in fixable:
            paths = {item.path for item in findings if item.rule == rule.name}
            for edit in _edits(now, rule, paths):
                if asked(edit.path) and (after := _edited(now, edit)) is not now:
                    now = after
                    done[f"{edit.path}: {_in_words(edit)} ({rule.name})"] = rule.name
        if now is before:
            break
    names = tuple(dict.fromkeys(done.values()))
    return Fixed(now, tuple(changes_between(snapshot, now)), tuple(done), names)


def _edits(snapshot: Snapshot, rule: Rule, paths: set[str]) -> list[Edit]:
    """The edits of a rule's fixer for the files with findings."""
    if not paths:
        return []
    targets = targets_of(snapshot, paths.__contains__).get(rule.scope, tuple)()
    return [edit for target in targets for edit in rule.edits(target)]


def _in_words(edit: Edit) -> str:
    match edit:
        case Move(_, to):
            return f"moved to {to}"
        case MakeExecutable():
            return "made executable"
    return "fixed"


def _edited(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """The snapshot after an edit; itself if the edit changes nothing."""
    for name, table in snapshot.tables.items():
        if isinstance(edit, Rewrite) and table.path == edit.path:
            same = edit.text.encode() == table.data
            return snapshot if same else _with_text(snapshot, name, edit.text)
    before = snapshot.scripts
    after = [_edited_script(it, edit) if it.path == edit.path else it for it in before]
    return snapshot if tuple(after) == before else _with_scripts(snapshot, after)


def _edited_script(script: ScriptFile, edit: Edit) -> ScriptFile:
    match edit:
        case Rewrite(_, text):
            return replace(script, data=text.encode())
        case Move(_, to):
            return replace(script, path=to)
    return replace(script, executable=True)


def write_changes(root: Path, changes: Sequence[Change]) -> None:
    """Write all changes below `root`.

    Raises `UnusableInput` where a file lies outside `root`, exists already, or cannot be written.
    """
    targets = [(root / change.path).resolve() for change in changes]
    for change, target in zip(changes, targets, strict=True):
        if not target.is_relative_to(root.resolve()):
            raise UnusableInput(f"{change.path}: lies outside the dataset at {root}")
        if change.was is None and target.exists():
            raise UnusableInput(
                f"{change.path}: exists already, and nothing is overwritten",
                "Move that file away first, or choose another configuration.",
            )
    try:
        for change, target in zip(changes, targets, strict=True):
            _write(target, change)
    except OSError as error:
        raise UnusableInput(
            f"{error.filename or root}: cannot be written: {error.strerror}",
            "`git status` shows what was changed.",
        ) from error


def _write(target: Path, change: Change) -> None:
    if change.becomes is None:
        target.unlink()
        return
    write_file(target, change.becomes)
    if change.executable:
        mode = target.stat().st_mode
        target.chmod(mode | (mode & 0o444) >> 2)
