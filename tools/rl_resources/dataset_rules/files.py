"""Files.

Tables are UTF-8 with LF line endings, closed quotes and the header of their schema.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

from rl_resources.facts.row_repair import RowRepair, as_help, column_named
from rl_resources.facts.script_names import scripts
from rl_resources.files import as_read, encoding_of
from rl_resources.rule import Edit, Lines, Mistake, rewritten, rule
from rl_resources.snapshot import STRANGE_NAME, ScriptFile, Snapshot, Table
from rl_resources.tabular import (
    LONGEST_LINE,
    Row,
    conflicts,
    end_after,
    line_of,
    wrong_end,
)
from rl_resources.text import shown


def _files(snapshot: Snapshot) -> tuple[Table | ScriptFile, ...]:
    return (*snapshot.tables.values(), *scripts(snapshot))


def _texts(snapshot: Snapshot) -> Iterator[Table | ScriptFile]:
    """The tables and scripts that can be read and are UTF-8."""
    for file in _files(snapshot):
        if file.data is not None and file.undecodable is None:
            yield file


def _with_known_header(snapshot: Snapshot) -> Iterator[Table]:
    for file in _texts(snapshot):
        if isinstance(file, Table) and _has_known_header(file):
            yield file


@rule()
def file_missing(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every table in the descriptor and every script is a regular file.

    Values that refer to a missing table cannot be checked. A symbolic link can point outside the
    repository.

    Bad: records/devices.csv deleted; a symbolic link to a script; a script of more than 64 KiB
    Good: records/devices.csv in place; the script itself
    """
    files: tuple[Table | ScriptFile, ...] = (
        *snapshot.tables.values(),
        *snapshot.scripts,
    )
    for file in files:
        if file.data is None:
            path = shown(shlex.quote(file.path), 300)
            fix = f"Put a regular file there; `git show HEAD:{path}` prints the committed version."
            if file.problem == STRANGE_NAME:
                fix = "Rename it: `ls -b` shows its bytes."
            yield Mistake(file.path, 1, 1, f"the file {file.problem}", fix)


@rule()
def encoding(snapshot: Snapshot) -> Iterator[Mistake]:
    """Tables and scripts are UTF-8.

    In any other encoding, characters are garbled or the file cannot be read.

    Bad: `é` as the single byte E9 of Latin-1
    Good: `é` as the two bytes C3 A9 of UTF-8
    """
    for file in _files(snapshot):
        at = file.undecodable
        if file.data is None or at is None:
            continue
        place = end_after(re.sub(b"\r\n?", b"\n", file.data[:at]), "")
        reading = as_read(file.data, at)
        yield Mistake(
            file.path,
            place.line,
            place.column,
            f"byte {file.data[at]:02X} is not UTF-8 text{reading}",
            "Save it as UTF-8 without a byte order mark. Nothing else in it was checked.",
        )


def fix_encoding(snapshot: Snapshot) -> Iterator[Edit]:
    """Convert to UTF-8 if the present encoding is certain."""
    for file in _files(snapshot):
        if file.data is None or file.undecodable is None:
            continue
        encoding = encoding_of(file.data)
        if encoding:
            yield rewritten(file.path, file.data.decode(encoding))


@rule()
def byte_order_mark(snapshot: Snapshot) -> Iterator[Mistake]:
    """No file starts with a byte order mark.

    The mark becomes part of the first column's name, or hides a script's shebang.

    Bad: EF BB BF before `script,tag,…`
    Good: `script,tag,…` from the first byte
    """
    for file in _texts(snapshot):
        if file.source.startswith("\ufeff"):
            yield Mistake(
                file.path,
                1,
                1,
                "the file begins with a byte order mark",
                "Save it as UTF-8 without BOM.",
            )


def fix_byte_order_mark(snapshot: Snapshot) -> Iterator[Edit]:
    """Remove the mark."""
    for file in _texts(snapshot):
        yield rewritten(file.path, file.source.removeprefix("\ufeff"))


