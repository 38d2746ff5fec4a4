"""Hand-kept pages: read into the values below, validated, turned into records.

`reader.py` makes the values, and only it needs docutils. At the end: the script that a cell links.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import basename
from typing import NamedTuple
from urllib.parse import unquote

from rl_resources.facts.models import SIZE_IN_NAME
from rl_resources.facts.script_names import parsed
from rl_resources.files import UTF_8
from rl_resources.rule import Mistake
from rl_resources.snapshot import variant_of
from rl_resources.text import only

LARGEST_PAGE_BYTES = 1 << 18
"""That of five hundred records."""
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([BM])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as one line of text; its first hyperlink, if any, leads to `target`.

    `line` and `column` count from 1 and say where its markup begins.
    """

    text: str
    target: str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class PageRow:
    """The cells of one row, as many as the page has; `line` and `column` are those of the row."""

    cells: tuple[Cell, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and its underline; not `made` if docutils reads both as ordinary text."""

    title: str
    line: int
    underline: str
    made: bool

    @property
    def billions(self) -> float | None:
        """The model size that it names, in billions of parameters."""
        match = _SIZE.fullmatch(self.title)
        if match is None:
            return None
        size = float(match[1])
        if match[2] in "mM":
            size /= 1000
        return size


@dataclass(frozen=True, slots=True)
class PageTable:
    """The first row of a table, and the others in which a cell says anything."""

    header: PageRow
    rows: tuple[PageRow, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its lines, headings and tables in order; `mistakes` are its unreadable tables."""

    path: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    tables: tuple[PageTable, ...]
    mistakes: tuple[Mistake, ...]
    encoding: str = UTF_8

    def heading_above(self, cell: Cell) -> Heading | None:
        """The heading that readers see above a cell, even if docutils takes it for text."""
        for heading in reversed(self.headings):
            if heading.line < cell.line:
                return heading
        return None


def width(text: str) -> int:
    """The columns of a text: docutils counts two for a wide character."""
    columns = len(text)
    for character in text:
        if unicodedata.east_asian_width(character) in {"W", "F"}:
            columns += 1
    return columns


# The script that a row links to: its name in the cell and its file

_NO_PATH = re.compile(r"^[a-z]+:(?://[^/?#]*)?|[?#].*")
"""What of a URL is not its path."""
_COMMIT = re.compile(r"(?:^|/)[0-9a-f]{40}(?:/|$)")
_AS_TEXT = re.compile(
    r"(?<![^\s<>\[\]()\"`])([^\s<>\[\]()\"`]+\.sh)[`\]]?\s*[<(]\s*([^\s<>()]+\.sh)\s*[>)]"
)


@dataclass(frozen=True, slots=True)
class Link:
    """What a Link cell leads to.

    `label` and `target` are the script names in its label and in its URL, of which the second one
    counts. `folder` is the size in its URL, `variant` the folder below it. Each is empty if there
    is none. `file` is the path of that script under the directory of scripts, or of the only one
    with nearly its name; `None` if there is none, or if the scripts are unknown.

    `missing` says that there is no such script. A URL with a commit may lead to a script that the
    directory lacks, so there it is said only if a script has nearly that name.
    """

    label: str
    target: str
    folder: str
    variant: str
    file: str | None
    missing: bool

    @property
    def script(self) -> str:
        """The file name of the script."""
        return self.target or self.label

    @property
    def ambiguous(self) -> bool:
        """Whether label and URL name two scripts."""
        if not self.label:
            return False
        return _with_hyphens(self.label) != _with_hyphens(self.script)

    @property
    def key(self) -> str:
        """The script as a record names it."""
        if not self.variant:
            return self.script
        return f"{self.variant}/{self.script}"

    @property
    def read(self) -> str | None:
        """The file to check the row against."""
        if self.ambiguous:
            return None
        return self.file


class _PathParts(NamedTuple):
    """What a path says of a script: its file name, the folder of a size and the one below it.

    The name is empty if it is none of a script; it may lack its `.sh`.
    """

    name: str
    folder: str
    variant: str


def link_of(cell: Cell, scripts: Sequence[str] | None) -> Link | None:
    """What a cell leads to; `None` if it names no script.

    `scripts` are paths below the directory of scripts.
    """
    text = cell.text.strip()
    url = cell.target or ""
    broken = link_as_text(cell)
    if broken:
        text, url = broken
    path = unquote(_NO_PATH.sub("", url))
    said = _in_path(text)
    linked = _in_path(path)
    label = ""
    if said.name:
        label = f"{said.name.removesuffix('.sh')}.sh"
    script = linked.name or label
    if not script:
        return None
    variant = linked.variant or said.variant
    known = scripts or ()
    exact = _file_of(_PathParts(script, linked.folder, variant), known)
    file = exact or _file_nearly_of(script, known)
    # A commit may have a script that the directory lacks.
    may_exist = not file and _COMMIT.search(path)
    missing = scripts is not None and not exact and not may_exist
    return Link(label, linked.name, linked.folder, variant, file, missing)


def link_as_text(cell: Cell) -> tuple[str, str] | None:
    """Label and URL of a link whose markup is wrong, so that readers see it as text."""
    match = _AS_TEXT.search(cell.text)
    if match is None:
        return None
    return match[1], match[2]


def _in_path(path: str) -> _PathParts:
    """What a path says of a script."""
    place = PurePosixPath(path)
    name = place.name
    if place.suffix != ".sh" and not parsed(f"{name}.sh"):
        name = ""
    parent = place.parent
    variant = variant_of(parent.as_posix())
    if variant:
        parent = parent.parent
    folder = parent.name.lower()
    if not SIZE_IN_NAME.fullmatch(folder):
        folder = ""
    return _PathParts(name, folder, variant)


def _file_of(wanted: _PathParts, scripts: Sequence[str]) -> str | None:
    """The path of a script by its file name, in the directory of its size or in none."""
    for path in scripts:
        found = _in_path(path)
        is_of_size = not wanted.folder or found.folder in {"", wanted.folder}
        is_same = (found.name, found.variant) == (wanted.name, wanted.variant)
        if is_same and is_of_size:
            return path
    return None


def _file_nearly_of(script: str, scripts: Sequence[str]) -> str | None:
    """The path of the only script whose name differs just in case or in `_` for `-`."""
    name = _with_hyphens(script)
    like = [path for path in scripts if _with_hyphens(basename(path)) == name]
    return only(like) or None


def _with_hyphens(name: str) -> str:
    """A name in lower case with `-` for every separator."""
    return re.sub(r"[_-]+", "-", name.lower())
