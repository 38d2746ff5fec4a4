"""Fixers: generators of edits for the rules whose fix is certain, each called as its rule.

They write nothing. Every byte outside of the lines that they change stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rl_resources.dataset_rules import form
from rl_resources.dataset_rules.broken import broken_cells
from rl_resources.dataset_rules.compatibility import stale_rows
from rl_resources.dataset_rules.files import texts
from rl_resources.dataset_rules.meant import (
    certain,
    comma_separated,
    line_of,
    meant_rows,
    rearranged,
    separator_of,
)
from rl_resources.dataset_rules.scripts import (
    directory_of,
    expected_name,
    moved_path,
    not_executable,
    pairing,
    scripts,
)
from rl_resources.rule import Edit, MakeExecutable, Move, Rewrite
from rl_resources.script_rules.content import shebang_below, unquoted
from rl_resources.script_rules.target import ScriptText
from rl_resources.snapshot import Snapshot, Table

SHEBANG = "#!/usr/bin/env bash"
STRICT = "set -euo pipefail"
_WITH_DEFAULT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_ALWAYS_SET = frozenset({*"@*#?$!0", "HOME", "PATH", "PWD"})
_CANNOT_FAIL = frozenset({"set", "export", "echo", "printf", "declare", "readonly", "ulimit", ":"})


Lines = Mapping[int, str | None]
"""New text by line number, without the line's end; `None` removes the line."""


def with_lines(text: str, lines: Lines) -> str:
    """The text with these lines replaced, each with the line's own end."""
    kept: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        new = lines.get(number, line)
        if new is not None:
            kept.append(f"{new}\r" if line.endswith("\r") and new != line else new)
    return "\n".join(kept)


def _rewrite(table: Table, lines: Lines) -> Iterator[Rewrite]:
    """The table's file with these lines; nothing where its lines are not those of the file."""
    if lines and table.data is not None and table.characters is table.decoded:
        mark = table.source.removesuffix(table.decoded)
        yield Rewrite(table.path, mark + with_lines(table.decoded, lines))


def _with_cells(cells: Iterator[tuple[Table, int, str, str]]) -> Iterator[Rewrite]:
    """The files with other text in some cells: table, row, column, text.

    The rows are written in canonical form; those of more than one line are left alone.
    """
    changed: dict[Table, dict[int, dict[str, str]]] = {}
    for table, row, name, text in cells:
        changed.setdefault(table, {}).setdefault(row, {})[name] = text
    for table, rows in changed.items():
        lines = {}
        for row, new in rows.items():
            old = dict(zip(table.schema.names, table.rows[row].cells, strict=True))
            if "\n" not in "".join(old.values()):
                lines[table.rows[row].line] = line_of([*(old | new).values()])
        yield from _rewrite(table, lines)


def spelling(*constraints: str) -> Callable[[Snapshot], Iterator[Rewrite]]:
    """The fixer of cells that break one of these constraints and certainly mean another text."""

    def fixer(snapshot: Snapshot) -> Iterator[Rewrite]:
        meant = (
            (cell.table, cell.row, cell.field.name, text)
            for cell in broken_cells(snapshot)
            if cell.constraint in constraints and (text := certain(snapshot, cell)) is not None
        )
        return _with_cells(meant)

    return fixer


