"""JSON values as the text that is published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def as_json(value: Mapping[str, Any]) -> str:
    """A document: keys in the order given, one row of a table a line."""
    lines = [f" {_compact(name)}: {_rows(item)}" for name, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def indented(value: Mapping[str, Any]) -> str:
    """A schema or a description, for people to read as well."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(item: Any) -> str:
    if not isinstance(item, list) or not all(isinstance(row, dict) for row in item):
        return _compact(item)
    rows = ",\n".join(f"  {_compact(row)}" for row in item)
    return f"[\n{rows}\n ]" if rows else "[]"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
