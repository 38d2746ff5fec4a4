"""CSV files of records of any size, validated a block at a time.

A block of records that keep the schema, each on one line, is done with. Any other is handed on as
text, with the physical line of each record. A cell with line breaks that goes on in the next block
is read as an unclosed quote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rl_resources import tabular
from rl_resources.package import TableSchema
from rl_resources.schema.pandera_schema import Vocabulary
from rl_resources.schema.validation import Validator
from rl_resources.tabular import CONFLICT, Text

BLOCK_BYTES = 1 << 25
LONGEST_LINE_BYTES = 1 << 24
WORKERS = 3

_CELL = r'(?:[^",\r]*|"(?:[^"\r]|"")*")'
LINE = "line"


class Block(NamedTuple):
    """Some records of a file: `lines` is how many lines it has.

    `text` are its records where one of them needs a look. `keys` has the line of every record and a
    hash of each of its keys, null where a key is empty.
    """

    lines: int
    records: int
    text: Text | None
    keys: pl.DataFrame

    def moved(self, down: int) -> Block:
        """The same, so many lines further down."""
        keys = self.keys.with_columns(pl.col(LINE) + down)
        if self.text is None:
            return self._replace(keys=keys)
        rows = tuple(row._replace(line=row.line + down) for row in self.text.rows)
        defects = tuple(one._replace(line=one.line + down) for one in self.text.defects)
        return self._replace(keys=keys, text=Text(self.text.header, rows, defects))


def blocks(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Iterator[Block]:
    """All records of a file under the schema's header.

    Raises `UnicodeError` where it is not UTF-8 text, `OSError` and `polars.exceptions.PolarsError`
    for what cannot be read.
    """
    before = 0
    for block in _results(path, Validator(schema, vocabulary)):
        yield block.moved(before)
        before += block.lines


def _results(path: Path, validator: Validator) -> Iterator[Block]:
    """The blocks of a file in their order, each as if it were the first below the header."""
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting: deque[Future[Block]] = deque()
        for data in _lines(path):
            waiting.append(pool.submit(_validated, validator, data))
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines after the header, each time about `BLOCK_BYTES`."""
    with path.open("rb") as file:
        start = len(file.readline())
        while True:
            file.seek(start + BLOCK_BYTES)
            length = BLOCK_BYTES + len(file.readline(LONGEST_LINE_BYTES))
            file.seek(start)
            if not (data := file.read(length)):
                return
            yield data
            start += length


def _validated(validator: Validator, data: bytes) -> Block:
    schema, lines = validator.schema, _texts(data)
    if _are_records(lines, len(schema.names)):
        frame = pl.read_csv(data, has_header=False, schema=_types(schema), raise_if_empty=False)
        if validator.failures(frame).is_empty():
            places = pl.int_range(2, 2 + frame.height, eager=True)
            return Block(lines.len(), frame.height, None, _keys(schema, frame, places))
    text = tabular.parsed(f"{','.join(schema.names)}\n{data.decode()}")
    rows = [row for row in text.rows if len(row.cells) == len(schema.names)]
    cells = pl.DataFrame([row.cells for row in rows], _types(schema), orient="row")
    keys = _keys(schema, cells, pl.Series([row.line for row in rows]))
    return Block(lines.len(), len(rows), text, keys)


def _are_records(lines: pl.Series, width: int) -> bool:
    """Whether each line is a record by itself: by its commas, where nothing in it is special."""
    by_commas = lines.str.count_matches(",", literal=True) == width - 1
    places = lines.str.contains_any(['"', "\r"]).arg_true()
    record = rf"^{_CELL}(?:,{_CELL}){{{width - 1}}}$"
    found = by_commas.scatter(places, lines.gather(places).str.contains(record))
    return (found & ~lines.str.contains(f"^(?:{CONFLICT}|\ufeff)")).all()


def _texts(data: bytes) -> pl.Series:
    """The lines without their ends. Raises `UnicodeError` for what is not UTF-8, or NUL."""
    if b"\0" in data:
        raise UnicodeError("NUL")
    try:
        types = {"line": pl.String}
        lines = pl.read_csv(data, has_header=False, separator="\1", quote_char=None, schema=types)
    except pl.exceptions.ComputeError:
        data.decode("utf-8")
        raise
    return lines["line"].fill_null("")


def _types(schema: TableSchema) -> dict[str, type[pl.String]]:
    return dict.fromkeys(schema.names, pl.String)


def _keys(schema: TableSchema, frame: pl.DataFrame, lines: pl.Series) -> pl.DataFrame:
    """A hash of each value that must not occur twice; null where a part of it is empty."""
    hashes = (
        pl.when(pl.all_horizontal(pl.col(key).fill_null("") != ""))
        .then(pl.struct(key).hash())
        .alias(" ".join(key))
        for key in schema.unique_keys
    )
    return frame.select(lines.cast(pl.UInt32).alias(LINE), *hashes)


def duplicates(keys: pl.DataFrame) -> list[tuple[int, int]]:
    """Lines with a key that an earlier line has, as far as hashes show: (copy, first), by line."""
    found = set()
    for key in keys.drop(LINE).iter_columns():
        first = pl.col(LINE).min().over("key")
        rows = pl.DataFrame({"key": key, LINE: keys[LINE]}).drop_nulls()
        twice = rows.filter(pl.col("key").is_duplicated()).with_columns(first=first)
        copies = twice.filter(pl.col(LINE) != pl.col("first"))
        found |= {*copies.select(LINE, "first").iter_rows()}
    return sorted(found)
