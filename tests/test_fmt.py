"""`rl-resources fmt` on files: what it writes, what it shows, what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_resources.cli import main
from sample_tree import apply

TRIALS = "records/trials.csv"
Output = pytest.CaptureFixture[str]


def fmt(root: Path, *arguments: str) -> int:
    return main(["fmt", "--root", str(root), *arguments])


def test_check_shows_a_unified_diff_and_changes_nothing(root: Path, capsys: Output) -> None:
    lines = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    swapped = "\n".join([lines[0], lines[2], lines[1], *lines[3:], ""])
    apply(root, [{"file": TRIALS, "write": swapped}])
    assert fmt(root, "--check") == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:2] == [f"--- a/{TRIALS}", f"+++ b/{TRIALS}"]
    assert [line for line in shown.out.splitlines()[2:] if line[0] in "+-"] == [
        f"+{lines[1]}",
        f"-{lines[1]}",
    ]
    assert shown.err == f"{TRIALS}: would be rewritten\n"
    assert (root / TRIALS).read_text(encoding="utf-8") == swapped


def test_what_cannot_be_seen_is_shown_in_the_diff(root: Path, capsys: Output) -> None:
    apply(root, [{"file": TRIALS, "replace": "script,", "with": "\ufeffscript,"}])
    assert fmt(root, "--check") == 1
    assert "-\\ufeffscript,order" in capsys.readouterr().out


def test_only_the_files_that_are_named_are_written(root: Path, capsys: Output) -> None:
    for path in (TRIALS, "records/tuning.csv"):
        apply(root, [{"file": path, "replace": "\n", "with": "\r\n", "all": True}])
    assert fmt(root, str(root / TRIALS)) == 0
    assert capsys.readouterr().err == f"{TRIALS}: rewritten\n"
    assert b"\r" not in (root / TRIALS).read_bytes()
    assert b"\r" in (root / "records/tuning.csv").read_bytes()


def test_a_file_that_cannot_be_read_is_left_alone_and_the_others_are_written(
    root: Path, capsys: Output
) -> None:
    apply(root, [{"file": "records/tuning.csv", "append": '"unclosed,\n'}])
    apply(root, [{"file": TRIALS, "replace": "\n", "with": "\r\n", "all": True}])
    before = (root / "records/tuning.csv").read_bytes()
    assert fmt(root) == 1
    shown = capsys.readouterr().err
    assert f"{TRIALS}: rewritten" in shown
    assert "records/tuning.csv: left alone" in shown
    assert (root / "records/tuning.csv").read_bytes() == before


def test_fix_adds_a_column_that_the_schema_has_and_the_file_lacks(root: Path) -> None:
    path = root / "schema" / "trials.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["fields"].insert(1, {**schema["fields"][1], "name": "seed", "constraints": {}})
    path.write_text(json.dumps(schema), encoding="utf-8")
    before = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    assert main(["check", "--root", str(root), "--fix", "--select", "header,row-length"]) == 0
    after = (root / TRIALS).read_text(encoding="utf-8").splitlines()
    assert after[0] == "script,seed,order,batch,outcome"
    assert after[1:] == [line.replace(",", ",,", 1) for line in before[1:]]
