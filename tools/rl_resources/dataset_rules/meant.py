"""What a line means that is out of its columns, and a cell that is written in another way than its
column wants.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from csv import Error as CsvError
from csv import reader
from datetime import datetime
from functools import lru_cache

from rl_resources.dataset_rules.broken import BrokenCell, vocabulary_of
from rl_resources.devices import device_name
from rl_resources.package import Field
from rl_resources.schema.text_rules import as_seen, is_hidden, strange_characters
from rl_resources.snapshot import Snapshot, Table
from rl_resources.tabular import Row, line_of
from rl_resources.text import shown

MOST_CELLS_MISSING = 3
MOST_ROWS_TO_CHOOSE = 3
SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars"}
MOST_CHARACTERS = 500
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_DAYS = ("%Y%m%d", "%Y-%m-%d", "%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d+)?")
_DOUBTFUL = re.compile(r"\d+[, ]\d+")
_PREFIXES = {"source_lines": r"#?\bL(?=\d)", "version": r"\A[vV]\.?", "contributor": r"\A@"}
"""What people write before the text of a column."""
_COUNT = re.compile(r"\A\s*\d+\s*[xX\u00d7*]\s*")

Cells = tuple[str, ...]


def separator_of(table: Table, row: Row | None) -> str:
    """What separates the cells of a row, or of the header, in place of commas; empty for most."""
    width = len(table.schema.names)
    marks = (mark for mark in SEPARATORS if row and mark in row.cells[0])
    return next((mark for mark in marks if row and len(_split(row, mark, width)) == width), "")


def _split(row: Row, mark: str, width: int) -> Cells:
    """The cells of a row between these marks; a mark before a space may be one of a list."""
    text = ",".join(row.cells)
    cells = tuple(text.split(mark))
    return cells if len(cells) == width else tuple(re.split(rf"{re.escape(mark)}(?! )", text))


@lru_cache(maxsize=256)
def likely_rows(snapshot: Snapshot, table: Table, row: Row) -> list[Cells]:
    """The rows that one of another length may mean: all that differ from it by empty cells added or
    removed at one place, or by commas within one cell, and that break no constraint.
    """
    off = len(row.cells) - len(table.schema.names)
    if not off:
        return []
    if separator := separator_of(table, row):
        return [_split(row, separator, len(table.schema.names))]
    pattern = table.schema.fields[0].pattern or ".*"
    is_row = re.fullmatch(pattern, row.cells[0]) is not None
    if off < -MOST_CELLS_MISSING or (off > MOST_CELLS_MISSING and not is_row):
        return []  # each try takes a tenth of a second
    candidates = _shorter(row.cells, off) if off > 0 else _longer(row.cells, -off)
    rows = _sound(snapshot, table, candidates)
    return [row for row in rows if not _misplaced(table, row)] or rows


def requoted(snapshot: Snapshot, table: Table, line: str) -> list[Cells]:
    """The rows that a line with a quote too many or too few may mean: without the quotes at the
    ends of its cells, and its superfluous commas within one cell.
    """
    for mark in SEPARATORS:
        try:
            parsed = next(reader([line], delimiter=mark, strict=True), [])
        except CsvError:
            continue
        if len(parsed) == len(table.schema.names) and "," not in parsed[0]:
            return [tuple(parsed)]
    cells = tuple(line.split(","))
    off = len(cells) - len(table.schema.names)
    rows = [cells] if not off else _joined(cells, off) if off > 0 else []
    bare = (tuple(cell.strip('"').replace('""', '"') for cell in row) for row in rows)
    return _sound(snapshot, table, bare)


def missing_columns(snapshot: Snapshot, table: Table, row: Row) -> list[str]:
    """The columns one of which has lost its cell, comma and all: every other cell then fits."""
    if len(row.cells) != len(table.schema.names) - 1:
        return []
    rows = [*_longer(row.cells, 1)]
    names = table.schema.names
    others = {at for at, name in _failures(snapshot, table, rows) if names[at] != name}
    return [name for at, name in enumerate(names) if at not in others]


def _misplaced(table: Table, row: Cells) -> bool:
    """Whether a cell of free text is a word of another column."""
    fields = table.schema.fields
    words = {word for field in fields for word in field.words}
    return any(cell in words for cell, field in zip(row, fields, strict=True) if _is_free(field))


def _longer(cells: Cells, count: int) -> Iterator[Cells]:
    for at in range(len(cells) + 1):
        yield (*cells[:at], *[""] * count, *cells[at:])


def _shorter(cells: Cells, count: int) -> Iterator[Cells]:
    yield from _joined(cells, count)
    last = len(cells) - count
    for at in range(0 if count <= MOST_CELLS_MISSING else last, last + 1):
        if not any(cells[at : at + count]):
            yield (*cells[:at], *cells[at + count :])


def _joined(cells: Cells, count: int) -> Iterator[Cells]:
    """Rows in which the commas between some cells belong to one cell, or were decimal points.

    More than a few are those of the last cell, which has the sentences.
    """
    last = len(cells) - count
    for at in range(0 if count <= MOST_CELLS_MISSING else last - 1, last):
        parts = cells[at : at + count + 1]
        if all(parts):
            numbers = count == 1 and all(part.isdecimal() for part in parts) and len(parts[1]) != 3
            whole = ("." if numbers else ",").join(parts)
            yield (*cells[:at], whole, *cells[at + count + 1 :])


def _sound(snapshot: Snapshot, table: Table, rows: Iterable[Cells]) -> list[Cells]:
    """Those of the rows that break no constraint of their columns; each once."""
    found = list(dict.fromkeys(rows))
    broken = {at for at, _ in _failures(snapshot, table, found)} if found else set()
    return [row for at, row in enumerate(found) if at not in broken]


def _failures(snapshot: Snapshot, table: Table, rows: Sequence[Cells]) -> set[tuple[int, str]]:
    """Row and column of each cell that breaks a constraint."""
    from rl_resources.schema.validation import failures  # imports pandera

    columns = dict(zip(table.schema.names, zip(*rows, strict=True), strict=True))
    found = failures(table.schema, columns, vocabulary_of(snapshot, table))
    return {(failure.row, failure.field) for failure in found}


def as_help(rows: Sequence[Cells]) -> str:
    """What to write where a line means one of these rows; empty for none or too many."""
    lines = [shown(line_of(cells), 2000) for cells in rows]
    if not 0 < len(lines) <= MOST_ROWS_TO_CHOOSE:
        return ""
    return f"Write{'' if len(rows) == 1 else ' what is right'}: {' or: '.join(lines)}"


@lru_cache(maxsize=8)
def rearranged(snapshot: Snapshot, table: Table) -> Mapping[int, str]:
    """The lines of a table in the columns of the schema; a new column is empty.

    Empty unless the header has all of these columns but new ones and no other, and every row has
    as many cells: the cells of a dropped column are in git. Where columns are in another order,
    the cells must fit the schema there and nowhere else: else the names alone may be in disorder.
    """
    header, wanted = table.header, table.schema.names
    known = [name for name in wanted if name in header]
    rows = [row for row in table.text.rows if not row.empty]
    whole = not table.text.defects and all(len(row.cells) == len(header) for row in rows)
    if not known or header == wanted or sorted(header) != sorted(known) or not whole:
        return {}
    if not all(snapshot.is_new_column(table, name) for name in wanted if name not in known):
        return {}

    def under(names: Sequence[str]) -> list[Cells]:
        cells = (dict(zip(names, row.cells, strict=True)) for row in rows)
        return [tuple(row.get(name, "") for name in wanted) for row in cells]

    def fit(rows: list[Cells]) -> bool:
        return set(_sound(snapshot, table, rows)) == set(rows)

    moved = under(header)
    if list(header) != known and (not fit(moved) or fit(under(known))):
        return {}
    lines = [table.text.header.line if table.text.header else 1, *(row.line for row in rows)]
    return dict(zip(lines, map(line_of, [wanted, *moved]), strict=True))


@lru_cache(maxsize=8)
def comma_separated(table: Table) -> Mapping[int, str]:
    """The lines of a table whose cells another character separates, with commas in its place.

    Empty unless every row then has the cells of the schema.
    """
    lines = {number: line for number, line in enumerate(table.lines, 1) if line}
    separator = separator_of(table, table.text.header)
    try:
        rows = list(reader(lines.values(), delimiter=separator, strict=True))
    except CsvError:
        return {}
    whole = len(rows) == len(lines) and {len(row) for row in rows} == {len(table.schema.names)}
    return dict(zip(lines, map(line_of, rows), strict=True)) if whole else {}


def certain(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The text that a broken cell certainly means; `None` where somebody must decide."""
    cell, field = broken.cell, broken.field
    if len(cell) > MOST_CHARACTERS:
        return None
    match broken.constraint:
        case "space":
            meant: str | None = cell.strip()
        case "hidden" | "character":
            meant = _seen(field, cell)
        case "type":
            meant = _typed(field, cell)
        case "enum" | "vocabulary":
            return _word(snapshot, broken)
        case "pattern":
            kind = "version" if field.name.endswith("_version") else field.name
            meant = re.sub(_PREFIXES[kind], "", cell) if kind in _PREFIXES else None
        case _:
            return None
    return meant if meant is not None and meant != cell and fits(field, meant) else None


