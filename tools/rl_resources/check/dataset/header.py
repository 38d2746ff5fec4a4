"""What is wrong with the header of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from csv import Error as CsvError
from csv import reader
from functools import lru_cache

from rl_resources.check.dataset.broken import vocabulary_of
from rl_resources.check.snapshot import Snapshot, Table
from rl_resources.schema.validation import failures
from rl_resources.tabular import write
from rl_resources.words import nearest, shown

MOST_HEADER_MISTAKES = 3


@lru_cache(maxsize=8)
def rearranged(snapshot: Snapshot, table: Table) -> Mapping[int, str]:
    """The lines of a table in the columns of the schema; a column that it lacks is empty.

    Empty unless the header has some of these columns and no other, and every row has as many
    cells. Where columns stand in another order, all cells must fit the schema too: else the names
    alone may be in disorder.
    """
    header, wanted = table.header, table.schema.names
    rows = [row for row in table.text.rows if not row.blank]
    sound = not table.text.defects and all(len(row.cells) == len(header) for row in rows)
    known = [name for name in wanted if name in header]
    if header == wanted or sorted(header) != sorted(known) or not (sound and table.has_header):
        return {}
    columns = {name: [row.cells[at] for row in rows] for at, name in enumerate(header)}
    if list(header) != known and failures(table.schema, columns, vocabulary_of(snapshot, table)):
        return {}
    blank = [""] * len(rows)
    cells = zip(*(columns.get(name, blank) for name in wanted), strict=True)
    lines = {row.line: write([own]).rstrip("\n") for row, own in zip(rows, cells, strict=True)}
    first = table.text.header.line if table.text.header else 1
    return {first: ",".join(wanted), **lines}


@lru_cache(maxsize=8)
def comma_separated(table: Table) -> Mapping[int, str]:
    """The lines of a table whose cells another sign separates, with commas in its place.

    Empty unless every row then has the cells of the schema.
    """
    lines = {number: line for number, line in enumerate(table.lines, 1) if line}
    try:
        rows = list(reader(lines.values(), delimiter=table.separator, strict=True))
    except CsvError:
        return {}
    if len(rows) != len(lines) or any(len(row) != len(table.schema.names) for row in rows):
        return {}
    return {
        number: write([row]).removesuffix("\n") for number, row in zip(lines, rows, strict=True)
    }


def header_mistakes(table: Table) -> list[tuple[int, str, str]]:
    """The header's mistakes, or the one that they come from; the fix is empty for a new header."""
    if table.separator != ",":
        message = f"the columns are separated by {table.separator!r}, not by commas"
        fix = "Separate the cells by commas in every line, a cell with a comma in quotes"
        ours = "; or run `rl-resources check --fix`." if comma_separated(table) else "."
        return [(0, message, fix + ours)]
    if not table.has_header:
        return [(0, "the first line is not the header", "")]
    mistakes = list(_mistakes(table))
    if len(mistakes) <= MOST_HEADER_MISTAKES:
        return mistakes
    index, first, _ = mistakes[0]
    return [(index, f"{len(mistakes)} columns are not those of the schema: {first}, …", "")]


def _mistakes(table: Table) -> Iterator[tuple[int, str, str]]:
    """Index of the cell, message, and the fix where it is not a new header."""
    found, wanted = table.header, table.schema.names
    rows = "" if table.names == wanted else " and of every row"
    missing = [name for name in wanted if name not in found]
    for index, name in enumerate(found):
        if name in wanted:
            if found.index(name) != index:
                yield (
                    index,
                    f"the column {name!r} stands twice",
                    f"Take one out of the header{rows}.",
                )
            continue
        close = nearest(name, missing).words[:1]
        meant = close or [other for other in missing if wanted.index(other) == index]
        missing = [other for other in missing if other not in meant]
        fix = f"Write `{meant[0]}`." if meant else f"Take it out of the header{rows}."
        yield index, f"there is no column {shown(name)!r}", fix
    for name in missing:
        yield min(wanted.index(name), len(found) - 1), f"the column {name!r} is missing", ""
    if sorted(found) == sorted(wanted):
        at = next(index for index, name in enumerate(found) if name != wanted[index])
        yield at, f"{found[at]!r} stands where {wanted[at]!r} is wanted", ""
