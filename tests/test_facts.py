"""Statements become reports: a small sample of our own, in the form of the facts."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from facts.__main__ import run
from facts.identity import report_id
from facts.notes import notes
from facts.source import line_ranges
from facts.statement import Statement, read_statements
from fuse import Killed, fuse, killed
from rl_resources.cli import main
from rl_resources.contribute.writing import settle
from sample_tree import plant

SAMPLE = Path(__file__).parent / "facts"
READ_ON = "2026-11-21"

Rows = dict[str, dict[str, str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path / "dataset")


def rows(path: Path, key: str) -> Rows:
    with path.open(encoding="utf-8", newline="") as text:
        return {row[key]: row for row in csv.DictReader(text)}


def convert(root: Path, folder: Path = SAMPLE) -> tuple[Rows, Rows]:
    """The ledger by row, and the reports by the row that they were made from."""
    run(folder, root, READ_ON, root / "ledger.csv")
    ledger = rows(root / "ledger.csv", "row")
    reports = rows(root / "records" / "reports.csv", "report")
    made = {row: e["report"] for row, e in ledger.items() if e["became"] == "report"}
    return ledger, {row: reports[report] for row, report in made.items()}


def test_every_statement_is_accounted_for_with_its_reason(root: Path) -> None:
    ledger, _ = convert(root)
    assert Counter(entry["became"] for entry in ledger.values()) == {
        "report": 6,
        "duplicate": 1,
        "rejected": 5,
    }
    assert {row: entry["reason"] for row, entry in ledger.items() if entry["reason"]} == {
        "4": "no reinforcement learning",
        "5": "accelerator not named",
        "6": "accelerator named by its kind alone",
        "7": "algorithm not named",
        "T5": "source has no permalink",
    }
    assert ledger["T6"]["report"] == ledger["T4"]["report"]


def test_what_is_written_holds_to_all_rules_and_leaves_other_reports(root: Path) -> None:
    before = rows(root / "records" / "reports.csv", "report")
    convert(root)
    assert main(["check", "--strict", "--root", str(root)]) == 0
    assert rows(root / "records" / "reports.csv", "report").items() >= before.items()


def test_the_same_facts_give_the_same_bytes(root: Path) -> None:
    convert(root)
    files = [root / "records" / "reports.csv", root / "records" / "models.csv"]
    first = [path.read_bytes() for path in (*files, root / "ledger.csv")]
    convert(root)
    assert [path.read_bytes() for path in (*files, root / "ledger.csv")] == first


def test_a_run_that_is_killed_leaves_the_old_tables_and_ledger_or_the_new_ones(root: Path) -> None:
    def state() -> list[bytes]:
        return [path.read_bytes() for path in sorted(root.rglob("*.csv"))]

    before = state()
    for at in range(1, 99, 6):
        with suppress(Killed), fuse(killed(at)):
            convert(root)
        settle(root)
        if state() != before:
            break
    after = state()
    convert(root)
    assert at > 12
    assert state() == after != before


def test_an_id_depends_on_no_other_statement(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    shutil.copytree(SAMPLE, folder)
    path = folder / "other-frameworks.csv"
    header, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([header, *reversed(lines[:3])]), encoding="utf-8")
    ids = {item.row: report_id(item) for item in read_statements(SAMPLE)}
    again = {item.row: report_id(item) for item in read_statements(folder)}
    assert again.items() <= ids.items()


def test_a_range_keeps_both_ends_and_a_published_k_is_1024(root: Path) -> None:
    _, reports = convert(root)
    report = reports["2"]
    assert (report["gpus"], report["gpus_maximum"], report["nodes"]) == ("8", "32", "1")
    assert (report["max_prompt_length"], report["max_response_length"]) == ("2048", "8192")
    assert (report["batch"], report["batch_unit"]) == ("512", "prompts")
    assert (report["model"], report["model_as_published"]) == (
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen2.5-7B-Instruct",
    )
    assert report["source_url"].endswith("/docs/example.md#L3-L4")


def test_a_size_alone_is_no_model_and_a_commit_message_has_no_path(root: Path) -> None:
    _, reports = convert(root)
    report = reports["3"]
    assert (report["model"], report["size"], report["device"]) == ("", "7B", "")
    assert report["source_url"].rpartition("/")[0].endswith("/commit")
    assert (report["source_path"], report["evidence_kind"]) == ("", "commit-message")
    assert report["step_seconds"] == "40"
    assert "about" in report["notes"]


def test_measured_bytes_become_gigabytes(root: Path) -> None:
    _, reports = convert(root)
    report = reports["T1"]
    assert (report["peak_memory_gb"], report["peak_train_memory_gb"]) == ("11.3", "5.9")
    assert report["device_memory_gb"] == "85.5"
    assert (report["lora_rank"], report["batch_unit"]) == ("8", "responses")
    assert "@" not in report["source_path"] + report["source_url"]


def test_a_run_out_of_memory_is_told_as_one(root: Path) -> None:
    _, reports = convert(root)
    assert {row for row, report in reports.items() if report["outcome"] != "ran"} == {"T2"}
    assert reports["T2"]["notes"] == ""


def test_a_tag_needs_its_word_and_a_device_its_memory(root: Path) -> None:
    _, reports = convert(root)
    assert (reports["T3"]["tag"], reports["T4"]["tag"]) == ("MIN", "")
    assert (reports["T3"]["device"], reports["T3"]["device_as_published"]) == ("", "H100/H20")
    assert reports["T3"]["speed_as_published"] == "1,5 k tokens"
    assert reports["T4"]["tokens_per_second_per_gpu"] == "1600"


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"notes": "a few steps only (--num-rollout 3)"}, "Rollouts of the test: 3."),
        ({"notes": "a few steps only"}, ""),
        ({"device_memory_gb": "2*64"}, "The source counts packages of 2 devices of 64 GB."),
        (
            {"step_time_s": "40.6 (mean of 9 steps in the log)"},
            "The step time is a mean of 9 steps.",
        ),
    ],
)
def test_a_note_says_what_a_figure_counts_and_no_more_than_the_source(
    cells: dict[str, str], note: str
) -> None:
    assert notes(Statement("other-frameworks", "T", cells)) == note


@pytest.mark.parametrize(
    ("told", "ranges"), [("7", "7"), ("49+50+51+75", "49-51+75"), ("3+8", "3+8"), ("", "")]
)
def test_lines_that_follow_each_other_are_one_range(told: str, ranges: str) -> None:
    assert line_ranges(told) == ranges
