"""The rows of a page as tuning records. Nothing is guessed: what a row leaves out stays empty."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from posixpath import basename

from rl_resources.dataset import Dataset
from rl_resources.devices import devices_of
from rl_resources.facts.script_names import parsed
from rl_resources.facts.words import Fact, known_words, read_word
from rl_resources.files import table_beside
from rl_resources.page import Cell, Link, Page, PageRow, PageTable, link_of
from rl_resources.rule import Mistake
from rl_resources.text import shown

_TABLE = table_beside(__file__)
HEADER_OF: Mapping[str, str] = _TABLE["columns"]
"""The columns that a row of a page fills, each with the header of its cell."""

HEADERS = tuple(dict.fromkeys(HEADER_OF.values()))
FRAMEWORK = "verl"
"""A page does not say which framework its scripts configure."""

_FEWEST_KNOWN = 3
"""Headers that make a table one of runs, and sizes that make models a family."""
_TIMES = r"\s*[*xX\u00d7]\s*"
_GPUS = rf"(?P<gpus>(?:[1-9][0-9]{{0,4}}(?: nodes?)?{_TIMES})?[1-9][0-9]{{0,8}})"
_DEVICE = r"(?P<device>(?=.*[A-Za-z]|[0-9]{4})\S.*?)"
_UNIT = r"\s*(?:[\u5361\u5f20\u5757]|[GN]PUs?\b)"
"""What Chinese pages count, or a word for it."""
_RESOURCES = (
    re.compile(rf"{_GPUS}(?:{_TIMES}|{_UNIT}|\s)\s*{_DEVICE}"),
    re.compile(rf"{_DEVICE}(?:{_TIMES}|\s){_GPUS}(?:{_UNIT})?"),
)
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|not run)\))?")
_DASHES = ("-", "\u2013", "\u2014")
"""In place of what a cell does not say."""
_STATUSES = {"disputed": "disputed", "not run": "untested"}
_INFER = re.compile(r"(.*?)[\s=v-]*(\d.*)?")
_MODEL_SIZE = re.compile(
    r"(?P<family>\D[a-z0-9.-]*?-)(?P<size>[0-9]+(?:\.[0-9]+)?)b(?![a-z0-9]|-a[0-9])"
)


@dataclass(frozen=True, eq=False)
class ReadRow:
    """A row that became a record: its cells by header, and why columns are empty."""

    cells: Mapping[str, Cell]
    link: Link
    record: Mapping[str, str]
    doubts: Mapping[str, Fact]

    def text(self, header: str) -> str:
        """What a cell says."""
        if header not in self.cells:
            return ""
        return self.cells[header].text.strip()


@dataclass(frozen=True, eq=False)
class Reading:
    """A page with its rows as records: what the rules on pages look at.

    `tables` are those of runs, `unlinked` the Link cells that name no script. `scripts` are paths,
    or `None` if they are not known.
    """

    page: Page
    dataset: Dataset
    scripts: Sequence[str] | None
    tables: tuple[PageTable, ...]
    rows: tuple[ReadRow, ...]
    unlinked: tuple[Cell, ...]

    def doubts(self, *columns: str) -> Iterator[Mistake]:
        """Why these columns of rows are empty."""
        for row in self.rows:
            for column in row.doubts.keys() & columns:
                fact = row.doubts[column]
                yield self.wrong_cell(row, HEADER_OF[column], fact.doubt, fact.help)

    def mistake(self, place: PageRow | Cell, message: str, fix: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, message, fix)

    def wrong_cell(self, row: ReadRow, header: str, message: str, fix: str) -> Mistake:
        """A mistake in a row's cell."""
        return self.mistake(row.cells[header], message, fix)

    def subjects(self) -> list[str]:
        """The scripts that rows link to, or whose names have the form; without any, all scripts."""
        known = list(self.scripts or ())
        linked = {row.link.file for row in self.rows}
        found = [path for path in known if path in linked or self.has_form(path)]
        return found or known

    def orphans(self) -> list[str]:
        """Scripts of the form that no row links to.

        None if something on the page cannot be read or leads to no script: it may mean any of them.
        """
        links = [row.link.read for row in self.rows]
        written = sum(len(table.rows) for table in self.tables)
        if self.page.mistakes or written > len(links):
            return []
        if not links or None in links:
            return []
        unlinked = [path for path in self.scripts or () if path not in links]
        return list(filter(self.has_form, unlinked))

    def has_form(self, path: str) -> bool:
        """Whether a file is named like a run: six parts alone are not enough."""
        parts = parsed(basename(path))
        if parts is None:
            return False
        has_backend = parts.train in known_words(self.dataset, "train")
        return has_backend or parts.infer in known_words(self.dataset, "infer")


def read_rows(page: Page, dataset: Dataset, scripts: Sequence[str] | None) -> Reading:
    """The records of all tables of `page`, in its order, and what is wrong with its cells.

    `scripts` are the paths of the existing scripts below their directory; with `None` no link is
    checked. A word that the dataset does not know leaves its column empty. A row that names no
    script, or has another number of cells than the header, becomes no record.
    """
    tables = tuple(filter(_is_of_runs, page.tables))
    rows = []
    unlinked = []
    for cells in chain.from_iterable(map(_cells_by_header, tables)):
        link = link_of(cells["Link"], scripts)
        if link:
            row = _row(cells, link, dataset)
            rows.append(row)
        else:
            unlinked.append(cells["Link"])
    return Reading(page, dataset, scripts, tables, tuple(rows), tuple(unlinked))


def _is_of_runs(table: PageTable) -> bool:
    """Whether enough headers are known, or a row of a run is in the place of the header."""
    if len(_columns(table)) >= _FEWEST_KNOWN:
        return True
    return len(table.header.cells) == len(HEADERS)


