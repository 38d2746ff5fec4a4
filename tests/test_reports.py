"""The reports that are shipped, and the ledger of the statements that they were made from."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

from rl_resources import load

STATEMENTS = 1892
REPOSITORY = Path(__file__).parents[1]


@cache
def ledger() -> list[dict[str, str]]:
    path = REPOSITORY / "tools" / "facts" / "ledger.csv"
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_every_statement_became_a_report_or_a_duplicate_or_was_rejected() -> None:
    became = Counter(entry["became"] for entry in ledger())
    assert set(became) == {"report", "duplicate", "rejected"}
    assert sum(became.values()) == STATEMENTS
    assert len({(entry["file"], entry["row"]) for entry in ledger()}) == STATEMENTS


def test_each_report_of_the_ledger_is_one_report() -> None:
    made = [entry["report"] for entry in ledger() if entry["became"] == "report"]
    assert len(made) == len(set(made))
    assert set(made) <= set(load(REPOSITORY).reports["report"])


def test_a_duplicate_names_the_report_that_is_kept() -> None:
    made = {entry["report"] for entry in ledger() if entry["became"] == "report"}
    assert {entry["report"] for entry in ledger() if entry["became"] == "duplicate"} <= made


def test_a_rejected_statement_has_a_reason_and_no_report() -> None:
    rejected = [entry for entry in ledger() if entry["became"] == "rejected"]
    assert all(entry["reason"] and not entry["report"] for entry in rejected)
    assert all(not entry["reason"] for entry in ledger() if entry["became"] != "rejected")


def test_every_statement_says_where_its_source_is() -> None:
    assert all(entry["source"] for entry in ledger())


def test_there_are_reports_of_every_size() -> None:
    reports = load(REPOSITORY).reports
    assert len(reports) >= 1000
    assert set(load(REPOSITORY).sizes["size"]) <= set(reports["size"].dropna())