def _is_free(field: Field) -> bool:
    return field.type == "string" and not field.pattern and "maxLength" in field.constraints


def _seen(field: Field, cell: str) -> str | None:
    """The cell as it looks; hidden characters may have a purpose in free text."""
    if _is_free(field) and any(is_hidden(one) or one.isspace() for one in strange_characters(cell)):
        return None
    seen = as_seen(cell).strip()
    return None if strange_characters(seen) else seen


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
    """The cell without quotes and unit, spelled as its type is: `8.0`, `76,4`, `2026/1/31`.

    One comma before three digits may be a decimal point, or stand between two numbers.
    """
    bare = cell.strip(_QUOTES).strip()
    bare = bare.removesuffix(f" {field.unit}" if field.unit else "")
    if _THOUSANDS.fullmatch(bare) and not _DOUBTFUL.fullmatch(bare):
        bare = re.sub("[, ]", "", bare)
    match field.type:
        case "integer":
            return re.sub(r"\.0{0,2}\Z", "", bare)
        case "number" if re.fullmatch(r"\d+,(?:\d{1,2}|\d{4,})", bare):
            return bare.replace(",", ".")
        case "boolean":
            return bare.lower()
        case "date":
            return _day(bare)
    return bare


def _day(text: str) -> str:
    """The one day that a text means, as ISO 8601 writes it; the text where that is in doubt."""
    days = set()
    for form in _DAYS if re.fullmatch(r"\d+([-/.])\d+\1\d+|\d{8}", text) else ():
        with suppress(ValueError):
            days.add(datetime.strptime(text.replace("/", "-"), form).date().isoformat())
    return days.pop() if len(days) == 1 else text


