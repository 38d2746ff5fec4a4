"""Files of records of any size, judged some at a time by polars: which rows have something wrong.

Nothing but some rows and a number for each row is held in memory. CSV is split by polars, which
cannot tell where a cell stands, so this says no more than the line of a row; whoever needs the
place reads that row again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rl_resources.package import Field, TableSchema
from rl_resources.schema.constraints import hold_usable
from rl_resources.schema.mistakes import signs, wrong_cells
from rl_resources.schema.parts import (
    IrregularError,
    Part,
    TooManyError,
    ahead,
    has_mark,
    header_of,
    marks,
    may_be_regular,
    parts,
)
from rl_resources.schema.plain import plain_cells
from rl_resources.schema.validate import (
    ROW,
    Question,
    Vocabulary,
    answered,
    questions,
    told,
    with_typed,
)
from rl_resources.tabular import ALL_LF, LineEnds, line_ends

PARQUET = ".parquet"
BATCH_ROWS = 50_000
PART_ROWS = 500_000
MOST_WRONG = 20_000_000
"""Each takes memory, and nobody reads so many."""
MOST_WRONG_AT_ONCE = 2_000_000
"""polars reads on while the rows that came first are looked at; with more it is better halted."""

_CLOSED = frozenset({"integer", "number", "boolean", "date"})
_SUSPECT = "is suspect"
_NO_COPIES = pl.DataFrame(schema={"row": pl.UInt32, "first": pl.UInt32})


@dataclass(frozen=True)
class Survey:
    """What is wrong in `rows` rows, which are told by index from 0: of CSV, the index of the line.

    `broken` is as `FAILURES`, the mistakes of texts among its constraints. `copies` are the rows
    (`row`) whose key is likely to have stood before, and where it stood `first`: keys are known by
    64 bits, and equal keys always are among them. `odd` are the lines that are no record by
    themselves, each with the number of lines that belong together. `marked` says whether a file
    begins with a byte order mark.
    """

    rows: int
    broken: pl.DataFrame
    copies: pl.DataFrame
    odd: Mapping[int, int] = field(default_factory=dict)
    marked: bool = False
    ends: LineEnds = ALL_LF

    @property
    def suspects(self) -> pl.Series:
        """All rows that must be read again, ascending."""
        odd = pl.Series(list(self.odd), dtype=pl.UInt32)
        return pl.concat([self.broken["row"], self.copies["row"], odd]).unique().sort()


class _Judged(NamedTuple):
    """What is wrong with rows, the keys of each, and how many bytes all their cells have."""

    broken: pl.DataFrame
    keys: pl.DataFrame
    cell_bytes: int


def survey(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Survey:
    """Judge all records of a CSV file, a Parquet file or a folder of Parquet files.

    Raises `IrregularError` for a CSV text that must be read otherwise, `TooManyError`, `OSError`
    and `polars.exceptions.PolarsError` for what cannot be read at all.
    """
    hold_usable(schema)
    if is_parquet(path):
        return _joined(_of_parquet(path, schema, vocabulary))
    header, width = header_of(path), len(schema.names)
    if width < 2 or header is None or header.cells != schema.names:
        raise IrregularError(str(path))
    at_once = _at_once(path, schema, vocabulary) if may_be_regular(path, width) else None
    if at_once:
        return _joined([at_once])
    odd: dict[int, int] = {}

    def judged() -> Iterator[_Judged]:
        for part in ahead(parts(path, width)):
            odd.update(part.odd)
            yield _of_part(part, schema, vocabulary)

    joined = _joined(judged())
    with path.open("rb") as file:
        ends = line_ends(file)
    return replace(joined, odd=odd, marked=has_mark(path), ends=ends)


def _joined(judged: Iterable[_Judged]) -> Survey:
    broken, keys, wrong = [], [], 0
    for part in judged:
        broken.append(part.broken)
        keys.append(part.keys)
        wrong += part.broken.height
        if wrong > MOST_WRONG:
            raise TooManyError(f"more than {MOST_WRONG:,} of its cells are wrong")
    every = pl.concat(keys)
    return Survey(every.height, pl.concat(broken), _copies(every))


def is_parquet(path: Path) -> bool:
    """Whether records are kept there as Parquet: in a file of that name, or in a folder."""
    return path.is_dir() or path.suffix == PARQUET


def files_of(path: Path) -> list[Path]:
    """The Parquet files of a folder, in the order of their rows; or that one file."""
    return sorted(path.rglob(f"*{PARQUET}")) if path.is_dir() else [path]


def _at_once(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> _Judged | None:
    """A file in which each line is a record; `None` for another."""
    types = dict.fromkeys(schema.names, pl.String)
    records = path.stat().st_size // len(types)  # no record has fewer bytes than cells
    text = pl.scan_csv(path, schema=types, glob=False, n_rows=records)
    with path.open("rb") as file, ThreadPoolExecutor(1) as beside:
        file.readline()
        marking = beside.submit(marks, file)
        try:
            judged = _judged(text, schema, vocabulary, MOST_WRONG_AT_ONCE)
        except (pl.exceptions.PolarsError, TooManyError):
            return None
        found = marking.result()
    if found is None or found.newlines != judged.keys.height:
        return None
    return judged if found.cell_bytes(len(schema.names)) == judged.cell_bytes else None


def _of_parquet(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Iterator[_Judged]:
    lazy = scan(path, schema)
    rows = lazy.select(pl.len()).collect().item()
    for start in range(0, max(rows, 1), PART_ROWS):
        broken, keys, size = _judged(lazy.slice(start, PART_ROWS), schema, vocabulary)
        row = pl.col("row") + start
        yield _Judged(broken.with_columns(row), keys.with_columns(row), size)


def _of_part(part: Part, schema: TableSchema, vocabulary: Vocabulary) -> _Judged:
    types = dict.fromkeys(schema.names, pl.String)
    text = pl.scan_csv(part.text, has_header=False, schema=types)
    broken, keys, size = _judged(text, schema, vocabulary)
    if keys.height != part.lines.len():
        raise IrregularError
    broken = broken.with_columns(row=part.lines.gather(broken["row"]))
    return _Judged(broken, keys.with_columns(row=part.lines), size)


def _judged(
    lazy: pl.LazyFrame, schema: TableSchema, vocabulary: Vocabulary, most: int = MOST_WRONG
) -> _Judged:
    """Rows of columns of text, in one pass. Raises `TooManyError` for more than `most` cells."""
    names = lazy.collect_schema().names()
    fields = [field for field in schema.fields if field.name in names]
    asked = [_asked(question) for question in questions(fields, vocabulary)]
    answers = answered(asked) | signs(field for field in fields if _is_open(field, vocabulary))
    keys = _keys(schema, names)
    once = with_typed(lazy.with_row_index(ROW), fields).with_columns(**answers, **keys)
    once = once.with_columns(pl.any_horizontal(*answers).alias(_SUSPECT)).cache()
    broken = [told(schema)]

    def look_at(rows: pl.DataFrame) -> None:
        broken.append(wrong_cells(schema, asked, rows))
        if sum(map(len, broken)) > most:
            raise TooManyError(f"more than {most:,} of its cells are wrong")

    suspects = once.filter(_SUSPECT).select(ROW, *names, *answers)
    sizes = [pl.col(name).str.len_bytes().fill_null(0).cast(pl.UInt64).sum() for name in names]
    _, found, size = pl.collect_all(
        [
            suspects.sink_batches(look_at, chunk_size=BATCH_ROWS, lazy=True),
            once.select(pl.col(ROW).alias("row"), *keys),
            once.select(*sizes),
        ],
        engine="streaming",
    )
    return _Judged(pl.concat(broken), found, sum(size.row(0)))


def _asked(question: Question) -> Question:
    """The same, of a pattern in words that tell the signs of mistakes, too."""
    plain = _plain(question.field) if question.constraint == "pattern" else None
    return question if plain is None else question._replace(wrong=~plain)


def _plain(field: Field) -> pl.Expr | None:
    return plain_cells(pl.col(field.name), field.pattern) if field.pattern else None


def _is_open(field: Field, vocabulary: Vocabulary) -> bool:
    """Whether a column has other words than numbers, dates, a few that are known and plain ones."""
    few = "enum" in field.constraints or field.name in vocabulary
    return not few and field.type not in _CLOSED and _plain(field) is None


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
    found = [_NO_COPIES]
    for key in keys.drop("row"):
        if key.drop_nulls().n_unique() < key.count():
            rows = pl.DataFrame({"key": key, "row": keys["row"]}).drop_nulls()
            first = rows.with_columns(first=pl.col("row").min().over("key"))
            found.append(first.filter(pl.col("row") != pl.col("first")).select("row", "first"))
    return pl.concat(found)


def scan(path: Path, schema: TableSchema) -> pl.LazyFrame:
    """Parquet as text, a list's items joined.

    The columns are in the order of the schema, and those that it does not know come last.
    """
    lazy = pl.scan_parquet(files_of(path))
    types = lazy.collect_schema()
    known = [_as_text(field, types[field.name]) for field in schema.fields if field.name in types]
    others = [pl.lit(None, pl.String).alias(name) for name in types if name not in schema.names]
    return lazy.select(*known, *others)


def _as_text(field: Field, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(field.name)
    if isinstance(dtype, pl.List):
        column = column.cast(pl.List(pl.String)).list.join(field.delimiter)
    return column.cast(pl.String)
