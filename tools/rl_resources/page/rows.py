"""The rows of a page as tuning records. What a row does not say stays empty; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import PurePosixPath
from urllib.parse import unquote

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.facts.words import Fact, known_words, read_word
from rl_resources.package import Record, text_of
from rl_resources.page.reader import Cell, Page, Row, Table
from rl_resources.rule import Mistake
from rl_resources.script.name import PARTS, parsed
from rl_resources.text import shown

HEADER_OF: Mapping[str, str] = {
    "tag": "Tag",
    "model": "Model",
    "task": "Task",
    "gpus": "Resource",
    "device": "Resource",
    "max_batch": "MaxBatch",
    "train": "Train",
    "infer": "Infer",
    "infer_version": "Infer",
    "script": "Link",
    "contributor": "Contributor",
}
"""The columns that a row of a page fills, each with the header of its cell."""

HEADERS = tuple(dict.fromkeys(HEADER_OF.values()))
FRAMEWORK = "verl"
"""A page does not say which framework its scripts configure."""

_FEWEST_KNOWN = 3
"""Headers that make a table one of runs, and sizes that make models a family."""
_RESOURCE = re.compile(r"((?:[1-9][0-9]{0,8}\s*[*xX\u00d7]\s*){1,2})(\S.*)")
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|not run)\))?")
_DASHES = ("-", "\u2013", "\u2014")
"""In place of what a cell does not say."""
_STATUSES = {"disputed": "disputed", "not run": "untested"}
_INFER = re.compile(r"(.*?)[\s=v-]*(\d.*)?")
_MODEL_SIZE = re.compile(r"(\D[a-z0-9.-]*?-)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9]|-a[0-9])")

# The script that a row links

_NO_PATH = re.compile(r"^[a-z]+:(?://[^/?#]*)?|[?#].*")
"""What of a URL is not its path."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SIZE_FOLDER = re.compile(r"[0-9]+(?:\.[0-9]+)?b", re.IGNORECASE)
_AS_TEXT = re.compile(
    r"(?<![^\s<>\[\]()\"`])([^\s<>\[\]()\"`]+\.sh)[`\]]?\s*[<(]\s*([^\s<>()]+\.sh)\s*[>)]"
)


@dataclass(frozen=True, slots=True)
class Link:
    """What a Link cell leads to.

    `label` and `target` are the names that its label and its URL say, `folder` is the size in its
    URL. `script` is the file name that it means, `file` the path of that script under the directory
    of scripts, or of the one whose name differs only in case or in `_` for `-`. They are `None`
    where there is none, or where the scripts are unknown. `missing` says that there is no such
    script; of a URL with a commit, which may hold others, only where one is nearly so. It is
    `ambiguous` where label and URL name two scripts, and the row has the six facts of neither.
    Names that differ in case, or in `_` for `-`, are one.
    """

    script: str
    label: str | None
    target: str | None
    folder: str | None
    file: str | None
    missing: bool
    ambiguous: bool

    @property
    def read(self) -> str | None:
        """The file to check the row against."""
        return None if self.ambiguous else self.file


def link_of(cell: Cell, scripts: Sequence[str] | None) -> Link | None:
    """What the cell leads to; `None` where it names no script at all.

    `scripts` are paths below the directory of scripts. Of two names that of the URL is meant.
    """
    text, url = link_as_text(cell) or (cell.text.strip(), cell.target or "")
    address = PurePosixPath(unquote(_NO_PATH.sub("", url)))
    label, target = _script_name(PurePosixPath(text)), _script_name(address)
    label = f"{label.removesuffix('.sh')}.sh" if label else None
    script = target or label
    if script is None:
        return None
    folder = address.parent.name.lower() if target else ""
    size = folder if _SIZE_FOLDER.fullmatch(folder) else None
    known = list(map(PurePosixPath, scripts or ()))
    exact = (path for path in known if path.name == script and _may_lie_in(path, size))
    file = next(exact, None)
    like = [path for path in known if _plain(path.name) == _plain(script)]
    found = file or (like[0] if len(like) == 1 else None)
    may_be_another = any(map(_COMMIT.fullmatch, address.parts)) and not found
    missing = scripts is not None and file is None and not may_be_another
    ambiguous = _plain(label or script) != _plain(script)
    return Link(script, label, target, size, str(found) if found else None, missing, ambiguous)


def link_as_text(cell: Cell) -> tuple[str, str] | None:
    """Label and URL where the markup of a link is wrong, so that a reader sees it as text."""
    match = _AS_TEXT.search(cell.text)
    return (match[1], match[2]) if match else None


