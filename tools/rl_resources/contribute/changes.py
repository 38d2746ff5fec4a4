"""Changes to files of the dataset: made as values, validated by the rules, then written."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rl_resources.check import all_rules, findings_in
from rl_resources.check.dataset.form import canonical
from rl_resources.check.snapshot import ScriptFile, Snapshot, Table
from rl_resources.errors import Finding, InvalidDataset, UnusableInput
from rl_resources.package import SCRIPTS
from rl_resources.tabular import write
from rl_resources.text import shown

Row = Mapping[str, str]
"""The text of a row's cells by column; a column that is missing is empty."""

FIX_FIRST = "Fix this before you commit: CI counts warnings too."


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
        """The change as a unified diff, as git shows it."""
        before, after = (
            (data or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)
            for data in (self.was, self.becomes)
        )
        old = "/dev/null" if self.was is None else f"a/{self.path}"
        new = "/dev/null" if self.becomes is None else f"b/{self.path}"
        lines = difflib.unified_diff(before, after, old, new)
        missing_end = "\n\\ No newline at end of file\n"
        return "".join(line if line.endswith("\n") else line + missing_end for line in lines)


def add_rows(snapshot: Snapshot, rows: Mapping[str, Sequence[Row]]) -> tuple[Change, ...]:
    """The tables with new rows, by resource, in canonical form.

    Raises `UnusableInput` where a table cannot be read or has the key already, and `KeyError` for
    a column that the schema lacks.
    """
    longer = {name: _appended(snapshot.tables[name], new) for name, new in rows.items()}
    after = replace(snapshot, tables={**snapshot.tables, **longer})
    return tuple(_canonical(after, snapshot.tables[name], table) for name, table in longer.items())


def replace_row(snapshot: Snapshot, resource: str, at: int, row: Row) -> Change:
    """The table with the cells of row `at` of its `rows` replaced, in canonical form."""
    table = snapshot.tables[resource]
    rows = [list(item.cells) for item in table.rows]
    rows[at] = [row[name] for name in table.schema.names]
    text = write([table.schema.names, *rows])
    return _canonical(snapshot, table, Table(table.resource, text.encode()))


def _appended(table: Table, rows: Sequence[Row]) -> Table:
    names, keys = table.schema.names, table.schema.primary_key
    held = {cells: row.line for cells, row in zip(table.cells(keys), table.rows, strict=True)}
    for row in rows:
        for name in row:
            table.schema.field(name)
        key = tuple(row.get(name, "") for name in keys)
        if key in held:
            raise UnusableInput(
                f"{table.path}:{held[key]}: there is a row for {shown(' '.join(key), 120)} already",
                "Change that row, or choose another configuration; the tag is no part of a name.",
            )
    data = (table.data or b"").removesuffix(b"\n") + b"\n"
    text = write([[row.get(name, "") for name in names] for row in rows])
    return Table(table.resource, data + text.encode())


def _canonical(snapshot: Snapshot, old: Table, new: Table) -> Change:
    text = canonical(snapshot, new) if canonical(snapshot, old) is not None else None
    if text is None:
        raise UnusableInput(
            f"{old.path}: cannot be read, so nothing is added to it",
            "`rl-resources check` reports every error in the file and its fix.",
        )
    return Change(old.path, old.data, text.encode())


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


def findings_about(snapshot: Snapshot, changes: Sequence[Change]) -> list[Finding]:
    """Findings about what the changes add: their scripts, and the new lines of their tables."""
    paths = {change.path for change in changes}
    rules = list(all_rules().values())
    found = findings_in(preview(snapshot, changes), rules, paths.__contains__)
    new = {(change.path, line) for change in changes for line in _new_lines(change)}
    whole = {change.path for change in changes if change.was is None}
    return [item for item in found if item.path in whole or (item.path, item.line) in new]


def refuse_errors(findings: Sequence[Finding]) -> None:
    """Raise `InvalidDataset` with all findings if one is an error."""
    if any(finding.severity == "error" for finding in findings):
        raise InvalidDataset(findings)


def _new_lines(change: Change) -> Iterator[int]:
    before = set((change.was or b"").split(b"\n"))
    for number, line in enumerate((change.becomes or b"").split(b"\n"), start=1):
        if line not in before:
            yield number


def write_changes(root: Path, changes: Sequence[Change]) -> None:
    """Write all changes below `root`: all temporary files first, then each takes its place.

    Raises `UnusableInput` where a file is no longer as the change found it, lies outside `root`, or
    cannot be written.
    """
    targets = [_target(root, change) for change in changes]
    temporary = [target.with_name(f".{target.name}.new") for target in targets]
    try:
        for change, target, new in zip(changes, targets, temporary, strict=True):
            _stage(new, target, change)
        for change, target, new in zip(changes, targets, temporary, strict=True):
            if change.becomes is None:
                target.unlink()
            else:
                new.replace(target)
    except OSError as error:
        raise UnusableInput(
            f"{error.filename or root}: cannot be written: {error.strerror}",
            "`git status` shows what was changed.",
        ) from error
    finally:
        for new in temporary:
            new.unlink(missing_ok=True)


def _target(root: Path, change: Change) -> Path:
    """The file that a change means, links followed."""
    target = (root / change.path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise UnusableInput(f"{change.path}: lies outside the dataset at {root}")
    if change.was is None and target.exists():
        raise UnusableInput(
            f"{change.path}: exists already, and nothing is overwritten",
            "Move that file away first, or choose another configuration.",
        )
    if change.was is not None and target.read_bytes() != change.was:
        raise UnusableInput(
            f"{change.path}: has changed since it was read", "Nothing was changed. Try again."
        )
    return target


def _stage(temporary: Path, target: Path, change: Change) -> None:
    if change.becomes is None:
        return
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_bytes(change.becomes)
    mode = (target if target.exists() else temporary).stat().st_mode
    temporary.chmod(mode | (mode & 0o444) >> 2 if change.executable else mode)
