"""Files of records of any size, judged a part at a time: which rows have something wrong.

Nothing but one part and a number for each row is held in memory. CSV is split by polars, which
cannot tell where a cell stands, so this says no more than the number of a row; whoever needs the
place reads that row again. A text that polars might split otherwise than `tabular` raises
`IrregularError`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.compiled import PRECEDENCE
from rl_resources.schema.text import AFTER, BEFORE, SIGNS, text_mistake
from rl_resources.schema.validate import FAILURES, hold_usable, judged

PART_BYTES = 1 << 25
PART_ROWS = 100_000
WORKERS = pl.thread_pool_size()
PARQUET = ".parquet"

_WORDS = (*BEFORE, *PRECEDENCE, *AFTER)
_RANKS = {word: rank for rank, word in enumerate(_WORDS)}
_CLOSED = frozenset({"integer", "number", "boolean", "date"})
_CELL = r'(?:[^",]*|"(?:[^"]|"")*")'


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


def survey(path: Path, schema: TableSchema, vocabulary: Mapping[str, Collection[str]]) -> Survey:
    """Judge all records of a CSV file, a Parquet file or a folder of Parquet files.

    Raises `IrregularError` for a CSV text that must be read otherwise, `OSError` and
    `polars.exceptions.PolarsError` for what cannot be read at all.
    """
    hold_usable(schema)
    rows, broken, keys = 0, [pl.DataFrame(schema=FAILURES)], []
    for part in _side_by_side(partial(_judge, schema, vocabulary), _parts(path, schema)):
        broken.append(part.broken.with_columns(pl.col("row") + rows))
        keys.append(part.keys)
        rows += part.rows
    return Survey(rows, pl.concat(broken), _repeated(keys))


_Part = bytes | pl.DataFrame
"""Some of the records: lines of CSV, or Parquet as `scan` gives it."""


class _Verdict(NamedTuple):
    """What `Survey` says, of one part; `keys` are numbers for what must not stand twice."""

    rows: int
    broken: pl.DataFrame
    keys: pl.DataFrame


class _Column(NamedTuple):
    """The cells of a column that may hold anything, with their rows."""

    field: Field
    rows: pl.Series
    cells: pl.Series


def is_parquet(path: Path) -> bool:
    """Whether records are kept there as Parquet: in a file of that name, or in a folder."""
    return path.is_dir() or path.suffix == PARQUET


def _parts(path: Path, schema: TableSchema) -> Iterator[_Part]:
    if is_parquet(path):
        yield from scan(path, schema).collect_batches(chunk_size=PART_ROWS)
        return
    with path.open("rb") as file:
        if file.readline() != (",".join(schema.names) + "\n").encode():
            raise IrregularError(str(path))
        while data := file.read(PART_BYTES) + file.readline():
            yield data


def _side_by_side(judge: Callable[[_Part], _Verdict], parts: Iterable[_Part]) -> Iterator[_Verdict]:
    """The verdicts in order; polars lets go of the interpreter, so threads are enough."""
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting: deque[Future[_Verdict]] = deque()
        for part in parts:
            waiting.append(pool.submit(judge, part))
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


def _judge(schema: TableSchema, vocabulary: Mapping[str, Collection[str]], part: _Part) -> _Verdict:
    frame = _frame(part, schema) if isinstance(part, bytes) else part
    found = judged(schema, frame, vocabulary)
    looked_at = list(_looked_at(schema, frame, found, vocabulary))
    if isinstance(part, bytes) and not _is_regular(part, frame, looked_at):
        raise IrregularError
    return _Verdict(frame.height, _first_told(found, looked_at), _keys(schema, frame))


def _looked_at(
    schema: TableSchema,
    frame: pl.DataFrame,
    found: pl.DataFrame,
    vocabulary: Mapping[str, Collection[str]],
) -> Iterator[_Column]:
    """All cells but those that were found to be a number, a date or one of a few known words."""
    for field in schema.fields:
        if field.name not in frame.columns:
            continue
        rows = pl.int_range(frame.height, dtype=pl.UInt32, eager=True)
        if field.type in _CLOSED or "enum" in field.constraints or field.name in vocabulary:
            rows = found.filter(field=field.name)["row"]
        cells = frame[field.name]
        yield _Column(field, rows, cells if len(rows) == len(cells) else cells.gather(rows))


def _first_told(found: pl.DataFrame, columns: Sequence[_Column]) -> pl.DataFrame:
    """The failures with the mistakes of texts, of each cell what is told first."""
    texts = [
        (row, column.field.name, mistake)
        for column in columns
        for row, cell in _doubtful(column)
        if (mistake := text_mistake(column.field, cell, None))
    ]
    if not texts:
        return found
    both = pl.concat([found, pl.DataFrame(texts, schema=FAILURES, orient="row")])
    ranked = both.sort("row", pl.col("constraint").replace_strict(_RANKS))
    return ranked.unique(["row", "field"], keep="first", maintain_order=True)


def _doubtful(column: _Column) -> Iterator[tuple[int, str]]:
    """Rows and cells with a sign of a mistake."""
    signs = column.cells.str.contains(SIGNS).fill_null(value=False)
    return zip(column.rows.filter(signs), column.cells.filter(signs), strict=True)


def _keys(schema: TableSchema, frame: pl.DataFrame) -> pl.DataFrame:
    """A number for each value of what must not stand twice; null where a part of it is blank."""
    unique = [(field.name,) for field in schema.fields if field.constraints.get("unique")]
    return frame.select(
        pl.when(pl.all_horizontal(pl.col(names).is_not_null()))
        .then(pl.struct(names).hash())
        .alias(" ".join(names))
        for names in dict.fromkeys([schema.primary_key, *unique])
        if set(names) <= set(frame.columns)
    )


def _repeated(keys: Sequence[pl.DataFrame]) -> pl.Series:
    frame = pl.concat(keys) if keys else pl.DataFrame()
    twice = [(column.is_duplicated() & column.is_not_null()).arg_true() for column in frame]
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
    return column.cast(pl.String).replace("", None)


def _frame(data: bytes, schema: TableSchema) -> pl.DataFrame:
    try:
        return pl.read_csv(
            data,
            has_header=False,
            schema=dict.fromkeys(schema.names, pl.String),
            infer_schema=False,
        ).with_columns(pl.all().replace("", None) if b'""' in data else [])
    except pl.exceptions.PolarsError as error:
        raise IrregularError(str(error)) from error


def _is_regular(data: bytes, frame: pl.DataFrame, columns: Sequence[_Column]) -> bool:
    """Whether each line of a part is one record of as many cells as there are columns.

    The bytes that are neither cells nor what parts them are quotes. Where they all are, no cell is
    missing and no cell holds a quote; where there are two for each cell with a comma, each of these
    is in quotes and nothing else is. Otherwise each line is looked at.
    """
    if b"\r" in data or b"\0" in data or data.count(b"\n") != frame.height:
        return False
    quotes = data.count(b'"')
    cells = frame.select(pl.sum_horizontal(pl.all().str.len_bytes().sum())).item()
    if len(data) - cells - frame.height * frame.width == quotes:
        commas = (column.cells.str.contains(",", literal=True).sum() for column in columns)
        return quotes == 2 * sum(commas)
    return _lines_are_records(data, frame.width)


def _lines_are_records(data: bytes, width: int) -> bool:
    lines = pl.read_csv(
        data, has_header=False, separator="\0", quote_char=None, infer_schema=False
    ).to_series()
    return bool(lines.str.contains(f"^{_CELL}(?:,{_CELL}){{{width - 1}}}$").all())