def _word(snapshot: Snapshot, broken: BrokenCell) -> str | None:
    """The one word of the vocabulary that differs in case or surroundings, or has this alias."""
    cell, field = broken.cell, broken.field
    items = [item for item in re.split(r"\s*[;,|]\s*", cell) if item]
    of_list = {_plain(word): word for word in field.item_words}
    if items and {*map(_plain, items)} <= of_list.keys():
        return field.delimiter.join(dict.fromkeys(of_list[_plain(item)] for item in items))
    key = broken.table.schema.foreign_key(field.name)
    plain = _plain_of(key.resource if key else "")
    known = _words_meant(snapshot, key.resource) if key else {plain(it): [it] for it in field.words}
    counted = re.match(r"\d+", cell.strip())
    same = counted and counted[0] == broken.table.cell(broken.row, "gpus")
    found = known.get(plain(cell)) or (known.get(plain(_COUNT.sub("", cell))) if same else []) or []
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=16)
def _words_meant(snapshot: Snapshot, resource: str) -> Mapping[str, list[str]]:
    """The keys of a table by what else they are called: in any case, by name or alias."""
    table = snapshot.tables[resource]
    found: dict[str, list[str]] = defaultdict(list)
    for row, word in enumerate(table.columns[table.schema.primary_key[0]]):
        names = [word, table.cell(row, "name"), *table.cell(row, "aliases").split("; ")]
        if memory := table.cell(row, "memory_gb"):
            names.append(re.sub(r"-\d+g\Z", "", word) + f" {memory} GB")
        for name in set(map(_plain_of(resource), names)):
            found[name].append(word)
    return found


def _plain_of(resource: str) -> Callable[[str], str]:
    return device_name if resource == "devices" else _plain


def _plain(word: str) -> str:
    """A word in any case, with spaces for hyphens."""
    return re.sub(r"[\s_-]+", " ", word.strip(_QUOTES)).strip().lower().replace(" gb", "gb")
