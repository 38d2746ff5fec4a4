"""The rows of a page as tuning records. What a row does not say stays empty; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, devices_of
from rl_resources.package import Record, TableSchema, Value, text_of
from rl_resources.page.reader import Cell, Page, Row, Table
from rl_resources.rule import Mistake
from rl_resources.script.name import parsed
from rl_resources.text import nearest, shown

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
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|untested)\))?")
_MODEL_SIZE = re.compile(r"(\D[a-z0-9.-]*?-)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9]|-a[0-9])")

Spellings = Mapping[str, str]
"""Spellings in lower case, each with the key that it means."""


@dataclass(frozen=True)
class Context:
    """What all rows are read against. `scripts` are paths, `None` where nobody knows them.

    `spellings` has those of tags, models, tasks, devices, backends and engines by kind; a device
    has more than these.
    """

    dataset: Dataset
    scripts: Sequence[str] | None
    devices: Devices
    spellings: Mapping[str, Spellings]

    @property
    def tuning(self) -> TableSchema:
        """The schema of the records."""
        return self.dataset.package.resources["tuning"].schema

    def matches(self, column: str, text: str) -> bool:
        """Whether `text` has the form that the tuning schema asks for in `column`."""
        return re.fullmatch(self.tuning.field(column).constraints["pattern"], text) is not None

    def meanings(self, kind: str, text: str) -> Sequence[str]:
        """The keys that a word can mean."""
        if kind == "device":
            return self.devices.named(text)
        key = self.spellings[kind].get(text.lower())
        return [key] if key else []

    def has_form(self, name: str) -> bool:
        """Whether a file name is that of a run: any name may have six parts."""
        parts = parsed(name)
        known = parts and (
            self.meanings("backend", parts.train) or self.meanings("engine", parts.infer)
        )
        return bool(known)


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
    script; of a URL with a commit, which may hold others, only where one is nearly so.
    """

    script: str
    label: str | None
    target: str | None
    folder: str | None
    file: str | None
    missing: bool

    @property
    def ambiguous(self) -> bool:
        """Whether label and URL name two scripts, and nobody knows which one is meant.

        Names that differ in case, or in `_` for `-`, are one.
        """
        return len({_plain(name) for name in (self.label, self.target) if name}) > 1

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
    return Link(script, label, target, size, str(found) if found else None, missing)


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


class Problem(NamedTuple):
    """What is wrong with a cell: the name of the rule, message and help."""

    rule: str
    message: str
    help: str


@dataclass(frozen=True, eq=False)
class ReadRow:
    """One row that became a record, with its cells by header, and their problems by column."""

    cells: Mapping[str, Cell]
    link: Link
    record: Record
    problems: Mapping[str, Problem]

    def text(self, header: str) -> str:
        """What a cell says."""
        return self.cells[header].text.strip()


@dataclass(frozen=True, eq=False)
class Reading:
    """A page with its rows as records: what the rules of a page look at.

    `tables` are those about runs.
    """

    page: Page
    context: Context
    tables: tuple[Table, ...]
    rows: tuple[ReadRow, ...]

    def found(self, rule: str) -> Iterator[Mistake]:
        """What came up in reading cells under the name of a rule."""
        for row in self.rows:
            for column, problem in row.problems.items():
                if problem.rule == rule:
                    yield self.mistake(row.cells[HEADER_OF[column]], problem.message, problem.help)

    def mistake(self, place: Row | Cell, message: str, fix: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, message, fix)

    def scripts(self) -> list[str]:
        """The scripts that rows link, or whose names have the form; all where there are none."""
        known = self.context.scripts or ()
        linked = {row.link.file for row in self.rows}
        found = [path for path in known if path in linked or self._of_form(path)]
        return found or list(known)

    def orphans(self) -> list[str]:
        """Scripts of the form that no row links.

        None where something cannot be read or leads to no script: it may mean any of them.
        """
        links = [row.link.read for row in self.rows]
        unread = self.page.mistakes or sum(len(table.rows) for table in self.tables) > len(links)
        if unread or not links or None in links:
            return []
        scripts = self.context.scripts or ()
        return [path for path in scripts if path not in links and self._of_form(path)]

    def _of_form(self, path: str) -> bool:
        return self.context.has_form(PurePosixPath(path).name)


def read_rows(page: Page, dataset: Dataset, scripts: Sequence[str] | None) -> Reading:
    """The records of all tables of `page`, in its order, and what is wrong with its cells.

    `scripts` are the paths of the existing scripts below their directory; with `None` no link is
    checked. A word that the dataset does not know leaves its column empty. A row that names no
    script, or has another number of cells than the header, becomes no record.
    """
    context = Context(dataset, scripts, devices_of(dataset), _spellings(dataset))
    tables = tuple(table for table in page.tables if _is_of_runs(table))
    rows = [
        _row(cells, link, context)
        for table in tables
        for cells in cells_by_header(table)
        if (link := link_of(cells["Link"], scripts))
    ]
    return Reading(page, context, tables, tuple(rows))


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


def _row(cells: Mapping[str, Cell], link: Link, context: Context) -> ReadRow:
    text = {name: cell.text.strip() for name, cell in cells.items()}
    facts = dict.fromkeys(context.tuning.names) | _facts(text, link.script, context)
    problems = {name: fact for name, fact in facts.items() if isinstance(fact, Problem)}
    record = {name: None if isinstance(fact, Problem) else fact for name, fact in facts.items()}
    return ReadRow(cells, link, record, problems)


