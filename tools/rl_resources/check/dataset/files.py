"""Rules about a CSV file as a file: its bytes, its grammar, its header, the shape of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from rl_resources.check.dataset.alignment import realigned, requoted
from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.dataset.header import header_mistakes, rearranged
from rl_resources.check.dataset.pairing import scripts
from rl_resources.check.rule import Mistake, rule
from rl_resources.check.snapshot import ScriptFile, Snapshot, Table
from rl_resources.tabular import Defect, Row, conflicts, quote, write
from rl_resources.words import shown

MOST_ROWS_TO_CHOOSE = 3


def _readable(snapshot: Snapshot) -> Iterator[Table]:
    return (table for table in snapshot.tables.values() if table.data is not None)


def _decoded(snapshot: Snapshot) -> Iterator[Table]:
    return (table for table in _readable(snapshot) if table.undecodable is None)


@rule()
def file_missing(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every file that the descriptor names exists and can be read.

    A table that is missing makes every word that refers to it unknown.

    Bad: records/devices.csv deleted
    Good: records/devices.csv in place
    """
    folders: dict[str, list[Table]] = defaultdict(list)
    for table in snapshot.tables.values():
        folders[str(PurePosixPath(table.path).parent)].append(table)
    for folder, tables in folders.items():
        if len(tables) > 1 and all(table.problem == "does not exist" for table in tables):
            message = f"no file of {folder}/ exists"
            fix = f"Bring them back with `git checkout -- {folder}`."
            yield Mistake(tables[0].path, 1, 1, message, fix)
            continue
        for table in tables:
            if table.data is None:
                message = f"the file {table.problem}"
                yield Mistake(table.path, 1, 1, message, _missing_fix(table))


def _missing_fix(table: Table) -> str:
    if table.large:
        return (
            "The tables of the dataset are read whole. Keep more records elsewhere; "
            f"`rl-resources check FILE --resource {table.resource.name}` reads any number of them."
        )
    remove = (
        "" if table.problem == "does not exist" else "Take away what stands in its place, then "
    )
    restore = f"bring it back with `git checkout -- {table.path}`."
    return remove + restore if remove else restore.capitalize()


@rule()
def encoding(snapshot: Snapshot) -> Iterator[Mistake]:
    """A CSV file is UTF-8.

    Bytes of another encoding show as wrong letters, or stop the reader.

    Bad: `é` as the single byte E9 of Latin-1
    Good: `é` as the two bytes C3 A9 of UTF-8
    """
    for table in _readable(snapshot):
        if table.undecodable is None or table.data is None:
            continue
        before = table.data[: table.undecodable]
        line_start = before.rfind(b"\n") + 1
        byte = table.data[table.undecodable]
        yield Mistake(
            table.path,
            before.count(b"\n") + 1,
            len(before[line_start:].decode("utf-8").removeprefix("\ufeff")) + 1,
            f"byte {byte:02X} is not text in UTF-8",
            "Save the file as UTF-8 without a byte order mark. Nothing else in it was checked.",
        )


@rule()
def byte_order_mark(snapshot: Snapshot) -> Iterator[Mistake]:
    """A file does not begin with a byte order mark.

    The mark becomes a part of the first column's name, or hides a script's shebang.

    Bad: EF BB BF before `script,tag,…`
    Good: `script,tag,…` from the first byte
    """
    for table in _readable(snapshot):
        if table.marked:
            yield Mistake(
                table.path,
                1,
                1,
                "the file begins with a byte order mark",
                "Save it as UTF-8 without BOM, or run `rl-resources fmt`.",
            )
    for script in marked_scripts(snapshot):
        message = "the script begins with a byte order mark: no system finds its shebang"
        fix = "Save it as UTF-8 without BOM, or run `rl-resources check --fix`."
        yield Mistake(script.path, 1, 1, message, fix)


