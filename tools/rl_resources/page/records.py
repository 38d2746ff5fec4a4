"""The rows of a page to tuning records. What a row does not say stays blank; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rl_resources.check.rule import Mistake
from rl_resources.dataset import Dataset
from rl_resources.package import Record, Value
from rl_resources.page import cells as cell_text
from rl_resources.page.cells import HEADER_OF, Problem, known_word
from rl_resources.page.script_link import NO_SCRIPT, Link, link_of, link_problems
from rl_resources.page.value import Cell, Page, Row, Table
from rl_resources.page.vocabulary import Vocabulary
from rl_resources.script.name import ScriptName, parsed
from rl_resources.site.tuning_table import HEADERS
from rl_resources.words import shown

MAY_LACK = frozenset({"MaxBatch", "Contributor"})
_FEWEST_HEADERS = 3
_REMARK = re.compile(r"(?: \((disputed|reproduced|untested)\))?(?:: (.*))?", re.DOTALL)

Cells = Mapping[str, Cell]
Problems = list[tuple[str, Problem]]
Remark = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Context:
    """What all rows are read against. `scripts` are paths, `None` where nobody knows them."""

    vocabulary: Vocabulary
    scripts: Sequence[str] | None
    framework: str


@dataclass(frozen=True, eq=False)
class ReadRow:
    """One row that became a record, with its cells by header."""

    table: Table
    row: Row
    cells: Cells
    link: Link
    record: Record

    @property
    def named(self) -> ScriptName | None:
        """What its script's name says, where it has the form and label and address agree on it."""
        agreed = self.link.label in (None, self.link.script)
        return parsed(self.link.script) if agreed else None

    def text(self, header: str) -> str:
        """What a cell says; empty where the table has no such column."""
        return self.cells[header].text.strip() if header in self.cells else ""


@dataclass(frozen=True, eq=False)
class Reading:
    """A page as it was read: what the rules of a page look at.

    `tables` are those about runs. `mistakes` came up in reading, each with the name of its rule.
    `contradicted` maps the line of a row to what was told of it and its script.
    """

    page: Page
    context: Context
    tables: tuple[Table, ...]
    rows: tuple[ReadRow, ...]
    mistakes: tuple[tuple[str, Mistake], ...]
    contradicted: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def told(self, rule: str) -> Iterator[Mistake]:
        """What came up in reading under the name of a rule."""
        return (mistake for name, mistake in self.mistakes if name == rule)

    def mistake(self, place: Row | Cell, wrong: str, mend: str) -> Mistake:
        """A mistake at a place of this page."""
        return Mistake(self.page.path, place.line, place.column, wrong, mend)


def read_rows(
    page: Page, dataset: Dataset, scripts: Sequence[str] | None, framework: str = "verl"
) -> Reading:
    """The records of all tables of `page`, in its order, and what is wrong with its rows.

    `scripts` are the paths of the script files that there are, below their folder; `None` leaves
    links unchecked. A page does not say which `framework` its scripts configure. A word that the
    dataset does not know leaves its column blank and stands in the record's notes. A row yields no
    record where it names no script or has not one cell for each column.
    """
    context = Context(Vocabulary(dataset), scripts, framework)
    tables = tuple(table for table in page.tables if _is_of_runs(table))
    rows: list[ReadRow] = []
    mistakes = list(page.mistakes)
    for table in tables:
        found, wrong = _table_rows(table, context)
        rows += found
        mistakes += [
            (problem.rule, Mistake(page.path, at.line, at.column, problem.message, problem.help))
            for at, problem in wrong
        ]
    return Reading(page, context, tables, tuple(rows), tuple(mistakes))


def _is_of_runs(table: Table) -> bool:
    known = columns(table.header)
    return len(known) >= _FEWEST_HEADERS or len(table.header.cells) == len(HEADERS)


def _table_rows(
    table: Table, context: Context
) -> tuple[list[ReadRow], list[tuple[Row | Cell, Problem]]]:
    known = columns(table.header)
    rows: list[ReadRow] = []
    problems: list[tuple[Row | Cell, Problem]] = list(_header_problems(table, known))
    for row in table.rows if known.keys() | MAY_LACK >= set(HEADERS) else ():
        if row.blank:
            continue
        if len(row.cells) != len(table.header.cells):
            problems.append((row, _row_length(row, table.header)))
            continue
        cells = {name: row.cells[place] for name, place in known.items()}
        link = link_of(cells["Link"], context.scripts, partial(_fit, cells))
        if link is None:
            problems.append((cells["Link"], NO_SCRIPT))
            continue
        record, wrong = _record(cells, link, table.remarks, context)
        rows.append(ReadRow(table, row, cells, link, record))
        problems += [(cells[name], problem) for name, problem in wrong if problem.rule]
    return rows, problems


