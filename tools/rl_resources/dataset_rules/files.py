"""Files.

Each table is UTF-8 with LF line ends, its quotes are closed, its header is the schema's.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import pairwise

from rl_resources.dataset_rules import meant
from rl_resources.dataset_rules.scripts import scripts, word_of_name
from rl_resources.rule import Mistake, Rewrite, rule
from rl_resources.snapshot import ScriptFile, Snapshot, Table
from rl_resources.tabular import Row, conflicts, line_of
from rl_resources.text import shown

_FIX = {False: ", or run `rl-resources check --fix`.", True: "."}
"""How a help ends, for the files of the dataset and for one from outside."""


def _files(snapshot: Snapshot) -> tuple[Table | ScriptFile, ...]:
    return (*snapshot.tables.values(), *scripts(snapshot))


def _texts(snapshot: Snapshot) -> Iterator[Table | ScriptFile]:
    """The tables and scripts that can be read and are UTF-8."""
    files = _files(snapshot)
    return (file for file in files if file.data is not None and file.undecodable is None)


def _decoded(snapshot: Snapshot) -> Iterator[Table]:
    return (file for file in _texts(snapshot) if isinstance(file, Table))


@rule()
def file_missing(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every file that the descriptor names exists and can be read.

    A table that is missing makes every word that refers to it unknown.

    Bad: records/devices.csv deleted
    Good: records/devices.csv in place
    """
    for table in snapshot.tables.values():
        if table.data is None:
            fix = f"Bring it back with `git checkout -- {table.path}`."
            yield Mistake(table.path, 1, 1, f"the file {table.problem}", fix)


@rule()
def encoding(snapshot: Snapshot) -> Iterator[Mistake]:
    """A table and a script are UTF-8.

    Bytes of another encoding show as wrong letters, or stop the reader.

    Bad: `é` as the single byte E9 of Latin-1
    Good: `é` as the two bytes C3 A9 of UTF-8
    """
    for file in _files(snapshot):
        data, at = file.data or b"", file.undecodable
        if at is not None:
            before = data[:at].removeprefix(BOM_UTF8)
            line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode()) + 1
            message = f"byte {data[at]:02X} is not UTF-8 text"
            fix = "Save it as UTF-8 without a byte order mark. Nothing else in it was checked."
            yield Mistake(file.path, line, column, message, fix)


@rule()
def byte_order_mark(snapshot: Snapshot) -> Iterator[Mistake]:
    """A file does not begin with a byte order mark.

    The mark becomes a part of the first column's name, or hides a script's shebang.

    Bad: EF BB BF before `script,tag,…`
    Good: `script,tag,…` from the first byte
    """
    for file in _texts(snapshot):
        if file.source.startswith("\ufeff"):
            fix = f"Save it as UTF-8 without BOM{_FIX[file.outside]}"
            yield Mistake(file.path, 1, 1, "the file begins with a byte order mark", fix)


