"""The rows of a page as tuning records. What a row does not say stays empty; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from rl_resources.dataset import Dataset
from rl_resources.devices import Devices, devices_of
from rl_resources.package import Record, TableSchema, Value, text_of
from rl_resources.page.reader import Cell, Page, Row, Table
from rl_resources.rule import Mistake
from rl_resources.script.name import PARTS, parsed
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

MAY_LACK = frozenset({"MaxBatch", "Contributor"})
_FEWEST_KNOWN = 3
"""Headers that make a table one of runs, and sizes that make models a family."""
_FAR = 1.1
"""The ratio of two sizes from which one is not a misprint of the other: 70B may be 72B."""
_RESOURCE = re.compile(r"((?:[1-9][0-9]{0,8}\s*[*xX\u00d7]\s*){1,2})(\S.*)")
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|untested)\))?")
_MODEL_SIZE = re.compile(r"(\D[a-z0-9.-]*?-)([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9]|-a[0-9])")
_NOBODY = frozenset({"na", "none", "null", "nobody", "tbd", "todo", "unknown"})

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
    where there is none, or where the scripts are unknown. `missing` says that the first of its
    names is no script; of a URL with a commit, which may hold others, only where one is nearly so.
    Where label and URL name two scripts, the row `confirms` the one that has its six facts.
    """

    script: str
    label: str | None
    target: str | None
    folder: str | None
    file: str | None
    missing: bool
    confirms: bool = False

    @property
    def ambiguous(self) -> bool:
        """Whether label and URL name two scripts, and nobody knows which one is meant.

        Names that differ in case, or in `_` for `-`, are one.
        """
        names = {plain_name(name) for name in (self.label, self.target) if name}
        return len(names) > 1 and not self.confirms

    @property
    def read(self) -> str | None:
        """The file to check the row against."""
        unsure = self.ambiguous and self.script == self.target
        return None if unsure else self.file


def link_of(cell: Cell, scripts: Sequence[str] | None) -> Link | None:
    """What the cell leads to; `None` where it names no script at all.

    `scripts` are paths below the directory of scripts. Of two names that of the URL is meant,
    unless there is no such script.
    """
    text, url = link_as_text(cell) or (cell.text.strip(), cell.target or "")
    address = PurePosixPath(unquote(_NO_PATH.sub("", url)))
    label, target = _script_name(PurePosixPath(text)), _script_name(address)
    label = f"{label.removesuffix('.sh')}.sh" if label else None
    names = [name for name in (target, label) if name]
    if not names:
        return None
    folder = address.parent.name.lower() if target else ""
    size = folder if _SIZE_FOLDER.fullmatch(folder) else None
    known = list(map(PurePosixPath, scripts or ()))
    files = [path for name in names for path in known if path.name == name]
    file = next((path for path in files if _may_lie_in(path, size)), None)
    script = file.name if file else names[0]
    path = str(file) if file else _meant(names[0], known)
    may_be_another = any(map(_COMMIT.fullmatch, address.parts)) and (file or not path)
    missing = scripts is not None and not may_be_another and (file is None or script != names[0])
    return Link(script, label, target, size, path, missing)


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


def _meant(name: str, scripts: Sequence[PurePosixPath]) -> str | None:
    """The one script whose name is the same but for case and for `_` in place of `-`."""
    alike = [path for path in scripts if plain_name(path.name) == plain_name(name)]
    return str(alike[0]) if len(alike) == 1 else None


def plain_name(name: str) -> str:
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

    @property
    def lacks_model(self) -> bool:
        """Whether no such model exists, as far as can be seen."""
        problem = self.problems.get("model")
        return problem is not None and problem.rule == "page-unknown-model"

    def text(self, header: str) -> str:
        """What a cell says; empty where the table has no such column."""
        return self.cells[header].text.strip() if header in self.cells else ""


@dataclass(frozen=True, eq=False)
class Reading:
    """A page with its rows as records: what the rules of a page look at.

    `tables` are those about runs. `reported` are line and column of the cells that contradict their
    script, `trained` has the model that the script of a row trains, by its path.
    """

    page: Page
    context: Context
    tables: tuple[Table, ...]
    rows: tuple[ReadRow, ...]
    reported: frozenset[tuple[int, int]] = frozenset()
    trained: Mapping[str, str] = field(default_factory=dict)

    def found(self, rule: str) -> Iterator[Mistake]:
        """What came up in reading cells under the name of a rule."""
        for row in self.rows:
            for column, problem in row.problems.items():
                if problem.rule == rule:
                    yield self.mistake(row.cells[HEADER_OF[column]], problem.message, problem.help)

    def contradicts(self, cell: Cell) -> bool:
        """Whether a cell contradicts the script of its row."""
        return (cell.line, cell.column) in self.reported

    def mistake(self, place: Row | Cell, message: str, fix: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, message, fix)

    def scripts(self) -> list[str]:
        """The scripts that rows link, that the page names, or whose names have the form.

        All scripts where the page leads to none of them.
        """
        found = dict.fromkeys([*self._named(), *self._of_form()])
        return [*(found or self.context.scripts or ())]

    def orphans(self) -> list[str]:
        """Scripts that no row means.

        None where a row cannot be read and names no script: it may mean any of them.
        """
        rows = [row for table in self.tables for row in table.rows]
        known = self.context.scripts or ()
        links = [[link for cell in row.cells if (link := link_of(cell, known))] for row in rows]
        if not links or not all(links):
            return []
        names = {PurePosixPath(path).name: path for path in known}
        like = (nearest(link.script, names).words[:1] for link, *_ in links if not link.read)
        meant = {*self._named(), *(names[name] for words in like for name in words)}
        return [path for path in self._of_form() if path not in meant]

    def _of_form(self) -> Iterator[str]:
        """The scripts that are named after the form, though its first part may contain a `_`."""
        for path in self.context.scripts or ():
            parts = PurePosixPath(path).stem.lower().split("_")
            if len(parts) >= len(PARTS) and parts[PARTS.index("gpus") - len(PARTS)].isdigit():
                known = self.context.meanings("backend", parts[-2])
                if known or self.context.meanings("engine", parts[-1]):
                    yield path

    def _named(self) -> Iterator[str]:
        """The scripts whose names the page says, in a row or in its text, or nearly so."""
        text = plain_name(unquote("\n".join(self.page.lines).replace("\\", "")))
        for path in self.context.scripts or ():
            stem = re.escape(plain_name(PurePosixPath(path).stem))
            if re.search(rf"(?<![\w.-]){stem}(?![\w-])", text):
                yield path