def _fit(cells: Cells, script: str) -> int:
    """How many of its row's words a script's name says."""
    parts = parsed(script)
    if parts is None:
        return 0
    said = {name: cell.text.strip().lower() for name, cell in cells.items()}
    gpus, _, device = re.sub(r"\s", "", said["Resource"]).partition("*")
    engine = said["Infer"].startswith(parts.infer)
    same = (parts.task, str(parts.gpus), parts.device, parts.train)
    pairs = zip(same, (said["Task"], gpus, device, said["Train"]), strict=True)
    return sum(one == other for one, other in pairs) + engine


def columns(header: Row) -> dict[str, int]:
    """Place of every known header, upper and lower case regardless; the first of equal ones."""
    words = [cell.text.strip().lower() for cell in header.cells]
    return {name: words.index(name.lower()) for name in HEADERS if name.lower() in words}


def _header_problems(table: Table, known: Iterable[str]) -> Iterator[tuple[Row, Problem]]:
    """One problem for a table whose rows are lost because it lacks columns."""
    missing = [name for name in HEADERS if name not in known]
    if MAY_LACK.issuperset(missing) or all(row.blank for row in table.rows):
        return
    message = f"the table has no column {', '.join(missing)}, so none of its rows is read"
    mend = f"Give it the columns {', '.join(HEADERS)}."
    yield table.header, Problem("page-table-columns", message, mend)


def _row_length(row: Row, header: Row) -> Problem:
    names = ", ".join(shown(cell.text) for cell in header.cells)
    return Problem(
        "page-row-length",
        f"the row has {len(row.cells)} cells and the header {len(header.cells)}; it is not read",
        f"Give it one cell for each of {names}; write `\\` where nothing is known.",
    )


def _record(
    cells: Cells, link: Link, remarks: Sequence[Cell], context: Context
) -> tuple[Record, Problems]:
    """The record of one row, and what is wrong with its cells by header."""
    text = {name: cell.text.strip() for name, cell in cells.items()}
    facts = _facts(text, link.script, context.vocabulary)
    if "Contributor" in cells:
        account = cells["Contributor"].target
        facts["contributor"] = cell_text.contributor(
            text["Contributor"], account, context.vocabulary
        )
    problems = [
        (HEADER_OF[name], fact) for name, fact in facts.items() if isinstance(fact, Problem)
    ]
    known = {name: fact for name, fact in facts.items() if not isinstance(fact, Problem)}
    known |= {"script": link.script, "framework": context.framework}
    known |= _judgement(text, _remark_about(link.script, remarks), _as_published(text, problems))
    problems += [("Link", item) for item in link_problems(link, context.scripts)]
    schema = context.vocabulary.dataset.package.resources["tuning"].schema
    return {name: known.get(name) for name in schema.names}, problems


def _judgement(text: Mapping[str, str], remark: Remark, published: str) -> dict[str, Value]:
    """Status and notes; the mark in the MaxBatch cell alone is enough."""
    marked = cell_text.marked_status(text.get("MaxBatch", ""))
    status, said = remark
    return {
        "status": marked or status or "reported",
        "notes": " ".join(filter(None, [said, published])) or None,
    }


def _facts(text: Mapping[str, str], script: str, words: Vocabulary) -> dict[str, Value | Problem]:
    """Columns that the row's text decides; the script's name settles only what is ambiguous."""
    model, device = _named(script, words)
    gpus, found_device = cell_text.resource(text["Resource"], words.devices, device)
    engine, version = cell_text.infer(text["Infer"], words)
    return {
        "tag": known_word("tag", text["Tag"], words.tags),
        "model": cell_text.model(text["Model"], words.models, model),
        "task": known_word("task", text["Task"], words.tasks),
        "gpus": gpus,
        "device": found_device,
        "max_batch": cell_text.max_batch(text.get("MaxBatch", "")),
        "train": known_word("backend", text["Train"], words.backends),
        "infer": engine,
        "infer_version": version,
    }


def _named(script: str, words: Vocabulary) -> tuple[str | None, str | None]:
    """Model, if the dataset has it, and device by the script's name, where it follows the form."""
    parts = parsed(script)
    return (words.slugs.get(parts.model), parts.device) if parts else (None, None)


def _remark_about(script: str, remarks: Iterable[Cell]) -> Remark:
    """Status and notes that a list below the table gives to `script`."""
    for remark in remarks:
        match = _REMARK.fullmatch(remark.text.removeprefix(script))
        if remark.text.startswith(script) and match is not None:
            return match[1], match[2]
    return None, None


def _as_published(text: Mapping[str, str], problems: Problems) -> str:
    """The text of the cells that could not be read, for the notes; never a contributor's."""
    names = dict.fromkeys(name for name, problem in problems if name != "Contributor")
    words = [f"{name} {shown(text[name])}" for name in names if text[name]]
    return f"As published: {'; '.join(words)}." if words else ""
