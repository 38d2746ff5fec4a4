"""Everything the rules look at, read from disk once.

Rules are functions on this value and touch no file themselves.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rl_resources import tabular
from rl_resources.files import LARGEST_TABLE_BYTES, read_file, undecodable
from rl_resources.git import file_at, released_versions
from rl_resources.package import SCRIPTS, Package, Resource, TableSchema
from rl_resources.rule import Edit, Lines, rewritten, with_lines

LARGEST_SCRIPT_BYTES = 64 * 2**10
"""Seven times the longest that is recorded."""
STRANGE_NAME = "has a name that is not UTF-8"
TABLES_OF_RUNS = ("tuning", "reports")
"""The tables of configurations that ran. Their ids keep leading somewhere."""


class File:
    """The bytes of a table or a script; `None` where it cannot be read."""

    data: bytes | None
    executable: bool | None = None
    end: tabular.LineEnd | None = None

    @property
    def content(self) -> tuple[bytes | None, bool]:
        """Its bytes, and whether it is executable."""
        return self.data, bool(self.executable)

    @cached_property
    def undecodable(self) -> int | None:
        """See `undecodable`."""
        return undecodable(self.data or b"")

    @cached_property
    def source(self) -> str:
        """The text with its byte order mark; empty where it is not UTF-8."""
        if self.data is None or self.undecodable is not None:
            return ""
        return self.data.decode()


@dataclass(frozen=True, eq=False)
class Table(File):
    """One CSV file as it is on disk, and as far as it can be read.

    `data` is `None` when the file cannot be read at all; `problem` then says why. Of a file from
    outside the dataset every cell is reported by itself, for programs. Of a large one `some` are
    the records that are looked at, and `end` is its first wrong end of a line.
    """

    resource: Resource
    data: bytes | None
    problem: str = ""
    outside: bool = False
    some: tabular.Text | None = None
    end: tabular.LineEnd | None = None

    @property
    def path(self) -> str:
        """Path relative to the root."""
        return self.resource.path

    @property
    def schema(self) -> TableSchema:
        """The file's Table Schema."""
        return self.resource.schema

    @cached_property
    def decoded(self) -> str:
        """The file's text without its byte order mark; empty where it is not UTF-8."""
        return self.source.removeprefix("\ufeff")

    @cached_property
    def text(self) -> tabular.Text:
        """The file's records with their places."""
        return self.some or tabular.read(self.decoded)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The column names that the file gives; empty where it gives none."""
        if self.text.header is None:
            return ()
        return self.text.header.cells

    @cached_property
    def rows(self) -> tuple[tabular.Row, ...]:
        """The records that can be read: none under another header than the schema's."""
        if self.header != self.schema.names:
            return ()
        return tuple(row for row in self.text.rows if self._is_record(row))

    def _is_record(self, row: tabular.Row) -> bool:
        names = self.schema.names
        if len(row.cells) != len(names) or not any(row.cells):
            return False
        return row.cells != names  # the header is repeated

    @cached_property
    def lost(self) -> bool:
        """Whether there are records that cannot be read: a key that is not found may be theirs."""
        if self.header != self.schema.names or self.text.defects:
            return True
        width = len(self.schema.names)
        other_rows = [row for row in self.text.rows if len(row.cells) != width]
        return not all(row.empty for row in other_rows)

    @cached_property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """Cells of `rows` by column."""
        names = self.schema.names
        if not self.rows:
            return dict.fromkeys(names, ())
        columns = zip(*(row.cells for row in self.rows), strict=True)
        return dict(zip(names, columns, strict=True))

    @cached_property
    def keys(self) -> Mapping[str, int]:
        """Its rows by the first column of its key; the first row of each that is not empty."""
        found: dict[str, int] = {}
        for row, cell in enumerate(self.columns[self.schema.primary_key[0]]):
            if cell:
                found.setdefault(cell, row)
        return found

    def cell(self, row: int, name: str) -> str:
        """The text of column `name` in row `row` of `rows`; empty where there is no such column."""
        if name not in self.columns:
            return ""
        return self.columns[name][row]

    def cells(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The texts of these columns in each of `rows`."""
        columns = [self.columns[name] for name in names]
        return list(zip(*columns, strict=True))

    def with_lines(self, lines: Lines) -> Iterator[Edit]:
        """Its file with these lines."""
        if lines and self.data is not None:
            yield rewritten(self.path, with_lines(self.source, lines))


_VARIANT = re.compile(r"[1-9][0-9]*k|min|recommended")


def variant_of(directory: str) -> str:
    """The last folder where it sets a script apart from another of its name, otherwise nothing.

    It is the longest sequence, in units of 1,024 tokens, or a tag.
    """
    _, _, folder = directory.rpartition("/")
    return folder if _VARIANT.fullmatch(folder) else ""


def name_of(path: str) -> str:
    """The name of a script, after the folder that sets it apart from another of that name."""
    directory, _, name = path.rpartition("/")
    folder = variant_of(directory)
    return f"{folder}/{name}" if folder else name


@dataclass(frozen=True)
class ScriptFile(File):
    """One entry below the directory of scripts.

    `data` is `None` where the entry is a link, no ordinary file that can be read, or too large.
    `executable` is `None` where the system does not know.
    """

    path: str
    data: bytes | None = None
    executable: bool | None = None
    problem: str = (
        f"is a link, no ordinary file, or over {LARGEST_SCRIPT_BYTES >> 10} KiB"
    )

    @property
    def name(self) -> str:
        """The name that records have for it."""
        return name_of(self.path)

    @property
    def text(self) -> str | None:
        """The file's text; `None` where it has none in UTF-8."""
        if self.data is None or self.undecodable is not None:
            return None
        return self.source

    @property
    def directory(self) -> str:
        """The directory, relative to the root."""
        directory, _, _ = self.path.rpartition("/")
        return directory


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The dataset and the scripts at one moment."""

    package: Package
    tables: Mapping[str, Table]
    scripts: tuple[ScriptFile, ...]
    published: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids of the newest release, by table; of tables alone that have changed since."""

    @property
    def files(self) -> tuple[ScriptFile | Table, ...]:
        """Its scripts, then its tables."""
        return (*self.scripts, *self.tables.values())

    def row(self, resource: str, key: str) -> Mapping[str, str]:
        """The row of a table with this key; empty where there is none."""
        table = self.tables[resource]
        row = table.keys.get(key)
        if row is None:
            return {}
        return dict(zip(table.schema.names, table.rows[row].cells, strict=True))


def take_snapshot(package: Package) -> Snapshot:
    """Read all that the rules look at. A file that cannot be read is part of the snapshot."""
    return Snapshot(
        package=package,
        tables=read_tables(package),
        scripts=tuple(_script_files(package.root)),
        published=_published_ids(package),
    )


def _published_ids(package: Package) -> Mapping[str, Sequence[str]]:
    """The ids of the newest release, by table; none where there is no release to compare."""
    versions = released_versions(package.root)
    tables = package.resources["moved"].schema.field("resource").words
    if not versions:
        return dict.fromkeys(tables, ())
    newest = f"v{versions[0]}"
    return {name: _released_ids(package, newest, name) for name in tables}


def _released_ids(package: Package, tag: str, name: str) -> tuple[str, ...]:
    """The ids of a table in a release; none where it cannot be read."""
    resource = package.resources[name]
    key = resource.schema.primary_key[0]
    rows = rows_at(package, tag, resource.path)
    ids = (row.get(key, "") for row in rows)
    return tuple(id_.removesuffix(".sh") for id_ in ids if id_)


def rows_at(package: Package, revision: str, path: str) -> list[dict[str, str]]:
    """The rows of a table in a revision of git; none where it cannot be read."""
    data = file_at(package.root, revision, path) or b""
    try:
        return tabular.mappings(data.decode("utf-8", "replace"))
    except ValueError:
        return []


def read_tables(package: Package) -> dict[str, Table]:
    """The tables of a package by name; nothing else reads their CSV files."""
    return {
        name: _read_table(package.root, item)
        for name, item in package.resources.items()
    }


def _read_table(root: Path, resource: Resource) -> Table:
    path = root / resource.path
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(root)):
        return Table(resource, None, "is a link that leaves the dataset")
    try:
        return Table(resource, read_file(path, LARGEST_TABLE_BYTES))
    except OSError as error:
        return Table(resource, None, f"cannot be read: {error.strerror}")


def _script_files(root: Path) -> list[ScriptFile]:
    files = [_script_file(root, path) for path in _script_paths(root)]
    return sorted(files, key=lambda script: script.path)


def _script_paths(root: Path) -> Iterator[Path]:
    for path in (root / SCRIPTS).rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield path


def _script_file(root: Path, path: Path) -> ScriptFile:
    data = None
    if not path.is_symlink():
        data = script_data(path)
    executable = None
    if os.name != "nt":  # Windows has no mode of execution
        executable = bool(path.lstat().st_mode & stat.S_IXUSR)
    below = path.relative_to(root).as_posix()
    name = below.encode("utf-8", "backslashreplace").decode()
    if name != below:
        return ScriptFile(name, None, executable, STRANGE_NAME)
    return ScriptFile(below, data, executable)


def script_data(path: Path) -> bytes | None:
    """The bytes of a script; `None` where it is no ordinary file that can be read, or too large."""
    try:
        return read_file(path, LARGEST_SCRIPT_BYTES)
    except OSError:
        return None
