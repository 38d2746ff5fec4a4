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
from rl_resources.script.script_text import FRAMEWORK
from rl_resources.text import shown

_TABLE = table_beside(__file__)
HEADER_OF: Mapping[str, str] = _TABLE["columns"]
"""The columns that a row of a page fills, each with the header of its cell."""

HEADERS = tuple(dict.fromkeys(HEADER_OF.values()))
_FEWEST_HEADERS = 3
"""That make a table one of runs."""
_FEWEST_SIZES = 3
"""That make models a family."""
_TIMES = r"\s*[*xX\u00d7]\s*"
_GPUS = rf"(?P<gpus>(?:[1-9][0-9]{{0,4}}(?: nodes?)?{_TIMES})?[1-9][0-9]{{0,8}})"
_DEVICE = r"(?P<device>(?=.*[A-Za-z]|[0-9]{4})\S.*?)"
_UNIT = r"\s*(?:[\u5361\u5f20\u5757]|[GN]PUs?\b)"
"""What Chinese pages count, or a word for it."""
_GPUS_FIRST = re.compile(rf"{_GPUS}(?:{_TIMES}|{_UNIT}|\s)\s*{_DEVICE}")
_DEVICE_FIRST = re.compile(rf"{_DEVICE}(?:{_TIMES}|\s){_GPUS}(?:{_UNIT})?")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_MAX_BATCH = re.compile(r"([1-9][0-9]{0,8})?\s*(?:\((disputed|not run)\))?")
_STATUSES = {None: "reported", "disputed": "disputed", "not run": "untested"}
_NAMED = ("model", "task", "train", "infer")
"""What every row names."""
_DASHES = ("-", "\u2013", "\u2014")
"""In place of what a cell does not say."""
_BEFORE_RELEASE = re.compile(r"[\s=v-]*(?=\d)")
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
                yield self.mistake(row.cells[HEADER_OF[column]], fact.doubt, fact.help)

    def mistake(self, place: PageRow | Cell, message: str, fix: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, message, fix)

    def subjects(self) -> list[str]:
        """The scripts that rows link to, or whose names have the form; without any, all scripts."""
        known = list(self.scripts or ())
        linked = {row.link.file for row in self.rows}
        found = [path for path in known if path in linked or self.has_form(path)]
        return found or known

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
            rows.append(_row(cells, link, dataset))
        else:
            unlinked.append(cells["Link"])
    return Reading(page, dataset, scripts, tables, tuple(rows), tuple(unlinked))


def _is_of_runs(table: PageTable) -> bool:
    """Whether enough headers are known, or a row of a run is in the place of the header."""
    if len(_columns(table)) >= _FEWEST_HEADERS:
        return True
    return len(table.header.cells) == len(HEADERS)


def _columns(table: PageTable) -> dict[str, int]:
    """The index of each known column; of equal headers, the first."""
    columns: dict[str, int] = {}
    for index, cell in enumerate(table.header.cells):
        word = re.sub(r"[\W_]+", "", cell.text.lower())
        for name in HEADERS:
            if word in _TABLE["headers"][name]:
                columns.setdefault(name, index)
    return columns


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
    facts: defaultdict[str, Fact] = defaultdict(Fact)
    facts["framework"] = Fact(FRAMEWORK)
    facts["status"] = Fact("reported")
    for header, cell in cells.items():
        text = _text(header, cell)
        column = header.lower()
        if not text and column in _NAMED:
            facts[column] = Fact(
                "", f"the row names no {column}", "Write it into the cell."
            )
        else:
            facts |= _facts(header, text, link, dataset)
    names = dataset.package.resources["tuning"].schema.names
    return ReadRow(
        cells,
        link,
        {name: facts[name].text for name in names},
        {name: fact for name, fact in facts.items() if fact.doubt},
    )


def _text(header: str, cell: Cell) -> str:
    """What a cell says; an e-mail address is reported where it stands, and never repeated."""
    text = unicodedata.normalize("NFKC", cell.text).strip()
    is_said = text not in _DASHES
    if header == "Contributor":
        is_said = "@" not in text[1:]
    if not is_said:
        return ""
    return text


def _facts(header: str, text: str, link: Link, dataset: Dataset) -> dict[str, Fact]:
    """The columns that one cell of a row fills."""
    match header:
        case "Model":
            return {"model": _model(text, dataset)}
        case "Resource":
            return _resource(text, link.script, dataset)
        case "MaxBatch":
            return _max_batch(text)
        case "Infer":
            return _infer(text, dataset)
        case "Link":
            return {"script": Fact(link.key)}
    column = header.lower()
    return {column: read_word(dataset, column, text)}


def _model(text: str, dataset: Dataset) -> Fact:
    """The id of a model.

    A model that the dataset does not list may exist, unless at least three sizes of its family are
    listed and its own lies between two of them.
    """
    known = read_word(dataset, "model", text)
    match = _MODEL_SIZE.match(text.lower())
    if known.text or match is None:
        return Fact(known.text)
    size = float(match["size"])
    listed = _listed_sizes(match["family"], dataset)
    if size in listed or len(listed) < _FEWEST_SIZES:
        return Fact()
    if not min(listed) < size < max(listed):
        return Fact()
    sizes = ", ".join(f"{size:g}B" for size in sorted(listed))
    family = match["family"].rstrip("-")
    return Fact(
        "",
        f"there is no model `{shown(text)}`: {family} comes in {sizes}",
        "Write the model that its script trains.",
    )


def _listed_sizes(family: str, dataset: Dataset) -> set[float]:
    """The sizes of a family of models in the dataset, in billions of parameters."""
    sizes = set()
    for model in known_words(dataset, "model"):
        match = _MODEL_SIZE.match(basename(model.lower()))
        if match and match["family"] == family:
            sizes.add(float(match["size"]))
    return sizes


def _resource(text: str, script: str, dataset: Dataset) -> dict[str, Fact]:
    """GPUs and device of `8 × H100 80 GB`, also of `8*H100`, `H100*8`, and of `2x8xH100`.

    The script's name only settles which device is meant.
    """
    match = _GPUS_FIRST.fullmatch(text) or _DEVICE_FIRST.fullmatch(text)
    if match is None:
        return {
            "gpus": Fact(
                "",
                f"`{shown(text)}` is not a number of GPUs, `×` and a device",
                "Write for example `8 × H100 80 GB`.",
            )
        }
    factors = map(int, re.findall(r"\d+", match["gpus"]))
    device = match["device"]
    name = parsed(script)
    if name and name.device in devices_of(dataset).named(device):
        device = name.device
    return {
        "gpus": Fact(str(prod(factors))),
        "device": read_word(dataset, "device", device),
    }


def _max_batch(text: str) -> dict[str, Fact]:
    """The number of prompts, empty where it is unknown, and the status that may follow it."""
    match = _MAX_BATCH.fullmatch(_THOUSANDS.sub("", text))
    if match is None:
        return {
            "max_batch": Fact(
                "",
                f"`{shown(text)}` is not a number of prompts",
                "Write the number alone, or `\\` where nobody searched for it.",
            )
        }
    number, remark = match.groups()
    return {"max_batch": Fact(number or ""), "status": Fact(_STATUSES[remark])}


def _infer(text: str, dataset: Dataset) -> dict[str, Fact]:
    """The rollout engine and its release, as in `vllm0.8.3`."""
    engine, *release = _BEFORE_RELEASE.split(text, maxsplit=1)
    return {
        "infer": read_word(dataset, "infer", engine),
        "infer_version": read_word(dataset, "infer_version", "".join(release)),
    }