def read_rows(page: Page, dataset: Dataset, scripts: Sequence[str] | None) -> Reading:
    """The records of all tables of `page`, in its order, and what is wrong with its cells.

    `scripts` are the paths of the existing scripts below their directory; with `None` no link is
    checked. A word that the dataset does not know leaves its column empty. A row that names no
    script, or has another number of cells than the header, becomes no record.
    """
    context = Context(dataset, scripts, devices_of(dataset), _spellings(dataset))
    tables = tuple(table for table in page.tables if _is_of_runs(table))
    rows = [
        _confirmed(_row(cells, link, context), context)
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
    """The columns that a table lacks, where its rows mean nothing without them."""
    missing = [name for name in HEADERS if name not in _columns(table)]
    return [] if MAY_LACK.issuperset(missing) else missing


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


def _confirmed(row: ReadRow, context: Context) -> ReadRow:
    """The row with the one of two scripts that its link names and that has its six facts."""
    if not row.link.ambiguous:
        return row
    known = {PurePosixPath(path).name: path for path in context.scripts or ()}
    for name in (name for name in (row.link.target, row.link.label) if name in known):
        link = replace(row.link, script=name, file=known[name], confirms=True)
        found, parts = _row(row.cells, link, context), parsed(name)
        models = context.meanings("model", parts.model) if parts else ()
        said = [text_of(found.record, part).lower() for part in PARTS[1:]]
        if parts and found.record["model"] in models and said == [*map(str, parts[1:])]:
            return found
    return row


def _facts(text: Mapping[str, str], script: str, context: Context) -> dict[str, Value | Problem]:
    """Columns that the row's text decides; the script's name settles only which device is meant."""
    name = parsed(script)
    gpus, device = _resource(text["Resource"], context, name.device if name else "")
    max_batch, status = _max_batch(text.get("MaxBatch", ""))
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
        "contributor": _contributor(text.get("Contributor", ""), context),
    }


def _known(kind: str, text: str, context: Context, confirmed: str = "") -> str | Problem:
    """The key that `text` spells; `confirmed` decides where it can be several."""
    rule = "page-unknown-model" if kind == "model" else "page-unknown-word"
    if not text:
        return Problem(rule, f"the row names no {kind}", f"Write the {kind} into the cell.")
    words = context.meanings(kind, text)
    if not words:
        known = dict.fromkeys(key.rpartition("/")[2] for key in context.spellings[kind].values())
        like = nearest(text, known).sentence()
        fix = like or f"The dataset has no {kind} like it; add it there."
        return Problem(rule, f"`{shown(text)}` is not a known {kind}", fix)
    if confirmed in words:
        return confirmed
    if len(words) == 1:
        return words[0]
    message = f"`{shown(text)}` can be {' or '.join(words)}"
    return Problem(rule, message, "Write which one is meant.")


def _model(text: str, context: Context) -> str | Problem | None:
    """The id of a model. What the dataset does not list may exist all the same.

    A model does not exist only where its size lies between those of a family of which the dataset
    lists at least three. `None` where the dataset lists the model in another variant.
    """
    known = _known("model", text, context)
    if not isinstance(known, Problem) or not text:
        return known
    match = _MODEL_SIZE.match(text.rpartition("/")[2].lower())
    family, size = (match[1], float(match[2])) if match else ("", 0.0)
    names = (_MODEL_SIZE.match(name.rpartition("/")[2]) for name in context.spellings["model"])
    listed = {float(name[2]): name[2] for name in names if name and name[1] == family}
    if size in listed:
        return None
    if len(listed) >= _FEWEST_KNOWN and min(listed) < size < max(listed):
        sizes = ", ".join(f"{listed[size]}B" for size in sorted(listed))
        message = f"there is no model `{shown(text)}`: {family.rstrip('-')} comes in {sizes}"
        near = min(listed, key=lambda other: abs(other - size))
        own = text.rpartition("/")[2].replace(f"-{match[2]}" if match else "", f"-{listed[near]}")
        help_ = known.help if size * _FAR < near or near * _FAR < size else f"Did you mean `{own}`?"
        return known._replace(message=message, help=help_)
    message = f"`{shown(text)}` is not a model that the dataset lists"
    return Problem("page-unlisted-model", message, f"{known.help} Any other needs its row first.")


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
    if handle.lower() in _NOBODY or not context.matches("contributor", handle):
        message = f"`{shown(text)}` is not a public handle"
        return Problem("page-contributor", message, "Write the account name of who ran it.")
    return handle


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
