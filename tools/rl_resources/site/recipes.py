"""How the published data are used in other tools: `recipes.toml`, filled in.

The page of recipes and the tabs beside every table are made of it, and the tests run it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from rl_resources.dataset import Dataset

LOCAL = "http://localhost:8000/"
"""Stands for the site's address where it is not configured: there `make serve` shows the site."""

_PLAIN = re.compile(r"[A-Za-z0-9.]*")
_ID = re.compile(r"[A-Za-z0-9._-]+")
_ALL, _UNKNOWN = "", "unknown"

SHOWN: Mapping[str, tuple[str, ...]] = {
    "tuning": ("tag", "model", "task", "gpus", "device", "max_batch"),
    "reports": ("outcome", "model_as_published", "task", "gpus", "device"),
    "models": ("model", "size", "parameters_b", "layers"),
    "devices": ("device", "vendor", "memory_gb", "bf16_tflops"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """A text to copy, in a language; `title` names the tool, or the file where it belongs."""

    title: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """Codes that belong together under a heading, in this order or, as `tabs`, one of them."""

    id: str
    title: str
    about: str
    codes: tuple[Code, ...]
    tabs: bool = False


@cache
def _texts() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def of_table(dataset: Dataset, table: str, at: str, only: str | None = _ALL) -> tuple[Code, ...]:
    """A table in five tools; `only` is the size that is looked at, `None` rows without one."""
    only = _UNKNOWN if only is None else only
    if not _PLAIN.fullmatch(only):
        return ()  # what is copied into a shell is no place for a name that no rule lets through
    fields = dataset.package.resources[table].schema.fields
    return _filled(
        _texts()["table"],
        at=at,
        table=table,
        document="records" if table == "tuning" else table,
        shown=SHOWN[table],
        only=only,
        texts=[field.name for field in fields if field.name.endswith("_version")],
    )


def of_size(size: str, at: str) -> tuple[Code, ...]:
    """The records of a size in five tools."""
    if not _PLAIN.fullmatch(size):
        return ()
    return _filled(_texts()["size"], at=at, size=size.lower(), shown=SHOWN["tuning"])


def of_record(name: str, at: str) -> tuple[Code, ...]:
    """One record, by its id, in two tools."""
    return _filled(_texts()["record"], at=at, id=name) if _ID.fullmatch(name) else ()


def recipes(dataset: Dataset, at: str) -> tuple[Recipe, ...]:
    """All recipes of the page."""
    table = Recipe(
        "table",
        "A table in your language",
        "For each table there is such a snippet beside it, on its page.",
        of_table(dataset, "tuning", at),
        tabs=True,
    )
    rest = (
        Recipe(**{**item, "codes": _filled(item["codes"], at=at, version=dataset.version)})
        for item in _texts()["recipe"]
    )
    return (table, *rest)


def _filled(codes: Iterable[Mapping[str, str]], **values: Any) -> tuple[Code, ...]:
    return tuple(
        Code(
            title=_template(code["title"]).render(**values),
            language=code["language"],
            text=_template(code["text"]).render(**values),
        )
        for code in codes
    )


@cache
def _template(text: str) -> Template:
    return _environment.from_string(text)


_environment = Environment(  # noqa: S701 (code, in which nothing is escaped)
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
)
