"""What each constraint of a Table Schema asks of a typed column, stated once for every engine.

polars is asked directly: importing pandera, which imports pandas, takes longer than judging all the
shipped tables. `compiled` hands the same constraints to pandera, for pandas and for databases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from rl_resources.errors import UnreadableDataset
from rl_resources.package import TYPES, Field, TableSchema

VOCABULARY = "vocabulary"
TEXTS = frozenset({"string", "list"})
_MACHINE_INTEGERS = 2**63
NUMBERS = frozenset({"integer", "number"})

# A blank cell is nullability, `pattern` may be an item's, `duplicates` tells what is unique.
_ELSEWHERE = frozenset({"required", "pattern", "unique"})


class Meaning(NamedTuple):
    """Which cells hold a constraint, and with which check and argument pandera asks the same.

    To be short enough in bytes, which need no counting, is more than `maxLength` asks.
    """

    holds: Callable[[pl.Expr, Any], pl.Expr]
    check: str
    argument: str


MEANINGS: Mapping[str, Meaning] = {
    "pattern": Meaning(lambda cell, form: cell.str.contains(form), "str_matches", "pattern"),
    "enum": Meaning(pl.Expr.is_in, "isin", "allowed_values"),
    VOCABULARY: Meaning(pl.Expr.is_in, "isin", "allowed_values"),
    "minimum": Meaning(pl.Expr.ge, "greater_than_or_equal_to", "min_value"),
    "exclusiveMinimum": Meaning(pl.Expr.gt, "greater_than", "min_value"),
    "maximum": Meaning(pl.Expr.le, "less_than_or_equal_to", "max_value"),
    "exclusiveMaximum": Meaning(pl.Expr.lt, "less_than", "max_value"),
    "minLength": Meaning(lambda cell, n: cell.str.len_chars() >= n, "str_length", "min_value"),
    "maxLength": Meaning(lambda cell, n: cell.str.len_bytes() <= n, "str_length", "max_value"),
}
PRECEDENCE = ("required", "type", *MEANINGS)
"""Of a cell that breaks several constraints the first of these is told."""


class Limit(NamedTuple):
    """A constraint of a column by name, with the value that its cells are held to."""

    constraint: str
    value: Any

    @property
    def meaning(self) -> Meaning:
        """What it asks."""
        return MEANINGS[self.constraint]


def limits(field: Field, words: Collection[str] | None) -> Iterator[Limit]:
    """All that typed cells of a column are held to; `words` are what a foreign key may hold.

    Days are dates. Whether a cell may be blank is not among it. The field must have passed
    `hold_usable`.
    """
    if field.pattern:
        yield Limit("pattern", whole(field.pattern))
    for name, value in field.constraints.items():
        if name not in _ELSEWHERE:
            yield Limit(name, _typed(field, value))
    if words is not None:
        yield Limit(VOCABULARY, list(words))


def whole(pattern: str) -> str:
    """The expression for all of a text."""
    return f"^(?:{pattern})$"


def _typed(field: Field, value: Any) -> Any:
    if field.type != "date":
        return value
    read = TYPES["date"].read
    return [*map(read, value)] if isinstance(value, list) else read(value)


def hold_usable(schema: TableSchema) -> None:
    """Raise `UnreadableDataset` where a constraint cannot be applied to its column."""
    for field in schema.fields:
        _hold_usable(schema, field)


def _hold_usable(schema: TableSchema, field: Field) -> None:
    for name, limit in field.constraints.items():
        if not _usable(field, name, limit):
            raise UnreadableDataset(
                f"{schema.path}: field {field.name!r} is {field.type}, "
                f"its constraint {name!r} cannot be {json.dumps(limit)}",
                "See Table Schema in the Data Package standard for what the constraint may be.",
            )
    if field.pattern and not _is_known_to_every_engine(field.pattern):
        raise UnreadableDataset(
            f"{schema.path}: pattern of field {field.name!r} is none that every engine knows",
            "Write it without look-around and without references to groups.",
        )


@cache
def _is_known_to_every_engine(pattern: str) -> bool:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        return False
    return True


def _usable(field: Field, name: str, limit: Any) -> bool:
    """Whether a constraint's value is of the kind that its check wants."""
    if name in {"required", "unique"}:
        return isinstance(limit, bool)
    if name == "pattern":
        return isinstance(limit, str) and field.type == "string"
    if name in {"minLength", "maxLength"}:
        return type(limit) is int and 0 <= limit < _MACHINE_INTEGERS and field.type in TEXTS
    if name == "enum":
        return isinstance(limit, list) and all(_is_value(field, word) for word in limit)
    return field.type in {*NUMBERS, "date"} and _is_value(field, limit)


def _is_value(field: Field, value: object) -> bool:
    if field.type in NUMBERS:
        return type(value) is float or (type(value) is int and abs(value) < _MACHINE_INTEGERS)
    if field.type == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) and (field.type != "date" or _is_date(value))


def _is_date(text: str) -> bool:
    try:
        TYPES["date"].read(text)
    except ValueError:
        return False
    return True
