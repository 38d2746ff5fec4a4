"""The descriptor (`datapackage.json`) and its Table Schemas as values.

The Table Schema files are the one source of truth about columns. An unknown type, constraint or
property is an error, never silently passed over; a value that makes no sense is one when the schema
is applied.
Source of the vocabulary: Data Package 2.0, https://datapackage.org/standard/table-schema/.
Properties of our own are `itemPattern` (the form of each item of a list), `itemReference` (the
table whose keys are the items), `unit`, `example` and `mlperf` (the corresponding name in MLPerf
system descriptions) on a field, and `orderBy` (canonical row order, as paths along foreign keys) on
a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as part
from datetime import date
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from rl_resources import tabular
from rl_resources.descriptor import DESCRIPTOR as DESCRIPTOR
from rl_resources.descriptor import read_descriptor
from rl_resources.errors import UnreadableDataset
from rl_resources.files import LARGEST_TABLE_BYTES, read_file, table_beside

SCRIPTS = PurePosixPath("examples/tuning")

Value = str | int | float | bool | date | tuple[str, ...] | None
Record = Mapping[str, Value]

LONGEST_HELP = 400
"""The characters of a description that a finding repeats."""


class FieldType(NamedTuple):
    """How a Table Schema type is written in a cell, read from it, and called in a JSON Schema."""

    pattern: str
    words: str
    is_written: Callable[[str], object]
    read: Callable[[str], Value]
    json: Mapping[str, Any]


_TABLE = table_beside(__file__)
_READ: Mapping[str, Callable[[str], Value]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": "true".__eq__,
    "date": date.fromisoformat,
    "list": str,
}
TYPES: dict[str, FieldType] = {}
for _name, _kind in _TABLE["types"].items():
    _is_written = re.compile(_kind["pattern"]).fullmatch
    TYPES[_name] = FieldType(is_written=_is_written, read=_READ[_name], **_kind)


def number(cell: str) -> float | None:
    """The value of a cell that is written as a number."""
    if not TYPES["number"].is_written(cell):
        return None
    return float(cell)


TEXTS = frozenset({"string", "list"})
"""The types whose cells are text."""
NUMBERS = frozenset({"integer", "number"})

CONSTRAINTS = frozenset(_TABLE["constraints"])
_FOR_OTHERS: Sequence[str] = _TABLE["for_others"]
"""Properties that are no attributes of `Field`: what other programs read, and a table's name."""