def marked_scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The scripts that begin with a byte order mark."""
    return (item for item in scripts(snapshot) if (item.text or "").startswith("\ufeff"))


@rule()
def line_ending(snapshot: Snapshot) -> Iterator[Mistake]:
    """Lines end with LF, the last one too.

    Mixed line ends make two contributions rewrite each other's lines.

    Bad: lines that end with CR LF
    Good: lines that end with LF
    """
    fmt = "Save it with LF line ends, or run `rl-resources fmt`."
    for table in _decoded(snapshot):
        wrong, place = table.ends
        if "\r" in table.decoded and "\n" not in table.decoded:
            column = table.decoded.index("\r") + 1
            yield Mistake(table.path, 1, column, "the lines end with CR, not LF", fmt)
        elif wrong and place:
            count = "1 line ends" if wrong == 1 else f"{wrong} lines end"
            yield Mistake(table.path, *place, f"{count} with CR LF, not LF", fmt)
        elif place:
            end = "End it as every other line, or run `rl-resources fmt`."
            yield Mistake(table.path, *place, "the last line has no line end", end)
    for script in crlf_scripts(snapshot):
        yield _script_line_ends(script)


def crlf_scripts(snapshot: Snapshot) -> Iterator[ScriptFile]:
    """The scripts with line ends of Windows."""
    return (item for item in scripts(snapshot) if "\r\n" in (item.text or ""))


def _script_line_ends(script: ScriptFile) -> Mistake:
    lines = (script.text or "").split("\n")
    wrong = [number for number, line in enumerate(lines, 1) if line.endswith("\r")]
    count = "1 line ends" if len(wrong) == 1 else f"{len(wrong)} lines end"
    message = f"{count} with CR LF: bash takes the CR for a part of the last word"
    fix = "Save it with LF line ends, or run `rl-resources check --fix`."
    return Mistake(script.path, wrong[0], len(lines[wrong[0] - 1]), message, fix)


@rule()
def header(snapshot: Snapshot) -> Iterator[Mistake]:
    """The header names exactly the columns of the schema, in its order, and rows follow it.

    A column under another name is read by nobody. Without rows, whatever refers to them is unknown.

    Bad: `script,tag,model,task,gpu,…`; a file of no bytes
    Good: `script,tag,model,task,gpus,…`
    """
    for table in _decoded(snapshot):
        yield from _header_mistakes(snapshot, table)
        for row in table.text.rows:
            if row.cells == table.schema.names:
                message = "the header is repeated here"
                yield Mistake(table.path, row.line, 1, message, "Delete this line.")


def _header_mistakes(snapshot: Snapshot, table: Table) -> Iterator[Mistake]:
    header, whole = table.text.header, f"The header must be: {','.join(table.schema.names)}"
    if table.excerpt is None and not table.characters.strip():
        yield Mistake(table.path, 1, 1, "the file is empty", whole)
        return
    rows = table.excerpt or table.text.rows or table.text.defects
    if not rows and (users := _users(snapshot, table)):
        fix = f"Bring its rows back with `git checkout -- {table.path}`."
        message = f"the file has no rows, but {users[0]} refers to them"
        yield Mistake(table.path, header.line + 1 if header else 1, 1, message, fix)
    if header is None or table.header == table.schema.names or header.blank:
        return
    if rearranged(snapshot, table):
        whole = "Run `rl-resources check --fix`: it puts each cell under its name."
    for index, message, fix in header_mistakes(table):
        yield Mistake(table.path, *header.place(index), message, fix or whole)


def _users(snapshot: Snapshot, table: Table) -> list[str]:
    """Files with rows that refer to rows of `table`; the scripts refer to the tuning records."""
    tables = snapshot.tables.values()
    keys = ((other, key) for other in tables for key in other.schema.foreign_keys)
    users = [
        other.path for other, key in keys if key.resource == table.resource.name and other.rows
    ]
    return users + [script.path for script in snapshot.scripts if table.resource.name == "tuning"]


_DEFECTS = {
    "unclosed-quote": (
        "a quote opens here and is not closed on this line",
        'Close it with `"` at the end of its cell; write a quote inside a quoted cell as `""`.',
    ),
    "stray-quote": (
        "text stands beside a quoted part of the cell",
        'Put the whole cell in quotes and write each quote inside it as `""`.',
    ),
}


@rule()
def quoting(snapshot: Snapshot) -> Iterator[Mistake]:
    """Quotes enclose a whole cell and are closed.

    An unclosed quote swallows the rows after it, and most readers do not say so.

    Bad: `…,"published as 16,…`
    Good: `…,"published as 16",…`
    """
    for table in _decoded(snapshot):
        for defect in table.text.defects if table.separator == "," else ():
            if defect.kind in _DEFECTS:
                yield _quoting_mistake(snapshot, table, defect)


def _quoting_mistake(snapshot: Snapshot, table: Table, defect: Defect) -> Mistake:
    message, fix = _DEFECTS[defect.kind]
    line = table.line(defect.line)
    if table.names == table.schema.names:
        meant = requoted(table.schema, line, vocabulary_of(snapshot, table))
        fix = written_rows(meant) if meant else fix
    return Mistake(
        table.path, defect.line, defect.column, f"{message}: {shown(defect.cell, 30)}", fix
    )


@rule()
def merge_conflict(snapshot: Snapshot) -> Iterator[Mistake]:
    """No merge conflict is left in a file.

    Between the markers stand two versions of the same rows; a reader would get both.

    Bad: `<<<<<<< HEAD`, two versions of a row, `>>>>>>> branch`
    Good: the one version that is right
    """
    for table in _decoded(snapshot):
        for defect in table.text.defects:
            if defect.kind != "merge-conflict":
                continue
            message = f"the line is left of a merge conflict: {shown(defect.cell, 40)}"
            fix = "Delete it, and keep only those rows around it that are right."
            if defect.lines > 1:
                last = defect.line + defect.lines - 1
                message = f"lines {defect.line} to {last} are a merge conflict"
                fix = "Keep the rows that are right and delete the lines that git put around them."
            yield Mistake(table.path, defect.line, 1, message, fix)
    for script in scripts(snapshot):
        for first, last in conflicts(script.text or ""):
            message = f"lines {first} to {last} are a merge conflict"
            fix = "Keep the lines that are right and delete those that git put around them."
            if first == last:
                message, fix = "the line is left of a merge conflict", "Delete it."
            yield Mistake(script.path, first, 1, message, fix)


@rule()
def row_length(snapshot: Snapshot) -> Iterator[Mistake]:
    """Every row has as many cells as the header.

    From the missing or extra cell on, every value stands under the wrong name.

    Bad: `7B,4` under `size,position,from_parameters_b`
    Good: `7B,4,4.58` under `size,position,from_parameters_b`
    """
    for table in _decoded(snapshot):
        if table.separator != ",":
            continue
        after_blank = 0
        for row in table.text.rows:
            if row.blank:
                if table.outside or row.line != after_blank:
                    yield Mistake(table.path, row.line, 1, "the line is empty", "Delete it.")
                after_blank = row.line + 1
            elif not any(row.cells):
                yield Mistake(table.path, row.line, 1, "all cells are empty", "Delete the line.")
            elif len(row.cells) != len(table.names):
                yield _length_mistake(snapshot, table, row)


def _length_mistake(snapshot: Snapshot, table: Table, row: Row) -> Mistake:
    cells, wanted = len(row.cells), len(table.names)
    message = f"the row has {cells} cells where {wanted} are wanted"
    if sign := _other_separator(table, row):
        column = len(table.line(row.line).split(sign)[0]) + 1
        message = f"the row has {_SIGNS[sign]} between its cells where commas are wanted"
        fix = f"Write: {shown(fixed_row(snapshot, table, row) or '', 2000)}"
        return Mistake(table.path, row.line, column, message, fix)
    meant = _rows_meant(snapshot, table, row)
    if 0 < len(meant) <= MOST_ROWS_TO_CHOOSE:
        fix = written_rows(meant)
    elif cells < wanted:
        fix = (
            f"An empty cell needs its comma too. If all {cells} cells are right, "
            f"write {wanted - cells} more `,` at the end of the line."
        )
    elif not any(row.cells[wanted:]):
        fix = f"Take the last {cells - wanted} `,` off the line."
    else:
        fix = "A cell that holds a comma must be in quotes."
        if (last := table.schema.fields[-1]).name == table.names[-1]:
            cell = quote(",".join(row.cells[wanted - 1 :]))
            fix += f" If it is {last.name}, write: {shown(cell, 600)}"
    return Mistake(table.path, *row.place(min(wanted, cells) - 1), message, fix)


_SIGNS = {"\t": "tabs", ";": "semicolons", "|": "bars"}


def _other_separator(table: Table, row: Row) -> str:
    """What stands between the cells of a row that has none of its commas; mostly nothing does."""
    line, width = table.line(row.line), len(table.names)
    return next((sign for sign in _SIGNS if len(line.split(sign)) == width), "")


@lru_cache(maxsize=256)
def fixed_row(snapshot: Snapshot, table: Table, row: Row) -> str | None:
    """The line that a row of another length certainly means; `None` where that is in doubt."""
    if row.blank or table.names != table.schema.names or len(row.cells) == len(table.names):
        return None
    sign = _other_separator(table, row)
    if sign:
        return write([table.line(row.line).split(sign)]).rstrip("\n")
    meant = _rows_meant(snapshot, table, row)
    return write(meant).rstrip("\n") if len(meant) == 1 else None


@lru_cache(maxsize=256)
def _rows_meant(snapshot: Snapshot, table: Table, row: Row) -> list[tuple[str, ...]]:
    """The rows that one of another length may mean."""
    if table.names != table.schema.names or any("\n" in cell for cell in row.cells):
        return []
    return realigned(table.schema, row.cells, vocabulary_of(snapshot, table))


def written_rows(rows: Sequence[tuple[str, ...]]) -> str:
    """What to write where a line means one of these rows."""
    lines = [shown(write([cells]).rstrip("\n"), 2000) for cells in rows[:MOST_ROWS_TO_CHOOSE]]
    return f"Write{'' if len(rows) == 1 else ' what is right'}: {' or: '.join(lines)}"


@rule()
def line_break(snapshot: Snapshot) -> Iterator[Mistake]:
    """No cell holds a line break.

    One record on one line keeps line numbers, diffs and merges simple.

    Bad: `"first line⏎second line"`
    Good: `first line; second line`
    """
    for table in _decoded(snapshot):
        for row in table.text.rows:
            for index, cell in enumerate(row.cells if "\n" in "".join(row.cells) else ()):
                if "\n" in cell:
                    yield Mistake(
                        table.path,
                        *row.place(index),
                        f"the cell holds a line break: {shown(cell)}",
                        f"Write it on one line: {shown(quote(' '.join(cell.split())), 600)}",
                    )