def byte_order_mark(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Remove the mark."""
    for file in texts(snapshot):
        yield Rewrite(file.path, file.source.removeprefix("\ufeff"))


def line_ending(snapshot: Snapshot) -> Iterator[Rewrite]:
    """LF ends every line."""
    for file in texts(snapshot):
        text = re.sub(r"\r\n?", "\n", file.source)
        yield Rewrite(file.path, text if text.endswith("\n") or not text else f"{text}\n")


def header(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Cells with another separator, columns in another order or missing, a repeated header."""
    for table in snapshot.tables.values():
        wanted = table.schema.names
        names = tuple(name.strip().lower() for name in table.header)
        if separator_of(table, table.text.header):
            yield from _rewrite(table, comma_separated(table))
        elif table.text.header and names == wanted:
            again = (row.line for row in table.text.rows if row.cells == wanted)
            lines: dict[int, str | None] = dict.fromkeys(again)
            yield from _rewrite(table, lines | {table.text.header.line: ",".join(wanted)})
        else:
            yield from _rewrite(table, rearranged(snapshot, table))


def row_length(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Remove empty lines; a row is unchanged where it is in doubt which cell is missing."""
    for table in snapshot.tables.values():
        lines: dict[int, str | None] = {}
        for row in table.text.rows if table.header == table.schema.names else ():
            if not any(cell.strip() for cell in row.cells):
                lines[row.line] = None
            elif len(meant := meant_rows(snapshot, table, row)) == 1:
                lines[row.line] = line_of(meant[0])
        yield from _rewrite(table, lines)


def row_order(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Rows in order and only as many quotes as CSV needs, where the whole file can be read."""
    found = {mistake.path for mistake in form.row_order.mistakes(snapshot)}
    for table in snapshot.tables.values():
        if table.path in found and (text := form.canonical(snapshot, table)) is not None:
            yield Rewrite(table.path, text)


def script_name(snapshot: Snapshot) -> Iterator[Edit]:
    """Rename a script whose name differs by case and separators alone from the one in its row."""
    taken = {script.path.lower(): script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        row = pairing(snapshot).row(script)
        expected = expected_name(snapshot, row)
        directory = directory_of(snapshot, expected)
        new = f"{directory}/{expected}"
        free = new != script.path and taken.get(new.lower(), script.path) == script.path
        if row is not None and directory and free and _plain(script.name) == _plain(str(expected)):
            yield Move(script.path, new)
            old = snapshot.tables["tuning"].cell(row, "script")
            yield from _with_cells(
                (table, at, "script", str(expected))
                for table in snapshot.tables.values()
                for at, cell in enumerate(table.columns.get("script", ()))
                if cell == old
            )


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def script_place(snapshot: Snapshot) -> Iterator[Move]:
    """Into the directory of its model's size, where no other script is in the way."""
    taken = {script.path for script in snapshot.scripts}
    for script in scripts(snapshot):
        if (new := moved_path(snapshot, script)) not in taken:
            yield Move(script.path, new)


def executable_script(snapshot: Snapshot) -> Iterator[MakeExecutable]:
    """Execute permission."""
    return (MakeExecutable(script.path) for script in not_executable(snapshot))


def stale_lines(snapshot: Snapshot) -> Iterator[Rewrite]:
    """The lines of keys that are in one other line today."""
    meant = (
        (*record, "rejected", "; ".join(map(str, today)))
        for stale in stale_rows(snapshot).values()
        for record, _, today in stale
        if None not in today
    )
    return _with_cells(meant)


def shebang(target: ScriptText) -> Iterator[Rewrite]:
    """bash as the first line says it; a shebang further down moves up."""
    lines = target.text.split("\n")
    below = shebang_below(target)
    if lines[0].startswith("#!"):
        lines[0] = SHEBANG
    else:
        if below and all(not line.strip() for line in lines[: below - 1]):
            lines = lines[below:]
        lines.insert(0, SHEBANG)
    yield Rewrite(target.path, "\n".join(lines))


def strict_mode(target: ScriptText) -> Iterator[Rewrite]:
    """Only where the options change nothing of a run that succeeds."""
    if not (_nothing_is_unset(target) and _nothing_fails_on_purpose(target)):
        return
    number = min((item.place.line for item in target.script.commands), default=0)
    first = min([number, *(item.place.line for item in target.script.assignments)])
    lines = target.text.split("\n")
    if first and not lines[first - 2 : first - 1][0].endswith("\\"):
        new = [STRICT] if lines[first - 1].startswith("set ") else [STRICT, ""]
        yield Rewrite(target.path, "\n".join([*lines[: first - 1], *new, *lines[first - 1 :]]))


def _nothing_is_unset(target: ScriptText) -> bool:
    """Whether `-u` has nothing to complain of, so far as it can be seen."""
    certain = all(item.reach == "always" for item in target.script.assignments)
    return (target.script.complete and certain) and all(
        item.defined or item.operator in _WITH_DEFAULT or item.name in _ALWAYS_SET
        for item in target.script.references
    )


def _nothing_fails_on_purpose(target: ScriptText) -> bool:
    """Whether every command before the last is one that `-e` and `pipefail` do not stop at."""
    launched = {launch.command.place.offset for launch in target.launches}
    simple = all(
        not command.words or command.name in _CANNOT_FAIL or command.place.offset in launched
        for command in target.script.commands
    )
    unfollowed = re.search(r"[|`]|\$\((?!\()", target.text)
    return simple and not unfollowed and not target.script.problems and not target.lost


def unquoted_arguments(target: ScriptText) -> Iterator[Rewrite]:
    """Where the list is a whole word."""
    text = target.text
    for place, right in sorted(unquoted(target), reverse=True, key=lambda item: item[0].offset):
        raw = re.compile(r"(?<![^\s(])\$(?:[@*]|\{[^\s{}]*\})(?=[\s)]|$)").match(text, place.offset)
        if raw:
            text = text[: raw.start()] + right + text[raw.end() :]
    yield Rewrite(target.path, text)


def broken_continuation(target: ScriptText) -> Iterator[Rewrite]:
    """Remove the spaces after a backslash; add a backslash that is missing."""
    lines: dict[int, str | None] = {}
    for item in target.lost:
        line = target.script.lines[item.cause_line - 1]
        if line.rstrip().endswith("\\"):
            lines[item.cause_line] = line.rstrip()
        elif line.strip() and "#" not in line:
            lines[item.cause_line] = f"{line.rstrip()} \\"
    yield Rewrite(target.path, with_lines(target.text, lines))


type = spelling("type")  # noqa: A001 (the rule's name)
vocabulary = spelling("enum", "vocabulary")
pattern = spelling("pattern")
surrounding_whitespace = spelling("space")
invisible_character = spelling("hidden", "character")
