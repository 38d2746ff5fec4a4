"""Statements to reports and a ledger: pure, from values to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from facts.admission import refusal
from facts.contradictions import contradictions
from facts.device import device_cells
from facts.duplicates import duplicates
from facts.engine import engine_cells
from facts.figures import batch_cells, count_cells, length_cells, memory_cells, speed_cells
from facts.identity import report_id
from facts.model import Models
from facts.notes import notes
from facts.requirement import requirement_cells
from facts.setting import setting_cells
from facts.source import basis, evidence_kind, place, source_cells
from facts.statement import Statement
from facts.task import task_cells
from facts.words import table

Key = tuple[str, str]
Report = dict[str, str]


@dataclass(frozen=True)
class Conversion:
    """Reports by the statement that they were made from, and what became of every statement."""

    reports: Mapping[Key, Report]
    ledger: Sequence[Mapping[str, str]]


def convert(
    statements: Sequence[Statement], models: Models, devices: Mapping[str, str], read_on: str
) -> Conversion:
    """All statements. Raises `ValueError` where two reports would have the same id."""
    refused = {statement.key: refusal(statement) for statement in statements}
    made = {
        statement.key: _report(statement, models, devices, read_on)
        for statement in statements
        if not refused[statement.key]
    }
    repeated = duplicates(made)
    reports = {key: report for key, report in made.items() if key not in repeated}
    _hold_unique(reports)
    ids = {key: report["report"] for key, report in reports.items()}
    for name, others in contradictions(ids).items():
        report = next(report for report in reports.values() if report["report"] == name)
        report["contradicts"] = " ".join(sorted(others))
    ledger = [_entry(item, refused[item.key], repeated, ids) for item in statements]
    return Conversion(reports, ledger)


def _report(
    statement: Statement, models: Models, devices: Mapping[str, str], read_on: str
) -> Report:
    cells = {
        "report": report_id(statement),
        "outcome": "out-of-memory" if "OOM" in statement["outcome"] else "ran",
        **requirement_cells(statement),
        **models.cells(statement),
        **task_cells(statement),
        **count_cells(statement),
        **device_cells(statement, devices),
        **engine_cells(statement),
        **batch_cells(statement),
        **length_cells(statement),
        **setting_cells(statement),
        **memory_cells(statement),
        **speed_cells(statement),
        "evidence_kind": evidence_kind(statement),
        "basis": basis(statement),
        **(source_cells(statement) or {}),
        "source_changed_on": statement["source_file_last_changed"],
        "read_on": read_on,
        "notes": notes(statement),
    }
    return cells | _corrections(statement)


def _corrections(statement: Statement) -> Report:
    """Cells that were mended after reading the source."""
    return {
        row["column"]: row["value"]
        for row in table("corrections")
        if (row["file"], row["row"]) == statement.key
    }


def _hold_unique(reports: Mapping[Key, Report]) -> None:
    first: dict[str, Key] = {}
    for key, report in reports.items():
        if first.setdefault(report["report"], key) != key:
            raise ValueError(f"{key} and {first[report['report']]} are both {report['report']}")


def _entry(
    statement: Statement, refused: str, repeated: Mapping[Key, Key], ids: Mapping[Key, str]
) -> dict[str, str]:
    """What became of a statement, and where its source is."""
    kept = repeated.get(statement.key, statement.key)
    became = "rejected" if refused else "duplicate" if kept != statement.key else "report"
    return {
        "file": statement.file,
        "row": statement.row,
        "became": became,
        "report": "" if refused else ids[kept],
        "reason": refused,
        "source": place(statement),
    }
