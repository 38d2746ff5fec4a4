"""CSV files of records of any size, validated a block at a time.

Only the records that need a look are handed on, each with its physical line: those that break the
schema, and whatever is no record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rl_resources import tabular
from rl_resources.package import TableSchema
from rl_resources.schema.pandera_schema import Vocabulary
from rl_resources.schema.validation import Validator
from rl_resources.tabular import Defect, Row

BLOCK_BYTES = 1 << 25
WORKERS = 3

_CELL = r'(?:[^",\r]*|"(?:[^"\r]|"")*")'
LINE = "line"


class Block(NamedTuple):
    """Some lines of a file, counted from the first of them.

    `items` are the records with broken cells, and what is no record, by line. `keys` has the line
    of every record and a hash of each of its keys, null where a key is empty.
    """

    lines: int
    records: int
    items: Sequence[Row | Defect]
    keys: pl.DataFrame

    def at(self, line: int) -> Block:
        """The same counted from the first line of the file, of which the first here is `line`."""
        items = [item._replace(line=item.line + line) for item in self.items]
        return self._replace(items=items, keys=self.keys.with_columns(pl.col(LINE) + line))


def blocks(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Iterator[Block]:
    """All records of a file under the schema's header.

    Raises `UnicodeError` where it is not UTF-8 text, `OSError` and `polars.exceptions.PolarsError`
    for what cannot be read.
    """
    line = 2
    for block in _results(path, Validator(schema, vocabulary)):
        yield block.at(line)
        line += block.lines


def _results(path: Path, validator: Validator) -> Iterator[Block]:
    """The blocks of a file in their order."""
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting: deque[Future[Block]] = deque()
        for data in _parts(path):
            waiting.append(pool.submit(_validated, validator, data))
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parts(path: Path) -> Iterator[bytes]:
    """Whole lines after the header, each time about `BLOCK_BYTES`."""
    with path.open("rb") as file:
        start = len(file.readline())
        while True:
            file.seek(start + BLOCK_BYTES)
            length = BLOCK_BYTES + len(file.readline())
            file.seek(start)
            if not (data := file.read(length)):
                return
            yield data
            start += length


def _validated(validator: Validator, data: bytes) -> Block:
    lines = _texts(data)
    width = len(validator.schema.names)
    is_record = _are_records(lines, width)
    places = is_record.arg_true()
    whole = "\n".join(lines.gather(places)).encode() if len(places) < len(lines) else data
    frame = _split(validator.schema, whole)
    broken = places.gather([failure.row for failure in validator.failures(frame)])
    wanted = (~is_record).scatter(broken, True).arg_true()
    items = [*tabular.records(zip(wanted, lines.gather(wanted), strict=True), width)]
    return Block(len(lines), frame.height, items, _keys(validator.schema, frame, places))


def _are_records(lines: pl.Series, width: int) -> pl.Series:
    """Whether each line is a record: by its commas, where nothing in it is special."""
    by_commas = lines.str.count_matches(",", literal=True) == width - 1
    places = lines.str.contains_any(['"', "\r"]).arg_true()
    record = rf"^{_CELL}(?:,{_CELL}){{{width - 1}}}$"
    found = by_commas.scatter(places, lines.gather(places).str.contains(record))
    return found & ~lines.str.starts_with("\ufeff")


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


def _split(schema: TableSchema, data: bytes) -> pl.DataFrame:
    types = dict.fromkeys(schema.names, pl.String)
    return pl.read_csv(data, has_header=False, schema=types, raise_if_empty=False)


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