def fix_byte_order_mark(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Remove the mark."""
    for file in _texts(snapshot):
        yield Rewrite(file.path, file.source.removeprefix("\ufeff"))


@rule()
def line_ending(snapshot: Snapshot) -> Iterator[Mistake]:
    """Lines end with LF, the last one of a table too.

    Mixed line ends make two contributions rewrite each other's lines, and bash takes a CR for a
    part of the last word.

    Bad: lines that end with CR LF
    Good: lines that end with LF
    """
    for file in _texts(snapshot):
        end = file.wrong_end
        if end and (isinstance(file, Table) or end.found):
            wrong = f"ends with {end.found}, not LF" if end.found else "has no line end"
            fix = f"Save the file with LF at the end of every line{_FIX[file.outside]}"
            yield Mistake(file.path, end.line, end.column, f"the line {wrong}", fix)


def fix_line_ending(snapshot: Snapshot) -> Iterator[Rewrite]:
    """LF ends every line."""
    for file in _texts(snapshot):
        source = file.source  # as it is read: CR ends a line only where no LF does
        text = source.replace("\r\n" if "\n" in source else "\r", "\n")
        yield Rewrite(file.path, text if text.endswith("\n") or not text else f"{text}\n")


def _has_known_header(table: Table) -> bool:
    """Whether the header is the schema's, or is reported as no CSV; else nothing else is asked."""
    return table.text.header is None or table.header == table.schema.names


@rule()
def header(snapshot: Snapshot) -> Iterator[Mistake]:
    """The header names exactly the columns of the schema, in its order, and rows follow it.

    A column under another name is read by nobody. Without rows, whatever refers to them is unknown.

    Bad: `script,tag,model,task,gpu,…`; a file of no bytes
    Good: `script,tag,model,task,gpus,…`
    """
    tables = snapshot.tables.values()
    used = {key.resource for table in tables if table.rows for key in table.schema.foreign_keys}
    used |= {"tuning"} if snapshot.scripts else set()
    for table in _decoded(snapshot):
        first = table.text.header
        if first is None or not any(first.cells):
            whole = f"The header must be: {','.join(table.schema.names)}"
            if not table.characters.strip() and not table.some:
                yield Mistake(table.path, 1, 1, "the file is empty", whole)
            continue
        rows = table.text.rows or table.text.defects
        if not rows and table.resource.name in used:
            fix = f"Bring its rows back with `git checkout -- {table.path}`."
            message = "the file has no rows, but other files refer to them"
            yield Mistake(table.path, first.line + 1, 1, message, fix)
        if first.cells != table.schema.names:
            index, message, fix = _header_mistake(snapshot, table)
            yield Mistake(table.path, *first.place(index), message, fix)
        for row in table.text.rows:
            if row.cells == table.schema.names:
                message = "the header is repeated here"
                yield Mistake(table.path, row.line, 1, message, "Delete this line.")


def _header_mistake(snapshot: Snapshot, table: Table) -> tuple[int, str, str]:
    """Index of the first wrong name, message and fix."""
    found, wanted = table.header, table.schema.names
    if separator := meant.separator_of(table, table.text.header):
        message = f"the columns are separated by {separator!r}, not by commas"
        ours = _FIX[table.outside or not meant.comma_separated(table)]
        return 0, message, f"Separate the cells by commas, a cell with a comma in quotes{ours}"
    whole = f"The header must be: {','.join(wanted)}"
    if meant.rearranged(snapshot, table) and not table.outside:
        whole = "Run `rl-resources check --fix`: it puts each cell under its name."
    if len({name.strip().lower() for name in found} & set(wanted)) * 2 < len(wanted):
        return 0, "the first line is not the header", whole
    extra = [at for at, name in enumerate(found) if name not in wanted or name in found[:at]]
    missing = [name for name in wanted if name not in found]
    if extra:
        name = found[extra[0]]
        message = f"there is no column {shown(name)!r}"
        if name in wanted:
            message = f"the column {name!r} is repeated"
        if not missing:
            whole = "Take it out of the header and of the rows that have it."
        elif len(extra) == len(missing) == 1:
            whole = f"Write `{missing[0]}`."
        return extra[0], message, whole
    committed = () if table.outside or not missing else snapshot.committed_header(table)
    if dropped := [name for name in missing if name in committed]:
        missing = dropped
        whole = (
            f"Bring the column back: `git checkout -- {table.path}` does, without your new rows."
        )
    if missing:
        at = min(wanted.index(missing[0]), len(found) - 1)
        return at, f"the column {missing[0]!r} is missing", whole
    at = next(at for at, name in enumerate(found) if name != wanted[at])
    return at, f"the column is {found[at]!r} where {wanted[at]!r} is wanted", whole


def fix_header(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Cells with another separator, columns in another order, new columns, a repeated header."""
    for table in snapshot.tables.values():
        wanted = table.schema.names
        names = tuple(name.strip().lower() for name in table.header)
        if meant.separator_of(table, table.text.header):
            yield from table.with_lines(meant.comma_separated(table))
        elif table.text.header and names == wanted:
            again = (row.line for row in table.text.rows if row.cells == wanted)
            lines: dict[int, str | None] = dict.fromkeys(again)
            yield from table.with_lines(lines | {table.text.header.line: ",".join(wanted)})
        else:
            yield from table.with_lines(meant.rearranged(snapshot, table))


_AGAIN = "Write that cell again, with its comma."
_DEFECTS = {
    "unclosed-quote": (
        "a quote opens here and is not closed on this line",
        'Close it with `"` at the end of its cell, which has no line break; write a quote inside '
        'a quoted cell as `""`.',
    ),
    "stray-quote": (
        "the cell has text outside of its quotes",
        'Put the whole cell in quotes and write each quote inside it as `""`.',
    ),
}


@rule()
def quoting(snapshot: Snapshot) -> Iterator[Mistake]:
    """Quotes enclose a whole cell and are closed on its line.

    An unclosed quote swallows the rows after it, and most readers do not say so. One record on one
    line keeps line numbers, diffs and merges simple.

    Bad: `…,"published as 16,…`
    Good: `…,"published as 16",…`
    """
    for table in _decoded(snapshot):
        for defect in table.text.defects if _has_known_header(table) else ():
            if defect.kind in _DEFECTS:
                message, fix = _DEFECTS[defect.kind]
                fix = meant.as_help(meant.requoted(snapshot, table, defect.text)) or fix
                message = f"{message}: {shown(defect.cell, 30)}"
                yield Mistake(table.path, defect.line, defect.column, message, fix)


@rule()
def merge_conflict(snapshot: Snapshot) -> Iterator[Mistake]:
    """No merge conflict is left in a file.

    Between the markers are two versions of the same lines; a reader would get both.

    Bad: `<<<<<<< HEAD`, two versions of a row, `>>>>>>> branch`
    Good: the one version that is right
    """
    places = ((file.path, *span) for file in _texts(snapshot) for span in conflicts(file.source))
    for path, first, last in places:
        message = f"lines {first} to {last} are a merge conflict"
        if first == last:
            message = "the line is left of a merge conflict"
        fix = "Keep the lines that are right and delete those that git put around them."
        yield Mistake(path, first, 1, message, fix)


@rule()
def row_length(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row has as many cells as the header.

    From the missing or extra cell on, every value has the wrong name.

    Bad: `7B,4` under `size,position,from_parameters_b`
    Good: `7B,4,4.58` under `size,position,from_parameters_b`
    """
    for table in _decoded(snapshot):
        after_empty = 0
        for row in table.text.rows if _has_known_header(table) else ():
            if row.empty:
                if table.outside or row.line != after_empty:
                    yield Mistake(table.path, row.line, 1, "the line is empty", "Delete it.")
                after_empty = row.line + 1
            elif not any(row.cells):
                yield Mistake(table.path, row.line, 1, "all cells are empty", "Delete the line.")
            elif len(row.cells) != len(table.schema.names):
                yield _length_mistake(snapshot, table, row)


def _length_mistake(snapshot: Snapshot, table: Table, row: Row) -> Mistake:
    cells, wanted = len(row.cells), len(table.schema.names)
    message, place = f"the row has {cells} cells, not {wanted}", row.place(min(wanted, cells) - 1)
    if separator := meant.separator_of(table, row):
        message = f"the row has {meant.SEPARATORS[separator]} between its cells, not commas"
        before = len(",".join(row.cells).split(separator)[0])
        place = row.line, before + (2 if row.text.startswith('"') else 1)
    fix = meant.as_help(meant.likely_rows(snapshot, table, row))
    if not fix and cells * 2 < wanted and ",".join(row.cells).count(";") >= wanted - 1:
        message = "the row has semicolons between its cells, not commas"
        place = row.line, len(",".join(row.cells).split(";")[0]) + 1
        fix = "Separate the cells by commas, a cell with a comma in quotes."
    missing = [] if fix else meant.missing_columns(snapshot, table, row)
    if 0 < len(missing) <= meant.MOST_ROWS_TO_CHOOSE:
        at = table.schema.names.index(missing[0])
        place = row.place(at)
        message += f": {' or '.join(f'`{name}`' for name in missing)} is missing"
        fix = _with_cell(snapshot, row, at, missing[0]) if len(missing) == 1 else _AGAIN
    return Mistake(table.path, *place, message, fix or _length_help(table, row))


def _with_cell(snapshot: Snapshot, row: Row, at: int, name: str) -> str:
    """The row with the cell that it lacks, where the name of its script says it."""
    word = word_of_name(snapshot, row.cells[0], name)
    return meant.as_help([(*row.cells[:at], word, *row.cells[at:])]) if word else _AGAIN


def _length_help(table: Table, row: Row) -> str:
    cells, wanted = len(row.cells), len(table.schema.names)
    if cells == 1 and row.cells[0].startswith("#"):
        return "Delete the line."
    if cells < wanted:
        return "An empty cell needs its comma too: compare the row with the header, cell by cell."
    second = re.search(r"[a-z0-9][a-z0-9.+-]*(?:_[a-z0-9.+-]+){5}\.sh$", row.cells[wanted - 1])
    if cells == 2 * wanted - 1 and second:
        return f"Two rows are on one line: break it before `{second[0]}`."
    return "A cell that has a comma must be in quotes: compare the row with the header."


def _has_thousands(row: Row) -> bool:
    pairs = (f"{one},{two}" for one, two in pairwise(row.cells))
    return any(re.fullmatch(r"[1-9]\d{0,2},0\d\d(?:\.\d+)?", pair) for pair in pairs)


def fix_row_length(snapshot: Snapshot) -> Iterator[Rewrite]:
    """Remove empty lines, add empty cells at a row's end; a cell that is missing within a row may
    have had a value.
    """
    for table in snapshot.tables.values():
        lines: dict[int, str | None] = {}
        for row in table.text.rows if table.header == table.schema.names else ():
            if not any(cell.strip() for cell in row.cells):
                lines[row.line] = None
            elif _has_thousands(row):
                continue  # `1,024` is one number or two cells
            elif len(likely := meant.likely_rows(snapshot, table, row)) == 1:
                width = len(row.cells)
                short = width < len(likely[0]) and not meant.separator_of(table, row)
                if not short or likely[0][:width] == row.cells:
                    lines[row.line] = line_of(likely[0])
        yield from table.with_lines(lines)
