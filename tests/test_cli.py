"""The command line as others script against it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from rl_resources import load
from rl_resources.cli import main
from rl_resources.cli.command import INTERRUPTED
from sample_tree import plant

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


def test_among_the_files_of_another_data_package_answers_come_from_our_own(tmp_path: Path) -> None:
    (tmp_path / "datapackage.json").write_text('{"name": "another", "resources": []}')
    question = ("find", "--size", "7B", "--gpus", "1")
    assert _run(*question, cwd=tmp_path).stdout == _run(*question).stdout
    assert _run(*question, "--root", ".", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["chekc"], "argument COMMAND: `chekc` is not known. Did you mean `check`?"),
        (["xyz"], "argument COMMAND: `xyz` is not known. Known are `find`,"),
        (["check", "--format", "sarfi"], "argument --format: `sarfi` is not known. Did you mean"),
    ],
)
def test_a_word_that_is_no_choice_is_answered_with_the_nearest(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"error: {expected}" in capsys.readouterr().err


def test_a_command_line_without_a_command_shows_what_there_is() -> None:
    done = _run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == _run("--help").stdout


def test_the_version_is_that_of_the_dataset() -> None:
    assert _run("--version").stdout == f"rl-resources {load(ROOT).version}\n"


def test_an_unknown_rule_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--root", str(ROOT), "--select", "vocabulry"]) == 2
    assert "`vocabulary`" in capsys.readouterr().err


def test_rules_lists_every_rule_with_its_severity(capsys: pytest.CaptureFixture[str]) -> None:
    from rl_resources.rules import all_rules

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


def test_sarif_names_every_rule_and_places_every_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rl_resources.rules import all_rules

    root = plant(tmp_path / "dataset")
    tuning = root / "records" / "tuning.csv"
    text = tuning.read_text(encoding="utf-8")
    tuning.write_text(text.replace(",h800,", ",h8000,", 1), encoding="utf-8")
    assert main(["check", "--root", str(root), "--format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(all_rules())
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    line = next(i for i, row in enumerate(tuning.read_text().splitlines(), 1) if ",h8000," in row)
    assert (result["ruleId"], result["level"]) == ("vocabulary", "error")
    assert place["artifactLocation"]["uri"] == "records/tuning.csv"
    assert place["region"]["startLine"] == line


@pytest.mark.parametrize(
    "way", ["{root}/examples/../records", "{root}/../{name}/records/tuning.csv"]
)
def test_a_roundabout_path_is_the_file_that_it_leads_to(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = plant(tmp_path / "dataset")
    tuning = root / "records" / "tuning.csv"
    text = tuning.read_text(encoding="utf-8")
    tuning.write_text(text.replace(",h800,", ",h8000,", 1), encoding="utf-8")
    path = way.format(root=root, name=root.name)
    assert main(["check", path, "--root", str(root)]) == 1
    assert "vocabulary" in capsys.readouterr().out


def test_a_file_that_fmt_cannot_read_is_said_to_be_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = plant(tmp_path / "dataset")
    tuning = root / "records" / "tuning.csv"
    spoilt = tuning.read_text(encoding="utf-8") + '"unclosed,'
    tuning.write_text(spoilt, encoding="utf-8")
    assert main(["fmt", "--root", str(root)]) == 1
    assert "left alone" in capsys.readouterr().err
    assert tuning.read_text(encoding="utf-8") == spoilt


def _on_a_terminal(root: Path, *arguments: str, status: int = 1, **environment: str) -> str:
    """What a command shows on a terminal, by default `check`, of a dataset with one mistake."""
    master, slave = pty.openpty()
    words = arguments or ("check",)
    command = [sys.executable, "-m", "rl_resources", *words, "--root", str(root)]
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.Popen(command, stdout=slave, stderr=slave, env=plain | environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            shown += (part := os.read(master, 4096))
        except OSError:  # Linux says so that the other end is closed
            break
        if not part:
            break
    assert done.wait() == status
    os.close(master)
    return shown.decode()


def test_a_table_holds_its_signs_in_a_file_and_escapes_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = plant(tmp_path / "dataset")
    reports = root / "records" / "reports.csv"
    text = reports.read_text(encoding="utf-8").replace("Derived", "\x1b[31mDerived")
    reports.write_text(text, encoding="utf-8")
    asked = ("find", "--size", "7B", "--format", "csv")
    assert main([*asked, "--root", str(root)]) == 0
    assert "\x1b[31mDerived" in capsys.readouterr().out
    shown = _on_a_terminal(root, *asked, status=0)
    assert "\x1b" not in shown
    assert "\\u001b[31mDerived" in shown


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_findings_are_coloured_on_a_terminal_that_wants_it(
    environment: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    root = plant(tmp_path / "dataset")
    tuning = root / "records" / "tuning.csv"
    text = tuning.read_text(encoding="utf-8")
    tuning.write_text(text.replace(",h800,", ",h8000,", 1), encoding="utf-8")
    shown = _on_a_terminal(root, **environment)
    signs = ("\x1b[1m", "\x1b[31m", "\x1b[36m", "\x1b[0m") if coloured else ("",) * 4
    bold, red, cyan, plain = signs
    column = text.splitlines()[1].index(",h800,") + 2
    place = f"{bold}records/tuning.csv:2:{column}{plain}"
    assert shown.startswith(f"{place}: {red}error{plain}: {cyan}vocabulary{plain}: device of")
    assert ("\x1b" in shown) is coloured


def test_findings_that_go_to_a_file_are_not_coloured(tmp_path: Path) -> None:
    root = plant(tmp_path / "dataset")
    (root / "records" / "trials.csv").write_bytes(b"script\n")
    command = [sys.executable, "-m", "rl_resources", "check", "--root", str(root)]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "TERM": "xterm"}, check=False
    )
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_command_that_is_interrupted_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rl_resources.dataset.find_root", interrupted)
    assert main(["check"]) == INTERRUPTED
    assert capsys.readouterr().err == "rl-resources: interrupted\n"


def test_a_file_that_cannot_be_written_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "page.rst"
    assert main(["export", "rst", "--root", str(ROOT), "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rl-resources: error: ") and "Traceback" not in err
