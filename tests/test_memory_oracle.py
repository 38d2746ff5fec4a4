"""The committed figures of `make oracle` are those of its cases, and add up."""

import pytest

from website import ROOT, read_rows

BENCHMARKS = ROOT / "benchmarks"
ROWS = read_rows(BENCHMARKS / "memory_oracle.csv")


def test_every_case_has_one_row(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from memory_cases import CASES

    assert sorted(row["id"] for row in ROWS) == sorted({case.id for case in CASES})


def test_the_kinds_add_up_to_the_highest_phase():
    for row in ROWS:
        size = {name: float(row[name]) for name in row if name.endswith("_gb")}
        peak, host = size.pop("peak_gb"), size.pop("host_gb")
        phases = [size.pop(f"{phase}_gb") for phase in ("forward", "backward", "step")]
        assert (host > 0.01) == (row["offload"] != "none"), row["id"]
        assert peak == max(phases) == float(row[f"{row['at_phase']}_gb"]), row["id"]
        assert sum(size.values()) == pytest.approx(peak, abs=0.001), row["id"]