@rule()
def line_ending(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every line ends with LF, including the last line of a table.

    Mixed line endings make contributions rewrite each other's lines, and bash treats a CR as part
    of the last word.

    Bad: lines that end with CR LF
    Good: lines that end with LF
    """
    for file in _texts(snapshot):
        end = file.end or wrong_end(file.data or b"")
        if end is None:
            continue
        if end.found:
            message = f"the line ends with {end.found}, not LF"
        elif isinstance(file, Table):
            message = "the line has no line ending"
        else:
            continue
        yield Mistake(
            file.path,
            end.line,
            end.column,
            message,
            "Save the file with LF at the end of every line.",
        )


def fix_line_ending(snapshot: Snapshot) -> Iterator[Edit]:
    """End every line with LF."""
    for file in _texts(snapshot):
        text = re.sub("\r\n?", "\n", file.source)
        if text and not text.endswith("\n"):
            text += "\n"
        yield rewritten(file.path, text)


@rule()
def header(snapshot: Snapshot) -> Iterator[Mistake]:
    """The header lists exactly the columns of the schema, in order, and at least one row follows if
    other tables refer to it.

    A misnamed column is not read. Without rows, values that refer to the table cannot be checked.

    Bad: `script,tag,model,task,gpu,…`; a file of no bytes
    Good: `script,tag,model,task,gpus,…`
    """
    used = _tables_that_others_use(snapshot)
    for file in _texts(snapshot):
        if not isinstance(file, Table):
            continue
        if not _has_known_header(file):
            yield _header_mistake(snapshot, file)
            continue  # the one below it may be the right one
        has_rows = file.text.rows or file.text.defects
        if not has_rows and file.resource.name in used:
            yield Mistake(
                file.path,
                2,
                1,
                "the file has no rows, but other files refer to them",
                f"Restore its rows: `git show HEAD:{file.path}` prints them.",
            )
        for line in _lines_of_repeated_header(file):
            yield Mistake(
                file.path, line, 1, "the header is repeated here", "Delete this line."
            )


def _tables_that_others_use(snapshot: Snapshot) -> set[str]:
    """The tables to which rows of other tables, or scripts, refer."""
    used = {"tuning"} if snapshot.scripts else set()
    for table in snapshot.tables.values():
        if table.rows:
            used.update(key.resource for key in table.schema.foreign_keys)
    return used


def _lines_of_repeated_header(table: Table) -> list[int]:
    return [row.line for row in table.text.rows if row.cells == table.schema.names]


def _has_known_header(table: Table) -> bool:
    """Whether the header is the one of the schema, or cannot be read, which `quoting` reports."""
    if table.text.header is None and table.text.defects:
        return True
    return table.header == table.schema.names


_SEPARATOR = re.compile(r'"?sep=.?"?,*', re.IGNORECASE)
"""The line that tells Excel what separates the cells."""


def _header_mistake(snapshot: Snapshot, table: Table) -> Mistake:
    """The first name that differs from the schema."""
    header = table.text.header or Row(1, (), "")
    wanted = table.schema.names
    if not any(header.cells):
        fix = f"The header must be: {','.join(wanted)}"
        return Mistake(table.path, header.line, 1, "the header is missing", fix)
    index, name, right = _first_difference(header.cells, wanted)
    line, column = header.place(index)
    if _SEPARATOR.fullmatch(header.text):
        message = f"the line `{shown(header.text)}` is only for spreadsheets"
        return Mistake(table.path, line, 1, message, "Delete this line.")
    if RowRepair(snapshot, table).separator(header.text):
        message = "the columns are not separated by commas"
        return Mistake(
            table.path, line, column, message, "Separate the cells by commas."
        )
    fix = f"The header must be: {','.join(wanted)}"
    if len(header.cells) > len(wanted) and not column_named(table.schema, name):
        fix = f"{_cells_to_move(table, index)}{fix}"
    message = f"the column is `{shown(name)}` where `{right}` is expected"
    return Mistake(table.path, line, column, message, fix)


def _cells_to_move(table: Table, index: int) -> str:
    """What to do with the cells of a column that the schema lacks; empty if it has none."""
    for row in table.text.rows:
        if len(row.cells) == len(table.header) and row.cells[index]:
            where = f"`{shown(row.cells[index])}` in line {row.line}"
            return f"Move its cells, such as {where}, to other columns and delete it. "
    return ""


def _first_difference(
    names: Sequence[str], wanted: Sequence[str]
) -> tuple[int, str, str]:
    """The index at which two headers differ first, the name there and the expected one."""
    pairs = enumerate(zip_longest(names, wanted, fillvalue="nothing"))
    return next((index, name, right) for index, (name, right) in pairs if name != right)


def fix_header(snapshot: Snapshot) -> Iterator[Edit]:
    """Fix the separator, the order and number of columns, and repeated headers."""
    for table in snapshot.tables.values():
        header = table.text.header
        if header:
            yield from table.with_lines(_under_header(snapshot, table, header))


def _under_header(snapshot: Snapshot, table: Table, header: Row) -> Lines:
    if _SEPARATOR.fullmatch(header.text):
        return {header.line: None}
    if header.cells == table.schema.names:
        return dict.fromkeys(_lines_of_repeated_header(table))
    repair = RowRepair(snapshot, table)
    mark = repair.separator(header.text)
    if mark:
        return repair.with_commas(mark)
    return repair.in_columns(header)


@rule()
def quoting(snapshot: Snapshot) -> Iterator[Mistake]:
    """Quotes enclose the whole cell and are closed on the same line.

    An unclosed quote swallows the following rows, and most CSV readers do not report it. One record
    per line keeps line numbers, diffs and merges simple.

    Bad: `…,"published as 16,…`
    Good: `…,"published as 16",…`
    """
    for table in _with_known_header(snapshot):
        for defect in table.text.defects:
            if defect.kind in {"merge-conflict", "long-line"}:
                continue
            cell = shown(defect.cell, 30)
            rows = RowRepair(snapshot, table).requoted(defect.text)
            yield Mistake(
                table.path,
                defect.line,
                defect.column,
                f"the quotes on this line do not enclose whole cells: {cell}",
                as_help(rows) or _QUOTES,
            )


def fix_quoting(snapshot: Snapshot) -> Iterator[Edit]:
    """Join a cell that continues on the lines below, as spreadsheets write it, on one line."""
    for table in _with_known_header(snapshot):
        lines: dict[int, str | None] = {}
        for defect in table.text.defects:
            row = defect.meant
            if row and len(row.cells) == len(table.schema.names):
                lines |= dict.fromkeys(range(defect.line, defect.last + 1))
                lines[defect.line] = line_of(row.cells)
        yield from table.with_lines(lines)


_QUOTES = (
    'Put the whole cell on one line, in quotes, and write each quote inside it as `""`.'
)


@rule()
def merge_conflict(snapshot: Snapshot) -> Iterator[Mistake]:
    """No file contains merge conflict markers.

    The file contains two versions of the same lines, and readers would get both.

    Bad: `<<<<<<< HEAD`, two versions of a row, `>>>>>>> branch`
    Good: the one version that is right
    """
    for file in _texts(snapshot):
        for first, last in conflicts(file.source):
            yield Mistake(
                file.path,
                first,
                1,
                f"lines {first} to {last} are a merge conflict or the rest of one",
                "Keep the correct lines and delete the conflict markers.",
            )


@rule()
def row_length(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row has as many cells as the header.

    After a missing or extra cell, every value is in the wrong column.

    Bad: `7B,4` under `size,position,from_parameters_b`
    Good: `7B,4,4.58` under `size,position,from_parameters_b`
    """
    for table in _with_known_header(snapshot):
        yield from _wrong_rows(snapshot, table)
        yield from _empty_rows(table)
        for defect in table.text.defects:
            if defect.kind == "long-line":
                yield Mistake(
                    table.path,
                    defect.line,
                    defect.column,
                    f"the line has more than {LONGEST_LINE} characters",
                    "Write one record per line; leave long texts in the source.",
                )


def _wrong_rows(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    wanted = len(table.schema.names)
    for row in table.text.rows:
        cells = len(row.cells)
        if cells != wanted and not row.empty:
            rows = RowRepair(snapshot, table).likely_rows(row)
            yield Mistake(
                table.path,
                *row.place(min(wanted, cells) - 1),
                f"the row has {cells} cells, not {wanted}",
                as_help(rows) or _COMMAS,
            )


def _empty_rows(table: Table) -> Iterator[Mistake]:
    """Empty rows; adjacent ones are one mistake."""
    lines = {row.line for row in table.text.rows if row.empty}
    for first in sorted(lines):
        if first - 1 in lines:
            continue
        last = next(line for line in count(first) if line + 1 not in lines)
        message = "the row is empty"
        fix = "Delete the line."
        if first < last:
            message = f"the rows to line {last} are empty"
            fix = "Delete these lines."
        yield Mistake(table.path, first, 1, message, fix)


_COMMAS = (
    "Separate all cells by commas, including empty ones, "
    "and quote cells that contain a comma."
)


def fix_row_length(snapshot: Snapshot) -> Iterator[Edit]:
    """Remove empty rows, add or remove empty cells at a row's end, separate cells by commas."""
    for table in snapshot.tables.values():
        if table.header == table.schema.names:
            yield from table.with_lines(_lines_of_right_length(snapshot, table))


def _lines_of_right_length(snapshot: Snapshot, table: Table) -> Lines:
    lines: dict[int, str | None] = {}
    for row in table.text.rows:
        if row.empty:
            lines[row.line] = None
        elif len(row.cells) != len(table.header):
            cells = RowRepair(snapshot, table).certain_row(row)
            if cells:
                lines[row.line] = line_of(cells)
    return lines