@dataclass(frozen=True)
class Field:
    """One column. `constraints` has the words of the Table Schema standard, `example` is a cell."""

    name: str
    type: str
    title: str
    description: str
    constraints: Mapping[str, Any] = part(default_factory=dict, hash=False)
    format: str = "default"
    delimiter: str = ","
    item_pattern: str = ""
    unit: str = ""
    example: str = ""
    mlperf: str = ""

    @property
    def pattern(self) -> str | None:
        """The regular expression of a whole cell, also where the items of a list have one."""
        if self.item_pattern:
            return f"{self.item_pattern}(?:{re.escape(self.delimiter)}{self.item_pattern})*"
        pattern: str | None = self.constraints.get("pattern")
        return pattern

    @property
    def item_words(self) -> tuple[str, ...]:
        """The items that a list may have, where they are a closed list of words."""
        words = re.fullmatch(r"\(\?:([a-z0-9|-]+)\)", self.item_pattern)
        if words is None:
            return ()
        return tuple(words[1].split("|"))

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a cell may be, where they are an enumeration."""
        return tuple(str(word) for word in self.constraints.get("enum", ()))

    def explained(self, words: Iterable[str]) -> str:
        """What its words mean: the description if it is short, otherwise the words alone."""
        quoted = [f"`{word}`" for word in words]
        short = len(self.description) <= LONGEST_HELP
        if short and all(word in self.description for word in quoted):
            return self.description
        return f"Known values are {', '.join(quoted)}."

    @property
    def sentence(self) -> str:
        """The description with the unit, for formats that have no place for a unit."""
        if not self.unit:
            return self.description
        return f"{self.description} Unit: {self.unit}."

    @property
    def required(self) -> bool:
        """Whether an empty cell is wrong."""
        return bool(self.constraints.get("required", False))

    def read(self, cell: str) -> Value:
        """The typed value of a cell; an empty one is `None`.

        Raises `ValueError` where the cell is not written as the type wants it.
        """
        if cell == "":
            return None
        kind = TYPES[self.type]
        if not kind.is_written(cell):
            raise ValueError(f"{cell!r} is not {kind.words}")
        if self.type == "list":
            return tuple(cell.split(self.delimiter))
        return kind.read(cell)

    def write(self, value: Value) -> str:
        """The cell that `read` turns into `value`."""
        match value:
            case None:
                return ""
            case bool():
                return "true" if value else "false"
            case tuple():
                return self.delimiter.join(value)
            case float():
                return repr(value).removesuffix(".0")
            case date():
                return value.isoformat()
        return str(value)


class ForeignKey(NamedTuple):
    """A column whose words are the keys of another resource."""

    field: str
    resource: str
    reference: str


@dataclass(frozen=True)
class TableSchema:
    """One Table Schema file; `document` is the file's JSON."""

    path: str
    title: str
    description: str
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    order_by: tuple[str, ...]
    document: Mapping[str, Any] = part(hash=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def fields_to_read(self) -> list[tuple[int, Field]]:
        """The columns that are no text as they are written, each with its index."""
        numbered = enumerate(self.fields)
        return [item for item in numbered if item[1].type != "string"]

    @property
    def unique_keys(self) -> tuple[tuple[str, ...], ...]:
        """The primary key, then every other column that is unique by itself."""
        keys = [self.primary_key]
        keys += [
            (field.name,) for field in self.fields if field.constraints.get("unique")
        ]
        return tuple(dict.fromkeys(keys))

    def field(self, name: str) -> Field:
        """The column called `name`."""
        return self.fields[self.names.index(name)]

    def foreign_key(self, name: str) -> ForeignKey | None:
        """The foreign key of column `name`, if it has one."""
        for key in self.foreign_keys:
            if key.field == name:
                return key
        return None


@dataclass(frozen=True)
class Resource:
    """One table of the package: its CSV file and its schema."""

    name: str
    path: str
    schema: TableSchema


@dataclass(frozen=True)
class Package:
    """The whole descriptor; `document` is the file's JSON."""

    root: Path
    resources: Mapping[str, Resource]
    document: Mapping[str, Any]

    @property
    def version(self) -> str:
        """The CalVer version."""
        return str(self.document["version"])

    @property
    def created(self) -> str:
        """The day of the version as ISO text."""
        day, _, _ = str(self.document["created"]).partition("T")
        return day


def read_package(root: Path) -> Package:
    """Read the descriptor and all its schemas.

    Raises `InvalidDataset` with what is wrong in the descriptor, and `UnreadableDataset` with the
    file and the reason when any of them cannot be used.
    """
    with _understood(DESCRIPTOR):
        descriptor = read_descriptor(root)
        resources = _resources(root, descriptor["resources"])
        _check_references(resources)
        return Package(root, resources, descriptor)


def _resources(
    root: Path, described: Iterable[Mapping[str, Any]]
) -> Mapping[str, Resource]:
    """The tables of a package by name."""
    paths = {item["name"]: root / item["path"] for item in described}
    resources: dict[str, Resource] = {}
    for item in described:
        name = item["name"]
        schema = _table_schema(root, item["schema"], paths)
        resources[name] = Resource(name, item["path"], schema)
    return resources


@contextmanager
def _understood(path: str) -> Iterator[None]:
    """Raise `UnreadableDataset` where a file is not what the standard says, or cannot be read."""
    again = "Correct it: `git diff` shows what was changed since the last commit."
    try:
        yield
    except OSError as error:
        help_ = f"Name the directory that has {DESCRIPTOR} with --root, or bring the file back."
        raise UnreadableDataset(
            f"{path}: cannot be read: {error.strerror}", help_
        ) from error
    except KeyError as error:
        raise UnreadableDataset(
            f"{path}: property {error} is missing", again
        ) from error
    except RecursionError as error:
        raise UnreadableDataset(f"{path}: is nested too deep", again) from error
    except (ValueError, TypeError, AttributeError, re.error) as error:
        raise UnreadableDataset(f"{path}: {error}", again) from error


def _table_schema(root: Path, path: str, tables: Mapping[str, Path]) -> TableSchema:
    with _understood(path):
        raw = _read_json(root, path)
        return TableSchema(
            path=path,
            title=raw["title"],
            description=raw["description"],
            fields=tuple(_field(field, tables) for field in raw["fields"]),
            primary_key=tuple(raw["primaryKey"]),
            foreign_keys=tuple(map(_foreign_key, raw.get("foreignKeys", ()))),
            order_by=tuple(raw["orderBy"]),
            document=raw,
        )


def _field(raw: Mapping[str, Any], tables: Mapping[str, Path]) -> Field:
    """One column. Raises `ValueError` or `TypeError` for what nothing would check."""
    properties = {name: raw[name] for name in raw if name not in _FOR_OTHERS}
    item_pattern = properties.pop("itemPattern", "")
    if "itemReference" in raw:
        item_pattern = _any_key(tables[raw["itemReference"]])
    field = Field(**properties, item_pattern=item_pattern)
    unknown = {field.type, *field.constraints} - {*TYPES, *CONSTRAINTS}
    if unknown:
        raise ValueError(
            f"field {field.name!r} has {min(unknown)!r}, which nothing checks"
        )
    re.compile(field.pattern or "")
    return field


def _any_key(path: Path) -> str:
    """The regular expression of the keys in a table.

    Any item is allowed while the table is missing or empty: its own rules report that.
    """
    if not path.is_file():
        return ""
    text = path.read_text("utf-8", "replace")
    keys = [row.cells[0] for row in tabular.read(text).rows]
    words = [key for key in keys if re.fullmatch("[a-z0-9-]+", key)]
    if not words:
        return ""
    return f"(?:{'|'.join(words)})"


def _foreign_key(raw: Mapping[str, Any]) -> ForeignKey:
    (field,) = raw["fields"]
    (reference,) = raw["reference"]["fields"]
    return ForeignKey(field, raw["reference"]["resource"], reference)


def _check_references(resources: Mapping[str, Resource]) -> None:
    """Raise `UnreadableDataset` where a key or an order leads to no field."""
    schemas = [resource.schema for resource in resources.values()]
    for schema in schemas:
        for key in schema.foreign_keys:
            _follow(schema, f"{key.field}.{key.reference}", resources)
    for schema in schemas:
        for path in (*schema.primary_key, *schema.order_by):
            _follow(schema, path, resources)


def _follow(schema: TableSchema, path: str, resources: Mapping[str, Resource]) -> None:
    """Raise `UnreadableDataset` where a dotted path along foreign keys leads to no field."""
    here: TableSchema | None = schema
    for name in path.split("."):
        if here is None or name not in here.names:
            raise UnreadableDataset(f"{schema.path}: {path!r} leads to no field")
        key = here.foreign_key(name)
        here = None
        if key and key.resource in resources:
            here = resources[key.resource].schema


def _read_json(root: Path, path: str) -> Any:
    return json.loads(read_file(root / path, LARGEST_TABLE_BYTES))


def text_of(record: Record, name: str) -> str:
    """A cell of a record as text; empty where nothing is known."""
    value = record[name]
    if value is None:
        return ""
    return str(value)


def items_of(record: Record, name: str) -> tuple[str, ...]:
    """The items of a cell that is a list; none where nothing is known."""
    value = record[name]
    if not isinstance(value, tuple):
        return ()
    return value