def _script_name(path: PurePosixPath) -> str | None:
    """The last part of a path where it names a script, also without the `.sh` at its end."""
    return path.name if path.suffix == ".sh" or parsed(f"{path.name}.sh") else None


def _may_lie_in(path: PurePosixPath, size: str | None) -> bool:
    """Whether a script lies in the directory of a size, or in none of a size at all."""
    folder = path.parent.name.lower()
    return size in (None, folder) or not _SIZE_FOLDER.fullmatch(folder)


def _plain(name: str) -> str:
    """A name in lower case with `-` for every separator."""
    return re.sub(r"[_-]+", "-", name.lower())


@dataclass(frozen=True, eq=False)
class ReadRow:
    """One row that became a record, with its cells by header, and why columns are empty."""

    cells: Mapping[str, Cell]
    link: Link
    record: Record
    doubts: Mapping[str, Fact]

    def text(self, header: str) -> str:
        """What a cell says."""
        return self.cells[header].text.strip()


@dataclass(frozen=True, eq=False)
class Reading:
    """A page with its rows as records: what the rules of a page look at.

    `tables` are those about runs, `scripts` are paths, `None` where nobody knows them.
    """

    page: Page
    dataset: Dataset
    scripts: Sequence[str] | None
    tables: tuple[Table, ...]
    rows: tuple[ReadRow, ...]

    def doubts(self, *columns: str) -> Iterator[Mistake]:
        """Why these columns of rows are empty."""
        for row in self.rows:
            for column in row.doubts.keys() & columns:
                fact = row.doubts[column]
                yield self.mistake(row.cells[HEADER_OF[column]], fact.doubt, fact.help)

    def mistake(self, place: Row | Cell, message: str, fix: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, message, fix)

    def subjects(self) -> list[str]:
        """The scripts that rows link, or whose names have the form; all where there are none."""
        known = self.scripts or ()
        linked = {row.link.file for row in self.rows}
        found = [path for path in known if path in linked or self.has_form(path)]
        return found or list(known)

    def orphans(self) -> list[str]:
        """Scripts of the form that no row links.

        None where something cannot be read or leads to no script: it may mean any of them.
        """
        links = [row.link.read for row in self.rows]
        unread = self.page.mistakes or sum(len(table.rows) for table in self.tables) > len(links)
        if unread or not links or None in links:
            return []
        return [path for path in self.scripts or () if path not in links and self.has_form(path)]

    def has_form(self, path: str) -> bool:
        """Whether a file's name is that of a run: any name may have six parts."""
        parts, words = parsed(PurePosixPath(path).name), partial(known_words, self.dataset)
        return bool(parts and (parts.train in words("train") or parts.infer in words("infer")))


def read_rows(page: Page, dataset: Dataset, scripts: Sequence[str] | None) -> Reading:
    """The records of all tables of `page`, in its order, and what is wrong with its cells.

    `scripts` are the paths of the existing scripts below their directory; with `None` no link is
    checked. A word that the dataset does not know leaves its column empty. A row that names no
    script, or has another number of cells than the header, becomes no record.
    """
    tables = tuple(table for table in page.tables if _is_of_runs(table))
    rows = [
        _confirmed(_row(cells, link, dataset), dataset, scripts or ())
        for table in tables
        for cells in cells_by_header(table)
        if (link := link_of(cells["Link"], scripts))
    ]
    return Reading(page, dataset, scripts, tables, tuple(rows))


def _is_of_runs(table: Table) -> bool:
    """Whether enough headers are known, or a row of a run stands where the header is missing."""
    known = len(_columns(table))
    return known >= _FEWEST_KNOWN or len(table.header.cells) == len(HEADERS)


def _columns(table: Table) -> dict[str, int]:
    """Place of every known header in any case; the first of equal ones."""
    words = [cell.text.strip().lower() for cell in table.header.cells]
    return {name: words.index(name.lower()) for name in HEADERS if name.lower() in words}


def missing_columns(table: Table) -> list[str]:
    """The columns that a table lacks: then none of its rows is read."""
    return [name for name in HEADERS if name not in _columns(table)]


def cells_by_header(table: Table) -> Iterator[Mapping[str, Cell]]:
    """The cells of each row that can be read."""
    columns = {} if missing_columns(table) else _columns(table)
    for row in table.rows if columns else ():
        if len(row.cells) == len(table.header.cells):
            yield {name: row.cells[at] for name, at in columns.items()}


