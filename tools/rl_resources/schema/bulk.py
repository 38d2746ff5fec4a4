"""Files of records of any size, judged in one pass of polars: which rows have something wrong.

Nothing but batches of rows and a number for each row is held in memory. CSV is split by polars,
which cannot tell where a cell stands, so this says no more than the number of a row; whoever needs
the place reads that row again. A text that polars might split otherwise than `tabular` raises
`IrregularError`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.constraints import hold_usable
from rl_resources.schema.mistakes import signs, wrong_cells
from rl_resources.schema.validate import (
    Vocabulary,
    answered,
    questions,
    told,
    with_typed,
)

PARQUET = ".parquet"
BATCH_ROWS = 50_000
BLOCK_BYTES = 1 << 18

_CLOSED = frozenset({"integer", "number", "boolean", "date"})
_CELL = r'(?:[^",]*|"(?:[^"]|"")*")'
_QUOTE, _COMMA, _NEWLINE = b'",\n'
_ROW, _SUSPECT = "number of row", "is suspect"


class IrregularError(ValueError):
    """A CSV text on whose grammar polars and `tabular` might differ."""


@dataclass(frozen=True)
class Survey:
    """What is wrong in `rows` rows, which are told by index from 0.

    `broken` is as `FAILURES`, the mistakes of texts among its constraints. `copies` are the rows
    (`row`) whose key is likely to have stood before, and where it stood `first`: keys are known by
    64 bits, and equal keys always are among them.
    """

    rows: int
    broken: pl.DataFrame
    copies: pl.DataFrame

    @property
    def suspects(self) -> pl.Series:
        """All rows that must be read again, ascending."""
        return pl.concat([self.broken["row"], self.copies["row"]]).unique().sort()


def survey(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Survey:
    """Judge all records of a CSV file, a Parquet file or a folder of Parquet files.

    Raises `IrregularError` for a CSV text that must be read otherwise, `OSError` and
    `polars.exceptions.PolarsError` for what cannot be read at all.
    """
    hold_usable(schema)
    if is_parquet(path):
        return _pass(scan(path, schema), schema, vocabulary).survey
    _hold_header(path, schema)
    text = pl.scan_csv(path, schema=dict.fromkeys(schema.names, pl.String), glob=False)
    try:
        with ThreadPoolExecutor(1) as beside:
            marking = beside.submit(_marks, path)
            once = _pass(text, schema, vocabulary)
        marks = marking.result()
        regular = _is_regular(marks, once, schema) or _lines_are_records(path, schema)
    except pl.exceptions.PolarsError as error:
        raise IrregularError(str(error)) from error
    if not regular or marks.newlines != once.survey.rows:
        raise IrregularError(str(path))
    return once.survey


def _hold_header(path: Path, schema: TableSchema) -> None:
    """Raise `IrregularError` for another header."""
    with path.open("rb") as file:
        if file.readline() != (",".join(schema.names) + "\n").encode():
            raise IrregularError(str(path))


def is_parquet(path: Path) -> bool:
    """Whether records are kept there as Parquet: in a file of that name, or in a folder."""
    return path.is_dir() or path.suffix == PARQUET


class _Pass(NamedTuple):
    """A survey, and how many bytes all cells have."""

    survey: Survey
    cell_bytes: int


def _pass(lazy: pl.LazyFrame, schema: TableSchema, vocabulary: Vocabulary) -> _Pass:
    """One pass over columns of text."""
    names = lazy.collect_schema().names()
    fields = [field for field in schema.fields if field.name in names]
    asked = questions(fields, vocabulary)
    open_columns = [field for field in fields if _is_open(field, vocabulary)]
    answers = answered(asked) | signs(open_columns)
    keys = _keys(schema, names)
    once = with_typed(lazy.with_row_index(_ROW), fields).with_columns(**answers, **keys)
    once = once.with_columns(
        pl.any_horizontal(*answers).fill_null(value=False).alias(_SUSPECT)
    ).cache()
    broken = [told(schema, [])]

    def look_at(rows: pl.DataFrame) -> None:
        rows = rows.rechunk()  # each question looks through all parts
        wrong = wrong_cells(schema, asked, rows)
        broken.append(wrong.with_columns(row=rows[_ROW].gather(wrong["row"])))

    suspects = once.filter(_SUSPECT).select(_ROW, *names, *answers)
    counts = [pl.col(name).str.len_bytes().cast(pl.UInt64).sum() for name in names]
    _, hashes, counted = pl.collect_all(
        [
            suspects.sink_batches(look_at, chunk_size=BATCH_ROWS, lazy=True),
            once.select(keys.keys()),
            once.select(pl.len().alias(_ROW), *counts),
        ],
        engine="streaming",
    )
    rows, *cell_bytes = counted.row(0)
    return _Pass(Survey(rows, pl.concat(broken), _copies(hashes)), sum(cell_bytes))


def _is_open(field: Field, vocabulary: Vocabulary) -> bool:
    """Whether a column has other words than numbers, dates and a few that are known."""
    few = "enum" in field.constraints or field.name in vocabulary
    return not few and field.type not in _CLOSED


def _keys(schema: TableSchema, names: Collection[str]) -> Mapping[str, pl.Expr]:
    """A number for each value of what must not stand twice; null where a part of it is blank."""
    unique = [(field.name,) for field in schema.fields if field.constraints.get("unique")]
    return {
        f"key {' '.join(key)}": pl.when(pl.all_horizontal(pl.col(key) != "")).then(
            pl.struct(key).hash()
        )
        for key in dict.fromkeys([schema.primary_key, *unique])
        if set(key) <= set(names)
    }


def _copies(keys: pl.DataFrame) -> pl.DataFrame:
    found = [pl.DataFrame(schema={"row": pl.UInt32, "first": pl.UInt32})]
    for key in keys:
        if key.drop_nulls().n_unique() < key.count():
            rows = pl.DataFrame({"key": key}).with_row_index("row").drop_nulls()
            first = rows.with_columns(first=pl.col("row").min().over("key"))
            found.append(first.filter(pl.col("row") != pl.col("first")).select("row", "first"))
    return pl.concat(found)


def scan(path: Path, schema: TableSchema) -> pl.LazyFrame:
    """Parquet as text, a list's items joined.

    The columns are in the order of the schema, and those that it does not know come last.
    """
    lazy = pl.scan_parquet(path / f"**/*{PARQUET}" if path.is_dir() else path)
    types = lazy.collect_schema()
    known = [_as_text(field, types[field.name]) for field in schema.fields if field.name in types]
    others = [pl.lit(None, pl.String).alias(name) for name in types if name not in schema.names]
    return lazy.select(*known, *others)


def _as_text(field: Field, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(field.name)
    if isinstance(dtype, pl.List):
        column = column.cast(pl.List(pl.String)).list.join(field.delimiter)
    return column.cast(pl.String)


class _Marks(NamedTuple):
    """The bytes of a CSV text after its header, and those of them that part and quote cells.

    `around_cells` says whether the quotes stand in pairs around whole cells and nowhere else.
    """

    size: int
    newlines: int
    quotes: int
    around_cells: bool


def _marks(path: Path) -> _Marks:
    """Raises `IrregularError` for bytes that no CSV text of ours has."""
    with path.open("rb") as file:
        file.readline()
        size, newlines, quotes, odd = 0, 0, 0, False
        while lines := file.read(BLOCK_BYTES) + file.readline():
            if b"\r" in lines or b"\0" in lines:
                raise IrregularError(str(path))
            text = np.frombuffer(lines, np.uint8)
            places = np.flatnonzero(text == _QUOTE)
            opening, closing = places[::2], places[1::2]
            outside = np.concatenate([text[opening - 1], text.take(closing + 1, mode="wrap")])
            odd |= len(places) % 2 == 1 or not ((outside == _COMMA) | (outside == _NEWLINE)).all()
            size += len(text)
            newlines += int(np.count_nonzero(text == _NEWLINE))
            quotes += len(places)
    return _Marks(size, newlines, quotes, not odd)


def _is_regular(marks: _Marks, once: _Pass, schema: TableSchema) -> bool:
    """Whether each line is surely one record of as many cells as there are columns.

    What is neither in a cell nor parts cells are quotes. Where it is as much as there are quotes
    around cells, no cell is missing.
    """
    between = marks.size - once.cell_bytes - once.survey.rows * len(schema.names)
    return marks.around_cells and between == marks.quotes


def _lines_are_records(path: Path, schema: TableSchema) -> bool:
    lines = pl.scan_csv(
        path,
        has_header=False,
        skip_lines=1,
        schema={"line": pl.String},
        separator="\0",
        quote_char=None,
        glob=False,
    )
    record = f"^{_CELL}(?:,{_CELL}){{{len(schema.names) - 1}}}$"
    regular = lines.select(pl.col("line").str.contains(record).fill_null(value=False).all())
    return bool(regular.collect(engine="streaming").item())
