"""What a person says about a configuration, in the words of the dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rl_resources.contribute.proposal import Row
from rl_resources.dataset import Dataset
from rl_resources.package import Field, Record
from rl_resources.words import nearest, shown

OPTIONS = ("model", "task", "gpus", "device", "train", "infer", "tag")
"""Columns of the tuning table that a configuration consists of, each an option of the command."""

GROWING = {"model": "models", "device": "devices"}
"""Options whose unknown word may be a new row of a table, with that table."""


@dataclass(frozen=True)
class Request:
    """What was asked for, as it was written; `None` where nothing was.

    `added` holds the cells of the rows that are to be added to other tables, by resource.
    """

    model: str | None = None
    task: str | None = None
    gpus: str | None = None
    device: str | None = None
    train: str | None = None
    infer: str | None = None
    tag: str | None = None
    nodes: str | None = None
    contributor: str | None = None
    added: Mapping[str, Row] = field(default_factory=dict)

    def said(self, option: str) -> str | None:
        """The text of an option; `None` also where it is blank."""
        text: str | None = getattr(self, option)
        return text.strip() if text and text.strip() else None

    def saying(self, option: str, text: str) -> Request:
        """The same request with another text for one option."""
        changed: dict[str, Any] = {option: text}
        return replace(self, **changed)


class UnknownWord(ValueError):  # noqa: N818
    """A text that is no word of its column; the message says so and names the nearest."""


def column(dataset: Dataset, option: str) -> Field:
    """The column of the tuning table that an option fills."""
    return dataset.package.resources["tuning"].schema.field(option)


def known(dataset: Dataset, option: str) -> tuple[str, ...]:
    """All words of an option; none for a number or a handle."""
    schema = dataset.package.resources["tuning"].schema
    key = schema.foreign_key(option)
    if key is None:
        return tuple(schema.field(option).constraints.get("enum", ()))
    rows = dataset.records[key.resource]
    return tuple(str(row[key.reference]) for row in rows if row.get("role", option) == option)


def read(dataset: Dataset, option: str, text: str) -> str:
    """The word of the dataset that `text` means. Raises `UnknownWord`.

    Upper and lower case do not matter; a model may be named by its slug, a device by an alias.
    """
    words = known(dataset, option)
    if not words:
        return _free(column(dataset, option), text)
    meant = {other.lower(): word for word, other in _other_names(dataset, option)}
    meant |= {word.lower(): word for word in words}
    if (found := meant.get(text.lower())) is not None:
        return found
    close = nearest(text, words).sentence()
    raise UnknownWord(f"{option} `{shown(text)}` is not known. {close}".rstrip())


def _other_names(dataset: Dataset, option: str) -> Iterator[tuple[str, str]]:
    if option == "model":
        for row in dataset.records["models"]:
            yield str(row["model"]), str(row["slug"])
    if option == "device":
        for row in dataset.records["devices"]:
            for alias in _listed(row, "aliases"):
                yield str(row["device"]), alias


def _listed(row: Record, name: str) -> list[str]:
    value = row.get(name)
    items = value if isinstance(value, tuple) else str(value or "").split(";")
    return [item.strip() for item in items if item.strip()]


def _free(column: Field, text: str) -> str:
    """A number or a handle in its canonical form."""
    try:
        value = column.read(text)
    except ValueError:
        raise UnknownWord(f"{column.name} `{shown(text)}` is not {_wanted(column)}") from None
    if isinstance(value, int):
        least, most = (column.constraints.get(name) for name in ("minimum", "maximum"))
        if (least is not None and value < least) or (most is not None and value > most):
            raise UnknownWord(f"{column.name} `{shown(text)}` is not {_wanted(column)}")
    elif column.pattern and re.fullmatch(column.pattern, text) is None:
        raise UnknownWord(f"{column.name} `{shown(text)}` is not {_wanted(column)}")
    return column.write(value)


def _wanted(column: Field) -> str:
    if column.type == "integer":
        bounds = (column.constraints.get(name) for name in ("minimum", "maximum"))
        return "a whole number from {} to {}".format(*bounds)
    return f"one such as `{column.example}`"
