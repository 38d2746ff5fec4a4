"""The reports that are shipped."""

from __future__ import annotations

from pathlib import Path

from rl_resources import load

REPOSITORY = Path(__file__).parents[1]


def test_there_are_reports_of_every_size() -> None:
    reports = load(REPOSITORY).reports
    assert len(reports) >= 1000
    assert set(load(REPOSITORY).sizes["size"]) <= set(reports["size"].dropna())
