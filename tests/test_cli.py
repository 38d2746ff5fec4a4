"""The command line as others script against it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rl_resources.cli import main

ROOT = Path(__file__).parents[1]


def _run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rl_resources", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_the_shipped_data_has_no_findings() -> None:
    done = _run("check", "--format", "json", "--strict")
    assert (done.returncode, done.stdout) == (0, "[]\n")


def test_the_root_is_found_from_a_folder_below() -> None:
    assert _run("check", cwd=ROOT / "examples" / "tuning").returncode == 0


def test_without_a_dataset_the_exit_status_is_2_and_says_how_to_name_one(tmp_path: Path) -> None:
    done = _run("check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--root" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["chekc"], ["check", "--format", "yaml"]])
def test_wrong_usage_is_exit_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_an_unknown_rule_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--root", str(ROOT), "--select", "vocabulry"]) == 2
    assert "`vocabulary`" in capsys.readouterr().err


def test_rules_lists_every_rule_with_its_severity(capsys: pytest.CaptureFixture[str]) -> None:
    from rl_resources.check import all_rules

    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines] == list(all_rules())


def test_rules_explains_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "row-length"]) == 0
    out = capsys.readouterr().out
    assert "why:" in out
    assert "bad:" in out
    assert "good:" in out


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m rl_resources export json | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.stdout, done.stderr) == ("{", "")


def test_json_and_help_are_one_document_on_standard_output() -> None:
    assert json.loads(_run("check", "--format", "json").stdout) == []
    assert "COMMAND" in _run("--help").stdout