def _row(cells: Mapping[str, Cell], link: Link, dataset: Dataset) -> ReadRow:
    text = {name: cell.text.strip() for name, cell in cells.items()}
    facts = _facts(text, link.script, dataset)
    fields = dataset.package.resources["tuning"].schema.fields
    texts = {name: fact.text for name, fact in facts.items()}
    record = {field.name: field.read(texts.get(field.name, "")) for field in fields}
    for column in ("model", "task", "train", "infer"):
        if not text[HEADER_OF[column]]:
            facts[column] = Fact("", f"the row names no {column}", "Write it into the cell.")
    return ReadRow(cells, link, record, {name: it for name, it in facts.items() if it.doubt})


def _confirmed(row: ReadRow, dataset: Dataset, scripts: Sequence[str]) -> ReadRow:
    """The row with the one of two scripts that its link names and that has its six facts."""
    names = {row.link.label, row.link.target} if row.link.ambiguous else ()
    for path in (path for path in scripts if PurePosixPath(path).name in names):
        name = PurePosixPath(path).name
        link = replace(row.link, script=name, file=path, ambiguous=False)
        found, parts = _row(row.cells, link, dataset), parsed(name)
        said = [text_of(found.record, part).lower() for part in PARTS[1:]]
        of_model = parts and read_word(dataset, "model", parts.model).text == found.record["model"]
        if parts and of_model and said == [*map(str, parts[1:])]:
            return found
    return row


def _facts(text: Mapping[str, str], script: str, dataset: Dataset) -> dict[str, Fact]:
    """Columns that the row's text decides; the script's name settles only which device is meant."""
    gpus, device = _resource(text["Resource"], script, dataset)
    max_batch, status = _max_batch(text["MaxBatch"])
    infer = _INFER.fullmatch(text["Infer"])
    engine, version = infer.groups("") if infer else (text["Infer"], "")
    tag = "" if text["Tag"] in _DASHES else text["Tag"]
    words = {"tag": tag, "task": text["Task"], "train": text["Train"]}
    words |= {"infer": engine, "infer_version": version}
    handle = text["Contributor"]
    return {
        "script": Fact(script),
        "framework": Fact(FRAMEWORK),
        "status": status,
        "model": _model(text["Model"], dataset),
        "gpus": gpus,
        "device": device,
        "max_batch": max_batch,
        # an e-mail address is reported where it stands, and never repeated
        "contributor": Fact() if "@" in handle[1:] else read_word(dataset, "contributor", handle),
        **{column: read_word(dataset, column, word) for column, word in words.items()},
    }


def _model(text: str, dataset: Dataset) -> Fact:
    """The id of a model.

    What the dataset does not list may exist all the same, unless its size lies between two of those
    of a family of which at least three are listed.
    """
    known, match = read_word(dataset, "model", text), _MODEL_SIZE.match(text.lower())
    family, size = (match[1], float(match[2])) if match else ("", 0.0)
    models = (model.rpartition("/")[2].lower() for model in known_words(dataset, "model"))
    names = filter(None, map(_MODEL_SIZE.match, models))
    listed = {float(name[2]): f"{name[2]}B" for name in names if name[1] == family}
    between = len(listed) >= _FEWEST_KNOWN and min(listed) < size < max(listed)
    if known.text or not between or size in listed:
        return Fact(known.text)
    sizes = ", ".join(listed[size] for size in sorted(listed))
    message = f"there is no model `{shown(text)}`: {family.rstrip('-')} comes in {sizes}"
    return Fact("", message, "Write the model that its script trains.")


def _resource(text: str, script: str, dataset: Dataset) -> tuple[Fact, Fact]:
    """GPUs and device of `8 × H100 80 GB`, also of `8*H100`, and of `2x8xH100`."""
    match = _RESOURCE.fullmatch(text)
    if match is None:
        message = f"`{shown(text)}` is not a number of GPUs, `×` and a device"
        return Fact("", message, "Write for example `8 × H100 80 GB`."), Fact()
    gpus, name = prod(map(int, re.findall(r"\d+", match[1]))), parsed(script)
    confirmed = name is not None and name.device in devices_of(dataset).named(match[2])
    device = name.device if name and confirmed else match[2]
    return Fact(str(gpus)), read_word(dataset, "device", device)


def _max_batch(text: str) -> tuple[Fact, Fact]:
    """The number of prompts, empty where it is unknown, and the status that may follow it."""
    match = _MAX_BATCH.fullmatch("" if text in _DASHES else text)
    if match is not None:
        return Fact(match[1] or ""), Fact(_STATUSES.get(match[2], "reported"))
    message = f"`{shown(text)}` is not a number of prompts"
    fix = "Write the number alone, or `\\` where nobody searched for it."
    return Fact("", message, fix), Fact("reported")
