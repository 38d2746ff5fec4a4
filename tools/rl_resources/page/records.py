"""The rows of a page to tuning records. What a row does not say stays blank; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rl_resources.dataset import Dataset
from rl_resources.finding import Finding
from rl_resources.package import Record, Value
from rl_resources.page import cells as cell_text
from rl_resources.page.cells import Problem, email_address, known_word
from rl_resources.page.script_link import NO_SCRIPT, is_email, link_problems, linked_script
from rl_resources.page.value import Cell, Page, Row, Table
from rl_resources.page.vocabulary import Vocabulary
from rl_resources.render.tuning_table import HEADERS
from rl_resources.script.name import parse
from rl_resources.words import shown

_MAY_LACK = {"MaxBatch", "Contributor"}
_FEWEST_HEADERS = 3
_REMARK = re.compile(r"(?: \((disputed|reproduced)\))?(?:: (.*))?", re.DOTALL)
_HEADER_OF = {
    "tag": "Tag",
    "model": "Model",
    "task": "Task",
    "gpus": "Resource",
    "device": "Resource",
    "max_batch": "MaxBatch",
    "train": "Train",
    "infer": "Infer",
    "infer_version": "Infer",
    "contributor": "Contributor",
}

Cells = Mapping[str, Cell]
Problems = list[tuple[str, Problem]]
Remark = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Context:
    """What all rows are read against. `scripts` are file names, `None` where nobody knows them."""

    vocabulary: Vocabulary
    scripts: Sequence[str] | None
    framework: str


def tuning_records(
    page: Page, dataset: Dataset, scripts: Sequence[str] | None, framework: str = "verl"
) -> tuple[list[Record], list[Finding]]:
    """The records of all tables of `page`, in its order, and what is wrong with its rows.

    `scripts` are the names of the script files that there are; `None` leaves links unchecked.
    A page does not say which `framework` its scripts configure. A word that the dataset does not
    know leaves its column blank and stands in the record's notes. A row yields no record where it
    names no script or has not one cell for each column.
    """
    context = Context(Vocabulary(dataset), scripts, framework)
    records: list[Record] = []
    findings = list(page.findings)
    for table in page.tables:
        found, wrong = _table_records(table, context)
        records += found
        findings += [_finding(page.path, place, problem) for place, problem in wrong]
    return records, sorted(findings, key=lambda finding: finding.position)


def _finding(path: str, place: Row | Cell, problem: Problem) -> Finding:
    return Finding(
        rule=problem.rule,
        severity=problem.severity,
        path=path,
        line=place.line,
        column=place.column,
        message=problem.message,
        help=problem.help,
    )


def _table_records(
    table: Table, context: Context
) -> tuple[list[Record], list[tuple[Row | Cell, Problem]]]:
    columns = _columns(table.header)
    if len(columns) < _FEWEST_HEADERS and len(table.header.cells) != len(HEADERS):
        return [], []
    records: list[Record] = []
    problems: list[tuple[Row | Cell, Problem]] = list(_header_problems(table, columns))
    for row in table.rows if columns.keys() | _MAY_LACK >= set(HEADERS) else ():
        if row.blank:
            continue
        if len(row.cells) != len(table.header.cells):
            problems.append((row, _row_length(row, table.header)))
            continue
        cells = {name: row.cells[place] for name, place in columns.items()}
        record, wrong = _record(cells, table.remarks, context)
        records += [record] if record is not None else []
        problems += [(cells[name], problem) for name, problem in wrong]
    return records, problems


def _columns(header: Row) -> dict[str, int]:
    """Place of every known header, upper and lower case regardless; the first of equal ones."""
    words = [cell.text.strip().lower() for cell in header.cells]
    return {name: words.index(name.lower()) for name in HEADERS if name.lower() in words}


def _header_problems(table: Table, columns: Iterable[str]) -> Iterator[tuple[Row, Problem]]:
    """One problem for a table that lacks columns; an error where its rows are lost by that."""
    missing = [name for name in HEADERS if name not in columns]
    lost = not _MAY_LACK.issuperset(missing) and not all(row.blank for row in table.rows)
    if missing:
        consequence = ", so none of its rows is read" if lost else ""
        yield (
            table.header,
            Problem(
                "page-table-columns",
                f"the table has no column {', '.join(missing)}{consequence}",
                f"Give it the columns {', '.join(HEADERS)}.",
                "error" if lost else "warning",
            ),
        )


def _row_length(row: Row, header: Row) -> Problem:
    names = ", ".join(shown(cell.text) for cell in header.cells)
    return Problem(
        "page-row-length",
        f"the row has {len(row.cells)} cells and the header {len(header.cells)}; it is not read",
        f"Give it one cell for each of {names}; write `\\` where nothing is known.",
    )


def _record(
    cells: Cells, remarks: Sequence[Cell], context: Context
) -> tuple[Record | None, Problems]:
    """The record of one row, if it names a script, and what is wrong by header."""
    script = linked_script(cells["Link"], context.scripts)
    if script is None:
        return None, [("Link", NO_SCRIPT)]
    text = {name: cell.text.strip() for name, cell in cells.items()}
    facts = _facts(text, script, context.vocabulary)
    problems = [
        (_HEADER_OF[name], fact) for name, fact in facts.items() if isinstance(fact, Problem)
    ]
    known = {name: fact for name, fact in facts.items() if not isinstance(fact, Problem)}
    known |= {"script": script, "framework": context.framework}
    known |= _judgement(text, _remark_about(script, remarks), _as_published(text, problems))
    problems += [("Link", item) for item in link_problems(cells["Link"], script, context.scripts)]
    if known.get("contributor") and is_email(cells["Contributor"].target):
        problems.append(("Contributor", email_address()))
    schema = context.vocabulary.dataset.package.resources["tuning"].schema
    return {name: known.get(name) for name in schema.names}, problems


def _judgement(text: Mapping[str, str], remark: Remark, published: str) -> dict[str, Value]:
    """Status and notes; the mark in the MaxBatch cell alone is enough for a dispute."""
    disputed = cell_text.marked_disputed(text.get("MaxBatch", ""))
    status, said = remark
    return {
        "status": "disputed" if disputed else status or "reported",
        "notes": " ".join(filter(None, [said, published])) or None,
    }


def _facts(text: Mapping[str, str], script: str, words: Vocabulary) -> dict[str, Value | Problem]:
    """Columns that the row's text decides; the script's name settles only what is ambiguous."""
    model, device = _named(script, words)
    gpus, found_device = cell_text.resource(text["Resource"], words.devices, device)
    engine, version = cell_text.infer(text["Infer"], words)
    return {
        "tag": known_word("tag", text["Tag"], words.tags),
        "model": known_word("model", text["Model"], words.models, model),
        "task": known_word("task", text["Task"], words.tasks),
        "gpus": gpus,
        "device": found_device,
        "max_batch": cell_text.max_batch(text.get("MaxBatch", "")),
        "train": known_word("backend", text["Train"], words.backends),
        "infer": engine,
        "infer_version": version,
        "contributor": cell_text.contributor(text.get("Contributor", ""), words),
    }


def _named(script: str, words: Vocabulary) -> tuple[str | None, str | None]:
    """Model, if the dataset has it, and device by the script's name, where it follows the form."""
    try:
        parts = parse(script)
    except ValueError:
        return None, None
    return words.slugs.get(parts.model), parts.device


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