def _columns(table: PageTable) -> dict[str, int]:
    """The index of each known column; of equal headers, the first."""
    columns: dict[str, int] = {}
    for index, cell in enumerate(table.header.cells):
        columns.setdefault(_column(cell.text), index)
    columns.pop("", None)
    return columns


def _column(header: str) -> str:
    """The column that a header names in any spelling; empty if there is none."""
    word = re.sub(r"[\W_]+", "", header.lower())
    for name in HEADERS:
        if word in {name.lower(), *_TABLE["headers"][name]}:
            return name
    return ""


def missing_columns(table: PageTable) -> list[str]:
    """The columns that a table lacks; without Link, none of its rows is read."""
    columns = _columns(table)
    return [name for name in HEADERS if name not in columns]


def _cells_by_header(table: PageTable) -> Iterator[Mapping[str, Cell]]:
    """The cells of each row that can be read, by header."""
    columns = _columns(table)
    if "Link" not in columns:
        return
    for row in table.rows:
        cells = row.cells
        if len(cells) == len(table.header.cells):
            yield {name: cells[index] for name, index in columns.items()}


def _row(cells: Mapping[str, Cell], link: Link, dataset: Dataset) -> ReadRow:
    text = dict.fromkeys(HEADERS, "")
    for name, cell in cells.items():
        plain = unicodedata.normalize("NFKC", cell.text).strip()
        if plain not in _DASHES or name == "Contributor":
            text[name] = plain
    facts = _facts(text, link.script, dataset)
    facts["script"] = Fact(link.key)
    names = dataset.package.resources["tuning"].schema.names
    record = {name: facts[name].text for name in names}
    for column in ("model", "task", "train", "infer"):
        if not text[HEADER_OF[column]]:
            doubt = f"the row names no {column}"
            facts[column] = Fact("", doubt, "Write it into the cell.")
    of_cells = {name: facts[name] for name in facts if HEADER_OF.get(name) in cells}
    doubts = {name: fact for name, fact in of_cells.items() if fact.doubt}
    return ReadRow(cells, link, record, doubts)


def _facts(
    text: Mapping[str, str], script: str, dataset: Dataset
) -> defaultdict[str, Fact]:
    """The columns that a row fills; the script's name only settles which device is meant."""
    facts: defaultdict[str, Fact] = defaultdict(Fact)
    facts["framework"] = Fact(FRAMEWORK)
    facts["model"] = _model(text["Model"], dataset)
    facts["gpus"], facts["device"] = _resource(text["Resource"], script, dataset)
    facts["max_batch"], facts["status"] = _max_batch(text["MaxBatch"])
    words = {}
    for column in ("tag", "task", "train"):
        words[column] = text[HEADER_OF[column]]
    infer = _INFER.fullmatch(text["Infer"])
    if infer:
        words["infer"] = infer[1]
        words["infer_version"] = infer[2] or ""
    # An e-mail address is reported where it stands, and never repeated.
    if "@" not in text["Contributor"][1:]:
        words["contributor"] = text["Contributor"]
    for column, word in words.items():
        facts[column] = read_word(dataset, column, word)
    return facts


def _model(text: str, dataset: Dataset) -> Fact:
    """The id of a model.

    A model that the dataset does not list may exist, unless at least three sizes of its family are
    listed and its own lies between two of them.
    """
    known = read_word(dataset, "model", text)
    match = _MODEL_SIZE.match(text.lower())
    if known.text or match is None:
        return Fact(known.text)
    listed = _listed_sizes(match["family"], dataset)
    size = float(match["size"])
    if size in listed or len(listed) < _FEWEST_KNOWN:
        return Fact()
    if not min(listed) < size < max(listed):
        return Fact()
    sizes = ", ".join(name for _, name in sorted(listed.items()))
    family = match["family"].rstrip("-")
    message = f"there is no model `{shown(text)}`: {family} comes in {sizes}"
    return Fact("", message, "Write the model that its script trains.")


def _listed_sizes(family: str, dataset: Dataset) -> dict[float, str]:
    """The sizes of a family of models in the dataset, each as a number and as it is written."""
    sizes = {}
    for model in known_words(dataset, "model"):
        match = _MODEL_SIZE.match(basename(model.lower()))
        if match and match["family"] == family:
            size = match["size"]
            sizes[float(size)] = f"{size}B"
    return sizes


def _resource(text: str, script: str, dataset: Dataset) -> tuple[Fact, Fact]:
    """GPUs and device of `8 × H100 80 GB`, also of `8*H100`, `H100*8`, and of `2x8xH100`."""
    first, second = _RESOURCES
    match = first.fullmatch(text) or second.fullmatch(text)
    if match is None:
        message = f"`{shown(text)}` is not a number of GPUs, `×` and a device"
        unread = Fact("", message, "Write for example `8 × H100 80 GB`.")
        return unread, Fact()
    factors = re.findall(r"\d+", match["gpus"])
    gpus = prod(map(int, factors))
    device = match["device"]
    name = parsed(script)
    if name and name.device in devices_of(dataset).named(device):
        device = name.device
    return Fact(str(gpus)), read_word(dataset, "device", device)


def _max_batch(text: str) -> tuple[Fact, Fact]:
    """The number of prompts, empty where it is unknown, and the status that may follow it."""
    match = _MAX_BATCH.fullmatch(_THOUSANDS.sub("", text))
    if match is None:
        message = f"`{shown(text)}` is not a number of prompts"
        fix = "Write the number alone, or `\\` where nobody searched for it."
        return Fact("", message, fix), Fact("reported")
    status = _STATUSES.get(match[2], "reported")
    return Fact(match[1] or ""), Fact(status)
