"""The promise of `promise.py`, kept: what a release published, and what would break its readers.

A shape is what a program may have been written against: every address and the schema behind it
without its words. A reader is broken by what goes away or widens, never by what is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rl_resources.dataset import Dataset
from rl_resources.query.diff import TableDiff, key_of
from rl_resources.site.api.document import Document
from rl_resources.site.api.schema import COMPONENTS, component_of, components

Shape = Mapping[str, Any]
_KEPT = ("$ref", "type", "format", "enum", "required")


def shape(dataset: Dataset, listed: Sequence[Document]) -> dict[str, Any]:
    """The addresses with their schemas, and these schemas, as JSON values."""
    return {
        "paths": {item.path: component_of(item.schema) for item in listed},
        "schemas": {name: _bare(schema) for name, schema in components(dataset).items()},
    }


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without titles, descriptions, examples and bounds."""
    found: dict[str, Any] = {name: schema[name] for name in _KEPT if name in schema}
    if "properties" in schema:
        found["properties"] = {name: _bare(item) for name, item in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if name in schema:
            found[name] = _bare(schema[name])
    if "anyOf" in schema:
        found["anyOf"] = [_bare(item) for item in schema["anyOf"]]
    return found


def breaks(old: Shape, new: Shape) -> list[str]:
    """What a reader of `old` would stumble over in `new`, a sentence each, none twice."""
    found = [f"{path}: the address is gone" for path in old["paths"] if path not in new["paths"]]
    pairs = {
        (name, new["paths"][path]) for path, name in old["paths"].items() if path in new["paths"]
    }
    seen: set[tuple[str, str]] = set()
    for pair in sorted(pairs):
        found += _components(old["schemas"], new["schemas"], *pair, seen)
    return found


def lost_ids(dataset: Dataset, since: Sequence[TableDiff]) -> dict[str, list[str]]:
    """Ids of records and reports that are gone and lead nowhere, by table."""
    moved = {(row["resource"], row["id"]) for row in dataset.records["moved"]}
    return {
        change.name: [name for name in _gone(change) if (change.name, name) not in moved]
        for change in since
        if change.name in {"tuning", "reports"}
    }


def _gone(change: TableDiff) -> Iterator[str]:
    keys = [key_of(row, change.key) for row in change.removed]
    for key in [*keys, *(pair.old for pair in change.renamed)]:
        yield key[0].removesuffix(".sh") if change.name == "tuning" else key[0]


def _components(
    old: Shape, new: Shape, name: str, other: str, seen: set[tuple[str, str]]
) -> Iterator[str]:
    """Compare two components, those that they refer to in turn, no pair twice."""
    if (name, other) in seen:
        return
    seen.add((name, other))
    yield from _schemas(old, new, old[name], new[other], name, seen)


def _schemas(
    old: Shape, new: Shape, before: Shape, after: Shape, place: str, seen: set[tuple[str, str]]
) -> Iterator[str]:
    if told := _type_break(_types(old, before), _types(new, after)):
        yield f"{place}: {told}"
        return
    one, other = _present(before), _present(after)
    if "$ref" in one and "$ref" in other:
        yield from _components(old, new, _target(one), _target(other), seen)
        return
    one, other = _resolved(old, one), _resolved(new, other)
    yield from _word_breaks(one, other, place)
    for name, item in one.get("properties", {}).items():
        here = f"{place}.{name}"
        if name not in other.get("properties", {}):
            yield f"{here}: the field is gone"
            continue
        if name in one.get("required", ()) and name not in other.get("required", ()):
            yield f"{here}: the field may be missing"
        yield from _schemas(old, new, item, other["properties"][name], here, seen)
    for name, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if name in one:
            yield from _schemas(old, new, one[name], other.get(name, {}), f"{place}{mark}", seen)


def _type_break(old: set[str], new: set[str]) -> str:
    """Every whole number is a number, and who bears null does well without it."""
    borne = old | ({"integer"} if "number" in old else set())
    if new and new <= borne and (new - {"null"} or not old - {"null"}):
        return ""
    return f"the type was {_listed(old)} and is {_listed(new)}"


def _word_breaks(old: Shape, new: Shape, place: str) -> Iterator[str]:
    words = new.get("enum", old.get("enum", ()))
    for word in old.get("enum", ()):
        if word is not None and word not in words:
            yield f"{place}: the word {word!r} is gone from its vocabulary"
    if "format" in old and old["format"] != new.get("format"):
        yield f"{place}: the format was {old['format']} and is {new.get('format', 'any')}"


def _listed(types: set[str]) -> str:
    return " or ".join(sorted(types)) or "anything"


def _types(known: Shape, schema: Shape) -> set[str]:
    """The types that a value may have; none where any will do."""
    if "$ref" in schema:
        return _types(known, known[_target(schema)])
    if "anyOf" in schema:
        return set().union(*(_types(known, item) for item in schema["anyOf"]))
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def _present(schema: Shape) -> Shape:
    """The schema of a value that is not null."""
    shapes: list[Shape] = schema.get("anyOf", [schema])
    return next((item for item in shapes if item.get("type") != "null"), schema)


def _resolved(known: Shape, schema: Shape) -> Shape:
    return known[_target(schema)] if "$ref" in schema else schema


def _target(schema: Shape) -> str:
    return str(schema["$ref"]).removeprefix(COMPONENTS)
