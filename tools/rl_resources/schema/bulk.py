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
    """Some lines of a file.

    `items` are the records with broken cells, and what is no record, by line. `keys` has the line
    of every record and a hash of each of its keys, null where a key is empty.
    """

    items: Sequence[Row | Defect]
    keys: pl.DataFrame


def blocks(path: Path, schema: TableSchema, vocabulary: Vocabulary) -> Iterator[Block]:
    """All records of a file under the schema's header.

    Raises `UnicodeError` where it is not UTF-8 text, `OSError` and `polars.exceptions.PolarsError`
    for what cannot be read.
    """
    validator = Validator(schema, vocabulary)
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting: deque[Future[Block]] = deque()
        for line, data in _parts(path):
            block = pool.submit(_validated, validator, line, data)
            waiting.append(block)
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parts(path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines after the header, each time about `BLOCK_BYTES`, by the number of the first."""
    line = 2
    with path.open("rb") as file:
        start = len(file.readline())
        while True:
            # Where the block ends is asked first: joined later, its bytes would be copied.
            file.seek(start + BLOCK_BYTES)
            length = BLOCK_BYTES + len(file.readline())
            file.seek(start)
            data = file.read(length)
            if not data:
                return
            yield line, data
            line += data.count(b"\n")
            start += length


def _validated(validator: Validator, first: int, data: bytes) -> Block:
    schema = validator.schema
    width = len(schema.names)
    lines = _texts(data)
    is_record = _are_records(lines, width)
    records = is_record.arg_true()
    if len(records) < len(lines):
        kept = lines.gather(records)
        data = "\n".join(kept).encode()
    frame = _split(schema, data)
    rows = [failure.row for failure in validator.failures(frame)]
    broken = records.gather(rows)
    is_wanted = ~is_record
    is_wanted = is_wanted.scatter(broken, True)
    wanted = is_wanted.arg_true()
    numbered = zip(wanted + first, lines.gather(wanted), strict=True)
    items = list(tabular.records(numbered, width))
    keys = _keys(schema, frame, records + first)
    return Block(items, keys)


def _are_records(lines: pl.Series, width: int) -> pl.Series:
    """Whether each line is a record: by its commas, unless it has a special character."""
    commas = width - 1
    by_commas = lines.str.count_matches(",", literal=True) == commas
    special = lines.str.contains_any(['"', "\r"]).arg_true()
    record = rf"^{_CELL}(?:,{_CELL}){{{commas}}}$"
    by_pattern = lines.gather(special).str.contains(record)
    found = by_commas.scatter(special, by_pattern)
    has_mark = lines.str.starts_with("\ufeff")
    return found & ~has_mark


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
    return pl.read_csv(
        data, has_header=False, schema=types, raise_if_empty=False, empty_string_is_null=False
    )


def _keys(schema: TableSchema, frame: pl.DataFrame, lines: pl.Series) -> pl.DataFrame:
    """A hash of each value that must not occur twice; null where a part of it is empty."""
    numbers = lines.cast(pl.UInt32).alias(LINE)
    hashes = map(_hash, schema.unique_keys)
    return frame.select(numbers, *hashes)


def _hash(key: Sequence[str]) -> pl.Expr:
    filled = pl.all_horizontal(pl.col(key) != "")
    value = pl.struct(key).hash()
    name = " ".join(key)
    return pl.when(filled).then(value).alias(name)


def duplicates(keys: pl.DataFrame) -> list[tuple[int, int]]:
    """Lines with a key that an earlier line has, as far as hashes show: (copy, first), by line."""
    found: set[tuple[int, int]] = set()
    line = pl.col(LINE)
    first = line.min().over("key")
    occurs_twice = pl.col("key").is_duplicated()
    for key in keys.drop(LINE).iter_columns():
        rows = pl.DataFrame({"key": key, LINE: keys[LINE]}).drop_nulls()
        twice = rows.filter(occurs_twice).with_columns(first=first)
        copies = twice.filter(line != pl.col("first"))
        pairs = copies.select(LINE, "first")
        found.update(pairs.iter_rows())
    return sorted(found)
