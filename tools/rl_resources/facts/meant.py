"""What a row of another length may mean, and a cell that is spelled in another way than its column
wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from csv import Error as CsvError
from csv import reader
from datetime import datetime
from functools import lru_cache

from rl_resources.devices import device_name
from rl_resources.facts.broken import BrokenCell, vocabulary_of
from rl_resources.package import Field
from rl_resources.schema.text_rules import as_seen, strange_characters
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import Row, line_of
from rl_resources.text import shown

MOST_ROWS_TO_CHOOSE = 3
_DAYS = ("%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y")

Cells = tuple[str, ...]


def separated(table: Table, line: str) -> Cells:
    """The cells of a line that a spreadsheet wrote with tabs or semicolons between them; none for
    most.
    """
    for mark in "\t;":
        with suppress(CsvError):
            cells = tuple(next(reader([line], delimiter=mark), ()))
            if len(cells) == len(table.schema.names) and "," not in cells[0]:
                return cells
    return ()


@lru_cache(maxsize=256)
def certain_row(snapshot: Snapshot, table: Table, row: Row) -> Cells:
    """The row that one of another length certainly means: with commas between its cells, or with
    empty cells at its end added or removed.
    """
    width = len(table.schema.names)
    filled = (*row.cells, *[""] * width)[:width]
    both = zip(filled, table.schema.fields, strict=True)
    lost = any(field.required and not cell for cell, field in both)
    whole = not any(row.cells[width:]) and not lost and _sound(snapshot, table, [filled])
    return separated(table, row.text or ",".join(row.cells)) or (filled if whole else ())


def likely_rows(snapshot: Snapshot, table: Table, row: Row) -> list[Cells]:
    """The rows that one of another length may mean: all that differ from it by empty cells added or
    removed at one place, or by commas within one cell, and that break no constraint.
    """
    certain = certain_row(snapshot, table, row)
    return [certain] if certain else _sound(snapshot, table, _fitting(table, row.cells))


def requoted(snapshot: Snapshot, table: Table, line: str) -> list[Cells]:
    """The rows that a line with a quote too many or too few may mean."""
    rows = _fitting(table, tuple(line.split(",")))
    bare = [tuple(cell.strip('"').replace('""', '"') for cell in cells) for cells in rows]
    return _sound(snapshot, table, bare)


def _fitting(table: Table, cells: Cells) -> Iterator[Cells]:
    """Rows of the table's length."""
    off = len(cells) - len(table.schema.names)
    if off >= 0:
        return _shorter(cells, off)
    return ((*cells[:at], *[""] * -off, *cells[at:]) for at in range(len(cells) + 1))


def _shorter(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) - count):
        end = at + count + 1
        for whole in _joined(cells[at:end]):
            yield (*cells[:at], whole, *cells[end:])


def _joined(cells: Cells) -> Sequence[str]:
    """What some cells may be as one: a text, or a number whose comma is that of thousands or the
    decimal point; of empty cells nothing is left.
    """
    if all(map(str.isdecimal, cells)):
        return ".".join(cells), "".join(cells)
    full = [*filter(None, cells)]
    return [",".join(cells if len(full) > 1 else full)]


def _sound(snapshot: Snapshot, table: Table, candidates: Iterable[Cells]) -> list[Cells]:
    """Those rows whose cells fit their columns, each once; only the key must be there."""
    from rl_resources.schema.validation import failures  # imports pandera

    rows = [*dict.fromkeys(candidates)]
    key = table.schema.primary_key
    columns = dict(zip(table.schema.names, zip(*rows, strict=True), strict=True))
    found = failures(table.schema, columns, vocabulary_of(snapshot, table))
    wrong = (one for one in found if one.constraint != "required" or one.field in key)
    broken = {one.row for one in wrong}
    return [row for at, row in enumerate(rows) if at not in broken]


def as_help(rows: Sequence[Cells]) -> str:
    """What to write where a line means one of these rows; empty for none or too many."""
    few = rows if len(rows) <= MOST_ROWS_TO_CHOOSE else ()
    return "Write: " + " or: ".join(shown(line_of(cells), 2000) for cells in few) if few else ""


def with_new_columns(snapshot: Snapshot, table: Table, header: Row) -> Mapping[int, str]:
    """The lines of a table with an empty cell in each column that only its schema's edit has.

    Empty where git's schema has it: the cells of a column that was dropped are in git.
    """
    names, wanted = header.cells, table.schema.names
    as_wanted = tuple(name for name in wanted if name in names)
    if not names == as_wanted == snapshot.committed_columns(table):
        return {}
    rows = [row for row in (header, *table.text.rows) if len(row.cells) == len(names)]
    cells = [dict(zip(names, row.cells, strict=True)) for row in rows[1:]]
    new = [line_of(row.get(name, "") for name in wanted) for row in cells]
    return dict(zip((row.line for row in rows), [line_of(wanted), *new], strict=True))


def certain(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The text that a broken cell certainly means; `None` where somebody must decide."""
    cell, field = broken.cell, broken.field
    match broken.constraint:
        case "space":
            meant = cell.strip()
        case "hidden" | "character":
            meant = as_seen(cell).strip()
        case "type":
            meant = _typed(field, cell)
        case "enum" | "vocabulary":
            return _word(snapshot, broken)
        case _:
            return None
    return meant if meant != cell and not strange_characters(meant) and fits(field, meant) else None


def fits(field: Field, cell: str) -> bool:
    """Whether a text has the type and the form of its column, and lies within its bounds."""
    try:
        value = field.read(cell)
    except ValueError:
        return False
    rules = field.constraints
    if isinstance(value, int | float):
        return bool(rules.get("minimum", value) <= value <= rules.get("maximum", value))
    return not field.pattern or not cell or re.fullmatch(field.pattern, cell) is not None


def _typed(field: Field, cell: str) -> str:
    """The cell as its type is written: without unit or the column's own name (`8 GPUs`), and not
    as spreadsheets write it (`8.0`, `76,4`, `TRUE`, `31.1.2026`).
    """
    unit = re.escape(field.unit.partition(" per ")[0])
    bare = re.sub(rf"(?i)(?<=\d)\s*(?:{unit}|{field.name}?)\Z", "", cell)
    match field.type:
        case "integer":
            return re.sub(r"\.00?\Z", "", bare)
        case "number":
            return re.sub(r",(?=\d{1,2}\Z)", ".", bare)
        case "boolean":
            return bare.lower()
        case "date":
            return _day(bare)
    return bare


def _day(text: str) -> str:
    """The one day that a text means, as ISO 8601 writes it; the text where that is in doubt."""
    days = set()
    for form in _DAYS:
        with suppress(ValueError):
            days.add(datetime.strptime(re.sub("[/.]", "-", text), form).date().isoformat())
    return days.pop() if len(days) == 1 else text


def _word(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The one word of the vocabulary that differs in case or punctuation, or has this alias.

    Vendors and units are read as those of devices: no other word has any.
    """
    key = broken.table.schema.foreign_key(broken.field.name)
    words = [(device_name(word), word) for word in broken.field.words]
    names = _names_of_keys(snapshot.tables[key.resource]) if key else words
    meant = device_name(broken.cell)
    found = {word for name, word in names if name == meant}
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=16)
def _names_of_keys(table: Table) -> list[tuple[str, str]]:
    """All that each key of a table is called, with the key."""
    return [
        (device_name(name), key)
        for row, key in enumerate(table.columns[table.schema.primary_key[0]])
        for name in (key, table.cell(row, "name"), *table.cell(row, "aliases").split("; "))
        if name
    ]
