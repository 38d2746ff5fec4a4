"""How the published data are used in other tools: `recipes.toml`, filled in.

The page of recipes and the tabs below every table are made of it, and the tests run it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rl_resources.dataset import Dataset
from rl_resources.site.templates import environment

LOCAL = "http://localhost:8000/"
"""In place of the site's URL where it is not configured: there `make serve` shows the site."""

SHOWN: Mapping[str, tuple[str, ...]] = {
    "tuning": ("tag", "model", "task", "gpus", "device", "max_batch"),
    "reports": ("outcome", "model_as_published", "task", "gpus", "device"),
    "models": ("model", "size", "parameters_b", "layers"),
    "devices": ("device", "vendor", "memory_gb", "bf16_tflops"),
}


class Code(NamedTuple):
    """A text to copy, in a language; `title` names the tool, or the file where it belongs."""

    title: str
    language: str
    text: str


@cache
def _texts() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def of_table(dataset: Dataset, table: str, at: str, only: str = "") -> tuple[Code, ...]:
    """A table in five tools, or its rows of `only` a size."""
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
    return _filled(_texts()["size"], at=at, size=size.lower(), shown=SHOWN["tuning"])


def of_record(name: str, at: str) -> tuple[Code, ...]:
    """One record, by its id, in two tools."""
    return _filled(_texts()["record"], at=at, id=name)


def recipes(dataset: Dataset, at: str) -> list[dict[str, Any]]:
    """All recipes of the page: codes under a heading, in this order or, as `tabs`, one of them."""
    every = _texts()["recipe"]
    made = [{"tabs": False, **item, "codes": _filled(item["codes"], at=at)} for item in every]
    about = "For each table there is such a snippet on its page."
    table = {"id": "table", "title": "A table in your language", "about": about, "tabs": True}
    return [table | {"codes": of_table(dataset, "tuning", at)}, *made]


def _filled(codes: Iterable[Mapping[str, str]], **values: Any) -> tuple[Code, ...]:
    return tuple(
        Code(*(_template(code[part]).render(values) for part in Code._fields)) for code in codes
    )


_template = cache(environment().from_string)  # most are filled once for each size
