"""Files of records of any size, judged in one pass of polars: which rows have something wrong.

Nothing but batches of rows and a number for each row is held in memory. CSV is split by polars,
which cannot tell where a cell stands, so this says no more than the number of a row; whoever needs
the place reads that row again. A text that polars might split otherwise than `tabular` raises
`IrregularError`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.constraints import PRECEDENCE, hold_usable
from rl_resources.schema.text import AFTER, BEFORE, SIGNS, text_mistake
from rl_resources.schema.validate import (
    FAILURES,
    Vocabulary,
    judged,
    questions,
    with_typed,
)

PARQUET = ".parquet"
BATCH_ROWS = 50_000
BLOCK_BYTES = 1 << 17

_WORDS = (*BEFORE, *PRECEDENCE, *AFTER)
_RANKS = {word: rank for rank, word in enumerate(_WORDS)}
_CLOSED = frozenset({"integer", "number", "boolean", "date"})
_CELL = r'(?:[^",]*|"(?:[^"]|"")*")'
_QUOTE, _COMMA, _NEWLINE = b'",\n'
_ROW, _SUSPECT, _BYTES = "number of row", "is suspect", "bytes of row"


class IrregularError(ValueError):
    """A CSV text on whose grammar polars and `tabular` might differ."""


@dataclass(frozen=True)
class Survey:
    """What is wrong in `rows` rows, which are told by index from 0.

    `broken` has the columns of `FAILURES`, the mistakes of texts among its constraints. `repeated`
    are the rows whose key is likely to stand twice: equal keys always are among them.
    """

    rows: int
    broken: pl.DataFrame
    repeated: pl.Series

    @property
    def suspects(self) -> pl.Series:
        """All rows that must be read again, ascending."""
        return pl.concat([self.broken["row"], self.repeated]).unique().sort()


def survey(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Survey:
    """Judge all records of a CSV file, a Parquet file or a folder of Parquet files.

    Raises `IrregularError` for a CSV text that must be read otherwise, `OSError` and
    `polars.exceptions.PolarsError` for what cannot be read at all.
    """
    hold_usable(schema)
    if is_parquet(path):
        return _pass(scan(path, schema), schema, vocabulary).survey
    marks = _marks(path, schema)
    try:
        found = _pass(_scan_csv(path, schema, marks), schema, vocabulary)
        regular = _is_regular(marks, found, len(schema.names)) or _lines_are_records(path, schema)
    except pl.exceptions.PolarsError as error:
        raise IrregularError(str(error)) from error
    if not regular or marks.newlines != found.survey.rows:
        raise IrregularError(str(path))
    return found.survey


def is_parquet(path: Path) -> bool:
    """Whether records are kept there as Parquet: in a file of that name, or in a folder."""
    return path.is_dir() or path.suffix == PARQUET


class _Pass(NamedTuple):
    """A survey, and how many bytes all cells have."""

    survey: Survey
    cell_bytes: int


def _pass(lazy: pl.LazyFrame, schema: TableSchema, vocabulary: Vocabulary) -> _Pass:
    """One pass over columns of text in which blank cells are null."""
    names = lazy.collect_schema().names()
    fields = [field for field in schema.fields if field.name in names]
    keys = _keys(schema, names)
    asked = with_typed(lazy.with_row_index(_ROW), fields).with_columns(
        _suspect(fields, vocabulary).alias(_SUSPECT),
        pl.sum_horizontal(pl.col(names).str.len_bytes()).cast(pl.UInt64).alias(_BYTES),
        **keys,
    )
    broken = [pl.DataFrame(schema=FAILURES)]

    def look_at(rows: pl.DataFrame) -> None:
        cells = rows.select(names)
        found = _failures(schema, cells, vocabulary)
        broken.append(found.with_columns(row=rows[_ROW].gather(found["row"])))

    once = asked.cache()
    _, hashes, counts = pl.collect_all(
        [
            once.filter(_SUSPECT).sink_batches(look_at, chunk_size=BATCH_ROWS, lazy=True),
            once.select(keys.keys()),
            once.select(pl.len(), pl.col(_BYTES).sum()),
        ],
        engine="streaming",
    )
    rows, cell_bytes = counts.row(0)
    return _Pass(Survey(rows, pl.concat(broken), _repeated(hashes)), cell_bytes)


def _suspect(fields: Sequence[Field], vocabulary: Vocabulary) -> pl.Expr:
    """Whether a row may have a failure, or a sign of a mistake where a cell may hold anything."""
    failures = (question.wrong for question in questions(fields, vocabulary))
    open_columns = (field.name for field in fields if _is_open(field, vocabulary))
    signs = (pl.col(name).str.contains(SIGNS) for name in open_columns)
    return pl.any_horizontal(*failures, *signs).fill_null(value=False)


def _is_open(field: Field, vocabulary: Vocabulary) -> bool:
    """Whether a column has other words than numbers, dates and a few that are known."""
    few = "enum" in field.constraints or field.name in vocabulary
    return not few and field.type not in _CLOSED


def _failures(schema: TableSchema, cells: pl.DataFrame, vocabulary: Vocabulary) -> pl.DataFrame:
    """The failures with the mistakes of texts, of each cell what is told first."""
    found = judged(schema, cells, vocabulary)
    texts = [
        (row, field.name, mistake)
        for field in schema.fields
        if field.name in cells.columns
        for row, cell in _doubtful(field, cells[field.name], found, vocabulary)
        if (mistake := text_mistake(field, cell, None))
    ]
    if not texts:
        return found
    both = pl.concat([found, pl.DataFrame(texts, schema=FAILURES, orient="row")])
    ranked = both.sort("row", pl.col("constraint").replace_strict(_RANKS))
    return ranked.unique(["row", "field"], keep="first", maintain_order=True)


def _doubtful(
    field: Field, cells: pl.Series, found: pl.DataFrame, vocabulary: Vocabulary
) -> Iterator[tuple[int, str]]:
    """Rows and cells with a sign of a mistake, in a closed column of those that fail."""
    rows = pl.int_range(len(cells), dtype=pl.UInt32, eager=True)
    if not _is_open(field, vocabulary):
        rows = found.filter(field=field.name)["row"]
        cells = cells.gather(rows)
    signs = cells.str.contains(SIGNS).fill_null(value=False)
    return zip(rows.filter(signs), cells.filter(signs), strict=True)


def _keys(schema: TableSchema, names: Collection[str]) -> Mapping[str, pl.Expr]:
    """A number for each value of what must not stand twice; null where a part of it is blank."""
    unique = [(field.name,) for field in schema.fields if field.constraints.get("unique")]
    return {
        f"key {' '.join(key)}": pl.when(pl.all_horizontal(pl.col(key).is_not_null())).then(
            pl.struct(key).hash()
        )
        for key in dict.fromkeys([schema.primary_key, *unique])
        if set(key) <= set(names)
    }


def _repeated(keys: pl.DataFrame) -> pl.Series:
    twice = [(column.is_duplicated() & column.is_not_null()).arg_true() for column in keys]
    return pl.concat([pl.Series(dtype=pl.UInt32), *twice])


def scan(path: Path, schema: TableSchema) -> pl.LazyFrame:
    """Parquet as text, blank cells as null and a list's items joined.

    The columns are in the order of the schema, and those that it does not know come last.
    """
    lazy = pl.scan_parquet(path / f"**/*{PARQUET}" if path.is_dir() else path)
    found = lazy.collect_schema()
    known = [_as_text(field, found[field.name]) for field in schema.fields if field.name in found]
    others = [pl.lit(None, pl.String).alias(name) for name in found if name not in schema.names]
    return lazy.select(*known, *others)


def _as_text(field: Field, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(field.name)
    if isinstance(dtype, pl.List):
        column = column.cast(pl.List(pl.String)).list.join(field.delimiter)
    return _blank_as_null(column.cast(pl.String))


def _blank_as_null(cells: pl.Expr) -> pl.Expr:
    """As `replace` would do, for which polars holds all cells in memory."""
    return pl.when(cells != "").then(cells)


class _Marks(NamedTuple):
    """The bytes of a CSV text after its header, and those of them that part and quote cells.

    `around_cells` says whether the quotes stand in pairs around whole cells and nowhere else.
    """

    size: int
    newlines: int
    quotes: int
    around_cells: bool
    around_nothing: bool


def _marks(path: Path, schema: TableSchema) -> _Marks:
    """Raises `IrregularError` for another header, and for bytes that no CSV text of ours has."""
    with path.open("rb") as file:
        if file.readline() != (",".join(schema.names) + "\n").encode():
            raise IrregularError(str(path))
        size, newlines, quotes, odd, blank = 0, 0, 0, False, False
        while lines := file.read(BLOCK_BYTES) + file.readline():
            if b"\r" in lines or b"\0" in lines:
                raise IrregularError(str(path))
            text = np.frombuffer(lines, np.uint8)
            places = np.flatnonzero(text == _QUOTE)
            opening, closing = places[::2], places[1::2]
            outside = np.concatenate([text[opening - 1], text.take(closing + 1, mode="wrap")])
            odd |= len(places) % 2 == 1 or not ((outside == _COMMA) | (outside == _NEWLINE)).all()
            blank |= not odd and bool((closing == opening + 1).any())
            size += len(text)
            newlines += int(np.count_nonzero(text == _NEWLINE))
            quotes += len(places)
    return _Marks(size, newlines, quotes, not odd, odd or blank)


def _scan_csv(path: Path, schema: TableSchema, marks: _Marks) -> pl.LazyFrame:
    text = dict.fromkeys(schema.names, pl.String)
    lazy = pl.scan_csv(path, schema=text, glob=False)
    return lazy.with_columns(_blank_as_null(pl.all())) if marks.around_nothing else lazy


def _is_regular(marks: _Marks, found: _Pass, width: int) -> bool:
    """Whether each line is surely one record of as many cells as there are columns.

    What is neither in a cell nor parts cells are quotes. Where it is as much as there are quotes
    around cells, no cell is missing.
    """
    between = marks.size - found.cell_bytes - found.survey.rows * width
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