def _facts(text: Mapping[str, str], script: str, context: Context) -> dict[str, Value | Problem]:
    """Columns that the row's text decides; the script's name settles only which device is meant."""
    name = parsed(script)
    gpus, device = _resource(text["Resource"], context, name.device if name else "")
    max_batch, status = _max_batch(text["MaxBatch"])
    engine, version = _infer(text["Infer"], context)
    return {
        "script": script,
        "framework": FRAMEWORK,
        "status": status,
        "tag": _known("tag", text["Tag"], context),
        "model": _model(text["Model"], context),
        "task": _known("task", text["Task"], context),
        "gpus": gpus,
        "device": device,
        "max_batch": max_batch,
        "train": _known("backend", text["Train"], context),
        "infer": engine,
        "infer_version": version,
        "contributor": _contributor(text["Contributor"], context),
    }


def _known(kind: str, text: str, context: Context, confirmed: str = "") -> str | Problem:
    """The key that `text` spells; `confirmed` decides where it can be several."""
    words = context.meanings(kind, text)
    if not words:
        known = dict.fromkeys(key.rpartition("/")[2] for key in context.spellings[kind].values())
        like = nearest(text, known).sentence()
        fix = like or f"The dataset has no {kind} like it; add it there."
        return Problem("page-unknown-word", f"`{shown(text)}` is not a known {kind}", fix)
    if confirmed in words:
        return confirmed
    if len(words) == 1:
        return words[0]
    message = f"`{shown(text)}` can be {' or '.join(words)}"
    return Problem("page-unknown-word", message, "Write which one is meant.")


def _model(text: str, context: Context) -> str | Problem | None:
    """The id of a model. What the dataset does not list may exist all the same.

    A model does not exist only where its size lies between those of a family of which the dataset
    lists at least three. `None` where the dataset lists the model in another variant.
    """
    known = _known("model", text, context)
    match = _MODEL_SIZE.match(text.rpartition("/")[2].lower())
    if not isinstance(known, Problem) or match is None:
        return known
    family, size = match[1], float(match[2])
    names = (_MODEL_SIZE.match(name.rpartition("/")[2]) for name in context.spellings["model"])
    listed = {float(name[2]): name[2] for name in names if name and name[1] == family}
    if size in listed:
        return None
    if len(listed) < _FEWEST_KNOWN or not min(listed) < size < max(listed):
        return known
    sizes = ", ".join(f"{listed[size]}B" for size in sorted(listed))
    message = f"there is no model `{shown(text)}`: {family.rstrip('-')} comes in {sizes}"
    return Problem("page-unknown-model", message, "Write the model that its script trains.")


def _resource(text: str, context: Context, confirmed: str) -> tuple[int | None, str | Problem]:
    """GPUs and device of `8 × H100 80 GB`, also of `8*H100`, and of `2x8xH100`."""
    match = _RESOURCE.fullmatch(text)
    if match is not None:
        gpus = prod(map(int, re.findall(r"\d+", match[1])))
        return gpus, _known("device", match[2], context, confirmed)
    message = f"`{shown(text)}` is not a number of GPUs, `×` and a device"
    return None, Problem("page-unreadable-cell", message, "Write for example `8 × H100 80 GB`.")


def _max_batch(text: str) -> tuple[int | Problem | None, str]:
    """The number of prompts, `None` where it is unknown, and the status that may follow it."""
    match = _MAX_BATCH.fullmatch("" if text in ("-", "\u2013", "\u2014") else text)
    if match is not None:
        return int(match[1]) if match[1] else None, match[2] or "reported"
    message = f"`{shown(text)}` is not a number of prompts"
    fix = "Write the number alone, or `\\` where nobody searched for it."
    return Problem("page-unreadable-cell", message, fix), "reported"


def _infer(text: str, context: Context) -> tuple[str | Problem, str | Problem | None]:
    """Rollout engine and version of `vllm0.8.3`, the version `None` where there is none."""
    engines = context.spellings["engine"]
    names = "|".join(sorted(engines, key=len, reverse=True))
    match = re.fullmatch(rf"({names})(?!-?[a-z])[\s=v-]*(.*)", text.lower())
    if match is None:
        return _known("engine", text, context), None
    engine, version = engines[match[1]], match[2]
    if not version or context.matches("infer_version", version):
        return engine, version or None
    message = f"`{shown(version)}` is not a release of the engine"
    fix = "Write engine and release without a gap, for example `vllm0.8.3`."
    return engine, Problem("page-unreadable-cell", message, fix)


def _contributor(text: str, context: Context) -> str | Problem | None:
    """The public handle, without the `@` that some write before it."""
    handle = text.removeprefix("@")
    if not handle or "@" in handle:
        return None  # an e-mail address is reported where it stands, and never repeated
    if context.matches("contributor", handle):
        return handle
    message = f"`{shown(text)}` is not a public handle"
    return Problem("page-contributor", message, "Write the account name of who ran it.")


def _spellings(dataset: Dataset) -> dict[str, Spellings]:
    """The spellings of every kind of word that a page may use."""
    tags = dataset.package.resources["tuning"].schema.field("tag").words
    backends = dataset.records["backends"]
    words = {
        "tag": tags,
        "task": dataset.by_key["tasks"],
        "device": dataset.by_key["devices"],
        "backend": [row["backend"] for row in backends if row["role"] == "train"],
        "engine": [row["backend"] for row in backends if row["role"] == "infer"],
    }
    same = {kind: {str(word).lower(): str(word) for word in some} for kind, some in words.items()}
    models = {
        spelling: model
        for row in dataset.records["models"]
        for model in [text_of(row, "model")]
        for spelling in (model.lower(), model.partition("/")[2].lower(), text_of(row, "slug"))
    }
    return {**same, "model": models}
